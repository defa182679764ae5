package office_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/server/ingest/office"
)

// read reads an archive as adding it does.
func read(t testing.TB, data []byte) (office.Document, error) {
	t.Helper()
	return readWithin(t, data, office.DefaultLimits())
}

func readWithin(t testing.TB, data []byte, limits office.Limits) (office.Document, error) {
	t.Helper()
	archive, err := office.Open(t.Context(), data, limits, func(string, error) {})
	if err != nil {
		return office.Document{}, err
	}
	switch kind := archive.Kind(); kind {
	case "":
		return office.Document{}, errors.New("no document")
	case office.EPUB:
		book, err := archive.Book()
		return office.Document{Markdown: strings.Join(book.Chapters, "\n"), Properties: book.Properties}, err
	default:
		return archive.Document(kind)
	}
}

var samples = map[string]struct {
	data []byte
	want string
}{
	"docx": {filetest.DOCX(filetest.Paragraph("H1", "Rolling back")+
		`<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id="web"><w:r><w:t>the site</w:t></w:r></w:hyperlink><w:r><w:t xml:space="preserve"> now</w:t><w:br/><w:t>or later.</w:t><w:delText>never</w:delText></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>`+
		filetest.Paragraph("Own", "Steps")+filetest.Item(0, "Stop")+filetest.Item(1, "Wait")+filetest.Item(0, "Start")+
		`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Who</w:t></w:r></w:p></w:tc><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>When|why</w:t></w:r></w:p></w:tc></w:tr>`+
		`<w:tr><w:tc><w:p><w:r><w:t>Ada</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>in</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>side</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`+
		filetest.Paragraph("", "# not a heading"),
		filetest.Words("footnotes.xml", "footnotes", `<w:footnote w:type="separator"><w:p><w:r><w:t>--</w:t></w:r></w:p></w:footnote><w:footnote><w:p><w:r><w:t>As of May.</w:t></w:r></w:p></w:footnote>`),
		filetest.Words("comments.xml", "comments", `<w:comment w:author="Bo"><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment>`)),
		"# Rolling back\n\nSee [the site](https://acme.example/x) now\nor later.\n\n## Steps\n\n1. Stop\n   - Wait\n1. Start\n\n" +
			"| Who | When\\|why |  |\n|---|---|---|\n| Ada in side |\n\n\\# not a heading\n\n# Footnotes\n\nAs of May.\n\n# Comments\n\nBo: Really?"},
	"pptx": {filetest.PPTX(filetest.Shape("body", "Last words\n*One\n*Two"), filetest.Shape("title", "Quarterly\nresults")+filetest.Shape("ftr", "Acme")+
		`<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Q1</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>Q2</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`),
		"## Slide 1: Quarterly results\n\n| Q1 | Q2 |\n|---|---|\n\n### Notes\n\nSay this 1\n\n## Slide 2\n\nLast words\n\n   - One\n   - Two\n\n### Notes\n\nSay this 0\n\n## Headers and footers\n\nAcme"},
	"xlsx": {filetest.XLSX(`<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" t="inlineStr"><is><r><t>Pa</t></r><r><t>id</t></r></is></c><c r="D2"/></row>`+
		`<row r="3"><c r="B3" s="1"><v>45292</v></c><c r="C3" s="2"><v>0.30000000000000004</v></c></row><row r="5"><c r="A5" t="b"><v>1</v></c><c r="B5" s="3"><v>45292.5</v></c></row>`, "Day"),
		"## Budget 2024\n\n| Day | Paid |\n|---|---|\n| 2024-01-01 | 0.3 |\n\n| TRUE | 2024-01-01 12:00 |\n|---|---|"},
	"odt": {filetest.OpenDocument("text", `<text:h text:outline-level="2">Rolling back</text:h><text:p>A<text:s text:c="3"/>b<text:tab/>c <text:a xlink:href="https://acme.example/">site</text:a><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>As of May.</text:p></text:note-body></text:note></text:p>`+
		`<text:list text:style-name="L2"><text:list-item><text:p>Stop</text:p><text:list><text:list-item><text:p>Wait</text:p></text:list-item></text:list></text:list-item></text:list>`+
		`<table:table table:name="T1"><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table>`),
		"## Rolling back\n\nA b c [site](https://acme.example/)\nAs of May.\n\n1. Stop\n   1. Wait\n\n| x | x |\n|---|---|"},
	"ods": {filetest.OpenDocument("spreadsheet", `<table:table table:name="Budget"><table:table-row><table:table-cell/><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>`),
		"## Budget\n\n| a | b |\n|---|---|"},
	"odp": {filetest.OpenDocument("presentation", `<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Results</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>All good.</text:p></draw:text-box></draw:frame></draw:page>`),
		"## Slide 1: Results\n\nAll good."},
	"epub": {filetest.EPUB("<h1>One</h1>", "<p>two</p>"), "OPS/chapter 0.xhtml\nOPS/chapter 1.xhtml"},
}

func TestStructureIsKept(t *testing.T) {
	for kind, test := range samples {
		d, err := read(t, test.data)
		if err != nil || d.Markdown != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", kind, err, d.Markdown, test.want)
		}
		if kind != "ods" && d.Title != "Rollback plan" || len(d.Authors) != 1 || d.Modified.Format(time.DateOnly) != "2024-02-03" {
			t.Errorf("%s: %+v", kind, d.Properties)
		}
		if kind == "epub" && d.Created.Format(time.DateOnly) != "2020-01-01" {
			t.Errorf("published %v", d.Created)
		}
	}
}

func TestWhyAFileCannotBeRead(t *testing.T) {
	row := `<table:table-row><table:table-cell table:number-columns-repeated="16000"/><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>`
	limits := office.Limits{Unpacked: 2 << 20, Entries: 20, Depth: 50, Token: 1 << 20, Pieces: 1_000, Text: 1 << 20}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"entry":   {filetest.Archive(filetest.Part{Name: "word/document.xml", Content: "<a/>", Flags: 1}), "encrypted"},
		"odf":     {filetest.OpenDocument("text", "", filetest.Part{Name: "META-INF/manifest.xml", Content: `<m><file-entry><encryption-data/></file-entry></m>`}), "encrypted"},
		"nothing": {filetest.Archive(filetest.Part{Name: "word/x", Content: "x"}), "no content"},
		"bomb":    {filetest.Bomb("word/document.xml", "<w:p>", "<w:t>some text</w:t>", 2<<20), "unpacks to more than 2 MB"},
		"tag":     {filetest.Bomb("word/document.xml", "<w:p ", "a", 2<<20), "a tag or text of more than 1 MB"},
		"deep":    {filetest.DOCX(strings.Repeat("<w:p>", 100)), "nested too deeply"},
		"long":    {filetest.DOCX("<w:p><w:r><w:t>" + strings.Repeat("word ", 2<<20/5) + "</w:t></w:r></w:p>"), "a tag or text of more than 1 MB"},
		"cells":   {filetest.DOCX("<w:tbl><w:tr>" + strings.Repeat("<w:tc/>", 1_001) + "</w:tr></w:tbl>"), "more than 1000 cells"},
		"repeats": {filetest.OpenDocument("spreadsheet", "<table:table>"+strings.Repeat(row, 20)+"</table:table>"), "more than 1000 cells"},
		"text":    {filetest.DOCX(strings.Repeat(filetest.Paragraph("", strings.Repeat("word ", 60_000)), 4)), "more than 1 MB of text"},
		"files":   {filetest.Archive(make([]filetest.Part, 21)...), "more than 20 files"},
	} {
		if d, err := readWithin(t, test.data, limits); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %d bytes", name, err, len(d.Markdown))
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	archive, err := office.Open(ended, samples["docx"].data, office.DefaultLimits(), func(string, error) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Document(office.DOCX); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestMemory reads the worst files known. The memory for one file stays below 400 MB, whatever it unpacks to. A share of
// the limits needs that share of the memory: an eighth, or with QUARRY_SLOW all of it.
func TestMemory(t *testing.T) {
	share := 8
	if os.Getenv("QUARRY_SLOW") != "" {
		share = 1
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program; `make test` collects less often
	bound, limits := int64(400<<20/share), office.DefaultLimits()
	limits.Unpacked /= int64(share)
	limits.Token /= share
	limits.Pieces /= share
	limits.Text /= share
	attributes := "<w:p " + strings.Repeat(`a="" `, 600_000/share) + "/>"
	for name, data := range map[string][]byte{
		"attributes": filetest.DOCX(strings.Repeat(attributes, 5)),
		"cells":      filetest.DOCX("<w:tbl><w:tr>" + strings.Repeat("<w:tc/>", 5_000_000/share) + "</w:tr></w:tbl>"),
		"shared":     filetest.XLSX(strings.Repeat(`<row>`+strings.Repeat(`<c t="s"><v>0</v></c>`, 100)+`</row>`, 1_000), strings.Repeat("word ", 100_000/share)),
	} {
		debug.FreeOSMemory()
		before := memory()
		_, err := readWithin(t, data, limits)
		grown := memory() - before
		t.Logf("%s: %d MB, %v", name, grown>>20, err)
		if grown > bound {
			t.Errorf("more than %d MB", bound>>20)
		}
	}
}

// memory returns the memory that the program has from the system.
func memory() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys) - int64(stats.HeapReleased)
}

func TestBrokenFiles(t *testing.T) {
	for kind, sample := range samples {
		failed := 0
		for data := range filetest.Broken(sample.data, 7, 400) {
			if _, err := read(t, data); err != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: no damage was found", kind)
		}
	}
}

func FuzzArchive(f *testing.F) {
	for _, sample := range samples {
		f.Add(sample.data)
	}
	for _, sample := range linkedParts {
		f.Add(sample.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := read(t, data)
		if err != nil && d.Markdown != "" {
			t.Errorf("%d bytes of text and %v", len(d.Markdown), err)
		}
	})
}

// FuzzXML reads the parts themselves, which random archives hardly reach.
func FuzzXML(f *testing.F) {
	f.Add(`<w:p><w:r><w:t>x</w:t></w:r></w:p>`, `<row><c t="s"><v>0</v></c></row>`, `<text:p>x</text:p>`)
	f.Add(chart, box(1, 2, "x"), `<draw:page><draw:g><draw:frame svg:y="1cm"/></draw:g></draw:page>`)
	f.Add(`<p><fldSimple instr='HYPERLINK "https://a.example/"'><r><t>x</t></r></fldSimple><fldChar fldCharType="begin"/><instrText>HYPERLINK "https://b.example/"</instrText><fldChar fldCharType="separate"/><sym font="Symbol" char="F0FF"/></p>`,
		`<c><oleObject id="c"/></c>`, `<draw:object-ole xlink:href="x"/><table:table><table:table-row><table:table-cell table:number-columns-repeated="99"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`)
	f.Add(`<tbl><tr><tc><tcPr><gridSpan val="999"/></tcPr><p/></tc></tr></tbl>`, "<c/>", "<text:p/>")
	f.Add(diagram, `<comment ref="A1" authorId="0"><text><t>x_x000D_</t></text></comment>`, `<text:p><text:page-number>1</text:page-number></text:p>`)
	f.Fuzz(func(t *testing.T, content, row, open string) {
		figures := []string{"d diagramData d.xml", "c chart c.xml", "k comments k.xml"}
		figure := `<graphicFrame><relIds dm="d"/><chart id="c"/></graphicFrame>`
		for _, data := range [][]byte{filetest.DOCX(content), filetest.XLSX(row, "x"), filetest.OpenDocument("text", open), filetest.PPTX(content),
			deck(figure+row, figures, part("ppt/slides/d.xml", content), part("ppt/slides/c.xml", content), part("ppt/slides/k.xml", row)), filetest.OpenDocument("presentation", open)} {
			_, _ = read(t, data)
		}
	})
}
