package filetest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// encrypted is the flag of an archive's entry that needs a password.
const encrypted = 1

// Samples returns a small sound file of each format, by extension.
func Samples() map[string][]byte {
	const text = "Rollback plan for zebraquagga"
	export := Archive(Part{Name: "users.json", Content: `[{"id":"U1","name":"ana"}]`},
		Part{Name: "channels.json", Content: `[{"id":"C1","name":"general"}]`},
		Part{Name: "general/2024-03-01.json", Content: `[{"user":"U1","ts":"1709280000.0001","text":"` + text + `"}]`})
	return map[string][]byte{
		"docx": DOCX(Paragraph("H1", "Plan") + Paragraph("", text)),
		"pptx": PPTX(Shape("title", "Plan") + Shape("body", text)),
		"xlsx": XLSX(`<row r="1"><c r="A1" t="s"><v>0</v></c></row>`, text),
		"odt":  OpenDocument("text", `<text:h text:outline-level="1">Plan</text:h><text:p>`+text+`</text:p>`),
		"ods":  OpenDocument("spreadsheet", `<table:table table:name="A"><table:table-row><table:table-cell><text:p>`+text+`</text:p></table:table-cell></table:table-row></table:table>`),
		"epub": EPUB("<h1>Plan</h1><p>" + text + "</p>"), "pdf": PDF("Plan", text), "zip": export,
		"md": []byte("---\ntitle: Plan\n---\n# Plan\n\n" + text + "\n\n|a|b|\n|-|-|\n|1|2|\n"), "txt": []byte(text),
		"html": []byte("<html><head><title>Plan</title></head><body><h1>Plan</h1><p>" + text + "</p></body></html>"),
		"csv":  []byte("name,value\n" + text + ",1\n"), "json": []byte(`{"plan":"` + text + `"}`), "go": []byte("// " + text + "\npackage plan\n"),
		"ipynb": []byte(`{"cells":[{"cell_type":"markdown","source":["` + text + `"]}],"metadata":{}}`),
		"ics":   []byte("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:" + text + "\r\nDTSTART:20240203T040506Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"),
		"eml":   []byte("From: a@acme.example\r\nSubject: Plan\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\n" + text + "\r\n--x--\r\n"),
		"mbox":  []byte("From ana@acme.example Sat Feb  3 04:05:06 2024\nFrom: ana@acme.example\nMessage-ID: <1@acme.example>\nSubject: Plan\n\n" + text + "\n"),
		"jsonl": []byte(`{"id":"plan","sections":[{"text":"` + text + `"}],"source":"file"}` + "\n"),
	}
}

// Hostile yields broken and malicious files by name: damaged copies of each format, encrypted and lying ones, archives that
// unpack to bomb bytes, and texts of size bytes that cost a naive reader many times as much.
func Hostile(seed uint64, copies, size, bomb int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for extension, data := range Samples() {
			n := 0
			for broken := range Broken(data, seed, copies) {
				if n++; !yield(fmt.Sprintf("broken-%d.%s", n, extension), broken) {
					return
				}
			}
			for _, claimed := range []string{"md", "json", "eml", "docx", "pdf", "zip", "jsonl", "mbox"} { // the name lies
				if !yield(fmt.Sprintf("lying-%s.%s", extension, claimed), data) {
					return
				}
			}
		}
		for _, files := range []map[string][]byte{whole(size, bomb), Amplified(size)} {
			for name, data := range files {
				if !yield(name, data) {
					return
				}
			}
		}
		for name, unit := range repeated() {
			text := slices.Concat([]byte(unit[0]), []byte(strings.Repeat(unit[1], size/len(unit[1]))))
			if !yield(name, text) {
				return
			}
		}
	}
}

// whole are hostile files that are made as one piece.
func whole(size, bomb int) map[string][]byte {
	var words strings.Builder
	for i := range size / 9 {
		fmt.Fprintf(&words, "%08x ", uint32(i)*2654435761)
	}
	return map[string][]byte{
		"bomb.docx":       Bomb("word/document.xml", "<w:p><w:t>", "some words ", bomb),
		"bomb.zip":        Bomb("general/2024-03-01.json", "[", `{"text":"words"},`, bomb),
		"bomb.pdf":        PDFBomb(bomb / 5),
		"encrypted.docx":  Archive(Part{Name: "word/document.xml", Content: "secret", Flags: encrypted}),
		"encrypted.pdf":   PDFOf("/Encrypt 1 0 R/ID[<00><00>]", `<</Filter/Standard/V 2/R 3/Length 128/P -4/O(x)/U(x)>>`),
		"nested.zip":      Archive(Part{Name: "a.zip", Content: string(Archive(Part{Name: "b.zip", Content: "PK\x03\x04"}))}),
		"climbing.zip":    Archive(Part{Name: "../../users.json", Content: "[]"}, Part{Name: "/channels.json", Content: "[]"}),
		"different.txt":   []byte(words.String()),
		"utf-8.md":        []byte("# Caf\xe9 \xff\xfe\x80 \xed\xa0\x80 \xf0\x82\x82\xac"),
		"utf-16.txt":      append([]byte("\xff\xfe"), strings.Repeat("\x00\xd8", size/4)...),
		"zeros.txt":       make([]byte, size),
		"escapes.txt":     []byte("\x1b]52;c;cm0gLXJmIC8=\a\x1b[2J\u202ezebra\u2066" + strings.Repeat("\x1b[31m", 1000)),
		"empty.pdf":       {},
		"compound.docx":   append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 4096)...),
		"front-matter.md": []byte("---\na: &a [x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d]\n---\ntext"),
	}
}

// repeated are hostile texts: what they begin with, and what is repeated up to their size.
func repeated() map[string][2]string {
	return map[string][2]string{
		"paragraphs.md": {"", "a\n\n"}, "headings.md": {"", "# h\n"}, "items.md": {"", "- a\n"}, "quotes.md": {"", "> "},
		"brackets.md": {"", "[a]("}, "stars.md": {"", "*a **b "}, "rows.md": {"|a|b|\n|-|-|\n", "|a|b|\n"}, "fences.md": {"", "```\n~~~\n"},
		"links.md": {"", "[a]: b\n"}, "lines.txt": {"", "a\n\n"}, "line.txt": {"", "x"}, "words.txt": {"", "ab "}, "lines.go": {"", "a\n"},
		"lines.log": {"", "a\n"}, "tags.html": {"", "<p>a"}, "deep.html": {"", "<div>"}, "cells.html": {"<table>", "<tr><td>a"},
		"cells.csv": {"", "a,b\n"}, "quotes.csv": {"a,\"", "\"\","}, "deep.json": {"", "["}, "numbers.json": {"[", "1,"}, "deep.xml": {"", "<a>"},
		"cells.ipynb": {`{"cells":[`, `{"cell_type":"code","source":["a"]},`}, "lines.jsonl": {"", "{}\n"}, "line.jsonl": {`{"sections":"`, "x"},
		"events.ics": {"BEGIN:VCALENDAR\n", "BEGIN:VEVENT\nSUMMARY:a\nEND:VEVENT\n"}, "headers.eml": {"", "From: a\n"}, "headers.mbox": {"From a@b.example Sat Feb  3 04:05:06 2024\n", "To: a\n"},
		"messages.mbox": {"", "From a@b.example Sat Feb  3 04:05:06 2024\nFrom: a\nSubject: a\n\na\n\n"},
		"parts.eml":     {"From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n", "\n--x\n\nhi\n"},
	}
}

// Repository returns the files of a git repository, by path, whose folders each name the next one width times: depth
// objects stand for width^depth folders. With leaf, the innermost folders have a file of that name, else nothing.
func Repository(depth, width int, leaf string) map[string][]byte {
	files := map[string][]byte{".git/HEAD": []byte("ref: refs/heads/main\n")}
	object := func(kind string, content []byte) [sha1.Size]byte {
		whole := append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
		at := sha1.Sum(whole)
		var packed bytes.Buffer
		w := zlib.NewWriter(&packed)
		_, _ = w.Write(whole) // to memory
		_ = w.Close()
		name := fmt.Sprintf("%x", at)
		files[".git/objects/"+name[:2]+"/"+name[2:]] = packed.Bytes()
		return at
	}
	var content []byte
	if leaf != "" {
		content = append(fmt.Appendf(nil, "100644 %s\x00", leaf), make([]byte, sha1.Size)...)
	}
	tree := object("tree", content)
	for range depth {
		content = nil
		for i := range width {
			content = append(fmt.Appendf(content, "40000 %03d\x00", i), tree[:]...)
		}
		tree = object("tree", content)
	}
	const who = "Ana <ana@acme.example> 1709280000 +0000"
	head := object("commit", fmt.Appendf(nil, "tree %x\nauthor %s\ncommitter %s\n\nx\n", tree, who, who))
	files[".git/refs/heads/main"] = fmt.Appendf(nil, "%x\n", head)
	return files
}
