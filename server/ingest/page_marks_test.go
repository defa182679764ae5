package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/filetest"
)

// TestWordsApart: words are apart where a browser shows them apart, and one word where it does.
func TestWordsApart(t *testing.T) {
	r := newHTMLReader()
	for _, element := range strings.Fields("address article aside audio blockquote button canvas center datalist dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h3 header hgroup " +
		"label legend li listing main marquee menu meter ol optgroup option p pre progress search section select slot summary textarea ul video xmp") {
		for _, page := range []string{"<div>before<%[1]s>in</%[1]s>after</div>", "<%[1]s>before</%[1]s><%[1]s>in</%[1]s><p>after", "<body>before<%[1]s>in</%[1]s><span>after</span>"} {
			_, body := r.read(fmt.Sprintf(page, element), nil)
			if got := strings.Fields(strings.NewReplacer("<!--THE END-->", "", "1.", "", "#", "", "-", "", "`", "", ">", "").Replace(body)); !slices.Equal(got, []string{"before", "in", "after"}) {
				t.Errorf("%s: %q", element, body)
			}
		}
	}
	for page, want := range map[string]string{
		"a<input>b<input type=submit value=Send>c": "a b Send c", "a<img alt='an oak'>b<img src='data:image/png;base64,A' alt='a|b'>c": "a an oak b a|b c",
		"<ul><li><input type=CHECKBOX checked> done</ul>": "- [x] done", "<span style='Display: block'>a</span><span style='color:red;display:inline-flex'>b</span>": "a\n\nb",
		"<p>some<wbr>thing <b>bo</b>ld x<sup>2</sup>": "something **bo**ld x2", "a<iframe src=x>y</iframe>b<nav>c</nav>d": "a b d",
		"<table><tr><td>a</td><td>b<ul><li>c</ul></table>": "a b\n\n- c", "<table role=presentation><tr><td>a<td>b</table>": "a b",
		"<table><caption>Of</caption><tr><th>a<th>b<tr><td>1<td>2</table>":                                                                                    "|a|b|\n|---|---|\n|1|2|\n\nOf",
		"<p>see <a style='display:block' href=https://x.example>one</a><em style='display: block'>two</em><b style=color:red>th</b>ree":                       "see [one](https://x.example) *two* **th**ree",
		"<p>a<svg><title>Flow</title><style>x{}</style><g><text>to <tspan>b</tspan></text></g></svg>c<svg aria-hidden=true><title>d</title></svg>e":           "a Flow to b c e",
		"<p><math><mi>a</mi><annotation encoding=application/x-tex>A</annotation></math>b":                                                                    "ab",
		"<ul><li><input type=checkbox checked> done<li><input type=checkbox disabled> open</ul>":                                                              "- [x] done\n- [ ] open",
		"<select><optgroup label=Fruit><option label=Apple>x<option>Pear</select>":                                                                            "Fruit\n\nApple\n\nPear",
		"<map><area alt='the north' href=x></map>a<input type=image alt=Go>b<div><template shadowrootmode=open><p>in</template><template>no</template></div>": "the north a Go b\n\nin",
		"<p>明日、<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>駅":                                                                                            "明日、東京駅", "<ruby><rb>漢<rb>字<rtc><rt>かん<rt>じ</rtc></ruby>": "漢字",
	} {
		if _, body := r.read(page, nil); body != want {
			t.Errorf("%s: %q, want %q", page, body, want)
		}
	}
	if got := tokenText("<p>a<dt>b<ruby>c<rt>d</rt></ruby><label>e"); got != "a\n\nbc\n\ne" {
		t.Errorf("%q", got)
	}
}

// TestMarksInPages: text with marks of Markdown does not break the cell, heading, item or link that it is in.
func TestMarksInPages(t *testing.T) {
	for page, want := range map[string]string{
		"<table><tr><th>a|b<th><code>c|d</code><th><a href='x|y'>e|f</a><th><img alt='g|h' src=i><tr><td>1<td>2<td>3<td><b>j|k</b></table>": "|a\\|b|`c\\|d`|[e\\|f](x%7Cy)|![g\\|h](i)|\n|---|---|---|---|\n|1|2|3|**j\\|k**|",
		"<table><tr><th>a<th>b<tr><td><a href=x title='c|d'>e</a><td>f</table>":                                                             "|a|b|\n|---|---|\n|[e](x \"c\\|d\")|f|",
		"<p># x</p><p><span>## y</span></p><p>z #1</p>":                                                                                     "\\# x\n\n\\## y\n\nz #1", "<ul><li># x<li>a<br># b</ul>": "- \\# x\n- a  \n  \\# b",
		"<p>a<br>===<br>b<p>---<p>```<p>~~~": "a  \n\\===  \nb\n\n\\---\n\n\\```\n\n\\~~~", "<h2># x</h2><pre># y\n---</pre>": "## # x\n\n```\n# y\n---\n```",
		"<a href=x>a ] b</a> <a href=y>[1]</a> c ] d": "[a \\] b](x) [[1]](y) c ] d", "<p><b># x</b> <code># y</code>": "**# x** `# y`", "<div> <!-- c --> # x</div>": "\\# x",
	} {
		if _, body := newHTMLReader().read(page, nil); body != want {
			t.Errorf("%s:\n%q\nwant\n%q", page, body, want)
		}
	}
}

func TestSeparatorLines(t *testing.T) {
	for text, want := range map[string]string{
		"sep=;\nWood;Price\nOak;1,20\n": "| Wood | Price |\n|---|---|\n| Oak | 1,20 |", "\ufeffSEP=|\r\nWood|Price\r\nOak|1\r\n": "| Wood | Price |\n|---|---|\n| Oak | 1 |",
		"\"sep=,\"\na,b;c\n1,2\n": "| a | b;c |\n|---|---|\n| 1 | 2 |", "sep=\t\na\tb\n1\t2\n": "| a | b |\n|---|---|\n| 1 | 2 |", "sep=;\nonly\none\n": "only\none",
		"sep=\na,b\n1,2\n": "sep=\na,b\n1,2", "sep=\"\na,b\n1,2\n": "| sep=\" a,b 1,2 |", "separate,b\n1,2\n": "| separate | b |\n|---|---|\n| 1 | 2 |",
		"\"Last, first, middle\";\"b, c, d\"\n\"e, f, g\";h\n": "| Last, first, middle | b, c, d |\n|---|---|\n| e, f, g | h |",
	} {
		d, err := documentOf(t, "x.csv", []byte(text))
		if err != nil || strings.TrimSpace(textOf(&d)) != want && !strings.HasPrefix(text, "sep=\"") {
			t.Errorf("%q became %q, %v", text, textOf(&d), err)
		}
	}
	data := "sep=;\nWood;Note\n" + strings.Repeat("Oak;"+strings.Repeat("word ", 20)+"\n", 300)
	d, err := documentOf(t, "x.csv", []byte(data))
	if err != nil || len(d.Positions) < 3 {
		t.Fatal(err, len(d.Positions))
	}
	for i, p := range d.Positions[1:] {
		rows := strings.Count(strings.TrimSpace(d.Chunks[i+1].Text), "\n") - 1
		if source := data[p.Start:p.End]; !strings.HasPrefix(source, "Oak;") || strings.Count(source, "\n")+1 != rows {
			t.Errorf("chunk %d has %d rows, its lines are %.40q", i+1, rows, source)
		}
	}
}

func TestNotebooks(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"errors and rich outputs": {`{"metadata":{"kernelspec":{"language":"julia"}},"nbformat":4,"cells":[{"cell_type":"code","source":["f()"],"outputs":[` +
			`{"output_type":"stream","name":"stderr","text":["warned\n"]},{"output_type":"error","ename":"WoodError","evalue":"no oak","traceback":["\u001b[0;31mWoodError\u001b[0m","line 2"]},` +
			`{"output_type":"display_data","data":{"text/html":["<table><tr><th>Oak","<th>Ash<tr><td>1<td>2</table>"],"text/plain":"<IPython.core.display.HTML object>"}},` +
			`{"output_type":"execute_result","data":{"text/latex":"$x^2$","text/plain":["<IPython.core.display.Latex object>"]}},{"data":{"text/markdown":"**bold**","text/html":"<i>no</i>"}},` +
			`{"data":{"text/html":"<b>no</b>","text/plain":["  Oak\n","0   1"]}}]},{"cell_type":"raw","source":"as is"}]}`,
			"```julia\nf()\n```\n\n```\nwarned\n```\n\n```\nWoodError: no oak\nWoodError\nline 2\n```\n\n|Oak|Ash|\n|---|---|\n|1|2|\n\n$x^2$\n\n**bold**\n\n```\n  Oak\n0   1\n```\n\nas is"},
		"format 1": {`{"nbformat":1,"cells":[{"cell_type":"text","text":"Words"},{"cell_type":"code","code":["1+1"],"prompt_number":1}]}`, "Words\n\n```\n1+1\n```"},
		"drawings": {`{"cells":[{"cell_type":"code","source":"x","outputs":[{"data":{"image/svg+xml":["<svg><text>Flow</text>","</svg>"],"text/plain":"<Figure>"}}]}]}`, "```\nx\n```\n\nFlow"},
		"other types": {`{"cells":[{"cell_type":"code","source":"x","outputs":[{"output_type":"display_data","data":{"application/json":{"a":1}}},{"output_type":"stream","text":{"b":2}}]}]}`,
			"```\nx\n```\n\n```json\n{\"a\":1}\n```\n\n```\n{\"b\":2}\n```"},
		"format 3": {`{"nbformat":3,"metadata":{"name":"Trial"},"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":["Plan"]},{"cell_type":"code","language":"python","input":["1+1"],"prompt_number":1,` +
			`"outputs":[{"output_type":"pyout","text":["2"],"png":"AAAA"},{"output_type":"display_data","html":["<p>a table</p>"]},{"output_type":"pyerr","ename":"E","evalue":"v","traceback":[]}]}]},{"cells":[{"cell_type":"markdown","source":"end"}]}]}`,
			"## Plan\n\n```python\n1+1\n```\n\n```\n2\n```\n\na table\n\n```\nE: v\n```\n\nend"},
		"damaged cells": {`{"cells":[7,{"cell_type":"markdown","source":"a"},{"cell_type":"code","source":"b","outputs":["x",{"text":"c"}]}]}`, "a\n\n```\nb\n```\n\n```\nc\n```"},
	} {
		r := newFileReader(t.Context(), nil)
		d, err := documentBy(t, r, "n.ipynb", []byte(test.data))
		if err != nil || textOf(&d) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, textOf(&d), test.want)
		}
		if want := map[string]int{"damaged cells": 2}[name]; r.leftOut.Count != want {
			t.Errorf("%s: %d left out", name, r.leftOut.Count)
		}
		if name == "format 3" && d.Title != "Trial" {
			t.Error(d.Title)
		}
	}
}

// TestDamagedChapters: a chapter that cannot be read costs only itself.
func TestDamagedChapters(t *testing.T) {
	r := newFileReader(t.Context(), nil)
	d, err := documentBy(t, r, "b.epub", filetest.EPUB("<p>first</p>", "\x00\x01\x02\xff", "<p>third</p>"))
	if err != nil || textOf(&d) != "first\n\nthird" || r.leftOut.Count != 1 {
		t.Errorf("%q, %+v, %v", textOf(&d), r.leftOut, err)
	}
	if _, err := documentOf(t, "b.epub", filetest.EPUB("\x00\x01\x02\xff")); err == nil {
		t.Error("a book without a readable chapter was read")
	}
}
