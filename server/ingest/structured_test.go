package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/guard"
	"quarry/internal/testkit/filetest"
	"quarry/server/index"
	"quarry/server/ingest/pdf"
	"quarry/server/ingest/pdf/engine"
	"quarry/server/ingest/worker"
)

// asReader is the argument with which the tests' program reads PDF files.
const asReader = "read"

// brokenEngineName instead of a folder is for brokenEngine.
const brokenEngineName = "broken"

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != asReader {
		os.Exit(m.Run())
	}
	var reader pdf.Engine = engine.New(os.Args[2])
	if os.Args[2] == brokenEngineName {
		reader = &brokenEngine{}
	}
	if err := ServeReaders(context.Background(), os.Stdin, os.Stdout, reader); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newTestReaders returns readers that run this program.
func newTestReaders(t testing.TB) *Readers {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	readers := NewReaders(worker.Program{Path: program, Arguments: []string{asReader, t.TempDir()}}, 10*time.Second)
	t.Cleanup(readers.Close)
	return readers
}

// documentOf reads a file by its name and content.
func documentOf(t testing.TB, name string, data []byte) (index.Document, error) {
	t.Helper()
	return documentBy(t, newFileReader(t.Context(), nil), name, data)
}

func documentBy(t testing.TB, reader *fileReader, name string, data []byte) (index.Document, error) {
	t.Helper()
	f, reason := formatOf(name)
	if reason != "" {
		t.Fatal(reason)
	}
	d, err := resultOf(reader, f, data, index.Document{ID: "x", Title: name, Origin: "/d/" + name, Type: f.name})
	if err == nil {
		checkDocument(t, &d)
	}
	return d, err
}

func resultOf(r *fileReader, f format, data []byte, defaults index.Document) (index.Document, error) {
	return guard.Result(func() index.Document { return r.document(f, data, defaults) })
}

func textOf(d *index.Document) string {
	var text strings.Builder
	for i := range d.Chunks {
		text.WriteString(d.Chunks[i].Text)
	}
	return text.String()
}

func TestTablesKnowTheirLines(t *testing.T) {
	data := []byte("name;note\r\nAda;\"two\r\nlines\"\r\n")
	for i := range 400 {
		data = fmt.Appendf(data, "person %d;%s\r\n", i, strings.Repeat("word ", 8))
	}
	d, err := documentOf(t, "people.csv", data)
	if err != nil || len(d.Chunks) < 5 || len(d.Positions) != len(d.Chunks) {
		t.Fatalf("%d chunks, %d positions, %v", len(d.Chunks), len(d.Positions), err)
	}
	if want := "| name | note |\n|---|---|\n| Ada | two lines |\n| person 0 | "; !strings.HasPrefix(d.Chunks[0].Text, want) {
		t.Errorf("%q", d.Chunks[0].Text)
	}
	for i, chunk := range d.Chunks {
		p := d.Positions[i]
		source := strings.Split(strings.TrimRight(string(data[p.Start:p.End]), "\r\n"), "\r\n")
		rows := strings.Split(strings.TrimSpace(chunk.Text), "\n")
		if !strings.HasPrefix(rows[0], "| name | note |") || p.LastLine-p.FirstLine+1 != len(source) {
			t.Fatalf("chunk %d: lines %d to %d: %q", i, p.FirstLine, p.LastLine, chunk.Text)
		}
		last, _, _ := strings.Cut(source[len(source)-1], ";")
		if !strings.HasPrefix(rows[len(rows)-1], "| "+last+" |") {
			t.Errorf("chunk %d ends with %q, its lines with %q", i, rows[len(rows)-1], source[len(source)-1])
		}
	}
}

func TestDelimiters(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,2\n": "| a | b |", "a;b\n1,5;2\n3,5;4\n": "| a | b |", "a|b\n1|2\n": "| a | b |", "a\tb, c\n1\t2\n": "| a | b, c |",
		"only one\ncolumn, really\n": "only one",
	} {
		if d, err := documentOf(t, "x.csv", []byte(text)); err != nil || !strings.HasPrefix(textOf(&d), want) {
			t.Errorf("%q became %q, %v", text, textOf(&d), err)
		}
	}
}

func TestCodeKnowsItsLines(t *testing.T) {
	var source strings.Builder
	for i := range 900 {
		fmt.Fprintf(&source, "# comment %d\nprint(%d)\n", i, i)
	}
	d, err := documentOf(t, "tool.py", []byte(source.String()))
	if err != nil || d.Title != "tool.py" || len(d.Outline) > 0 || len(d.Positions) != len(d.Chunks) {
		t.Fatalf("%q %v %d %v", d.Title, d.Outline, len(d.Positions), err)
	}
	for i, chunk := range d.Chunks {
		p := d.Positions[i]
		if code := source.String()[p.Start:p.End]; chunk.Text != "" && strings.TrimRight(chunk.Text, "\n") != "```py\n"+strings.TrimRight(code, "\n")+"\n```" {
			t.Fatalf("chunk %d: %q, its lines %q", i, chunk.Text, code)
		}
	}
}

func TestStructuredFiles(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"a.json":  {`{"b": ["` + strings.Repeat("x", 500) + `", 1]}`, "```json\n{\n \"b\": [\n  \"xxx"},
		"b.json":  {"{\n\t\"b\": 1}", "```json\n{\n\t\"b\": 1}\n```"},
		"n.ipynb": {`{"metadata":{"title":"Trial","language_info":{"name":"python"}},"cells":[{"cell_type":"markdown","source":["# Plan\n","go"]},{"cell_type":"code","source":"1+1","outputs":[{"data":{"text/plain":["2"],"image/png":"AAAA","application/json":{"a":1}}},{"text":"done"}]}]}`, "# Plan\ngo\n\n```python\n1+1\n```\n\n```\n2\n```\n\n```\ndone\n```"},
		"c.ics": {"BEGIN:VCALENDAR\r\nX-WR-CALNAME:Team\r\nBEGIN:VEVENT\r\nSUMMARY:Late\r\nDTSTART:20240302T100000Z\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:Plan\\, long\r\n er\r\nDTSTART;TZID=Europe/Berlin:20240301T100000\r\nATTENDEE;CN=\"Bo: B\":mailto:bo@acme.example\r\n" +
			"DESCRIPTION:First\\n\\n# second\r\nBEGIN:VALARM\r\nDESCRIPTION:ring\r\nEND:VALARM\r\nLOCATION:Room 1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
			"## Plan, longer\n\nWhen: 2024-03-01 10:00 Europe/Berlin\nWhere: Room 1\nAttendees: Bo: B <bo@acme.example>\n\nFirst\n\n\\# second\n\n## Late\n\nWhen: 2024-03-02 10:00 UTC"},
		"c.vcf": {"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ana\r\n  Ortiz\r\nPHOTO:AAAA\r\nitem1.EMAIL;TYPE=INTERNET:ana@acme.example\r\nEMAIL:a@b.example\r\nORG:Acme;R\\;D\r\nNOTE:# one\\ntwo\r\nEND:VCARD\r\n" +
			"BEGIN:vcard\r\nTEL:1\r\nEND:VCARD\r\n", "## Ana Ortiz\n\nOrganization: Acme, R;D\nEmail: ana@acme.example, a@b.example\nNote: # one two\n\n## 1\n\nPhone: 1"},
	} {
		if d, err := documentOf(t, name, []byte(test.data)); err != nil || !strings.HasPrefix(textOf(&d), test.want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, textOf(&d), test.want)
		}
	}
	for name, data := range map[string]string{"x.ipynb": `{"cells":`, "y.ipynb": `{}`, "x.ics": "hello: you", "y.ics": "BEGIN:VCALENDAR\nEND:VCALENDAR\n", "x.vcf": "hello: you", "y.vcf": "BEGIN:VCARD\nFN:\n"} {
		if d, err := documentOf(t, name, []byte(data)); err == nil {
			t.Errorf("%s: %q", name, textOf(&d))
		}
	}
}

const message = "Received: from x\r\nthis is no field\r\nSubject: =?utf-8?q?R=C3=BCckfall?=\r\nFrom: \"Ada L.\" <Ada@Acme.example>\r\nTo: bo@acme.example, Cy <cy@acme.example>\r\n" +
	"Date: Tue, 02 Jan 2024 03:04:05 +0100\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: multipart/alternative; boundary=C\r\n\r\n" +
	"--C\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>never <b>shown</b></p>\r\n--C\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n# Gr=FC=DFe\r\n--C--\r\n" +
	"--B\r\nContent-Type: application/octet-stream; name=plan.docx\r\nContent-Disposition: attachment; filename=\"../plan.docx\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n" +
	"--B\r\nContent-Type: image/png; name=\"=?utf-8?q?b=C3=BC.png?=\"\r\n\r\nx\r\n--B\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner\r\nFrom: Bo\r\n\r\nforwarded text\r\n--B--\r\n"

func TestMail(t *testing.T) {
	attached := filetest.DOCX(filetest.Paragraph("H1", "Steps") + filetest.Paragraph("", "Stop the service."))
	data := fmt.Sprintf(message, encodeLines(attached))
	d, err := documentOf(t, "m.eml", []byte(data))
	want := "# Grüße\n\n## Attachment: plan.docx\n\n# Steps\n\nStop the service.\n\n## Message: Inner\n\nFrom: Bo\n\nforwarded text"
	if err != nil || textOf(&d) != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, textOf(&d), want)
	}
	if d.Title != "Rückfall" || !d.UpdatedAt.Equal(time.Date(2024, 1, 2, 2, 4, 5, 0, time.UTC)) ||
		!slices.Equal(d.Authors, []index.Person{{Name: "Ada L.", Email: "ada@acme.example"}}) {
		t.Errorf("%+v", d)
	}
	if got := fmt.Sprint(d.Metadata); got != "[{to [bo@acme.example cy@acme.example] true} {attachments [plan.docx bü.png] true}]" {
		t.Error(got)
	}
	var levels []int
	for _, heading := range d.Outline {
		levels = append(levels, heading.Level)
	}
	if !slices.Equal(levels, []int{2, 3, 2}) { // the plain text has no heading, and those of the attachment are below its name
		t.Errorf("%+v", d.Outline)
	}
}

func TestSourceOfMail(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/a.eml": "Subject: x\n\nhello\n", "d/b.txt": "hello"})
	l.add(Options{}, "d")
	if a, b := l.document("d/a.eml").Source, l.document("d/b.txt").Source; a != "imap" || b != "file" {
		t.Errorf("%s, %s", a, b)
	}
}

func encodeLines(data []byte) string {
	const alphabet = 57
	var out strings.Builder
	for chunk := range slices.Chunk(data, alphabet) {
		fmt.Fprintf(&out, "%s\r\n", base64.StdEncoding.EncodeToString(chunk))
	}
	return out.String()
}

// TestLyingNames: the content of a file decides how it is read, and a reason says what the file is.
func TestLyingNames(t *testing.T) {
	docx := filetest.DOCX(filetest.Paragraph("", "Stop the service."))
	for _, name := range []string{"plan.docx", "plan.pptx", "plan.md", "plan", "plan.json", "plan.eml"} {
		if d, err := documentOf(t, name, docx); err != nil || d.Type != "docx" || !strings.Contains(textOf(&d), "Stop the service.") {
			t.Errorf("%s: %s %q %v", name, d.Type, textOf(&d), err)
		}
	}
	compound := "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 600)
	for name, test := range map[string]struct{ data, want string }{
		"a.docx": {"plain text", "it contains text/plain, not DOCX"}, "b.xlsx": {"\x89PNG\r\n\x1a\n", "it contains image/png, not XLSX"},
		"c.docx": {compound, "Office 97-2003"}, "d.xlsx": {compound + "E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00", "encrypted"},
		"e.docx": {string(filetest.Archive(filetest.Part{Name: "a.txt", Content: "x"})), "ZIP archive"}, "f.docx": {"", "no text"},
		"g.eml": {"\x89PNG\r\n\x1a\n", "image/png"}, "h.docx": {"PK\x03\x04", "damaged"},
	} {
		if d, err := documentOf(t, name, []byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q %v", name, textOf(&d), err)
		}
	}
}

func TestBookIsReadInOrder(t *testing.T) {
	d, err := documentOf(t, "b.epub", filetest.EPUB("<h1>One</h1><p>first</p>", "<h1>Two</h1><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"))
	if want := "# One\n\nfirst\n\n# Two\n\n|a|b|\n|---|---|\n|1|2|"; err != nil || textOf(&d) != want || d.Title != "Rollback plan" || d.Type != "epub" {
		t.Errorf("%v %q %q %q", err, d.Title, d.Type, textOf(&d))
	}
}

// TestLongTablesKeepTheirHeader reads a table that is longer than what is parsed at once.
func TestLongTablesKeepTheirHeader(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("<row><c t=\"str\"><v>name</v></c><c t=\"str\"><v>note</v></c></row>")
	for i := range 12_000 {
		fmt.Fprintf(&rows, `<row><c t="str"><v>person %d</v></c><c t="str"><v>some text for them</v></c></row>`, i)
	}
	d, err := documentOf(t, "x.xlsx", filetest.XLSX(rows.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i, chunk := range d.Chunks {
		if !strings.Contains(chunk.Text, "| name | note |\n|---|---|\n") || !slices.Equal(chunk.Headings, []string{"Budget 2024"}) {
			t.Fatalf("chunk %d of %d: %q %q", i, len(d.Chunks), chunk.Headings, chunk.Text)
		}
	}
}

// TestBrokenStructuredFiles: damage costs at most the file itself.
func TestBrokenStructuredFiles(t *testing.T) {
	files := map[string][]byte{
		"m.eml": []byte(fmt.Sprintf(message, "UEsDBA==")), "t.csv": []byte("a;b\n\"x\ny\";2\n3;4\n"), "n.ipynb": []byte(`{"cells":[{"cell_type":"code","source":["a"],"outputs":[{"text":["x"]}]}]}`),
		"c.ics": []byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\nDTSTART:20240101\nEND:VEVENT\nEND:VCALENDAR\n"), "b.epub": filetest.EPUB("<h1>x</h1>"),
		"j.json": []byte(`{"a":[1,2,{"b":null}]}`), "s.go": []byte("package x\n"), "c.vcf": []byte("BEGIN:VCARD\nFN:A\nEND:VCARD\n"),
	}
	for name, data := range files {
		for broken := range filetest.Broken(data, 3, 200) {
			_, _ = documentOf(t, name, broken)
		}
	}
	for name, data := range map[string]string{
		"deep.eml": "Subject: x\n" + strings.Repeat("Content-Type: message/rfc822\n\n", 50),
		"wide.eml": "Subject: x\nContent-Type: multipart/mixed; boundary=B\n\n--B\n" + strings.Repeat("\nx\n--B\n", 2_000),
	} {
		r := newFileReader(t.Context(), nil)
		f, _ := formatOf(name)
		d, err := resultOf(r, f, []byte(data), index.Document{ID: "x"})
		if err != nil || d.Title != "x" || r.leftOut.Count != 1 || !strings.Contains(r.leftOut.Reasons[0], "too many") {
			t.Errorf("%s: %v, %v", name, err, r.leftOut)
		}
	}
}

func FuzzStructured(f *testing.F) {
	f.Add("m.eml", []byte(fmt.Sprintf(message, "UEsDBA==")))
	f.Add("t.csv", []byte("a;b\n\"x\ny\";2\n3;4\n"))
	f.Add("t.tsv", []byte("a\tb\n"))
	f.Add("n.ipynb", []byte(`{"cells":[{"cell_type":"code","source":["a"],"outputs":[{"text":["x"]}]}]}`))
	f.Add("c.ics", []byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\nDTSTART:20240101\nEND:VEVENT\nEND:VCALENDAR\n"))
	f.Add("c.vcf", []byte("BEGIN:VCARD\nitem1.TEL;TYPE=x:1\n 2\nEND:VCARD\nBEGIN:VCARD\nFN:A;b\nEND:VCARD\n"))
	f.Add("c.vcs", []byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY;QUOTED-PRINTABLE;CHARSET=ISO-8859-1:Gr=FC=DF=\ne\nDTSTART;TZID=/x/Europe/Berlin:20240305T143000\nATTENDEE;CN=\"A;b\":MAILTO:a@b\nBEGIN:VEVENT\nDESCRIPTION:K\xc3\n \xbc\nEND:VEVENT"))
	f.Add("c.vcf", []byte("BEGIN:VCARD\nVERSION:2.1\nN;ENCODING=QUOTED-PRINTABLE;CHARSET=SHIFT_JIS:=83A;=\n=83C\nNOTE;BASE64:QUI=\n\nBEGIN:VCARD\nIMPP:x"))
	f.Add("n.ipynb", []byte(`{"metadata":{"authors":["A",{"name":"B"}],"title":7},"worksheets":[{"cells":[{"cell_type":"heading","level":"2","source":"x","outputs":[7,{"ename":"E","traceback":"t"}]}]}]}`))
	f.Add("t.csv", []byte("sep=;\r\na;b|c\r\n\"1\n2\";\xff\r\n"))
	f.Add("j.json", []byte(`{"a":[1,2,{"b":null}]}`))
	f.Add("deep.json", []byte(`[[["[\"",{"a":[{}]}]]]`))
	f.Add("b.epub", filetest.EPUB("<h1>x</h1>"))
	f.Add("s.go", []byte("package x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if _, reason := formatOf(name); reason != "" || len(data) > 1<<16 {
			return
		}
		var indented bytes.Buffer
		if json.Indent(&indented, data, "", " ") == nil && indented.Len() > indentedSize(string(data)) {
			t.Errorf("%d bytes of %q", indented.Len(), data)
		}
		d, err := documentOf(t, name, data)
		at := 0
		for i, p := range d.Positions {
			if err == nil && (p.Start < at || p.End < p.Start || p.End > len(data) || i >= len(d.Chunks)) {
				t.Fatalf("%q: %+v", data, d.Positions)
			}
			at = p.End
		}
	})
}

// TestCorpusOfFormats reads real documents: each is read, or the reason is one of those that are true of this corpus. With
// -v it prints the table of docs/library.md.
func TestCorpusOfFormats(t *testing.T) {
	root := filepath.Join(dataFolder(t), "corpora", "mixed-formats")
	reader := newFileReader(t.Context(), newTestReaders(t))
	_, err := documentBy(t, reader, "start.pdf", filetest.PDF("x", "y"))
	must(t, err)
	known := map[string]string{"loremipsum-flat.pdf": "only pictures", "single_table.pdf": "only pictures", "password.pdf": "encrypted",
		"table-multi-row-column-cells.pdf": "only pictures", "password_protected.xlsx": "encrypted", "fake-encrypted.eml": "encrypted", "empty.eml": "no text"}
	rows := map[string]*formatRow{}
	must(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		f, reason := formatOf(path)
		name := strings.ToLower(filepath.Ext(path))
		row := rows[name]
		if row == nil {
			row = &formatRow{reasons: map[string]int{}}
			rows[name] = row
		}
		row.files++
		if reason != "" || f.lines {
			row.reasons[reason]++
			return nil
		}
		data, err := os.ReadFile(path)
		must(t, err)
		began := time.Now()
		_, failure := documentBy(t, reader, filepath.Base(path), data)
		row.took += time.Since(began)
		row.bytes += len(data)
		if failure != nil {
			row.reasons[failure.Error()]++
		} else {
			row.read++
		}
		if want := known[entry.Name()]; f.data != nil && ((failure == nil) != (want == "") || failure != nil && !strings.Contains(failure.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, failure, want)
		}
		return nil
	}))
	t.Log("\n" + formatTable(rows))
}

// formatRow is what became of the files of an extension.
type formatRow struct {
	files, read, bytes int
	took               time.Duration
	reasons            map[string]int
}

func formatTable(rows map[string]*formatRow) string {
	var out strings.Builder
	out.WriteString("| extension | files | read | MB/s | skipped |\n|---|---|---|---|---|\n")
	for _, name := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return cmp.Or(rows[b].files-rows[a].files, strings.Compare(a, b))
	}) {
		row := rows[name]
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(row.reasons)) {
			reasons = append(reasons, fmt.Sprintf("%d: %s", row.reasons[reason], reason))
		}
		speed := ""
		if row.bytes > 0 {
			speed = fmt.Sprintf("%.1f", float64(row.bytes)/1e6/row.took.Seconds())
		}
		fmt.Fprintf(&out, "| %s | %d | %d | %s | %s |\n", cmp.Or(name, "none"), row.files, row.read, speed, strings.Join(reasons, "; "))
	}
	return out.String()
}
