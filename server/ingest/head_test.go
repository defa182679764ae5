package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quarry/server/index"
)

// headOf reads a text by the name of its file and returns its document; the file's time is that of 2001.
func headOf(t *testing.T, file, text string) index.Document {
	t.Helper()
	f, reason := formatOf(file)
	if reason != "" {
		t.Fatal(reason)
	}
	d, err := resultOf(newFileReader(t.Context(), nil), f, []byte(text), index.Document{ID: "x", Title: "Name", Origin: "/d/" + file, Type: f.name, UpdatedAt: day(2001, 2, 3)})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	checkDocument(t, &d)
	return d
}

// TestDatesOfTexts: the date that an author wrote counts, in the forms of the programs that write such texts.
func TestDatesOfTexts(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2024, 3, 5, hour, minute, 0, 0, time.UTC) }
	for text, want := range map[string]time.Time{
		"---\ncreated: 2024-03-05\n---\nx": at(0, 0), "---\ncreated: 2024-03-05T14:30\n---\nx": at(14, 30), "---\ncreated: \"[[2024-03-05]]\"\n---\nx": at(0, 0), "---\ncreated: [[2024-03-05]]\n---\nx": at(0, 0),
		"---\ndate created: Tuesday, March 5th 2024, 2:30:00 pm\n---\nx": at(14, 30), "---\ndate modified: 2024-03-05 14:30:00\ncreated: 2020-01-01\n---\nx": at(14, 30),
		"---\ndate: 2024/02/05 10:00:00\nupdated: 2024/03/05 14:30:00\n---\nx": at(14, 30), "---\ndate: 2024-03-05 14:30 +0100\n---\nx": at(13, 30), "---\nlast_modified_at: 2024-03-05\n---\nx": at(0, 0),
		"---\ndates:\n  created: 2020-01-01\n  updated: 2024-03-05\n---\nx": at(0, 0), "+++\n[extra]\nupdated = 2024-03-05\n+++\nx": at(0, 0),
		"---\nlast_update:\n  date: 2024-03-05\n  author: Ana\n---\nx": at(0, 0), "---\ndate: 5. März 2024\n---\nx": at(0, 0), "---\ndate: 5 de marzo de 2024\n---\nx": at(0, 0), "---\ndate: 2024年3月5日\n---\nx": at(0, 0),
		"---\ndate: March 5, 2024\n---\nx": at(0, 0), "---\npublishDate: 2024-03-05T14:30:00+01:00\n---\nx": at(13, 30), "+++\ndate = 2024-03-05T14:30:00Z\n+++\nx": at(14, 30), "+++\nupdated = 2024-03-05 14:30:00\ndate = 2020-01-01\n+++\nx": at(14, 30),
		";;;\n\"title\": \"x\",\n\"date\": \"2024/03/05\"\n;;;\n\nx": at(0, 0), "\"title\": \"x\",\n\"date\": \"2024/03/05\"\n;;;\n\nx": at(0, 0), "title: x\ndate: 2024-03-05\n---\nx": at(0, 0), "Title: x\nDate: 2024-03-05\n\nx": at(0, 0),
		"% x\n% Ana\n% 2024-03-05\n\nx": at(0, 0), "<!--\n.. title: x\n.. date: 2024-03-05\n-->\nx": at(0, 0), "---toml\ndate = 2024-03-05\n---\nx": at(0, 0), "{\"date\": \"2024-03-05\"}\n\nx": at(0, 0),
		"---\ncreatedAt: 2024-03-05\n---\nx": at(0, 0), "---\nupdatedAt: 2024-03-05\n---\nx": at(0, 0), "---\nlastModified: 2024-03-05\n---\nx": at(0, 0), "---\npublish_date: 2024-03-05\n---\nx": at(0, 0),
		"{\n\"lastmod\": \"2024-03-05\"\n}\n\nx": at(0, 0), "created:: [[2024-03-05]]\n\n- x": at(0, 0), "created:: [[Mar 5th, 2024]]\n- x": at(0, 0), "updated:: 2024/03/05\n- x": at(0, 0),
	} {
		if d := headOf(t, "a.md", text); !d.UpdatedAt.Equal(want) {
			t.Errorf("%q is dated %v, want %v", text, d.UpdatedAt, want)
		}
	}
	for file, text := range map[string]string{
		"_posts/2024-03-05-oak.md": "---\nlayout: post\n---\nx", "journals/2024_03_05.md": "- x", "2024-03-05.md": "x", "2024-03-05 Tuesday.md": "x", "blog/2024-03-05-oak/index.mdx": "x", "2024-03-05-oak.org": "x",
		"2024/03/05/oak.md": "x", "2024/03/05.md": "x", "2024/3/5/oak/index.md": "x", "2024/03-05.md": "x", "20240305-oak.md": "x", "202403051430 oak.md": "x", "2024-3-5-oak.md": "x", "2024-03-05T1430 oak.md": "x",
		"a.org": "#+TITLE: Oak\n#+DATE: <2024-03-05 Tue>\n\n* x", "a.rst": "Oak\n===\n\n:Date: 2024-03-05\n\nx", "b.rst": ".. title: Oak\n.. date: 2024-03-05\n\nx", "a.adoc": "= Oak\nAna Ortiz <ana@acme.example>\nv1.0, 2024-03-05: second\n\nx",
		"b.adoc": "= Oak\n:revdate: 2024-03-05\n\nx", "c.adoc": "= Oak\nAna Ortiz <ana@acme.example>\nMarch 5, 2024\n\nx",
	} {
		if d := headOf(t, file, text); !d.UpdatedAt.Equal(at(0, 0)) {
			t.Errorf("%s is dated %v", file, d.UpdatedAt)
		}
	}
	if d := headOf(t, "a.org", "#+DATE: [2024-03-05 Tue 14:30]\nx"); !d.UpdatedAt.Equal(at(14, 30)) {
		t.Error(d.UpdatedAt)
	}
	for file, text := range map[string]string{"a.md": "---\ndate: 12\n---\nx", "b.md": "---\ndate: never in May\n---\nx", "2024-13-05.md": "x", "2024-03-051.md": "x", "12024-03-05.md": "x", "2024/13/05/x.md": "x", "2024/03/05/a/x.md": "x", "2024/05.md": "x", "1234/03/05/x.md": "x", "2024-03-05-oak/README.md": "x", "20241234.md": "x", "c.md": "---\ncreated: 2024-02-31\n---\nx", "d.md": "{\nx\n}\n"} {
		if d := headOf(t, file, text); !d.UpdatedAt.Equal(day(2001, 2, 3)) {
			t.Errorf("%s is dated %v", file, d.UpdatedAt)
		}
	}
}

func TestTitlesOfTexts(t *testing.T) {
	for text, test := range map[string]struct{ file, title string }{
		"<h1 align=\"center\">Oak <em>tools</em></h1>\n\nx": {"a.md", "Oak tools"}, "<!-- licence -->\n\n<div align=center>\n\n<h1>\n  <a href=x>Oak</a>\n</h1>\n\n</div>\n\n# Other": {"b.md", "Oak"},
		"<h1 align=center><img src=x alt=\"Oak logo\"></h1>\n\nx": {"c.md", "Oak logo"}, "<!-- <h1>no</h1> -->\n\nOak\n===\n\nx": {"d.md", "Oak"}, "```\n<h1>no</h1>\n```\n\n# Oak": {"e.md", "Oak"}, "    <h1>no</h1>\n\nx": {"f.md", "Name"},
		"{\n  \"title\": \"Oak post\",\n  \"tags\": [\"a\"]\n}\n\nx": {"g.md", "Oak post"}, "title:: Oak page\n\n- x": {"h.md", "Oak page"}, "{{ x }}\n# Oak": {"i.md", "Oak"}, "Title: Oak\nand prose": {"j.md", "Name"}, "Title: Oak: a guide\nTags: a, b\n\nx": {"k.md", "Oak: a guide"}, "% Oak\n\nx": {"l.md", "Oak"},
		"// comment\n:toc:\n\n= Oak\n:x: y\n\nx": {"c.adoc", "Oak"}, "# Oak\n\nx": {"d.adoc", "Oak"}, "x\n\n= Oak": {"e.adoc", "Name"}, "  #+TITLE:Oak\nx": {"c.org", "Oak"},
		"#+title: Oak notes\n#+AUTHOR: Ana\n\n* First": {"a.org", "Oak notes"}, "* First\n-----\n": {"b.org", "Name"}, "= Oak guide\nAna <a@b.example>\n\n== First\n": {"a.adoc", "Oak guide"}, ":title: Oak\n\nx": {"b.adoc", "Oak"},
		".. _oak:\n\n=====\n Oak\n=====\n\nx": {"a.rst", "Oak"}, ".. comment\n\nOak guide\n---------\n\nFirst\n=====\n": {"b.rst", "Oak guide"}, "x\n\n----\n\ny": {"c.rst", "Name"},
	} {
		d := headOf(t, test.file, text)
		if d.Title != test.title {
			t.Errorf("%q is titled %q, want %q", text, d.Title, test.title)
		}
		if strings.HasPrefix(text, "{\n") && strings.Contains(d.Chunks[0].Text, "title") {
			t.Errorf("front matter in %q", d.Chunks[0].Text)
		}
	}
	if d := headOf(t, "a.org", "#+title: Oak\n#+AUTHOR: Ana\nx"); len(d.Authors) != 1 || d.Authors[0].Name != "Ana" {
		t.Errorf("%+v", d.Authors)
	}
}

// TestManyKeysAreNamed: what is beyond the bound of metadata is left out with a note.
func TestManyKeysAreNamed(t *testing.T) {
	for keys, want := range map[int]int{mostMetadata: 0, mostMetadata + 1: 1} {
		text := "---\n"
		for i := range keys {
			text += fmt.Sprintf("key%d: x\n", i)
		}
		r := newFileReader(t.Context(), nil)
		if d, err := documentBy(t, r, "a.md", []byte(text+"---\nx")); err != nil || len(d.Metadata) != mostMetadata || r.leftOut.Count != want {
			t.Errorf("%d keys: %d stored, %+v, %v", keys, len(d.Metadata), r.leftOut, err)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add("a.md", "{\"title\": \"x\"}\n\nbody")
	f.Add("2024-03-05.md", "created:: [[Mar 5th, 2024]]\n- x")
	f.Add("a.adoc", "= T\nA <a@b>\nv1, 2024-03-05: x\n")
	f.Add("a.rst", "==\nT\n==\n:Date: 3月 05, 2024")
	f.Add("a.md", "<h1 align=center><img alt=x></h1>")
	f.Add("2024/03/05/a.md", ";;;\n\"date\": 1\n;;;\nx")
	f.Add("a.md", "% T\n% A\nTue Mar  5 09:30:00 EST 2024")
	f.Fuzz(func(t *testing.T, file, text string) {
		if kind, reason := formatOf(file); reason == "" && kind.text != nil && len(text) < 1<<16 {
			_, _ = documentOf(t, file, []byte(text))
		}
	})
}

// TestInvalidFrontMatter: what YAML refuses is read line by line, with its lists and maps.
func TestInvalidFrontMatter(t *testing.T) {
	r := newFileReader(t.Context(), nil)
	d, err := documentBy(t, r, "a.md", []byte("---\ntitle: On call: a guide\n# comment\ntags:\n- a: b\n- \"c\"\nauthors:\n- name: Ana: Ortiz\n  email: ana@acme.example\n"+
		"summary: |\n  Note: this\nnested:\n  k: it's: so\n  l: [x, y]\nstray words\n---\nx"))
	if got := fmt.Sprint(d.Title, d.Authors, d.Metadata); err != nil || got != "On call: a guide[{Ana: Ortiz ana@acme.example}]"+
		" [{tags.a [b] true} {tags [c] true} {summary [Note: this] false} {nested.k [it's: so] false} {nested.l [x y] true}]" {
		t.Errorf("%s, %v", got, err)
	}
	if want := "some lines of the front matter: its syntax is not valid: 1 line cannot be read"; strings.Join(r.leftOut.Reasons, "") != want {
		t.Errorf("%q", r.leftOut.Reasons)
	}
}
