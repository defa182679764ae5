package ingest

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"quarry/internal/guard"
)

// entities is an export of a space as XML.
func entities() map[string]string {
	property := func(name, value string) string {
		return `<property name="` + name + `"><![CDATA[` + value + "]]></property>\n"
	}
	reference := func(name, class, id string) string {
		return `<property name="` + name + `" class="` + class + `" package="com.atlassian.confluence.pages"><id name="id">` + id + "</id>\n</property>\n"
	}
	object := func(class, id string, parts ...string) string {
		return `<object class="` + class + `" package="com.atlassian.confluence.pages"><id name="id">` + id + "</id>\n" + strings.Join(parts, "") + "</object>\n"
	}
	bodies := `<collection name="bodyContents" class="java.util.Collection"><element class="BodyContent" package="x"><id name="id">5003</id></element></collection>`
	return map[string]string{
		"exportDescriptor.properties": "exportType=space\nspaceKey=DOCS\n",
		"attachments/1001/7001/1":     "text of an attachment",
		entitiesFile: `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<hibernate-generic datetime="2024-03-08 12:00:00">` + "\n" +
			object("BodyContent", "5001", property("body", `<p>Welcome &nbsp;to the <ac:link><ri:page ri:content-title="Rolling back" /></ac:link> space.</p>`), reference("content", "Page", "1001")) +
			object("Space", "1", property("name", "Docs"), property("key", "DOCS")) +
			`<object class="ConfluenceUserImpl" package="x"><id name="key"><![CDATA[u1]]></id>` + property("name", "ana") + property("fullName", "Ana Ortiz") + property("email", "Ana@Acme.com") + "</object>" +
			object("Page", "1001", property("title", "Home"), property("contentStatus", "current"), reference("space", "Space", "1"), reference("creator", "ConfluenceUserImpl", "u1"),
				`<property name="creationDate">2024-02-18 10:00:00.123</property>`) +
			object("Page", "1002", property("title", "Rolling back"), property("contentStatus", "current"), reference("parent", "Page", "1001"), reference("space", "Space", "1"),
				property("creatorName", "bo"), `<property name="lastModificationDate">2024-03-06 11:00:00.000</property>`) +
			object("Page", "1003", property("title", "Cycle"), reference("parent", "Page", "1004"), bodies) +
			object("Page", "1004", property("title", "Other"), reference("parent", "Page", "1003")) +
			object("Page", "1005", property("title", "Rolling back"), property("contentStatus", "current"), reference("originalVersion", "Page", "1002")) +
			object("Page", "1006", property("title", "Draft"), property("contentStatus", "draft")) +
			object("BodyContent", "5002", property("body", `<h2>Steps</h2><p>Turn the <ac:emoticon ac:name="tick" />quokka wheel.</p><ac:structured-macro ac:name="code"><ac:parameter ac:name="language">java</ac:parameter>`+
				`<ac:plain-text-body><![CDATA[if (a < b) {`+"\n"+`  run();]] ></ac:plain-text-body></ac:structured-macro><ac:task-list><ac:task><ac:task-id>77</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>Mind the numbat</ac:task-body></ac:task><ac:task><ac:task-status>incomplete</ac:task-status><ac:task-body>by <time datetime="2024-04-01" />: <ac:link><ri:user ri:userkey="u1" /></ac:link></ac:task-body></ac:task></ac:task-list>`+
				`<p>It is<ac:structured-macro ac:name="status"><ac:parameter ac:name="colour">Green</ac:parameter><ac:parameter ac:name="title">DONE</ac:parameter></ac:structured-macro><ac:emoticon ac:name="blue-star" ac:emoji-shortname=":lock:" ac:emoji-fallback="🔒" /></p><ac:structured-macro ac:name="info"><ac:parameter ac:name="title">Mind</ac:parameter><ac:rich-text-body><p>the gap</p></ac:rich-text-body></ac:structured-macro><ac:image ac:alt="a gate"><ri:attachment ri:filename="g.png" /></ac:image>`),
				reference("content", "Page", "1002")) +
			object("BodyContent", "5003", property("body", "h2. Old\n\nmarkup \x0b of a wiki")) +
			object("BodyContent", "5005", property("body", "<p>older version</p>"), reference("content", "Page", "1005")) +
			object("BodyContent", "5006", property("body", "<p>draft</p>"), reference("content", "Page", "1006")) +
			object("BodyContent", "5007", property("body", "<p>comment</p>"), reference("content", "Comment", "9001")) + "</hibernate-generic>\n",
	}
}

func TestConfluenceXML(t *testing.T) {
	for _, form := range []string{"x", "x.zip"} {
		l := newLibrary(t, nil)
		if l.write("x.zip", zipped(t, entities())); form == "x" {
			for name, text := range inFolder("x", entities()) {
				l.write(name, text)
			}
		}
		l.add(Options{}, form)
		if kind := takenFor(l); kind != "Confluence export" {
			t.Errorf("taken for %q", kind)
		}
		for id, want := range map[string]string{
			"1001": "Home [Docs] [{Ana Ortiz ana@acme.com}] 2024-02-18 file Welcome  to the Rolling back space.",
			"1002": "Rolling back [Docs Home] [{bo }] 0001-01-01 2024-03-06 ## Steps\n\nTurn the tick quokka wheel.\n\n```java\nif (a < b) {\n  run();\n```\n\n- [x] Mind the numbat\n- [ ] by 2024-04-01: Ana Ortiz\n\nIt is DONE 🔒\n\nMind\n\nthe gap\n\na gate",
			"1003": "Cycle [Other] [] 0001-01-01 file h2. Old\n\nmarkup of a wiki",
		} {
			doc := l.document(form + "!" + id)
			updated := doc.UpdatedAt.Format(time.DateOnly)
			if len(doc.Metadata) > 0 {
				updated = "file"
			}
			text := strings.ReplaceAll(doc.Chunks[0].Text, "\u00a0", " ")
			if got := fmt.Sprint(doc.Title, " ", doc.Path, " ", doc.Authors, " ", doc.CreatedAt.Format(time.DateOnly), " ", updated, " ", text); got != want || doc.Source != "confluence" {
				t.Errorf("%s:\n%q, want\n%q", id, got, want)
			}
		}
		pages := 0
		for id := range maps.Keys(l.idx.documents) {
			if strings.Contains(id, form+"!") {
				pages++
			}
		}
		if pages != 3 {
			t.Errorf("%d pages", pages)
		}
	}
}

// TestHostileEntities reads objects that are made to harm.
func TestHostileEntities(t *testing.T) {
	object := `<object class="Page"><id name="id">1</id><property name="title">`
	for name, text := range map[string]string{
		"truncated":   object + "x",
		"not XML":     object + "<<<",
		"nested":      object + strings.Repeat("<a>", 100),
		"wrong ends":  object + "x</id></b></object></object></object>",
		"cut CDATA":   object + "<![CDATA[x",
		"entities":    `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>` + object + "&b;&b;</property></object>",
		"many values": `<object class="Page">` + strings.Repeat(`<property name="title">x</property>`, 100_000) + "</object>",
	} {
		t.Run(name, func(t *testing.T) {
			count := 0
			err := guard.Ended(func() {
				eachEntity(strings.NewReader(text), func(e *entity) {
					title, _ := e.value("title")
					if count++; len(title) > 200_000 {
						t.Errorf("%d bytes", len(title))
					}
				}, "Page")
			})
			if count > 1 || count == 0 && err == nil {
				t.Errorf("%d objects, %v", count, err)
			}
		})
	}
	reader := &entityReader{strings.NewReader("0123456789"), 5}
	if _, err := reader.Read(make([]byte, 10)); err != errTooLarge {
		t.Errorf("a token that is too large: %v", err)
	}
	l := newLibrary(t, nil)
	files := entities()
	files[entitiesFile] = files[entitiesFile][:strings.Index(files[entitiesFile], "older version")]
	l.write("x.zip", zipped(t, files))
	if l.add(Options{}, "x.zip"); len(l.idx.documents) != 3 || !strings.HasSuffix(l.events.skipped()[l.path("x.zip")], "unexpected EOF in CDATA section") {
		t.Errorf("%d documents of a cut file, skipped %v", len(l.idx.documents), l.events.skipped())
	}
}

func FuzzEntities(f *testing.F) {
	f.Add(entities()[entitiesFile])
	f.Add(`<object class="Page"><property name="body">&lt;p></property>`)
	f.Fuzz(func(t *testing.T, text string) {
		_ = guard.Ended(func() { // an error is the right answer to most
			eachEntity(strings.NewReader(text), func(e *entity) {
				body, _ := e.value("body")
				if got := storageHTML(body); len(got) > 20*len(text) {
					t.Errorf("%d bytes of %d", len(got), len(text))
				}
			}, "Page", "BodyContent")
		})
	})
}
