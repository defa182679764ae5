// Package filetest makes documents in the formats that quarry reads, and damages them.
package filetest

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
)

// Part is a file of an archive. Flags are those of its ZIP header.
type Part struct {
	Name, Content string
	Flags         uint16
}

// Archive returns a ZIP archive.
func Archive(parts ...Part) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, part := range parts {
		file, err := w.CreateHeader(&zip.FileHeader{Name: part.Name, Method: zip.Deflate, Flags: part.Flags})
		if err == nil {
			_, err = io.WriteString(file, part.Content)
		}
		if err != nil {
			panic(err) // a buffer does not fail
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

const (
	relationships = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
	words         = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	core          = `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">` +
		`<dc:title>Rollback plan</dc:title><dc:creator>Ada Lovelace; Bo</dc:creator><cp:keywords>deploy, FTTWA</cp:keywords>` +
		`<dcterms:created>2024-01-02T03:04:05Z</dcterms:created><dcterms:modified>2024-02-03T04:05:06Z</dcterms:modified></cp:coreProperties>`
)

func related(id, kind, target, mode string) string {
	return fmt.Sprintf(`<Relationship Id=%q Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target=%q TargetMode=%q/>`, id, kind, target, mode)
}

// DOCX returns a document with this body of WordprocessingML.
func DOCX(body string, extra ...Part) []byte {
	return Archive(append([]Part{
		{Name: "_rels/.rels", Content: fmt.Sprintf(relationships, related("r1", "officeDocument", "word/document.xml", ""))},
		{Name: "word/_rels/document.xml.rels", Content: fmt.Sprintf(relationships, related("s", "styles", "styles.xml", "")+
			related("n", "numbering", "numbering.xml", "")+related("f", "footnotes", "footnotes.xml", "")+
			related("c", "comments", "comments.xml", "")+related("web", "hyperlink", "https://acme.example/x", "External"))},
		{Name: "word/styles.xml", Content: `<w:styles ` + words + `><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>` +
			`<w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="H2"/></w:style><w:style w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="Own"/></w:style></w:styles>`},
		{Name: "word/numbering.xml", Content: `<w:numbering ` + words + `><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>` +
			`<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num></w:numbering>`},
		{Name: "word/document.xml", Content: `<w:document ` + words + `><w:body>` + body + `</w:body></w:document>`},
		{Name: "docProps/core.xml", Content: core},
	}, extra...)...)
}

// Paragraph returns a paragraph of WordprocessingML in a style, which may be empty.
func Paragraph(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

// Item returns an item of a list of WordprocessingML.
func Item(level int, text string) string {
	return fmt.Sprintf(`<w:p><w:pPr><w:numPr><w:ilvl w:val="%d"/><w:numId w:val="3"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, level, text)
}

// Words returns a part of a DOCX with other texts, such as footnotes.
func Words(name, root, content string) Part {
	return Part{Name: "word/" + name, Content: fmt.Sprintf("<w:%s %s>%s</w:%s>", root, words, content, root)}
}

// PPTX returns slides, each the content of its tree of shapes. The last slide is listed first.
func PPTX(slides ...string) []byte {
	links, order := "", ""
	var parts []Part
	const names = ` xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	for i, slide := range slides {
		id, name := fmt.Sprintf("r%d", i), fmt.Sprintf("slides/slide%d.xml", i)
		links += related(id, "slide", name, "")
		order = fmt.Sprintf(`<p:sldId id="%d" r:id=%q/>`, 256+i, id) + order
		parts = append(parts, Part{Name: "ppt/" + name, Content: `<p:sld` + names + `><p:cSld><p:spTree>` + slide + `</p:spTree></p:cSld></p:sld>`},
			Part{Name: fmt.Sprintf("ppt/slides/_rels/slide%d.xml.rels", i), Content: fmt.Sprintf(relationships, related("n", "notesSlide", fmt.Sprintf("../notesSlides/n%d.xml", i), ""))},
			Part{Name: fmt.Sprintf("ppt/notesSlides/n%d.xml", i), Content: `<p:notes` + names + `><p:cSld><p:spTree>` + Shape("body", fmt.Sprintf("Say this %d", i)) + Shape("sldNum", "99") + `</p:spTree></p:cSld></p:notes>`})
	}
	return Archive(append(parts, Part{Name: "ppt/presentation.xml", Content: `<p:presentation` + names + `><p:sldIdLst>` + order + `</p:sldIdLst></p:presentation>`},
		Part{Name: "ppt/_rels/presentation.xml.rels", Content: fmt.Sprintf(relationships, links)}, Part{Name: "docProps/core.xml", Content: core})...)
}

// Shape returns a box on a slide; the lines of text are paragraphs, those that begin with * are items.
func Shape(kind, text string) string {
	var lines strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		properties := ""
		if rest, isItem := strings.CutPrefix(line, "*"); isItem {
			line, properties = rest, `<a:pPr lvl="1"><a:buChar char="•"/></a:pPr>`
		}
		lines.WriteString(`<a:p>` + properties + `<a:r><a:t>` + line + `</a:t></a:r></a:p>`)
	}
	return `<p:sp><p:nvSpPr><p:nvPr><p:ph type="` + kind + `"/></p:nvPr></p:nvSpPr><p:txBody>` + lines.String() + `</p:txBody></p:sp>`
}

// XLSX returns a workbook with one sheet of this content of SpreadsheetML, and these shared strings.
func XLSX(sheet string, shared ...string) []byte {
	const names = ` xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	texts := ""
	for _, text := range shared {
		texts += `<si><t>` + text + `</t></si>`
	}
	return Archive(
		Part{Name: "xl/workbook.xml", Content: `<workbook` + names + `><sheets><sheet name="Budget 2024" sheetId="1" r:id="r1"/></sheets></workbook>`},
		Part{Name: "xl/_rels/workbook.xml.rels", Content: fmt.Sprintf(relationships, related("r1", "worksheet", "worksheets/sheet1.xml", "")+
			related("r2", "sharedStrings", "sharedStrings.xml", "")+related("r3", "styles", "styles.xml", ""))},
		Part{Name: "xl/sharedStrings.xml", Content: `<sst` + names + `>` + texts + `</sst>`},
		Part{Name: "xl/styles.xml", Content: `<styleSheet` + names + `><numFmts><numFmt numFmtId="164" formatCode="[Red]0.00&quot;dm&quot;"/><numFmt numFmtId="165" formatCode="yyyy-mm"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>`},
		Part{Name: "xl/worksheets/sheet1.xml", Content: `<worksheet` + names + `><sheetData>` + sheet + `</sheetData></worksheet>`},
		Part{Name: "docProps/core.xml", Content: core})
}

const openNames = ` xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:draw="urn:d" xmlns:presentation="urn:p" xmlns:manifest="urn:m"`

// OpenDocument returns an ODT, ODS or ODP ("text", "spreadsheet", "presentation") with this body.
func OpenDocument(kind, body string, extra ...Part) []byte {
	return Archive(append([]Part{
		{Name: "mimetype", Content: "application/vnd.oasis.opendocument." + kind},
		{Name: "content.xml", Content: `<office:document-content` + openNames + `><office:automatic-styles><text:list-style text:name="L2"><text:list-level-style-number text:level="1"/></text:list-style></office:automatic-styles><office:body><office:` + kind + `>` + body + `</office:` + kind + `></office:body></office:document-content>`},
		{Name: "meta.xml", Content: `<office:document-meta` + openNames + `><office:meta><dc:title>Rollback plan</dc:title><meta:keyword>FTTWA</meta:keyword><meta:initial-creator>Ada Lovelace</meta:initial-creator><dc:date>2024-02-03T04:05:06.123</dc:date></office:meta></office:document-meta>`},
	}, extra...)...)
}

// EPUB returns a book of chapters, each the body of a page.
func EPUB(chapters ...string) []byte {
	manifest, spine := "", ""
	parts := []Part{{Name: "mimetype", Content: "application/epub+zip"},
		{Name: "META-INF/container.xml", Content: `<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>`}}
	for i, chapter := range chapters {
		manifest += fmt.Sprintf(`<item id="c%d" href="chapter%%20%d.xhtml" media-type="application/xhtml+xml"/>`, i, i)
		spine += fmt.Sprintf(`<itemref idref="c%d"/>`, i)
		parts = append(parts, Part{Name: fmt.Sprintf("OPS/chapter %d.xhtml", i), Content: "<html><body>" + chapter + "</body></html>"})
	}
	return Archive(append(parts, Part{Name: "OPS/book.opf", Content: `<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Rollback plan</dc:title><dc:creator>Ada Lovelace</dc:creator><meta property="dcterms:modified">2024-02-03T04:05:06Z</meta><dc:date>2020-01</dc:date></metadata><manifest>` +
		manifest + `</manifest><spine>` + spine + `</spine></package>`})...)
}

// Bomb returns an archive with an entry that unpacks to start and size bytes of the pattern.
func Bomb(name, start, pattern string, size int) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	file, err := w.Create(name)
	if err == nil {
		_, err = io.WriteString(file, start)
	}
	block := strings.Repeat(pattern, 1<<20/len(pattern))
	for written := 0; written < size && err == nil; written += len(block) {
		_, err = io.WriteString(file, block)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

// Broken yields damaged copies of a file: cut off at random points, with random bytes changed, and with parts repeated.
func Broken(data []byte, seed uint64, copies int) iter.Seq[[]byte] {
	random := rand.New(rand.NewPCG(seed, 1))
	return func(yield func([]byte) bool) {
		for i := range copies {
			broken := bytes.Clone(data)
			switch at := random.IntN(len(data)); i % 4 {
			case 0:
				broken = broken[:at]
			case 1:
				broken[at] ^= byte(1 + random.IntN(255))
			case 2:
				for range 20 {
					broken[random.IntN(len(data))] = byte(random.IntN(256))
				}
			default:
				end := at + random.IntN(len(data)-at)
				broken = append(broken[:end:end], data[at:]...)
			}
			if !yield(broken) {
				return
			}
		}
	}
}

// PDF returns a document with a page for each text; lines are separated by newlines. Every page has an entry in the table
// of contents.
func PDF(title string, pages ...string) []byte {
	objects := []string{`<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>`, "", `<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>`, "",
		`<</Title(` + title + `)/Author(Ada Lovelace)/Keywords(deploy, FTTWA)/ModDate(D:20240203040506+01'00')>>`}
	const before = 5
	kids, entries := "", len(objects)+2*len(pages)
	for i, text := range pages {
		content := "BT /F 12 Tf 20 TL 50 700 Td "
		for line := range strings.SplitSeq(text, "\n") {
			content += "(" + line + ") Tj T* "
		}
		content += "ET"
		page := before + 2*i + 1
		kids += fmt.Sprintf("%d 0 R ", page)
		objects = append(objects, fmt.Sprintf(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>`, page+1),
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content))
	}
	for i := range pages {
		next := ""
		if i+1 < len(pages) {
			next = fmt.Sprintf("/Next %d 0 R", entries+i+2)
		}
		objects = append(objects, fmt.Sprintf(`<</Title(Part %d)/Parent 4 0 R/Dest[%d 0 R/Fit]%s>>`, i+1, before+2*i+1, next))
	}
	objects[1] = fmt.Sprintf(`<</Type/Pages/Kids[%s]/Count %d>>`, kids, len(pages))
	objects[3] = fmt.Sprintf(`<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>`, entries+1, entries+len(pages), len(pages))
	return PDFOf("/Info 5 0 R", objects...)
}

// PDFOf returns a file of these objects, numbered from 1, of which the first is the catalog. extra is added to the trailer.
func PDFOf(extra string, objects ...string) []byte {
	out := []byte("%PDF-1.7\n")
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(out))
		out = fmt.Appendf(out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return fmt.Appendf(out, "%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", table, len(objects)+1, extra, len(out))
}

// PDFBomb returns a file whose only page unpacks to size bytes.
func PDFBomb(size int) []byte {
	var packed bytes.Buffer
	w, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		panic(err)
	}
	block := strings.Repeat("(some text) Tj ", 1<<16)
	for written := 0; written < size; written += len(block) {
		if _, err := io.WriteString(w, block); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return PDFOf("", `<</Type/Catalog/Pages 2 0 R>>`, `<</Type/Pages/Kids[3 0 R]/Count 1>>`,
		`<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R>>`,
		fmt.Sprintf("<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream", packed.Len(), packed.String()))
}
