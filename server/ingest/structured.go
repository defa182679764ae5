package ingest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/server/index"
	"quarry/server/ingest/markdown"
)

// codeExtensions are those of source code and configuration; without their dot they are what highlighters call the
// language.
const codeExtensions = `.bash .bat .c .cc .clj .cmake .conf .cpp .cs .css .dart .diff .el .erl .ex .exs .fs .go .gradle
	.graphql .groovy .h .hcl .hpp .hs .ini .java .jl .js .jsx .kt .lisp .lua .m .mjs .ml .nix .patch .php .pl
	.properties .proto .ps1 .py .r .rb .rs .sass .scala .scss .sh .sql .svelte .swift .tex .tf .toml .ts .tsx .vb .vue
	.xml .yaml .yml .zig .zsh`

// fromCode reads source code as one block of code, named as the file.
func fromCode(_ *fileReader, text string, d index.Document) extracted { return codeIn(text, d.Type, d) }

func codeIn(text, language string, d index.Document) extracted {
	open, end := markdown.Fence(language, text)
	body := open + strings.TrimRight(text, "\n") + "\n" + end
	whole := block{Kind: kindCode, Start: 0, End: len(body), Body: len(open)}
	title := meta{Title: oneLine(path.Base(d.Origin), longestTitle)}
	return extracted{meta: title, body: body, blocks: []block{whole}, finish: func(doc *index.Document) {
		for i := range doc.Positions {
			p := &doc.Positions[i]
			p.Start, p.End = max(p.Start-len(open), 0), min(p.End-len(open), len(strings.TrimRight(text, "\n")))
		}
	}}
}

// fromJSON reads a JSON file. One without lines is indented, so that it can be cut.
func fromJSON(_ *fileReader, text string, d index.Document) extracted {
	const longLine = 400 // bytes, on average
	var indented bytes.Buffer
	if len(text) < longLine*(1+strings.Count(text, "\n")) || indentedSize(text) > markdown.MaxBytes ||
		json.Indent(&indented, []byte(text), "", " ") != nil {
		return codeIn(text, "json", d)
	}
	e := codeIn(indented.String(), "json", d)
	e.finish = nil
	return e
}

// indentedSize returns how many bytes json.Indent makes of a text at most: a value in a thousand lists has a thousand
// spaces before it.
func indentedSize(text string) int {
	size, depth, isQuoted := len(text), 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isQuoted && c == '\\':
			i++
		case c == '"':
			isQuoted = !isQuoted
		case isQuoted:
		case c == '[' || c == '{':
			depth++
			size += 1 + depth
		case c == ']' || c == '}':
			depth--
			size += 1 + depth
		case c == ',':
			size += 1 + depth
		case c == ':':
			size++
		}
	}
	return size
}

// fromCSV reads a table. Each chunk repeats the header, and knows the lines that it comes from.
func fromCSV(_ *fileReader, text string, d index.Document) extracted {
	delimiter, start := separatorLine(text)
	if start == 0 {
		delimiter = delimiterOf(text, d.Type)
	}
	column := func() extracted { // of a table with only one
		lines := strings.TrimLeft(text[start:], "\n")
		return endOf(text, lines, paragraphs(lines, 0, kindLines), meta{})
	}
	if !hasDelimiters(text[start:], delimiter) {
		return column()
	}
	in := csv.NewReader(strings.NewReader(text[start:]))
	in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = delimiter, true, -1, true
	var rows [][]string
	var ends []int // of the rows in text
	cells := 0
	for {
		row, err := in.Read()
		if err != nil {
			break // at the end: lazy quotes allow everything else
		}
		if cells += len(row); cells > mostCells {
			guard.Abort(fmt.Errorf("its table has more than %d cells", mostCells))
		}
		rows, ends = append(rows, slices.Clone(row)), append(ends, start+int(in.InputOffset()))
	}
	var w markdown.Writer
	w.Table(rows)
	body := guard.Must(w.Text())
	if !strings.HasPrefix(body, "|") { // one column
		return column()
	}
	header := lineEnd(body, 0)
	table := block{Kind: kindTable, End: len(body), Body: lineEnd(body, header)}
	return extracted{body: body, blocks: []block{table}, finish: func(doc *index.Document) {
		inRows(doc, body, text, ends)
	}}
}

// separatorLine returns the delimiter that the first line names for Excel, as in "sep=;", and where the table begins; 0
// if it names none.
func separatorLine(text string) (delimiter rune, start int) {
	line := strings.Trim(strings.TrimRight(text[:lineEnd(text, 0)], "\r\n"), `"`)
	if len(line) < len("sep=") || !strings.EqualFold(line[:len("sep=")], "sep=") {
		return 0, 0
	}
	delimiter, width := utf8.DecodeRuneInString(line[len("sep="):])
	if len(line) != len("sep=")+width || delimiter == utf8.RuneError || delimiter == '"' {
		return 0, 0
	}
	return delimiter, lineEnd(text, 0)
}

// mostCells bounds a table in memory.
const mostCells = 4_000_000

// inRows moves positions in a table, which has a line for each row and one below the header, to those of the rows in
// the text. ends are where the rows end.
func inRows(d *index.Document, body, text string, ends []int) {
	var starts []int // of the lines in the table
	for at := 0; at < len(body); at = lineEnd(body, at) {
		starts = append(starts, at)
	}
	row := func(at int) int {
		line := sort.SearchInts(starts, at+1) - 1
		return min(max(line-1, 0), len(ends)-1)
	}
	if line := len(starts) - 1; line != len(ends) {
		d.Positions = nil
		return
	}
	at := 0
	for i := range d.Positions {
		p := &d.Positions[i]
		first, last := 0, row(p.End-1)
		if line := sort.SearchInts(starts, p.Start+1) - 1; line > 0 {
			first = row(p.Start)
		}
		from := 0
		if first > 0 {
			from = ends[first-1]
		}
		p.Start = max(at, from) // parts of one long row follow each other
		p.End = max(p.Start, from+len(strings.TrimRight(text[from:ends[last]], "\n")))
		at = p.End
	}
}

// delimiterOf returns what separates the cells of a table: that which most of its first lines contain as often as the
// first one.
func delimiterOf(text, kind string) rune {
	if kind == "tsv" {
		return '\t'
	}
	const looked = 20
	best, most := ',', 0
	for _, delimiter := range ",;\t|" {
		lines, alike, first := 0, 0, 0
		for line := range strings.Lines(text) {
			n := strings.Count(quotedCell().ReplaceAllString(line, ""), string(delimiter))
			if lines++; lines == 1 {
				first = n
			}
			if n > 0 && n == first {
				alike++
			}
			if lines == looked {
				break
			}
		}
		if alike > most {
			best, most = delimiter, alike
		}
	}
	return best
}

var quotedCell = pattern.Lazy(`"[^"]*"?`)

// hasDelimiters reports whether the first line, or most lines, contain the delimiter.
func hasDelimiters(text string, delimiter rune) bool {
	first, _, _ := strings.Cut(text, "\n")
	return strings.ContainsRune(first, delimiter) ||
		2*strings.Count(text, string(delimiter)) > strings.Count(text, "\n")+1
}
