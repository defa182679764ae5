package filetest

import (
	"fmt"
	"strings"
)

// Amplified returns files of about size bytes, once unpacked, in which a few bytes stand for many, by name: for text that
// is used again and again, for cells of tables, or for the work of a naive reader.
func Amplified(size int) map[string][]byte {
	most := func(unit string, bytes int) string { return strings.Repeat(unit, max(1, bytes/len(unit))) }
	word := most("word ", size/8)
	external := fmt.Sprintf(relationships, related("web", "hyperlink", "https://acme.example/"+most("x", 1_900), "External"))
	sheet := func(row string) string {
		return most(`<row><c t="s"><v>0</v></c></row>`, 40) + "<row>" + row + "</row>"
	}
	cells := `<row>` + most(`<c t="s"><v>0</v></c>`, size/2) + `</row>`
	repeated := `<table:table-cell table:number-columns-repeated="60"><text:p>` + word + `</text:p></table:table-cell>`
	link := `<text:a xlink:href="https://acme.example/">a</text:a>`
	run := `<a:r><a:rPr><a:hlinkClick r:id="web"/></a:rPr><a:t>a</a:t></a:r>`
	columns := most("<th>a", size/2)
	files := map[string][]byte{
		"shared.xlsx":   XLSX(cells, word),
		"blank.xlsx":    XLSX(cells, most(" ", size/8)),
		"comments.xlsx": xlsxWith(sheet(""), "comments", "<authors><author>"+word+"</author></authors><commentList>"+most(`<comment ref="A1" authorId="0"><text><t>a</t></text></comment>`, size/2)+"</commentList>"),
		"comment.xlsx":  xlsxWith(sheet(""), "comments", `<commentList><comment ref="A1">`+most("<text><t>ab</t></text>", size)+"</comment></commentList>"),
		"repeated.ods":  OpenDocument("spreadsheet", "<table:table><table:table-row>"+most(repeated, size)+"</table:table-row></table:table>"),
		"links.odt":     OpenDocument("text", "<text:p>"+most(link, size)+"</text:p>"),
		"links.docx":    docxWith("<w:p>"+most(`<w:hyperlink r:id="web"><w:r><w:t>a</w:t></w:r></w:hyperlink>`, size)+"</w:p>", external),
		"links.pptx":    pptxWith("<p:sp><a:p>"+most(run, size)+"</a:p></p:sp>", external),
		"title.pptx":    PPTX(Shape("title", strings.TrimSpace(most("a b\n", size/8)))),
		"nested.docx":   DOCX(strings.Repeat("<w:tbl><w:tr><w:tc>", 45) + Paragraph("", word) + strings.Repeat("</w:tc></w:tr></w:tbl>", 45)),
		"spine.epub":    spine(size),
		"headers.docx":  headers(size),
		"wide.html":     []byte("<table><tr>" + columns + most("<tr><td>a", size/2)),
		"spans.html":    []byte("<table>" + most(`<tr><td colspan=99 rowspan=999>a`, size)),
		"indent.json":   []byte(strings.Repeat("[", 5_000) + most("1,", size) + "1" + strings.Repeat("]", 5_000)),
		"wide.csv":      []byte(most("name,", size/2) + "\n" + most(",\n", size/2)),
		"outputs.ipynb": []byte(`{"cells":[{"cell_type":"code","outputs":[` + most(`{"data":{"text/html":"<table><tr><td colspan=99>a"}},`, size) + `{}]}]}`),
		"guests.ics":    []byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + most("ATTENDEE;CN=\"a\":mailto:a@b.example\n", size) + "END:VEVENT\nEND:VCALENDAR\n"),
		"values.vcf":    []byte("BEGIN:VCARD\nFN:a\n" + most("TEL:1\n", size) + "END:VCARD\n"),
		"above.zip": Archive(Part{Name: "index.html", Content: "<p>"}, Part{Name: "A_31431588.html",
			Content: `<div class="page-metadata"></div><p id="main-content">a</p><ol id="breadcrumb-section">` + most("<a>a</a>", size/2) + `</ol>` + most(`<a href="attachments/1/2.png">a</a>`, size/2)}),
		"columns.zip": columnsOfNotion(size),
	}
	return files
}

// docxWith returns a document with these relationships.
func docxWith(body, links string, parts ...Part) []byte {
	return Archive(append(parts, Words("document.xml", "document", "<w:body>"+body+"</w:body>"),
		Part{Name: "word/_rels/document.xml.rels", Content: links})...)
}

// pptxWith returns one slide with these relationships.
func pptxWith(slide, links string) []byte {
	return Archive(Part{Name: "ppt/presentation.xml", Content: `<p><sldIdLst><sldId id="r0"/></sldIdLst></p>`},
		Part{Name: "ppt/_rels/presentation.xml.rels", Content: fmt.Sprintf(relationships, related("r0", "slide", "slides/s.xml", ""))},
		Part{Name: "ppt/slides/s.xml", Content: `<sld xmlns:a="a" xmlns:p="p" xmlns:r="r"><spTree>` + slide + `</spTree></sld>`},
		Part{Name: "ppt/slides/_rels/s.xml.rels", Content: links})
}

// xlsxWith returns a workbook whose sheet has a part of a kind.
func xlsxWith(sheet, kind, content string) []byte {
	return Archive(Part{Name: "xl/workbook.xml", Content: `<workbook xmlns:r="r"><sheets><sheet name="A" r:id="r1"/></sheets></workbook>`},
		Part{Name: "xl/_rels/workbook.xml.rels", Content: fmt.Sprintf(relationships, related("r1", "worksheet", "worksheets/s.xml", ""))},
		Part{Name: "xl/worksheets/s.xml", Content: "<worksheet><sheetData>" + sheet + "</sheetData></worksheet>"},
		Part{Name: "xl/worksheets/_rels/s.xml.rels", Content: fmt.Sprintf(relationships, related("k", kind, "../k.xml", ""))},
		Part{Name: "xl/k.xml", Content: "<comments>" + content + "</comments>"})
}

// spine returns a book whose order names many chapters, and most of them again.
func spine(size int) []byte {
	var items, order strings.Builder
	parts := []Part{{Name: "META-INF/container.xml", Content: `<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>`}}
	for i := range min(size/200, 15_000) {
		fmt.Fprintf(&items, `<item id="c%d" href="c%d.html" media-type="text/html"/>`, i, i)
		fmt.Fprintf(&order, `<itemref idref="c%d"/>`, i)
		parts = append(parts, Part{Name: fmt.Sprintf("c%d.html", i), Content: "<p>a"})
	}
	again := strings.Repeat(`<itemref idref="c1"/><itemref idref="none"/>`, size/50)
	return Archive(append(parts, Part{Name: "b.opf", Content: "<package><manifest>" + items.String() + "</manifest><spine>" +
		order.String() + again + "</spine></package>"})...)
}

// headers returns a document with many headers that differ at their end.
func headers(size int) []byte {
	var links strings.Builder
	var parts []Part
	for i := range min(size/4_000, 15_000) {
		name := fmt.Sprintf("h%d.xml", i)
		links.WriteString(related(fmt.Sprintf("h%d", i), "header", name, ""))
		parts = append(parts, Words(name, "hdr", Paragraph("", fmt.Sprintf("%s%06d", strings.Repeat("word ", 500), i))))
	}
	return docxWith(Paragraph("", "a"), fmt.Sprintf(relationships, links.String()), parts...)
}

// columnsOfNotion returns an export with a database of many columns, and pages of it.
func columnsOfNotion(size int) []byte {
	id := func(i int) string { return fmt.Sprintf("%032x", i) }
	parts := []Part{{Name: "Db " + id(0) + ".csv", Content: strings.Repeat("name,", size/10)}}
	for i := range min(size/1_000, 10_000) {
		parts = append(parts, Part{Name: fmt.Sprintf("Db/A %s.md", id(i+1)), Content: "# A\n\n" + strings.Repeat("b: c\n", 100)})
	}
	return Archive(parts...)
}
