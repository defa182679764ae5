// Package indextest holds search engines to one behaviour: a plain and slow oracle that says what queries mean, random
// worlds of documents and queries, and a suite that any index.Index must pass.
package indextest

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"quarry/client/field"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/language"
)

// Oracle answers queries over a set of documents by looking at each of them, word by word.
type Oracle struct {
	documents []*document          // by id
	languages []*analysis.Language // that documents or chunks have
	chunks    int
	// sums of lengths, as the formula needs them
	bodies, headings, titles, chunkTitles float64
	params                                Params
}

// Params are the constants of the formula, as in package lexical.
type Params struct {
	K1, B, TitleWeight, HeadingWeight, Title, Near, Coverage, NearUnordered, Identifier, Part float64
	Pair, Spelling, Acronym                                                                   float64
	LookupWords, LookupTitle, LookupExact, LookupMatch, Language, Enough                      float64
}

// document is a document with its words.
type document struct {
	index.Document
	title    []analysis.Token
	size     int // tokens of title and path
	chunks   []chunk
	terms    map[string]bool
	titled   map[string]bool
	surfaces map[string]string // surface → term
	// languages are its own and those of its chunks.
	languages map[string]bool
}

// chunk holds the places of every term, numbered through title, headings and text with wide gaps between.
type chunk struct {
	places                map[string][]place
	lengthBody, lengthTop int
}

type place struct {
	position int
	field    textField
	surface  string
}

type textField int

const (
	inTitle textField = iota
	inHeadings
	inBody
)

// gap is what separates fields; anything beyond the window of nearness will do.
const gap = 100

// NewOracle makes an oracle over documents.
func NewOracle(documents []index.Document, params Params) *Oracle {
	o := &Oracle{params: params}
	for _, d := range documents {
		o.documents = append(o.documents, analyse(d))
	}
	slices.SortFunc(o.documents, func(a, b *document) int { return strings.Compare(a.ID, b.ID) })
	for _, l := range analysis.Languages() {
		if slices.ContainsFunc(o.documents, func(d *document) bool { return d.languages[l.Code] }) {
			o.languages = append(o.languages, l)
		}
	}
	for _, d := range o.documents {
		o.chunks += len(d.chunks)
		o.titles += float64(d.size)
		for _, c := range d.chunks {
			o.bodies += float64(c.lengthBody)
			o.headings += float64(c.lengthTop)
			o.chunkTitles += float64(d.size)
		}
	}
	return o
}

func analyse(d index.Document) *document {
	out := &document{
		Document: d, terms: make(map[string]bool), titled: make(map[string]bool), surfaces: make(map[string]string),
	}
	own := languageOf(out)
	a, spoken := analysis.New(), own
	out.languages = map[string]bool{own: true}
	out.title = a.Tokens(d.Title)
	if len(d.Chunks) == 0 {
		return out
	}
	for i, c := range d.Chunks {
		made := chunk{places: make(map[string][]place)}
		spoken = own
		at := 0
		add := func(text string, f textField) (n int) {
			last := 0
			for _, token := range a.Tokens(text) {
				for _, term := range append([]string{token.Term}, stems([]*analysis.Language{analysis.LanguageOf(spoken)}, token)...) {
					made.places[term] = append(made.places[term], place{at + token.Position, f, token.Surface})
					out.terms[term] = true
					out.titled[term] = out.titled[term] || f == inTitle
				}
				out.surfaces[token.Surface] = token.Term
				last = token.Position
				n++
			}
			at += last + gap
			return n
		}
		out.size = 0
		for _, text := range d.TitleField() {
			out.size += add(text, inTitle)
		}
		spoken = language.OfChunk(c.Text, own, len(d.Chunks))
		out.languages[spoken] = true
		for _, heading := range d.HeadingsField(i) {
			made.lengthTop += add(heading, inHeadings)
		}
		made.lengthBody = add(c.Text, inBody)
		out.chunks = append(out.chunks, made)
	}
	return out
}

// admitted reports whether access may see d.
func admitted(d *document, access index.Access) bool {
	if d.Hidden {
		return false
	}
	if access.All {
		return true
	}
	return slices.ContainsFunc(d.Access, func(term string) bool { return slices.Contains(access.Terms, term) })
}

// oracleField is what a filter's value of a field means, and what of a document is counted.
type oracleField struct {
	has    func(d *document, value string) bool
	values func(d *document) []string
}

// oracleFields says it once more, apart from the code under test: a field without an entry fails every suite.
var oracleFields = [field.N]oracleField{
	field.Source: {func(d *document, value string) bool { return d.Source == value },
		func(d *document) []string { return []string{d.Source} }},
	field.Set: {func(d *document, value string) bool { return slices.Contains(d.Sets, value) },
		func(d *document) []string { return d.Sets }},
	field.Tag: {func(d *document, value string) bool { return slices.Contains(tagsOf(d), value) }, tagsOf},
	field.Author: {wroteIt, func(d *document) (names []string) {
		for _, author := range d.Authors {
			names = append(names, author.Display())
		}
		return names
	}},
	field.Type: {func(d *document, value string) bool { return d.Type == value },
		func(d *document) []string { return []string{d.Type} }},
	field.Lang: {func(d *document, value string) bool { return languageOf(d) == value },
		func(d *document) []string { return []string{languageOf(d)} }},
	field.Place: {func(d *document, value string) bool { return strings.HasPrefix(placeOf(d)+"/", value+"/") },
		func(d *document) (places []string) {
			names := strings.Split(placeOf(d), "/")
			for i := range names {
				places = append(places, strings.Join(names[:i+1], "/"))
			}
			return places
		}},
}

// placeOf is the place that a document says, or else the source of one that no root has.
func placeOf(d *document) string {
	if d.Place == "" && d.Origin == "" {
		return d.Source
	}
	return d.Place
}

// languageOf is the language that a document says, or else that of its text.
func languageOf(d *document) string {
	if d.Language != "" || len(d.Document.Chunks) == 0 {
		return d.Language
	}
	var texts []string
	for _, c := range d.Document.Chunks {
		texts = append(texts, c.Text)
	}
	return language.Detect(strings.Join(texts, "\n"))
}

func tagsOf(d *document) (tags []string) {
	for _, m := range d.Metadata {
		for _, value := range m.Values {
			tags = append(tags, m.Key+"\x00"+value)
		}
	}
	return tags
}

// fieldTime is the field of time, behind those of the table; noField is none.
const (
	fieldTime = field.N
	noField   = field.N + 1
)

// hasAny reports whether d passes a filter that names values of a field; the documents of the filter count as a set.
func hasAny(d *document, id field.ID, values, documents []string) bool {
	return id == field.Set && slices.Contains(documents, d.ID) ||
		slices.ContainsFunc(values, func(value string) bool { return oracleFields[id].has(d, value) })
}

// inTime reports whether d is within the bounds of a filter.
func inTime(d *document, f *index.Filter) bool {
	if f.Since.IsZero() && f.Until.IsZero() {
		return true
	}
	if d.UpdatedAt.IsZero() {
		return f.KeepUndated
	}
	switch passes, fails := f.DayEdges(); {
	case !fails.IsZero() && d.UpdatedAt.Equal(fails):
		return false
	case !passes.IsZero() && d.UpdatedAt.Equal(passes):
		return f.Until.IsZero() || !d.UpdatedAt.After(f.Until)
	}
	return (f.Since.IsZero() || !d.UpdatedAt.Before(f.Since)) && (f.Until.IsZero() || !d.UpdatedAt.After(f.Until))
}

// wroteIt reports whether name means an author of d.
func wroteIt(d *document, name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name != "" && slices.ContainsFunc(d.Authors, func(p index.Person) bool {
		full, email := strings.ToLower(p.Name), strings.ToLower(p.Email)
		local, _, _ := strings.Cut(email, "@")
		return name == full || name == email || name == local || slices.Contains(strings.Fields(full), name)
	})
}

// passes reports whether d passes every field of the filter but one.
func passes(d *document, f *index.Filter, but field.ID) bool {
	for id := range field.N {
		documents := f.Documents
		if id != field.Set {
			documents = nil
		}
		if id != but && len(f.Any[id])+len(documents) > 0 && !hasAny(d, id, f.Any[id], documents) {
			return false
		}
		if hasAny(d, id, f.None[id], f.NoDocuments) {
			return false
		}
	}
	return (but == fieldTime || inTime(d, f)) && admitted(d, f.Access) && (f.Among == nil || slices.Contains(f.Among, d.ID))
}

// Facets counts the documents that a filter admits.
func (o *Oracle) Facets(f index.Filter) index.Counts {
	return o.count(&f, func(*document) bool { return true })
}

// count counts the documents for which matches holds and the returned ones.
func (o *Oracle) count(f *index.Filter, matches func(*document) bool) index.Counts {
	out := index.Counts{}
	counts, months := [field.N]map[string]int{}, map[string]int{}
	finds := [field.N][]*document{} // those that pass every other field
	var named [][]string            // the sets of documents that the filter names
	for _, d := range o.documents {
		if !matches(d) {
			continue
		}
		if passes(d, f, noField) {
			out.Documents++
		}
		for id := range field.N {
			if counts[id] == nil {
				counts[id] = map[string]int{}
			}
			if !passes(d, f, id) {
				continue
			}
			finds[id] = append(finds[id], d)
			values := slices.Compact(slices.Sorted(slices.Values(oracleFields[id].values(d))))
			for _, value := range values {
				counts[id][value]++
			}
			if id == field.Set && slices.Contains(f.Documents, d.ID) && passes(d, f, noField) { // whatever set is chosen
				named = append(named, values)
			}
		}
		switch {
		case !passes(d, f, fieldTime):
		case d.UpdatedAt.IsZero():
			out.Undated++
		default:
			months[d.UpdatedAt.UTC().Format("2006-01")]++
		}
	}
	for value := range counts[field.Author] { // a name is also found as a word of a longer one
		counts[field.Author][value] = 0
		for _, d := range finds[field.Author] {
			if wroteIt(d, value) {
				counts[field.Author][value]++
			}
		}
	}
	for value := range counts[field.Set] {
		for _, sets := range named {
			if !slices.Contains(sets, value) {
				counts[field.Set][value]++
			}
		}
	}
	for id := range counts {
		delete(counts[id], "")
		out.Values[id] = sorted(counts[id])
	}
	out.Months = sorted(months)
	slices.SortFunc(out.Months, func(a, b index.ValueCount) int { return strings.Compare(a.Value, b.Value) })
	return out
}

func sorted(counts map[string]int) (out []index.ValueCount) {
	for value, n := range counts {
		out = append(out, index.ValueCount{Value: value, Count: n})
	}
	slices.SortFunc(out, func(a, b index.ValueCount) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value))
	})
	return out
}

// idf is BM25's.
func idf(total, n int) float64 {
	n = min(n, total)
	return math.Log(1 + (float64(total)-float64(n)+0.5)/(float64(n)+0.5))
}
