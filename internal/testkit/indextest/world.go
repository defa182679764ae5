package indextest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"quarry/client/field"
	"quarry/server/index"
)

// World makes random documents and queries that have much in common.
type World struct {
	random     *rand.Rand
	vocabulary []string
}

// NewWorld returns a world; the same seed makes the same world.
func NewWorld(seed uint64) *World {
	return &World{
		random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		vocabulary: strings.Fields(`deploy deploys deployed deployment service services runner running run pipeline
			database databases index indexes the of and a to handbook holiday holidays policy policies kubernetes
			PROJ-123 PROJ-124 ERR_TEMP_042 v4.12.0 getUserName username user name 日本語 日本 東京都 猫 黒猫 café naïve
			configuration configure rollback incident on-call oncall on call e-mail email mail US us IT it May may 2024 ISO27001 ISO 27001 27001
			サーバー サーバ ｻｰﾊﾞｰ 打ち合わせ 打合せ onto server servers x y avtal avtalen möte möten`),
	}
}

func (w *World) pick(list []string) string { return list[w.random.IntN(len(list))] }

// some returns up to n values of list.
func (w *World) some(list []string, n int) (out []string) {
	for range w.random.IntN(n + 1) {
		out = append(out, w.pick(list))
	}
	return out
}

// words favours the words that come first in the vocabulary.
func (w *World) words(n int) string {
	var out []string
	for range n {
		at := min(w.random.IntN(len(w.vocabulary)), w.random.IntN(len(w.vocabulary)))
		word := w.vocabulary[at]
		if w.random.IntN(8) == 0 {
			word = strings.ToUpper(word)
		}
		if w.random.IntN(6) == 0 {
			word += "."
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

var (
	worldSources = []string{"file", "slack", "github", "web"}
	worldTypes   = []string{"md", "pdf", "thread", ""}
	worldSets    = []string{"handbook", "engineering", "legal"}
	worldAccess  = []string{"PUBLIC", "group:infra", "user_email:jo@acme.example"}
	worldTeams   = []string{"infra", "web", "people"}
	worldRoots   = []string{"handbook", "people", "wiki"}
	worldTongues = []string{"de", "en", "ja"}
)

func worldPeople() []index.Person {
	return []index.Person{
		{Name: "Jo March", Email: "jo@acme.example"}, {Name: "Amy March", Email: "amy@acme.example"},
		{Email: "beth@acme.example"}, {Name: "Theodore Laurence"},
		{Name: "March"}, {Name: "jo march"}, {Email: "amy@acme.example"}, // which others are found by, too
	}
}

// Document makes a document; n decides its id.
func (w *World) Document(n int) index.Document {
	d := index.Document{
		ID: fmt.Sprintf("doc:%04d", n), Title: w.words(w.random.IntN(5)), Source: w.pick(worldSources),
		Type: w.pick(worldTypes), Sets: w.some(worldSets, 2), Access: w.some(worldAccess, 2),
		Hidden: w.random.IntN(12) == 0, Link: fmt.Sprintf("https://acme.example/%d", n),
		Language: worldTongues[n%len(worldTongues)],
	}
	if w.random.IntN(2) == 0 {
		d.Origin = fmt.Sprintf("/library/%d/%d.md", n%3, n)
	}
	if d.Origin == "" || w.random.IntN(4) > 0 { // documents of roots of older versions have none
		d.Place = strings.Join(append([]string{w.pick(worldRoots)}, w.some(worldTeams, 2)...), "/")
	}
	if w.random.IntN(3) > 0 {
		d.Path = strings.Fields(w.words(w.random.IntN(3)))
	}
	if w.random.IntN(4) > 0 {
		d.UpdatedAt = w.time()
		d.CreatedAt = d.UpdatedAt.Add(-time.Hour)
	}
	people := worldPeople()
	for range w.random.IntN(3) {
		d.Authors = append(d.Authors, people[w.random.IntN(len(people))])
	}
	if w.random.IntN(3) > 0 {
		d.Metadata = append(d.Metadata, index.Field{
			Key: "team", Values: append(w.some(worldTeams, 1), w.pick(worldTeams)), List: true,
		})
	}
	if w.random.IntN(4) == 0 {
		d.Metadata = append(d.Metadata, index.Field{Key: "state", Values: []string{"draft"}})
	}
	if w.random.IntN(4) == 0 {
		d.Metadata = append(d.Metadata, index.Field{Key: "Keywords", Values: strings.Fields(w.words(2)), List: true})
	}
	for i := range w.random.IntN(5) {
		c := index.Chunk{Text: w.words(w.random.IntN(30))}
		if w.random.IntN(2) == 0 {
			c.Headings = []string{w.words(1 + w.random.IntN(2))}
			d.Outline = append(d.Outline, index.Heading{Level: 1, Text: c.Headings[0], Chunk: i})
		}
		if n%6 == 1 && i == 1 { // no document is in its language
			c.Text = "De nya avtalen gäller från och med i morgon, men inte för möten som redan är bestämda. " + c.Text
		}
		d.Chunks = append(d.Chunks, c)
	}
	if at := n % 7; at > 0 {
		for i, c := range d.Chunks {
			d.Positions = append(d.Positions, index.Position{Start: at, End: at + len(c.Text), FirstLine: at + i, LastLine: at + 3*i})
			at += len(c.Text) + n%2
		}
	}
	return d
}

// time is one of few, so that bounds are hit exactly.
func (w *World) time() time.Time {
	return time.Date(2026, time.Month(1+w.random.IntN(6)), 1+w.random.IntN(3), 0, 0, 0, w.random.IntN(2)*1e6, time.UTC)
}

// Access makes a caller.
func (w *World) Access() index.Access {
	if w.random.IntN(2) == 0 {
		return index.Access{All: true}
	}
	return index.Access{Terms: w.some(worldAccess, 2)}
}

// Filter makes a filter, often an open one.
func (w *World) Filter() index.Filter {
	f := index.Filter{Access: w.Access()}
	rarely := func() bool { return w.random.IntN(6) == 0 }
	for id := range field.N {
		if rarely() {
			f.Any[id] = w.filterValues(id, 2)
		}
	}
	if rarely() {
		f.Documents = []string{"doc:0003", "doc:0011", "doc:nowhere"}
	}
	if rarely() {
		f.Since = w.time()
	}
	if rarely() {
		f.Until = w.time()
	}
	f.KeepUndated = w.random.IntN(2) == 0
	if rarely() {
		for id := range field.N {
			if w.random.IntN(2) == 0 {
				f.None[id] = w.filterValues(id, 1)
			}
		}
		if rarely() {
			f.NoDocuments = []string{"doc:0003", "doc:nowhere"}
		}
	}
	if once := rarely(); once && rarely() {
		f.Among = []string{"doc:0003", "doc:0007", "doc:0009", "doc:nowhere"}
	}
	return f
}

// filterValues makes values of a filter by a field.
func (w *World) filterValues(id field.ID, most int) []string {
	var teams []string
	for _, team := range worldTeams {
		teams = append(teams, field.Pair("team", team))
	}
	all := [field.N][]string{
		field.Source: worldSources, field.Set: worldSets, field.Tag: append(teams, field.Pair("state", "draft")),
		field.Author: {"jo", "March", "amy@ACME.example", "theodore laurence", "nobody", "beth"}, field.Type: worldTypes[:3], field.Lang: worldTongues,
		field.Place: {"handbook", "people", "handbook/people", "wiki/infra", "infra", "wiki/infra/web"},
	}[id]
	if all == nil {
		panic("no values of the field " + field.Of(id).Name)
	}
	return w.some(all, most)
}

// Query makes a query for many hits.
func (w *World) Query() index.Query {
	q := index.Query{
		Text: w.words(w.random.IntN(7)), Filter: w.Filter(), Limit: 1000, Count: true,
		PerDocument: max(0, w.random.IntN(6)-3),
		Prefix:      w.random.IntN(4) == 0,
	}
	if w.random.IntN(3) == 0 { // as an agent's documents bound a question
		scope := index.Filter{Access: q.Filter.Access, Documents: q.Filter.Documents, Since: q.Filter.Since, KeepUndated: q.Filter.KeepUndated}
		scope.Any[field.Set] = q.Filter.Any[field.Set]
		if q.Scope = &scope; w.random.IntN(2) == 0 { // and a choice of other sets replaces its sets
			q.Filter.Any[field.Set] = w.Filter().Any[field.Set]
		}
	}
	if w.random.IntN(4) == 0 {
		q.Phrases = append(q.Phrases, w.words(1+w.random.IntN(2)))
	}
	if w.random.IntN(8) == 0 {
		q.Phrases = append(q.Phrases, w.words(w.random.IntN(3)))
	}
	if w.random.IntN(4) == 0 {
		q.Exclude = append(q.Exclude, w.words(1+w.random.IntN(2)))
	}
	if w.random.IntN(5) == 0 {
		q.Text = w.typo()
	}
	q.PrefixIfUnknown = !q.Prefix && w.random.IntN(4) == 0
	if (q.Prefix || q.PrefixIfUnknown) && len(q.Text) > 2 {
		q.Text = w.Beginning()
	}
	return q
}

// List makes a query for a list, and the size of its pages.
func (w *World) List() (q index.Query, size int) {
	q = w.Query()
	q.List = &index.List{Order: index.Order(w.random.IntN(3)), Browse: w.random.IntN(2) == 0}
	if q.List.Browse && w.random.IntN(2) == 0 {
		q.Text, q.Phrases = "", nil
	}
	return q, 1 + w.random.IntN(9)
}

// typo is a word with a mistake, sometimes with another word.
func (w *World) typo() string {
	word := []rune(w.pick(w.vocabulary))
	at := w.random.IntN(len(word))
	switch w.random.IntN(3) {
	case 0:
		word[at] = 'q'
	case 1:
		word = append(word[:at], word[at+1:]...)
	default:
		if at > 0 {
			word[at], word[at-1] = word[at-1], word[at]
		}
	}
	if w.random.IntN(2) == 0 {
		return string(word) + " " + w.words(1)
	}
	return string(word)
}

// Beginning is some words, the last one cut off.
func (w *World) Beginning() string {
	word := []rune(w.pick(w.vocabulary))
	text := string(word[:1+w.random.IntN(len(word))])
	if w.random.IntN(3) == 0 {
		text = w.words(1) + " " + text
	}
	if w.random.IntN(8) == 0 {
		text += " "
	}
	return text
}
