package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/testkit/longtest"
	"quarry/server/index"
	"quarry/server/ingest/worker"
)

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func TestFrontMatter(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want index.Document // title, dates, authors, metadata
		body string
	}{
		"yaml": {
			"---\ntitle: \"On: call\"\ndate: 2024-03-01\ncreated: 2023-01-02T03:04:05+01:00\nauthors:\n  - Kim Lee <KIM@acme.example>\n" +
				"  - {name: Jo, email: jo@acme.example}\ntags: [b, a, b]\ndescription: what to do\nweight: 3\ndraft: true\nlist: [1, 2]\n" +
				"nested: {a: 1}\nempty:\n---\n\nBody.\n",
			index.Document{Title: "On: call", UpdatedAt: day(2024, 3, 1), CreatedAt: time.Date(2023, 1, 2, 2, 4, 5, 0, time.UTC),
				Authors: []index.Person{{Name: "Kim Lee", Email: "kim@acme.example"}, {Name: "Jo", Email: "jo@acme.example"}},
				Metadata: []index.Field{{Key: "tags", Values: []string{"b", "a"}, List: true},
					{Key: "description", Values: []string{"what to do"}}, {Key: "weight", Values: []string{"3"}},
					{Key: "draft", Values: []string{"true"}}, {Key: "list", Values: []string{"1", "2"}, List: true},
					{Key: "nested.a", Values: []string{"1"}}}},
			"Body.",
		},
		"toml": {
			"+++\ntitle = 'T'\nlastmod = 2024-05-06T07:08:09Z\ndate = 2020-01-01\nauthor = \"A, B\"\nlabels = 'x, y'\n+++\nBody.",
			index.Document{Title: "T", UpdatedAt: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), CreatedAt: day(2020, 1, 1),
				Authors: []index.Person{{Name: "A"}, {Name: "B"}}, Metadata: []index.Field{{Key: "labels", Values: []string{"x", "y"}, List: true}}},
			"Body.",
		},
		"not quite yaml": {
			"---\ntitle: Foo: a bar\nlast_modified: 3 May 2024\n\t- x\n---\n# Other\n",
			index.Document{Title: "Foo: a bar", UpdatedAt: day(2024, 5, 3)}, "# Other",
		},
		"rules, not front matter": {"---\n\nJust text.\n\n---\n\nMore.", index.Document{Title: "Name"}, "---\n\nJust text.\n\n---\n\nMore."},
		"unclosed":                {"---\ntitle: x\n", index.Document{Title: "Name"}, "---\ntitle: x"},
		"claims": {
			"---\nid: confluence:1\nsource: slack\nsets: [A]\naccess: [user_email:x]\nlink: http://evil\ntype: email\n---\n# Own\n",
			index.Document{Title: "Own", Metadata: []index.Field{{Key: "id", Values: []string{"confluence:1"}}, {Key: "source", Values: []string{"slack"}},
				{Key: "sets", Values: []string{"A"}, List: true}, {Key: "link", Values: []string{"http://evil"}}, {Key: "type", Values: []string{"email"}}}},
			"# Own",
		},
		"odd dates": {"---\ndate: 12\nupdated: never\n---\nx", index.Document{Title: "Name", Metadata: []index.Field{{Key: "date", Values: []string{"12"}},
			{Key: "updated", Values: []string{"never"}}}}, "x"},
		"year":        {"---\ndate: 2019\n---\nx", index.Document{Title: "Name", UpdatedAt: day(2019, 1, 1)}, "x"},
		"alias bomb":  {"---\n" + bomb() + "---\nx", index.Document{Title: "Name"}, "x"},
		"only h2":     {"## H2\n\nx", index.Document{Title: "Name"}, "## H2\n\nx"},
		"markup":      {"# The *big* `x_y` [link](http://a)\n", index.Document{Title: "The big x_y link"}, "# The *big* `x_y` [link](http://a)"},
		"empty front": {"---\n---\nx", index.Document{Title: "Name"}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := FromMarkdown([]byte(c.text), index.Document{ID: "file:/name", Title: "Name"}, false)
			must(t, err)
			if doc.ID != "file:/name" || doc.Source != "file" || doc.Type != "md" || doc.Sets != nil || doc.Link != "" ||
				!slices.Equal(doc.Access, []string{"PUBLIC"}) {
				t.Errorf("identity %+v", doc)
			}
			got := index.Document{Title: doc.Title, UpdatedAt: doc.UpdatedAt, CreatedAt: doc.CreatedAt, Authors: doc.Authors, Metadata: doc.Metadata}
			if name == "alias bomb" {
				got.Metadata = nil
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if doc.Chunks[0].Text != c.body {
				t.Errorf("body %q, want %q", doc.Chunks[0].Text, c.body)
			}
		})
	}
}

// bomb is YAML whose aliases expand to a million values.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 6 {
		text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i, i, i)
	}
	return text
}

func TestTrustedFrontMatter(t *testing.T) {
	text := "---\nid: confluence:SEC-1\nsource: confluence\ntitle: \"Rules (2024)\"\nlink: https://wiki.example/1\ntype: page\n" +
		"created_at: 2024-02-05T10:00:00Z\nupdated_at: 2024-02-26T10:12:00Z\nauthors:\n  - {name: \"W C\", email: w@x.example}\n" +
		"tags: {team: data, services: [a, b]}\nsets: [Security & compliance]\n---\n\nText.\n\n## More\n\nx"
	doc, err := FromMarkdown([]byte(text), index.Document{}, true)
	must(t, err)
	want := index.Document{ID: "confluence:SEC-1", Source: "confluence", Title: "Rules (2024)", Link: "https://wiki.example/1", Type: "page",
		CreatedAt: time.Date(2024, 2, 5, 10, 0, 0, 0, time.UTC), UpdatedAt: time.Date(2024, 2, 26, 10, 12, 0, 0, time.UTC),
		Authors:  []index.Person{{Name: "W C", Email: "w@x.example"}},
		Metadata: []index.Field{{Key: "team", Values: []string{"data"}}, {Key: "services", Values: []string{"a", "b"}, List: true}},
		Sets:     []string{"Security & compliance"}, Access: []string{"PUBLIC"},
		Outline: []index.Heading{{Level: 2, Text: "More", Chunk: 0}},
		Chunks:  []index.Chunk{{Text: "Text.\n\n## More\n\nx"}},
	}
	if !reflect.DeepEqual(doc, want) {
		t.Errorf("got  %+v\nwant %+v", doc, want)
	}
	if _, err := FromMarkdown([]byte("---\nid: x\nsource: conflunce\n---\nx"), index.Document{}, true); err == nil {
		t.Error("an unknown source was taken")
	}
	if _, err := FromMarkdown([]byte("text"), index.Document{}, true); err == nil {
		t.Error("a document without an id was taken")
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("---\ntitle: x\ntags: [a, {b: c}]\nauthor: A <a@b>\n---\nbody")
	f.Add("+++\na = 1\n[b]\nc = [1979-05-27, 07:32:00, 1979-05-27T07:32:00Z]\n+++\n")
	f.Add("---\n" + bomb() + "---\n")
	f.Add("---\na: &a [*a]\n---\n")
	f.Add("---\ntitle: On call: a guide\ntags:\n- a: b: c\n- 'd\nauthor:\n  given: Ana\nsummary: |\n  Note: x: y\nstray\n---\nbody")
	f.Add("\"title\": \"x\",\n\"date\": \"2024-03-05 14:30 EST\"\n;;;\nbody")
	f.Fuzz(func(t *testing.T, text string) {
		for _, trusted := range []bool{false, true} {
			doc, err := FromMarkdown([]byte(text), index.Document{ID: "x", Title: "t"}, trusted)
			if err != nil {
				continue
			}
			checkDocument(t, &doc)
			if !trusted && (doc.ID != "x" || doc.Source != "file" || doc.Sets != nil || doc.Link != "" || doc.Type != "md") {
				t.Errorf("an untrusted text claims %+v", doc)
			}
			again, _ := FromMarkdown([]byte(text), index.Document{ID: "x", Title: "t"}, trusted)
			if !reflect.DeepEqual(doc, again) {
				t.Errorf("the same text gives two documents: %+v, %+v", doc, again)
			}
		}
	})
}

func page(text string) (index.Document, error) {
	r := newFileReader(context.Background(), nil)
	return guard.Result(func() index.Document {
		return r.made(r.page(text, nil), index.Document{ID: "x", Title: "name", Type: "html"})
	})
}

func TestHTML(t *testing.T) {
	doc, err := page(`<!doctype html><html><head><title>The page</title><meta name="author" content="Kim"><style>p{}</style>
		<meta property="article:modified_time" content="2024-05-06T00:00:00Z"><script>alert(1)</script></head><body><nav>Menu</nav>
		<h1>Head</h1><p>Some <b>bold</b> snake_case_name &amp; <a href="/x">link</a>.</p><ul><li>one<li>two</ul><h2 id=s>Second</h2>
		<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><pre><code class="language-go">x := 1
y()</code></pre><noscript>no</noscript><img src="data:image/png;base64,AAAA"></body></html>`)
	must(t, err)
	text := doc.Chunks[0].Text
	for _, part := range []string{"# Head", "**bold** snake_case_name & [link](/x).", "- one\n- two", "## Second", "|A|B|", "|1|2|", "```go\nx := 1\ny()\n```"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	for _, part := range []string{"alert", "Menu", "p{}", "base64", "no\n"} {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
	if doc.Title != "The page" || len(doc.Authors) != 1 || !doc.UpdatedAt.Equal(day(2024, 5, 6)) || doc.Type != "html" {
		t.Errorf("%+v", doc)
	}
	if doc, err := page("<h1>Only head</h1>text"); err != nil || doc.Title != "Only head" {
		t.Errorf("title %q, %v", doc.Title, err)
	}
}

func TestHostileHTML(t *testing.T) {
	size := longtest.Rounds(1<<17, 1<<20)
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	for name, text := range map[string]string{
		"deep": fill("<div>") + "needle", "deep inline": fill("<b>") + "needle", "lists": fill("<ul><li>") + "needle", "quotes": fill("<blockquote>") + "needle",
		"tables": fill("<table><tr><td>") + "needle", "colspan": "<table><tr><td colspan=1000000>needle</table>", "attributes": "<p " + fill("a=b ") + ">needle",
		"open tags": fill("<a href=x>") + "needle", "cells": "<table><tr>" + fill("<td>x") + "<td>needle</table>", "rows": "<table>" + fill("<tr><td>x") + "<tr><td>needle</table>",
		"comment": "needle<!--" + fill("a"), "entities": fill("&lt;") + " needle", "text": fill("word ") + "needle", "paragraphs": fill("<p>a") + "<p>needle",
		"headings": fill("<h1>a") + "<h1>needle", "pre": "<pre>" + fill("`") + "needle</pre>", "breaks": fill("<br>") + "needle", "spaces": fill("<i> </i>") + "needle",
		"list items": "<ul>" + fill("<li>a") + "<li>needle</ul>", "code": fill("<code>`</code>") + "needle", "escapes": fill("*_[") + " needle", "unclosed": fill("<") + " needle",
	} {
		t.Run(name, func(t *testing.T) {
			began := worker.ProcessorTime()
			doc, err := page(text)
			must(t, err)
			checkDocument(t, &doc)
			all := ""
			for _, chunk := range doc.Chunks {
				all += chunk.Text
			}
			if took := worker.ProcessorTime() - began; !strings.Contains(all, "needle") || took > patience(size) {
				t.Errorf("%q …, took %v", all[:min(len(all), 100)], took)
			}
			t.Logf("%d chunks, %v", len(doc.Chunks), worker.ProcessorTime()-began)
		})
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("<title>x</title><h1>a<p>b<table><tr><td>c<td rowspan=2>d<pre>e")
	f.Add("<ul><li><ol><li>a</ul><svg><script></svg>x<plaintext>y")
	f.Add("<svg><title>a</title><text>b<tspan>#c</svg><a style='display:block'>d</a><math><annotation>e</math><ruby>f<rt>g</ruby><legend>h<option>i")
	f.Add("<table><tr><td>a|b<th># c<td colspan=9>[d<input type=checkbox checked><img alt='e|f' src='data:,'></table><ul><li>x</ul><ul><li>y</ul>")
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := page(cleanText(strings.ReplaceAll(text, "\x00", "")))
		if err == nil {
			checkDocument(t, &doc)
		}
	})
}

func ingestionDocument(t testing.TB, text string) wire.IngestionDocument {
	t.Helper()
	var request wire.IngestionRequest
	must(t, json.Unmarshal([]byte(text), &request))
	return request.Document
}

func TestFromIngestion(t *testing.T) {
	now := day(2026, 1, 1)
	in := ingestionDocument(t, `{"document":{"id":"hr-001","sections":[{"text":"Laptops are expensed.","link":"https://hr.example/l"},
		{"text":"# More\n\nText."},{"text":"And more."}],"source":"slack","semantic_identifier":"Expensing","title":"Other",
		"metadata":{"team":"people","tags":["policy","money"],"ignore_for_qa":"x"},"doc_updated_at":"2026-05-02T08:00:00Z",
		"primary_owners":[{"display_name":"Kim Lee","email":"Kim@acme.example"},{"first_name":"A","last_name":"B"}],
		"external_access":{"external_user_emails":["JO@acme.example"],"external_user_group_ids":["People"],"is_public":false}}}`)
	doc, err := FromIngestion(in, now)
	must(t, err)
	want := index.Document{ID: "hr-001", Source: "slack", Title: "Expensing", Link: "https://hr.example/l", Type: "thread",
		UpdatedAt: time.Date(2026, 5, 2, 8, 0, 0, 0, time.UTC), Authors: []index.Person{{Name: "Kim Lee", Email: "kim@acme.example"}, {Name: "A B"}},
		Metadata: []index.Field{{Key: "tags", Values: []string{"policy", "money"}, List: true}, {Key: "team", Values: []string{"people"}}},
		Access:   []string{"external_group:slack_people", "user_email:jo@acme.example"},
		Outline:  []index.Heading{{Level: 1, Text: "More", Chunk: 1}},
		Chunks: []index.Chunk{{Text: "Laptops are expensed.\n\n", Link: "https://hr.example/l"},
			{Text: "# More\n\nText.\n\nAnd more.", Headings: []string{"More"}}},
	}
	if !reflect.DeepEqual(doc, want) {
		t.Errorf("got  %+v\nwant %+v", doc, want)
	}
}

func TestIngestionRules(t *testing.T) {
	now := day(2026, 1, 1)
	section := `"sections":[{"text":"t"}]`
	for text, check := range map[string]func(index.Document) bool{
		`{` + section + `,"source":"","semantic_identifier":"s"}`: func(d index.Document) bool {
			return d.Source == "file" && d.UpdatedAt.Equal(now) && d.Access[0] == "PUBLIC" && strings.HasPrefix(d.ID, "ingestion:") && d.Type == "page"
		},
		`{` + section + `,"source":"ingestion_api","title":"only title"}`:       func(d index.Document) bool { return d.Source == "file" && d.Title == "only title" && !d.Untitled },
		`{"sections":[{"text":"t","link":"https://x/y.PDF?z"}],"source":"web"}`: func(d index.Document) bool { return d.Type == "pdf" && d.Title == "t" && d.Untitled },
		`{"sections":[{"text":"t","link":"javascript:x"}],"source":"web"}`:      func(d index.Document) bool { return d.Link == "" && d.Chunks[0].Link == "" },
		`{` + section + `,"source":"jira","metadata":{"document_type":"Epic"}}`: func(d index.Document) bool { return d.Type == "epic" && len(d.Metadata) == 0 },
		`{` + section + `,"source":"gmail","external_access":{"is_public":true}}`: func(d index.Document) bool {
			return d.Type == "email" && reflect.DeepEqual(d.Access, []string{"PUBLIC"})
		},
		`{` + section + `,"source":"gong","external_access":{}}`:                                          func(d index.Document) bool { return d.Type == "transcript" && d.Access != nil && len(d.Access) == 0 },
		`{"sections":[],"source":"web","semantic_identifier":"title alone"}`:                              func(d index.Document) bool { return d.Chunks[0].Text == "title alone" },
		`{"sections":[{"text":"a\u0000b\u001b[31mc"}],"source":"web"}`:                                    func(d index.Document) bool { return d.Chunks[0].Text == "abc" },
		`{` + section + `,"source":"nope"}`:                                                               nil,
		`{` + section + `,"source":"craft_file"}`:                                                         nil,
		`{"sections":[{"text":" "}],"source":"web"}`:                                                      nil,
		`{` + section + `,"source":"web","id":"` + strings.Repeat("x", longestID+1) + `"}`:                nil,
		`{` + section + `,"source":"web","id":"a\nb"}`:                                                    func(d index.Document) bool { return d.ID == "a%0Ab" },
		`{` + section + `,"source":"web","id":" a"}`:                                                      nil,
		`{"sections":[` + strings.Repeat(`{"text":"x"},`, mostSections) + `{"text":"x"}],"source":"web"}`: nil,
	} {
		doc, err := FromIngestion(ingestionDocument(t, `{"document":`+text+`}`), now)
		switch {
		case check == nil && err == nil:
			t.Errorf("%.100s was taken", text)
		case check != nil && err != nil:
			t.Errorf("%.100s: %v", text, err)
		case check != nil && !check(doc):
			t.Errorf("%.100s gives %+v", text, doc)
		}
		if err == nil {
			checkDocument(t, &doc)
		}
	}
}

func TestIngestionIDsAreStable(t *testing.T) {
	id := func(text string) string {
		doc, err := FromIngestion(ingestionDocument(t, `{"document":`+text+`}`), time.Now())
		must(t, err)
		return doc.ID
	}
	a := id(`{"sections":[{"text":"one"}],"source":"web","semantic_identifier":"s"}`)
	if a != id(`{"sections":[{"text":"two"}],"source":"web","semantic_identifier":"s"}`) {
		t.Error("new text gives a new id")
	}
	if a == id(`{"sections":[{"text":"one"}],"source":"slack","semantic_identifier":"s"}`) {
		t.Error("another source gives the same id")
	}
	if id(`{"sections":[{"text":"one"}],"source":"web"}`) == id(`{"sections":[{"text":"two"}],"source":"web"}`) {
		t.Error("nameless documents are one")
	}
}

// TestKeysOfIngestionLines: a key in another case is another key, and every document has a title.
func TestKeysOfIngestionLines(t *testing.T) {
	for text, title := range map[string]string{
		`{"sections":[{"text":"# a"}]}`:                                                "a",
		`{"id":"x","sections":[{"text":"#"}]}`:                                         "x",
		`{"document":{"id":"x","sections":[{"text":"- *"}],"Title":"y"}}`:              "x",
		`{"title":"y","TITLE":"z","sections":[{"text":"a","Text":"b"}],"Sections":[]}`: "y",
		`{"doCument":{"seCtions":[{"teXt":"#"}]}}`:                                     "",
		`{"Document":{"sections":[{"text":"a"}]}}`:                                     "",
		`{"Sections":[{"text":"a"}]}`:                                                  "",
	} {
		doc, err := guard.Result(func() index.Document { return newFileReader(t.Context(), nil).parseLine([]byte(text), day(2026, 1, 1)) })
		if doc.Title != title || (err == nil) != (title != "") {
			t.Errorf("%s: title %q, want %q; %v", text, doc.Title, title, err)
		}
	}
}

func TestLongLines(t *testing.T) {
	long := `{"sections":[{"text":"` + strings.Repeat("x", longestLine) + `"}]}`
	lines := newLineReader(strings.NewReader("a\n" + long + "\nb\n\n" + strings.Repeat("c", 600_000) + "\nend"))
	var got []string
	for {
		text, err := lines.next()
		if err != nil && err != errLongLine {
			break
		}
		if err != nil {
			text = []byte("too long")
		}
		got = append(got, fmt.Sprintf("%.8s %d", text, len(text)))
	}
	if want := "a 1|too long 8|b 1| 0|cccccccc 600000|end 3"; strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}

func FuzzIngestionLine(f *testing.F) {
	f.Add([]byte(line("a", "text")))
	f.Add([]byte(`{"sections":[{"text":"t","link":"http://x/a.md#b"}],"source":"github","metadata":{"a":["b",1,true,null]},"doc_updated_at":1e9}`))
	f.Add([]byte(`{"document":{"sections":[{"text":"# a\n\n## b\n"}],"source":"web","external_access":{"external_user_emails":["A"]}}}`))
	f.Add([]byte(`{"doCument":{"seCtions":[{"teXt":"#"}]}}`))
	f.Add([]byte(`{"document":{"sections":[{"text":"#"}]}}`))
	f.Add([]byte(`{"id":"\u200b","sections":[{"text":"*"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := guard.Result(func() index.Document { return newFileReader(t.Context(), nil).parseLine(data, day(2026, 1, 1)) })
		if err == nil {
			checkDocument(t, &doc)
		}
	})
}

func FuzzMarkdownFile(f *testing.F) {
	f.Add([]byte("# Title\n\ntext"))
	f.Add([]byte("\xff\xfeh\x00i\x00"))
	f.Add([]byte("\xef\xbb\xbfa\x1b]0;x\x07b\xc2\x9b31mc\r\nd\x85"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := FromMarkdown(data, index.Document{ID: "x", Title: "t"}, false)
		if err == nil {
			checkDocument(t, &doc)
		}
	})
}

// TestRealPages reads every page and text among ugly real files.
func TestRealPages(t *testing.T) {
	root := filepath.Join(dataFolder(t), "corpora", "mixed-formats")
	must(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		f, reason := formatOf(path)
		if reason != "" || f.lines {
			return nil
		}
		info, err := entry.Info()
		must(t, err)
		handle, err := os.Open(path)
		must(t, err)
		defer handle.Close()
		target := &target{path: filepath.ToSlash(root), state: rootState{}}
		began := time.Now()
		last := newFileReader(t.Context(), nil).readWhole(&task{file: foundFile{path: filepath.ToSlash(path), name: "x", info: info, format: f}, target: target}, handle)
		for i := range last.documents {
			checkDocument(t, &last.documents[i])
		}
		if took := time.Since(began); took > 2*time.Second || last.Reason != "" {
			t.Logf("%s (%d KB): %v %s", path, info.Size()>>10, took, last.Reason)
		}
		return nil
	}))
}

// TestDatesThatCannotBeWritten: a file's date that no client could read counts as unknown.
func TestDatesThatCannotBeWritten(t *testing.T) {
	doc, err := FromMarkdown([]byte("text"), index.Document{ID: "a", UpdatedAt: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}, false)
	must(t, err)
	if !doc.UpdatedAt.IsZero() {
		t.Errorf("dated %v", doc.UpdatedAt)
	}
}

// Text that was decoded wrongly once has C1 characters, which introduce control strings; nothing is lost after them.
func TestTextAfterIntroducersStays(t *testing.T) {
	for text, want := range map[string]string{
		"said \u00e2\u20ac\u0153yes\u00e2\u20ac\u009d and left; \u00e2\u20ac\u0153no\u00e2\u20ac\u009d too.": "said \u00e2\u20ac\u0153yes\u00e2\u20ac and left; \u00e2\u20ac\u0153no\u00e2\u20ac too.",
		"a\x1bPtext\x1b[0m b": "atext b", "a\x1b]0;title\ab": "ab", "a\u009d0;title\u009cb": "ab", "a\x1b]open\nb": "aopen\nb",
	} {
		if got := cleanText(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestUnknownSource(t *testing.T) {
	for source, want := range map[string]string{"nope": `unknown source "nope"`, "slakc": `unknown source "slakc"; did you mean "slack"?`} {
		if err := CheckSource(source); err == nil || err.Error() != want {
			t.Errorf("%s: %v", source, err)
		}
	}
}
