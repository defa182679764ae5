package office_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/filetest"
	"quarry/server/ingest/office"
)

// part is a file of an archive whose element names are not bound to name spaces: the readers go by local names.
func part(name, content string) filetest.Part { return filetest.Part{Name: name, Content: content} }

// related is a part with relationships: "id kind target", to the web if the target has ://.
func related(name string, links ...string) filetest.Part {
	content := ""
	for _, link := range links {
		field := strings.Fields(link)
		mode := map[bool]string{true: "External"}[strings.Contains(field[2], "://")]
		content += fmt.Sprintf(`<Relationship Id=%q Type="x/%s" Target=%q TargetMode=%q/>`, field[0], field[1], field[2], mode)
	}
	return part(name, "<Relationships>"+content+"</Relationships>")
}

func word(body string, links []string, extra ...filetest.Part) []byte {
	const names = `<style styleId="H1"><name val="heading 1"/></style><style styleId="TOC"><name val="TOC Heading"/><basedOn val="H1"/><pPr><outlineLvl val="9"/></pPr></style>`
	return filetest.Archive(append([]filetest.Part{related("word/_rels/document.xml.rels", append(links, "s styles styles.xml")...),
		part("word/styles.xml", "<styles>"+names+"</styles>"), part("word/document.xml", "<document><body>"+body+"</body></document>")}, extra...)...)
}

func deck(slide string, links []string, extra ...filetest.Part) []byte {
	return filetest.Archive(append([]filetest.Part{part("ppt/presentation.xml", `<presentation><sldIdLst><sldId id="r1"/></sldIdLst></presentation>`),
		related("ppt/_rels/presentation.xml.rels", "r1 slide slides/s.xml", "a commentAuthors people.xml"), related("ppt/slides/_rels/s.xml.rels", links...),
		part("ppt/people.xml", `<cmAuthorLst><cmAuthor id="0" name="Ana"/></cmAuthorLst>`),
		part("ppt/slides/s.xml", "<sld><cSld><spTree>"+slide+"</spTree></cSld></sld>")}, extra...)...)
}

func sheet(name, content string, links []string, extra ...filetest.Part) []byte {
	return filetest.Archive(append([]filetest.Part{part("xl/workbook.xml", `<workbook><sheets><sheet name="`+name+`" id="r1"/></sheets></workbook>`),
		related("xl/_rels/workbook.xml.rels", "r1 worksheet worksheets/s.xml", "p person people.xml"), related("xl/worksheets/_rels/s.xml.rels", links...),
		part("xl/people.xml", `<personList><person displayName="Ana" id="{A}"/></personList>`),
		part("xl/worksheets/s.xml", "<worksheet>"+content+"</worksheet>")}, extra...)...)
}

const (
	cat     = `<cat><strRef><strCache><pt idx="0"><v>Oak</v></pt><pt idx="1"><v>Ash</v></pt></strCache></strRef></cat>`
	diagram = `<dataModel><ptLst><pt><t><p><r><t>Cut</t></r></p></t></pt><pt type="pres"><t><p/></t></pt><pt><t><p><r><t>Dry</t></r></p></t></pt></ptLst></dataModel>`
	chart   = `<chartSpace><chart><title><tx><rich><p><r><t>Wood sold</t></r></p></rich></tx></title><plotArea><barChart><ser><tx><strRef><strCache><pt idx="0"><v>North</v></pt></strCache></strRef></tx>` + cat +
		`<val><numRef><numCache><formatCode>0</formatCode><pt idx="0"><v>7</v></pt><pt idx="1"><v>8</v></pt></numCache></numRef></val></ser><ser><tx><v>South</v></tx>` + cat + `</ser></barChart>` +
		`<catAx><title><tx><strRef><strCache><pt idx="0"><v>Kinds</v></pt></strCache></strRef></tx></title></catAx></plotArea></chart></chartSpace>`
	chartEx = `<chartSpace><chartData><data><strDim type="cat"><lvl><pt idx="0">Elm</pt></lvl></strDim><numDim><lvl><pt idx="0">3</pt></lvl></numDim></data></chartData><chart><plotArea><series><tx><txData><v>West</v></txData></tx></series></plotArea></chart></chartSpace>`
)

func box(y, x int, text string) string {
	return fmt.Sprintf(`<sp><spPr><xfrm><off x="%d" y="%d"/><ext cx="9" cy="30"/></xfrm></spPr><txBody><p><r><t>%s</t></r></p></txBody></sp>`, x, y, text)
}

func words(text string) string { return "<p><r><t>" + text + "</t></r></p>" }

var linkedParts = map[string]struct {
	data []byte
	want string
}{
	"docx: notes, headers, links of their own": {
		word(words("Wood.")+`<p><hyperlink id="r1"><r><t>main </t></r></hyperlink><r><t>text</t></r></p>`,
			[]string{"r1 hyperlink https://main.example/", "h1 header h1.xml", "h2 header h2.xml", "f1 footer f1.xml", "e endnotes e.xml", "c comments c.xml"},
			part("word/h1.xml", "<hdr><p><r><t>Offer</t><ptab/><t>7</t></r></p><p><r><pict><shape alt=\"a seal\"><textpath string=\"DRAFT\"/></shape></pict></r></p></hdr>"),
			part("word/h2.xml", "<hdr>"+words("second")+"</hdr>"), part("word/f1.xml", "<ftr>"+words("second")+"</ftr>"),
			part("word/e.xml", `<endnotes><endnote>`+`<p><hyperlink id="r1"><r><t>end</t></r></hyperlink></p>`+`</endnote></endnotes>`), related("word/_rels/e.xml.rels", "r1 hyperlink https://end.example/"),
			part("word/c.xml", `<comments><comment author="Bo"><p><hyperlink id="r1"><r><t>no link</t></r></hyperlink></p></comment></comments>`)),
		"Wood.\n\n[main](https://main.example/) text\n\n## Headers and footers\n\nsecond\n\nOffer 7\n\na seal\n\nDRAFT\n\n## Endnotes\n\n[end](https://end.example/)\n\n## Comments\n\nBo: no link"},
	"docx: its own title before made-up ones": {
		word(`<p><pPr><pStyle val="TOC"/></pPr><r><t>Contents</t></r></p><p><pPr><pStyle val="H1"/></pPr><r><t>Wood</t></r></p>`, []string{"f footnotes f.xml"},
			part("word/f.xml", "<footnotes><footnote>"+words("one")+"</footnote></footnotes>")),
		"Contents\n\n# Wood\n\n# Footnotes\n\none"},
	"docx: ruby, pictures, diagrams and charts": {
		word(`<p><r><t>明日、</t></r><r><ruby><rubyPr><hps val="1"/></rubyPr><rt><r><t>とう</t></r></rt><rubyBase><r><t>東京</t></r></rubyBase></ruby></r><r><t>駅</t></r></p>`+
			`<p><r><drawing><inline><docPr descr="A river" name="Picture 1"/><graphic><relIds dm="d"/></graphic></inline></drawing></r></p><p><r><drawing><chart id="c"/></drawing><drawing><chart id="c"/></drawing><t>Below</t></r></p>`,
			[]string{"d diagramData d.xml", "c chart c.xml"}, part("word/d.xml", diagram), part("word/c.xml", chart)),
		"明日、東京駅\n\nA river\n\n- Cut\n- Dry\n\nBelow\n\nWood sold\n\n- North: Oak 7, Ash 8\n- South: Oak, Ash\n\nKinds"},
	"docx: fields that are links, and signs": {
		word(`<p><fldSimple instr=' HYPERLINK "https://a.example/" \\o "x"'><r><t>one</t></r></fldSimple><r><t> and </t></r><r><fldChar fldCharType="begin"/></r><r><instrText> HYPER</instrText><instrText>LINK "https://b.example/"</instrText></r>`+
			`<r><fldChar fldCharType="separate"/></r><r><t>two</t></r><r><fldChar fldCharType="end"/><fldChar fldCharType="end"/></r><r><fldChar fldCharType="begin"/><instrText>PAGE</instrText><fldChar fldCharType="separate"/><t> 7</t><fldChar fldCharType="end"/></r></p>`+
			`<p><r><sym font="Wingdings" char="F0FC"/><sym font="Symbol" char="F061"/><sym font="Symbol" char="F057"/><sym font="Arial" char="2022"/><sym font="Webdings" char="F031"/><sym char="x"/></r></p>`, nil),
		"[one](https://a.example/) and [two](https://b.example/) 7\n\n✓αΩ•�"},
	"pptx: boxes in the order of reading": {
		deck(box(400, 0, "last")+box(100, 50, "right")+box(110, 10, "left")+
			`<grpSp><grpSpPr><xfrm><off x="0" y="200"/><ext cy="99"/><chOff x="0" y="0"/></xfrm></grpSpPr>`+box(9000, 0, "group below")+box(10, 0, "group above")+`</grpSp>`, nil),
		"## Slide 1\n\nleft\n\nright\n\ngroup above\n\ngroup below\n\nlast"},
	"pptx: places of the layout and its master": {
		deck(`<sp><nvPr><ph type="title"/></nvPr>`+words("Steps")+`</sp><sp><nvPr><ph idx="2"/></nvPr>`+words("second")+`</sp><sp><nvPr><ph idx="1"/></nvPr>`+words("first")+`</sp>`+box(50, 0, "above"),
			[]string{"l slideLayout ../layouts/l.xml"}, part("ppt/layouts/l.xml", `<sldLayout><sp><ph idx="1"/></sp><sp><ph idx="2"/><xfrm><off x="0" y="500"/><ext cy="5"/></xfrm></sp></sldLayout>`),
			related("ppt/layouts/_rels/l.xml.rels", "m slideMaster m.xml"), part("ppt/layouts/m.xml", `<sldMaster><sp><ph type="body" idx="1"/><xfrm><off x="0" y="400"/><ext cy="5"/></xfrm></sp></sldMaster>`)),
		"## Slide 1: Steps\n\nabove\n\nfirst\n\nsecond"},
	"pptx: what is linked": {
		deck(`<pic><nvPicPr><cNvPr descr="A hill"/></nvPicPr></pic><graphicFrame><relIds dm="d"/></graphicFrame><graphicFrame><chart id="c"/></graphicFrame><sp><txBody><p><r><rPr><hlinkClick id="w"/></rPr><t>site_x000B_one </t></r><r><t>now</t></r></p></txBody></sp>`+
			`<sp><nvPr><ph type="ftr"/></nvPr>`+words("Acme")+`</sp><sp><nvPr><ph type="sldNum"/></nvPr>`+words("3")+`</sp>`,
			[]string{"d diagramData d.xml", "c chartEx c.xml", "w hyperlink https://a.example/", "k comments k.xml", "m comments m.xml"},
			part("ppt/slides/d.xml", diagram), part("ppt/slides/c.xml", chartEx), part("ppt/slides/k.xml", `<cmLst><cm authorId="0"><text>Really?</text></cm></cmLst>`),
			part("ppt/slides/m.xml", `<cmLst><cm authorId="0"><replyLst><reply authorId="0"><txBody>`+words("Yes.")+`</txBody></reply></replyLst><txBody>`+words("Is")+words("it?")+`</txBody></cm></cmLst>`)),
		"## Slide 1\n\nA hill\n\n- Cut\n- Dry\n\n- Elm 3\n\nWest\n\n[site one](https://a.example/) now\n\n### Comments\n\n- Ana: Really?\n- Ana: Is it?\n- Ana: Yes.\n\n## Headers and footers\n\nAcme"},
	"xlsx: what is linked": {
		sheet("A_x0026_B", `<sheetData><row><c><v>7</v></c><c><v>8</v></c></row></sheetData><hyperlinks><hyperlink ref="A1" id="w"/><hyperlink ref="B1" location="Two!A1"/></hyperlinks>`+
			`<headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12Offer&amp;R&amp;Kff0000R&amp;&amp;D</oddHeader><oddFooter>&amp;P</oddFooter></headerFooter>`,
			[]string{"w hyperlink https://a.example/", "d drawing d.xml", "t threadedComment t.xml", "c comments c.xml"},
			part("xl/worksheets/d.xml", `<wsDr><twoCellAnchor><pic><cNvPr descr="A hill"/></pic></twoCellAnchor><twoCellAnchor>`+box(0, 0, "a box")+`</twoCellAnchor><twoCellAnchor><graphicFrame><chart id="c"/></graphicFrame></twoCellAnchor></wsDr>`),
			related("xl/worksheets/_rels/d.xml.rels", "c chart chart.xml"), part("xl/worksheets/chart.xml", chart),
			part("xl/worksheets/c.xml", `<comments><authors><author>Bo</author><author>tc={1}</author></authors><commentList><comment ref="A1" authorId="0"><text><r><t>Ask</t></r><r><t> him</t></r><rPh><t>x</t></rPh></text></comment><comment ref="B1" authorId="1"><text><t>copy</t></text></comment></commentList></comments>`),
			part("xl/worksheets/t.xml", `<ThreadedComments><threadedComment ref="B1" personId="{A}"><text>Ask her</text></threadedComment></ThreadedComments>`)),
		"## A&B\n\n| 7 | 8 |\n|---|---|\n\nA hill\n\na box\n\nWood sold\n\n- North: Oak 7, Ash 8\n- South: Oak, Ash\n\nKinds\n\n### Links\n\n- A1: [https://a.example/](https://a.example/)\n\n" +
			"### Comments\n\n- B1: Ana: Ask her\n- A1: Bo: Ask him\n\n### Headers and footers\n\n- Offer R&D"},
	"odt: headers, pictures and charts": {
		filetest.OpenDocument("text", `<text:p>Wood<draw:frame><draw:image/><svg:title xmlns:svg="urn:svg">A hill</svg:title></draw:frame></text:p><draw:frame><draw:object xlink:href="./Object 1"/><svg:desc xmlns:svg="urn:svg">A curve</svg:desc></draw:frame>`,
			part("styles.xml", `<s><master-styles><master-page><header><p>Offer 7</p></header><header-left display="false"><p>no</p></header-left><footer><p>Page <page-number>1</page-number></p></footer></master-page></master-styles></s>`),
			part("Object 1/content.xml", `<c><body><chart><title><p>Wood sold</p></title><table><table-row><table-cell/><table-cell><p>North</p></table-cell></table-row></table></chart></body></c>`)),
		"Wood\nA hill\n\nWood sold\nNorth\n\nA curve\n\n## Headers and footers\n\nOffer 7"},
	"ods: values without text, comments, drawings": {
		filetest.OpenDocument("spreadsheet", `<table:table table:name="Times"><table:shapes><draw:frame><svg:desc xmlns:svg="urn:svg">A curve</svg:desc></draw:frame></table:shapes><table:table-row><table:table-cell office:value-type="time" office:time-value="PT36H00M05S"/>`+
			`<table:table-cell office:value-type="percentage" office:value="0.25"/><table:table-cell office:date-value="2024-03-05"/><table:table-cell><office:annotation><dc:creator>Bo</dc:creator><dc:date>2024-03-05T10:00:00</dc:date><text:p>Ask</text:p></office:annotation><text:p>x</text:p></table:table-cell></table:table-row></table:table>`),
		"## Times\n\nA curve\n\n| 36:00:05 | 25% | 2024-03-05 | Bo: Ask x |\n|---|---|---|---|"},
	"odp: boxes in the order of reading": {
		filetest.OpenDocument("presentation", `<presentation:footer-decl>Acme</presentation:footer-decl><draw:page><draw:frame svg:y="9cm" svg:x="1cm" svg:height="1cm" xmlns:svg="urn:svg"><text:p>last</text:p></draw:frame><draw:g><draw:frame svg:y="3.5cm" svg:x="8cm" xmlns:svg="urn:svg"><text:p>right</text:p></draw:frame></draw:g>`+
			`<draw:frame svg:y="3.5cm" svg:x="1cm" xmlns:svg="urn:svg"><text:p>left</text:p></draw:frame><presentation:notes><draw:frame><text:p>said</text:p></draw:frame></presentation:notes></draw:page>`),
		"## Slide 1\n\nleft\n\nright\n\nlast\n\n### Notes\n\nsaid\n\n## Headers and footers\n\nAcme"},
}

func TestLinkedParts(t *testing.T) {
	for name, test := range linkedParts {
		if d, err := read(t, test.data); err != nil || d.Markdown != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, d.Markdown, test.want)
		}
	}
}

// TestDamagedParts: what cannot be read of a document is named, and the rest is read.
func TestDamagedParts(t *testing.T) {
	for name, test := range map[string]struct {
		data          []byte
		want, leftOut string
	}{
		"notes":   {word(words("Wood."), []string{"f footnotes f.xml"}, part("word/f.xml", "<footnotes><footnote>"+words("one")+"<p>")), "Wood.\n\n## Footnotes\n\none", "f.xml: it is damaged"},
		"missing": {word(words("Wood."), []string{"f footnotes f.xml"}), "Wood.", "f.xml: it is missing"},
		"chunk":   {word(words("Wood.")+`<altChunk id="a"/>`, []string{"a aFChunk a.rtf"}), "Wood.", "a.rtf: files in other formats"},
		"end":     {word(words("Wood.")+"<p><r><x</r></p>", nil), "Wood.", "the end of the text: it is damaged"},
		"styles":  {word(words("Wood."), []string{"n numbering n.xml"}, part("word/n.xml", "<")), "Wood.", "numbering: it is damaged"},
		"links":   {word(words("Wood."), []string{"h header h.xml"}, part("word/h.xml", "<h>"+words("x")+"</h>"), part("word/_rels/h.xml.rels", "<")), "Wood.\n\n## Headers and footers\n\nx", "h.xml.rels: it is damaged"},
		"slide": {filetest.Archive(part("ppt/presentation.xml", `<p><sldIdLst><s id="r1"/><s id="r2"/></sldIdLst></p>`), related("ppt/_rels/presentation.xml.rels", "r1 slide a.xml", "r2 slide b.xml"),
			part("ppt/a.xml", "<"), part("ppt/b.xml", "<s>"+box(0, 0, "here")+"<sp")), "## Slide 1\n\n## Slide 2\n\nhere", "slide 1: it is damaged"},
		"no slide":         {filetest.Archive(part("ppt/presentation.xml", `<p><sldIdLst><s id="r1"/><s id="r2"/></sldIdLst></p>`), related("ppt/_rels/presentation.xml.rels", "r2 slide b.xml"), part("ppt/b.xml", "<s>"+box(0, 0, "here")+"</s>")), "## Slide 1\n\n## Slide 2\n\nhere", "slide 1: it is missing"},
		"no sheet":         {filetest.Archive(part("xl/workbook.xml", `<w><sheets><sheet name="One" id="r1"/><sheet name="Two" id="r2"/></sheets></w>`), related("xl/_rels/workbook.xml.rels", "r2 worksheet s.xml"), part("xl/s.xml", `<w><sheetData><row><c><v>7</v></c></row></sheetData></w>`)), "## Two\n\n7", "sheet One: it is missing"},
		"sheet":            {sheet("One", `<sheetData><row><c><v>7</v></c></row><row`, []string{"c comments c.xml"}), "## One\n\n7", "sheet One: it is damaged"},
		"embedded in docx": {word(`<p><r><t>a</t><object><OLEObject id="o"/></object></r></p>`, []string{"o package embeddings/Plan.xlsx"}), "a", "Plan.xlsx: embedded files are not read"},
		"embedded in pptx": {deck(box(0, 0, "a")+`<graphicFrame><oleObj id="o"/></graphicFrame>`, []string{"o package ../embeddings/Plan.xlsx"}), "## Slide 1\n\na", "Plan.xlsx: embedded files are not read"},
		"embedded in xlsx": {sheet("One", `<sheetData><row><c><v>7</v></c></row></sheetData><oleObjects><Choice><oleObject id="o"/></Choice></oleObjects>`, []string{"o oleObject o.bin"}), "## One\n\n7", "o.bin: embedded files are not read"},
		"embedded in odt":  {filetest.OpenDocument("text", `<text:p>a<draw:frame><draw:object-ole xlink:href="./Object 1"/></draw:frame></text:p>`), "a", "./Object 1: embedded files are not read"},
		"wide cells":       {word(`<tbl><tr><tc><tcPr><gridSpan val="999"/></tcPr>`+words("a")+`</tc><tc>`+words("b")+`</tc></tr></tbl>`, nil), "", "some columns: a cell takes more than 256"},
		"odf":              {filetest.OpenDocument("text", "<text:p>Wood.</text:p><text:p", part("styles.xml", "<")), "Wood.", "styles: it is damaged"},
	} {
		var leftOut []string
		archive, err := office.Open(t.Context(), test.data, office.DefaultLimits(), func(part string, why error) { leftOut = append(leftOut, part+": "+why.Error()) })
		if err != nil {
			t.Fatal(err)
		}
		d, err := archive.Document(archive.Kind())
		if named := slices.ContainsFunc(leftOut, func(text string) bool { return strings.Contains(text, test.leftOut) }); err != nil || test.want != "" && d.Markdown != test.want || !named {
			t.Errorf("%s: %v %q\n%s\nwant\n%s", name, err, leftOut, d.Markdown, test.want)
		}
	}
}

func TestNumberFormats(t *testing.T) {
	for _, test := range []struct{ code, value, want string }{
		{"[h]:mm", "1.5", "36:00"}, {"[hh]:mm:ss", "1.50001", "36:00:01"}, {"[m]", "1.5", "2160"}, {"[mm]:ss", "1.5", "2160:00"}, {"[ss]", "0.5", "43200"}, {"[h]", "1.5", "36"}, {`[h]" h "mm`, "0.1", "2:24"},
		{"[h]:mm;[Red]-[h]:mm", "-0.25", "-6:00"}, {"[ss].00", "0.5", "43200"}, {"mm:ss.0", "0.5", "12:00:00"}, {"h:mm AM/PM", "1.75", "18:00:00"}, {"[$-409]h:mm\\ AM/PM;@", "0.75", "18:00:00"},
		{"Standard", "42", "42"}, {"[Magenta]h:mm", "0.5", "12:00:00"}, {"[s]", "0.5", "43200"}, {"General", "42", "42"}, {"Estándar", "42", "42"}, {"G/通用格式", "42", "42"}, {"0_d", "43", "43"}, {`0" days"`, "43", "43"}, {`0\d`, "43", "43"}, {"0*d", "43", "43"}, {"# ?/?", "0.5", "0.5"},
		{"[Yellow]0.00", "43", "43"}, {"[$USD] #,##0", "43", "43"}, {"0.00E+00", "43", "43"}, {"@", "43", "43"}, {"", "43", "43"}, {`"day"`, "43", "43"}, {"0%", "0.07", "7%"}, {"0.0%;[Red]-0.0%", "-0.125", "-12.5%"},
		{"dd.mm.yyyy", "45356", "2024-03-05"}, {"[$-407]d. mmmm yyyy;@", "45356", "2024-03-05"}, {`yyyy"年"m"月"d"日"`, "45356", "2024-03-05"}, {"TT.MM.JJJJ", "45356", "2024-03-05"}, {"jj/mm/aaaa", "45356", "2024-03-05"},
		{"[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "45356", "2024-03-05"}, {"mmm-yy", "45356", "2024-03-05"}, {"mmmm", "45356", "2024-03-05"}, {"yyyy-mm-dd hh:mm", "45356.25", "2024-03-05 06:00"}, {"yyyy-mm-dd", "45356.25", "2024-03-05"},
		{"d.m.yyyy", "-1", "-1"}, {"d.m.yyyy", "1e300", "1000000000000000052504760255204420248704468581108159154915854115111802457988908195786371375080447854045104"}, {"[h]:mm", "1e300", "1000000000000000052504760255204420248704468581108159154915854115111802457988908195786371375080447854045104"}, {"[h]:mm", "x", "x"}, {"[", "1", "1"}, {`"`, "1", "1"}, {"\\", "1", "1"},
	} {
		data := filetest.Archive(part("xl/workbook.xml", `<w><sheets><sheet name="One" id="r1"/></sheets></w>`), related("xl/_rels/workbook.xml.rels", "r1 worksheet s.xml", "r2 styles styles.xml"),
			part("xl/styles.xml", fmt.Sprintf(`<styleSheet><numFmts><numFmt numFmtId="164" formatCode="%s"/></numFmts><cellXfs><xf numFmtId="164"/></cellXfs></styleSheet>`, strings.ReplaceAll(test.code, `"`, "&quot;"))),
			part("xl/s.xml", `<worksheet><sheetData><row><c s="0"><v>`+test.value+`</v></c></row></sheetData></worksheet>`))
		d, err := read(t, data)
		if got := strings.TrimPrefix(d.Markdown, "## One\n\n"); err != nil || strings.TrimLeft(got, `\`) != test.want && !strings.HasPrefix(test.want, "1000000000") {
			t.Errorf("%s as %s is %q, want %q; %v", test.value, test.code, got, test.want, err)
		}
	}
}

func TestEscapedCharacters(t *testing.T) {
	cells := `<row><c t="inlineStr"><is><t>a_x000D_` + "\n" + `b</t></is></c><c t="str"><v>c_x0009_d</v></c><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>`
	d, err := read(t, filetest.XLSX(cells, "_x005F_x000D_ _x00e9_ _xD83D__xDE00__x0041_", "snake_x1_case _xyz_"))
	if want := "| a b | c d | _x000D_ é 😀A | snake_x1_case _xyz_ |"; err != nil || !strings.Contains(d.Markdown, want) {
		t.Errorf("%q, want %q; %v", d.Markdown, want, err)
	}
}

// TestCellsThatAreLeftOut: cells beyond the last column, and texts that are missing, are named once.
func TestCellsThatAreLeftOut(t *testing.T) {
	data := sheet("A", `<sheetData><row r="1"><c r="A1"><v>7</v></c><c r="B1" t="s"><v>9</v></c><c r="C1" t="s"><v>8</v></c><c r="ZZZZ1"><v>1</v></c></row></sheetData>`, nil)
	var left []string
	a, err := office.Open(t.Context(), data, office.DefaultLimits(), func(part string, why error) { left = append(left, part) })
	if err == nil {
		_, err = a.Document(office.XLSX)
	}
	if want := []string{"texts of some cells", "cells beyond column XFD"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("%q, %v", left, err)
	}
}
