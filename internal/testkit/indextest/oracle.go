// Package indextest holds search engines to one behaviour: a plain and slow oracle that says what queries mean, random
// worlds of documents and queries, and a suite that any index.Index must pass.
package indextest

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"quarry/server/index"
	"quarry/server/index/analysis"
)

// Oracle answers queries over a set of documents by looking at each of them, word by word.
type Oracle struct {
	documents []*document // by id
	chunks    int
	// sums of lengths, as the formula needs them
	bodies, headings, titles, chunkTitles float64
	params                                Params
}

// Params are the constants of the formula, as in package lexical.
type Params struct {
	K1, B, TitleWeight, HeadingWeight, Title, Near, Coverage, NearUnordered, Identifier, Part float64
	Pair, Spelling                                                                            float64
	LookupWords, LookupTitle, LookupExact                                                     float64
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
}

// chunk holds the places of every term, numbered through title, headings and text with wide gaps between.
type chunk struct {
	places                map[string][]place
	lengthBody, lengthTop int
}

type place struct {
	position int
	field    field
}

type field int

const (
	inTitle field = iota
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
	a := analysis.New()
	out.title = a.Tokens(d.Title)
	if len(d.Chunks) == 0 {
		return out
	}
	for i, c := range d.Chunks {
		made := chunk{places: make(map[string][]place)}
		at := 0
		add := func(text string, f field) (n int) {
			last := 0
			for _, token := range a.Tokens(text) {
				made.places[token.Term] = append(made.places[token.Term], place{at + token.Position, f})
				out.terms[token.Term] = true
				out.surfaces[token.Surface] = token.Term
				if f == inTitle {
					out.titled[token.Term] = true
				}
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

// The fields of a filter, each with what passes it.
var filterFields = []struct {
	facet string
	pass  func(d *document, f *index.Filter) bool
}{
	{"sources", func(d *document, f *index.Filter) bool {
		return len(f.Sources) == 0 || slices.Contains(f.Sources, d.Source)
	}},
	{"types", func(d *document, f *index.Filter) bool { return len(f.Types) == 0 || slices.Contains(f.Types, d.Type) }},
	{"authors", func(d *document, f *index.Filter) bool {
		return len(f.Authors) == 0 || slices.ContainsFunc(f.Authors, func(name string) bool { return wroteIt(d, name) })
	}},
	{"tags", func(d *document, f *index.Filter) bool {
		return len(f.Tags) == 0 || slices.ContainsFunc(f.Tags, func(tag index.Tag) bool {
			return slices.ContainsFunc(d.Metadata, func(m index.Field) bool {
				return m.Key == tag.Key && slices.Contains(m.Values, tag.Value)
			})
		})
	}},
	{"sets", func(d *document, f *index.Filter) bool {
		return len(f.Sets)+len(f.Documents) == 0 || slices.Contains(f.Documents, d.ID) ||
			slices.ContainsFunc(f.Sets, func(name string) bool { return slices.Contains(d.Sets, name) })
	}},
	{"months", func(d *document, f *index.Filter) bool {
		if f.Since.IsZero() && f.Until.IsZero() {
			return true
		}
		if d.UpdatedAt.IsZero() {
			return f.KeepUndated
		}
		return (f.Since.IsZero() || !d.UpdatedAt.Before(f.Since)) && (f.Until.IsZero() || !d.UpdatedAt.After(f.Until))
	}},
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

// passes reports whether d passes every field of the filter but the named one.
func passes(d *document, f *index.Filter, but string) bool {
	for _, field := range filterFields {
		if field.facet != but && !field.pass(d, f) {
			return false
		}
	}
	return admitted(d, f.Access) && !excluded(d, &f.Excluded) && (f.Among == nil || slices.Contains(f.Among, d.ID))
}

// excluded reports whether d has one of the values: whether it passes a filter that names them in the field itself.
func excluded(d *document, x *index.Exclusion) bool {
	given := map[string]int{"sources": len(x.Sources), "types": len(x.Types), "authors": len(x.Authors), "tags": len(x.Tags),
		"sets": len(x.Sets) + len(x.Documents)}
	named := &index.Filter{Sources: x.Sources, Types: x.Types, Authors: x.Authors, Tags: x.Tags, Sets: x.Sets,
		Documents: x.Documents}
	for _, field := range filterFields {
		if given[field.facet] > 0 && field.pass(d, named) {
			return true
		}
	}
	return false
}

// Facets counts the documents that a filter admits.
func (o *Oracle) Facets(f index.Filter) index.Counts {
	return o.count(&f, func(*document) bool { return true }, nil)
}

// count counts the documents for which matches holds and the returned ones.
func (o *Oracle) count(f *index.Filter, matches func(*document) bool, returned []string) index.Counts {
	counts := make(map[string]map[string]int)
	tags := make(map[index.Tag]int)
	out := index.Counts{}
	for _, d := range o.documents {
		named := slices.Contains(returned, d.ID) && passes(d, f, "")
		if !named && !matches(d) {
			continue
		}
		if passes(d, f, "") {
			out.Documents++
		}
		for _, field := range filterFields {
			if !passes(d, f, field.facet) {
				continue
			}
			if field.facet == "months" && d.UpdatedAt.IsZero() {
				out.Undated++
			}
			if counts[field.facet] == nil {
				counts[field.facet] = make(map[string]int)
			}
			seen := make(map[index.Tag]bool)
			for _, value := range facetValues(d, field.facet) {
				if seen[value] {
					continue
				}
				seen[value] = true
				if field.facet == "tags" {
					tags[value]++
				} else {
					counts[field.facet][value.Value]++
				}
			}
		}
	}
	out.Sources, out.Authors = sorted(counts["sources"]), sorted(counts["authors"])
	out.Types, out.Sets, out.Months = sorted(counts["types"]), sorted(counts["sets"]), sorted(counts["months"])
	slices.SortFunc(out.Months, func(a, b index.ValueCount) int { return strings.Compare(a.Value, b.Value) })
	for tag, n := range tags {
		out.Tags = append(out.Tags, index.TagCount{Tag: tag, Count: n})
	}
	slices.SortFunc(out.Tags, func(a, b index.TagCount) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
	return out
}

func facetValues(d *document, facet string) (values []index.Tag) {
	add := func(value string) {
		if value != "" {
			values = append(values, index.Tag{Value: value})
		}
	}
	switch facet {
	case "sources":
		add(d.Source)
	case "types":
		add(d.Type)
	case "authors":
		for _, author := range d.Authors {
			add(author.Display())
		}
	case "sets":
		for _, name := range d.Sets {
			add(name)
		}
	case "months":
		if !d.UpdatedAt.IsZero() {
			add(d.UpdatedAt.UTC().Format("2006-01"))
		}
	case "tags":
		for _, field := range d.Metadata {
			for _, value := range field.Values {
				values = append(values, index.Tag{Key: field.Key, Value: value})
			}
		}
	}
	return values
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
