// Package state keeps what a person did in the explorer between runs: recent and saved searches, collected passages,
// and the arrangement of the screen. Each target has a file of its own, which several processes may use at the same
// time.
package state

import (
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exmaps"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// Bounds of a state. Older entries make room for newer ones; saved searches and collected passages are never dropped,
// new ones are refused instead.
const (
	MaxRecent    = 200
	MaxSaved     = 50
	MaxSeen      = 1000 // references of a saved search
	MaxCollected = 500
	maxContent   = 8 << 10 // bytes of a collected passage
	maxNote      = 2 << 10 // bytes
	maxName      = 80      // characters of a saved search's name
)

// visitEnds is how long nothing must happen before the next start counts as another visit.
const visitEnds = time.Hour

// State is what is remembered of one target. Its zero value is that of a first visit.
type State struct {
	Version    int       `json:"version"`
	Active     time.Time `json:"active,omitzero"` // last time the explorer was used
	Since      time.Time `json:"since,omitzero"`  // end of the visit before this one; zero: there was none
	Recent     []Search  `json:"recent,omitempty"`
	Saved      []Saved   `json:"saved,omitempty"`
	Collection []Passage `json:"collection,omitempty"`
	Screen     Screen    `json:"screen,omitzero"`
}

// Search is a search that was made, the newest first.
type Search struct {
	Query string    `json:"query"`
	At    time.Time `json:"at"`
	Found int       `json:"found"` // matching documents
}

// Saved is a search with a name.
type Saved struct {
	Name   string    `json:"name"`
	Query  string    `json:"query"`
	Opened time.Time `json:"opened,omitzero"`
	Seen   []string  `json:"seen,omitempty"` // references of its results that were shown, the newest first
}

// New returns the references that were not among the results when the search was last opened.
func (s Saved) New(refs []string) []string {
	return slices.DeleteFunc(slices.Clone(refs), exmaps.NewSetWithItems(s.Seen).Has)
}

// Passage is a collected passage, as it was when it was marked: what savedPassage has keys for. Its Ref is what
// passage.RefOf returns.
type Passage struct {
	wire.SearchResult
	Query  string    `json:"query" jsonschema:"that found the passage"`
	Note   string    `json:"note" jsonschema:"of the person"`
	Marked time.Time `json:"marked"`
	Stale  string    `json:"stale" jsonschema:"changed or gone: of the document since"`
}

// What becomes of a passage after it was marked.
const (
	Changed = "changed"
	Gone    = "gone"
)

const savedKeys = `ref document_id? title link? source_type? updated_at? authors? citation? heading_path?
	content?(at most 8 KiB, as it was when it was marked) chunk_start?(first chunk of the content, from 0)
	chunk_end?(last chunk of the content) origin?(profile of the passage, where several were searched) query? note?
	marked stale?`

var savedPassage = wire.NewProfile[Passage](savedKeys)

// MarshalJSON writes the passage as a state has it.
func (p Passage) MarshalJSON() ([]byte, error) { return savedPassage.Marshal(&p) }

// UnmarshalJSON reads what any version wrote.
func (p *Passage) UnmarshalJSON(text []byte) error { return savedPassage.Unmarshal(text, p) }

// Screen is how the person arranged the screen.
type Screen struct {
	Theme    string `json:"theme,omitempty"`
	Group    string `json:"group,omitempty"`     // what the results are grouped by
	DividerX int    `json:"divider_x,omitempty"` // columns that the divider beside the list was moved by
	DividerY int    `json:"divider_y,omitempty"` // rows that the divider below it was moved by
}

// PassageOf returns a result as a collected passage.
func PassageOf(result wire.SearchResult, query string, now time.Time) Passage {
	result = passage.Best(result)
	result.Ref, result.Content = passage.RefOf(result), text.Clip(result.Content, maxContent)
	return savedPassage.Only(Passage{SearchResult: result, Query: query, Marked: now})
}

// Result returns a collected passage as a result with a citation number.
func (p Passage) Result(number int) wire.SearchResult {
	result := p.SearchResult
	result.CitationID, result.Selected, result.ChunkInd = &number, true, p.ChunkStart
	if _, chunk, ok := wire.SplitRef(p.Ref); ok && p.DocumentID != "" {
		result.ChunkInd = chunk
	}
	if p.DocumentID == "" { // the reference is the link
		result.Ref = ""
	}
	return result
}

// Visit notes that the explorer is used now. Since is then the end of the visit before.
func (s *State) Visit(now time.Time) {
	if now.Sub(s.Active) > visitEnds {
		s.Since = s.Active
	}
	s.Active = now
}

// Searched puts a search first among the recent ones; the same query stands there once.
func (s *State) Searched(search Search) {
	search.Query = strings.TrimSpace(search.Query)
	if search.Query == "" {
		return
	}
	s.Active = search.At
	s.Recent = slices.DeleteFunc(slices.Clone(s.Recent), func(old Search) bool { return old.Query == search.Query })
	s.Recent = slices.Insert(s.Recent, 0, search)
	s.Recent = s.Recent[:min(len(s.Recent), MaxRecent)]
}

// Forget removes a recent search.
func (s *State) Forget(query string) {
	s.Recent = slices.DeleteFunc(slices.Clone(s.Recent), func(old Search) bool { return old.Query == query })
}

// Save saves a search under a name, in place of the one that has the name. It returns ErrFull if
// there is no room.
func (s *State) Save(saved Saved) error {
	saved.Name = text.Clip(text.OneLine(saved.Name), maxName)
	s.Saved = slices.Clone(s.Saved)
	if at := s.savedAt(saved.Name); at >= 0 {
		s.Saved[at] = saved
		return nil
	}
	if len(s.Saved) >= MaxSaved {
		return ErrFull
	}
	s.Saved = append(s.Saved, saved)
	return nil
}

// Unsave removes a saved search.
func (s *State) Unsave(name string) {
	s.Saved = slices.DeleteFunc(slices.Clone(s.Saved), func(saved Saved) bool { return saved.Name == name })
}

// SavedNamed returns a saved search by its name, in which case does not matter.
func (s State) SavedNamed(name string) (Saved, bool) {
	if at := s.savedAt(name); at >= 0 {
		return s.Saved[at], true
	}
	return Saved{}, false
}

func (s State) savedAt(name string) int {
	return slices.IndexFunc(s.Saved, func(saved Saved) bool { return strings.EqualFold(saved.Name, name) })
}

// MarkSeen notes that results of a saved search were shown.
func (s *State) MarkSeen(name string, refs []string, now time.Time) {
	at := s.savedAt(name)
	if at < 0 {
		return
	}
	s.Saved = slices.Clone(s.Saved)
	saved := &s.Saved[at]
	saved.Seen = exslices.DeduplicateUnsorted(slices.Concat(refs, saved.Seen))
	saved.Seen = saved.Seen[:min(len(saved.Seen), MaxSeen)]
	saved.Opened = now
}

// Collected returns the place of a passage in the collection, or -1.
func (s State) Collected(ref string) int {
	return slices.IndexFunc(s.Collection, func(p Passage) bool { return p.Ref == ref })
}

// Collect adds a passage to the collection. It returns ErrFull if there is no room.
func (s *State) Collect(p Passage) error {
	if s.Collected(p.Ref) >= 0 {
		return nil
	}
	if len(s.Collection) >= MaxCollected {
		return ErrFull
	}
	s.Collection = append(slices.Clone(s.Collection), p)
	return nil
}

// Drop removes a passage from the collection.
func (s *State) Drop(ref string) {
	s.Collection = slices.DeleteFunc(slices.Clone(s.Collection), func(p Passage) bool { return p.Ref == ref })
}

// Annotate sets the note of a collected passage; an empty one removes it.
func (s *State) Annotate(ref, note string) {
	if at := s.Collected(ref); at >= 0 {
		s.Collection = slices.Clone(s.Collection)
		s.Collection[at].Note = text.Clip(note, maxNote)
	}
}

// SetStale sets what became of collected passages, by reference.
func (s *State) SetStale(found map[string]string) {
	s.Collection = slices.Clone(s.Collection)
	for i := range s.Collection {
		if stale, ok := found[s.Collection[i].Ref]; ok {
			s.Collection[i].Stale = stale
		}
	}
}

// Move moves a collected passage by steps, forwards or backwards, as far as there is room.
func (s *State) Move(ref string, steps int) {
	from := s.Collected(ref)
	if from < 0 {
		return
	}
	to := min(max(from+steps, 0), len(s.Collection)-1)
	moved := s.Collection[from]
	s.Collection = slices.Insert(slices.Delete(slices.Clone(s.Collection), from, from+1), to, moved)
}

// bound cuts a state that was read to its bounds, and makes its texts safe to show: anybody who can write the file
// could have put anything there.
func (s *State) bound() {
	s.Recent = s.Recent[:min(len(s.Recent), MaxRecent)]
	s.Saved = s.Saved[:min(len(s.Saved), MaxSaved)]
	s.Collection = s.Collection[:min(len(s.Collection), MaxCollected)]
	for i := range s.Recent {
		s.Recent[i].Query = line(s.Recent[i].Query)
	}
	for i := range s.Saved {
		saved := &s.Saved[i]
		saved.Name, saved.Query = line(saved.Name), line(saved.Query)
		saved.Seen = saved.Seen[:min(len(saved.Seen), MaxSeen)]
	}
	for i := range s.Collection {
		p := &s.Collection[i]
		for _, value := range []*string{&p.Ref, &p.DocumentID, &p.Title, p.Link, &p.SourceType, p.UpdatedAt, &p.Origin,
			&p.Query} {
			if value != nil {
				*value = line(*value)
			}
		}
		for j := range p.Authors {
			p.Authors[j] = line(p.Authors[j])
		}
		p.Content, p.Note = text.Clip(client.Sanitize(p.Content), maxContent),
			text.Clip(client.Sanitize(p.Note), maxNote)
	}
}

// line is a text of the file as one bounded line.
func line(s string) string { return text.Clip(text.OneLine(client.Sanitize(s)), wire.MaxQueryRunes) }
