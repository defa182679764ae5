package pipeline

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/language"
)

// cite writes the answer: passages, citation numbers per document, counts.
func (r *run) cite() (skipped string) {
	r.write(r.response, r.final)
	r.noteEmptySources()
	r.noteDamage()
	r.stage.Detail = text.Count(len(r.response.CitationMapping), "document")
	return ""
}

// provisional sends the first of the ranked sections to streaming clients while later stages run.
func (r *run) provisional(sections []section) {
	if !r.Search.Stream {
		return
	}
	chosen, rest := firstSections(sections, r.Search.NumResults)
	response := *r.response
	response.CitationMapping = map[string]string{}
	r.write(&response, arrange(chosen, rest, r.Search))
	r.emit(wire.SearchEvent{Type: wire.EventProvisional, Response: &response})
}

// write fills a response with sections and their counts. Documents that were removed meanwhile are left out.
func (r *run) write(response *wire.SearchResponse, sections []section) {
	r.lacking(sections)
	related := idsOf(sections)
	for _, s := range sections {
		related = append(append(related, r.copiesOf(s)...), r.newer[s.document])
	}
	group, within := guard.NewGroup(r.ctx)
	defer group.Wait()
	group.Run(func() { r.count(within, response) })
	r.look(related)
	w := writing{r: r, response: response, numbers: map[documentKey]int{},
		results: make([]*wire.SearchResult, len(sections))}
	for from := 0; from < len(sections); from += textsAtATime {
		some := sections[from:min(from+textsAtATime, len(sections))]
		texts, err := r.snapshot.Texts(r.ctx, rangesOf(some), r.Access)
		guard.While("read the documents found", err)
		for i, s := range some {
			if write := w.result(from+i, s, r.described[s.document], texts[i]); write != nil {
				group.Run(write)
			}
		}
	}
	guard.Check(group.Wait())
	response.Results = slices.Grow(response.Results, len(w.results))
	for _, result := range w.results {
		if result != nil {
			response.Results = append(response.Results, *result)
		}
	}
	response.LLMFacingText = llmFacingText(response.Results)
}

// textsAtATime is how many passages are read together, while those before are marked.
const textsAtATime = 16

// rangesOf returns what sections of this library's documents show.
func rangesOf(sections []section) []index.Range {
	ranges := make([]index.Range, len(sections))
	for i, s := range sections {
		if s.center.remote == nil {
			ranges[i] = index.Range{DocumentID: s.document, From: s.start, To: s.end}
		}
	}
	return ranges
}

// writing is the state of an answer that is written.
type writing struct {
	r        *run
	response *wire.SearchResponse
	numbers  map[documentKey]int  // of its documents
	results  []*wire.SearchResult // by section; nil: it cannot be read
}

// result numbers the document of a section, and returns what writes the result, which may run beside others.
func (w *writing) result(at int, s section, document *index.Stored, chunks []index.Chunk) (write func()) {
	r := w.r
	if p := s.center.remote; p != nil {
		w.results[at] = new(r.remoteResult(s, w.cite(p.document(), p.DocumentID)))
		return nil
	}
	s, readable := recenter(s, chunks)
	if document == nil || !readable {
		return nil
	}
	number := r.numbers[s.document]
	if r.Search.Lists() {
		w.response.CitationMapping[strconv.Itoa(number)] = s.document
	} else {
		number = w.cite(documentKey{id: s.document}, s.document)
	}
	return func() {
		result := r.result(s, *document, chunks, number)
		r.relate(&result, s)
		w.results[at] = &result
	}
}

func (w *writing) cite(of documentKey, id string) int {
	number, known := w.numbers[of]
	if !known {
		number = len(w.numbers) + 1
		w.numbers[of] = number
		w.response.CitationMapping[strconv.Itoa(number)] = id
	}
	return number
}

// idsOf returns the ids of the sections' documents that are of this library.
func idsOf(sections []section) (ids []string) {
	for _, s := range sections {
		if s.center.remote == nil {
			ids = append(ids, s.document)
		}
	}
	return ids
}

// look adds documents to those that are described.
func (r *run) look(ids []string) {
	var unknown []string
	for _, id := range ids {
		if _, known := r.described[id]; !known && id != "" {
			r.described[id] = nil
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return
	}
	stored, err := r.snapshot.Documents(r.ctx, unknown, r.Access)
	guard.While("describe the documents found", err)
	for _, d := range stored {
		if !d.Damaged {
			r.described[d.ID] = &d
		}
	}
}

func (r *run) result(s section, d index.Stored, chunks []index.Chunk, citation int) wire.SearchResult {
	content, places := joined(chunks)
	s, marks, best := r.center(s, content, languageAt(d, chunks, places), places)
	at := s.center.chunk - s.start
	center, headings, link := chunks[at], chunks[at].Headings, chunks[at].Link
	if mark, found := firstMark(marks, best); found {
		headings, link = placeOf(d, s.center.chunk, center, min(mark-places[at][0], len(center.Text)))
	} else if len(chunks) > 1 && r.byWordsAlone() { // the title was found, which all sections have
		headings, link = nil, ""
	}
	standing := r.standings[d.ID]
	result := wire.SearchResult{
		CitationID: &citation, Title: d.Title, Content: content,
		Link: Link(r.FileLinks, link, d.Link), UpdatedAt: Timestamp(d.UpdatedAt),
		DocumentID: d.ID, Ref: d.ID + "#" + strconv.Itoa(s.center.chunk), ChunkInd: s.center.chunk,
		ChunkStart: s.start, ChunkEnd: s.end, ChunkCount: d.ChunkCount, Score: s.center.score,
		Blurb: blurb(center.Text), HeadingPath: append([]string{}, headings...), Highlights: marks, BestPassage: best,
		Metadata: wireMetadata(d.Metadata), Secondary: d.Secondary, Selected: s.selected,
		Matches: standing.matches, Missing: append([]string{}, standing.missing...), FoundBy: standing.foundBy,
		Citation: r.citation(d, link, line(d, s.center.chunk, center, best[0]-places[at][0]),
			line(d, s.center.chunk, center, best[1]-places[at][0])),
		Origin: r.Profile, Lines: []int{}, Bytes: []int{}, AlsoIn: []wire.DocumentCopy{},
	}
	for id := range field.N {
		if show := field.Of(id).Show; show != nil {
			show(&result, index.ValuesOf(id, &d.Document))
		}
	}
	if last := s.start + len(chunks) - 1; last < len(d.Positions) {
		from, to := d.Positions[s.start], d.Positions[last]
		result.Lines, result.Bytes = []int{from.FirstLine, to.LastLine}, []int{from.Start, to.End}
	}
	if r.Search.Explain {
		result.Ranks = r.ranksOf(s.center.chunkID)
	}
	return result
}

// citation returns what a colleague can open, or have read: an address, else the id of the document as others see it,
// with the line or page of the passage.
func (r *run) citation(d index.Stored, link string, line, last int) string {
	if file, lines, _ := strings.Cut(d.Permalink, "#"); lines != "" && line > 0 {
		return file + "#" + strings.NewReplacer("FIRST", strconv.Itoa(line), "LAST", strconv.Itoa(last)).Replace(lines)
	} else if file, _, _ = strings.Cut(file, "?"); file != "" {
		return file
	}
	address := Link(false, link, d.Link)
	if address == nil && link == "" && len(d.Outline) > 0 {
		link = d.Outline[0].Link
	}
	if strings.HasPrefix(link, wire.MessageScheme) {
		return link
	} else if address != nil {
		return *address
	}
	id := d.ID
	if r.Name != nil {
		id = r.Name(id)
	}
	_, fragment, _ := strings.Cut(link, "#")
	switch {
	case line > 0:
		return id + ":" + strconv.Itoa(line)
	case strings.HasPrefix(fragment, "page="):
		return id + "#" + fragment
	}
	return id
}

// line returns the line of the file in which a byte of a chunk's text is; 0 if that is unknown.
func line(d index.Stored, chunk int, c index.Chunk, at int) int {
	if chunk >= len(d.Positions) {
		return 0
	}
	place := d.Positions[chunk]
	return wire.LineAt(c.Text, []int{place.FirstLine, place.LastLine}, at)
}

// center returns a section with the chunk of its best passage as the center, its marks and that passage. It moves the
// center to the question's words if they are elsewhere in the section, and where nothing else found it, to its
// beginning if they are in the title.
func (r *run) center(s section, content string, spoken index.LanguageAt, places []wire.Span) (
	_ section, marks []wire.Span, best wire.Span) {
	at := min(max(s.center.chunk-s.start, 0), len(places)-1)
	s.center.chunk = s.start + at
	marks, best = r.highlight(content, spoken, places[at])
	if _, found := firstMark(marks, places[at]); found || len(places) == 1 ||
		r.answer().Highlighter == nil || len(marks) == 0 && !r.byWordsAlone() {
		return s, marks, best
	}
	_, best = r.highlight(content, spoken, wire.Span{0, len(content)})
	mark, _ := firstMark(marks, best)
	s.center.chunk = s.start + max(0, chunkAt(places, mark))
	return s, marks, best
}

// chunkAt returns which of the chunks at places of a text has a byte of it; -1 if none has.
func chunkAt(places []wire.Span, at int) int {
	return slices.IndexFunc(places, func(place wire.Span) bool { return at >= place[0] && at < place[1] })
}

// firstMark returns where the first mark in a range begins: what comes before it may be the end of another section.
// Without one it is the beginning of the range.
func firstMark(marks []wire.Span, within wire.Span) (at int, found bool) {
	i := slices.IndexFunc(marks, func(mark wire.Span) bool { return mark[0] >= within[0] && mark[0] < within[1] })
	if i < 0 {
		return within[0], false
	}
	return marks[i][0], true
}

// highlight returns the ranges of the question's words in a text, and the best passage within a part.
func (r *run) highlight(content string, spoken index.LanguageAt, within wire.Span) (
	marks []wire.Span, best wire.Span) {
	marks = []wire.Span{}
	if h := r.answer().Highlighter; h != nil {
		ranges, passage := h.Highlight(content, spoken, within)
		for _, at := range ranges {
			marks = append(marks, at)
		}
		best = passage
	}
	return marks, best
}

// languageAt returns the languages of chunks at places of a text. Each is detected once at most.
func languageAt(d index.Stored, chunks []index.Chunk, places []wire.Span) index.LanguageAt {
	known := make([]string, len(chunks))
	return func(at int) string {
		i := chunkAt(places, at)
		if i < 0 {
			return d.Language
		}
		if known[i] == "" {
			known[i] = language.OfChunk(chunks[i].Text, d.Language, d.ChunkCount)
		}
		return known[i]
	}
}

// joined returns a run of chunks as one text, and their ranges in it. Chunks without a line break at their end get one.
// Damaged chunks are left out.
func joined(chunks []index.Chunk) (whole string, places []wire.Span) {
	var all strings.Builder
	before := "\n"
	places = make([]wire.Span, len(chunks))
	for i, c := range chunks {
		if c.Damaged {
			continue
		}
		if !strings.HasSuffix(before, "\n") {
			all.WriteByte('\n')
		}
		before = c.Text
		places[i] = wire.Span{all.Len(), all.Len() + len(c.Text)}
		all.WriteString(c.Text)
	}
	whole = strings.TrimRightFunc(all.String(), unicode.IsSpace)
	for i, at := range places {
		places[i] = wire.Span{min(at[0], len(whole)), min(at[1], len(whole))}
	}
	return whole, places
}

// Link returns the first candidate that the caller can open, or nil: the place of a passage comes before its document's
// address. Messages without one are left out, and file: links unless files is set: they are useless elsewhere, and
// would reveal paths of this machine.
func Link(files bool, candidates ...string) *string {
	for _, c := range candidates {
		scheme, _, _ := strings.Cut(c, ":")
		if c != "" && scheme+":" != wire.MessageScheme && (files || !strings.EqualFold(scheme, "file")) {
			return &c
		}
	}
	return nil
}

// Timestamp formats a time as ISO 8601 with offset; nil if it is zero.
func Timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(wire.Timestamp(t, "-07:00"))
}

// wireMetadata converts metadata to its wire form.
func wireMetadata(fields []index.Field) map[string]wire.Metadata {
	metadata := make(map[string]wire.Metadata, len(fields))
	for _, f := range fields {
		metadata[f.Key] = wire.Metadata{Values: slices.Clone(f.Values), List: f.List}
	}
	return metadata
}

// llmFacingText returns the selected results as JSON for a language model; citation numbers identify the documents.
func llmFacingText(results []wire.SearchResult) string {
	shown := struct {
		Results []any `json:"results"`
	}{make([]any, 0, len(results))}
	for i := range results {
		if results[i].Selected {
			shown.Results = append(shown.Results, wire.ModelResult.Of(&results[i]))
		}
	}
	var out strings.Builder
	_ = wire.WriteJSON(&out, shown) // strings and numbers always encode
	return strings.TrimSpace(out.String())
}

// recenter moves the center of a section to the nearest readable chunk; readable is false if there is none.
func recenter(s section, chunks []index.Chunk) (_ section, readable bool) {
	center, distance := s.center.chunk-s.start, 0
	for i := range chunks {
		if away := max(i-center, center-i); !chunks[i].Damaged && (!readable || away < distance) {
			s.center.chunk, distance, readable = s.start+i, away, true
		}
	}
	return s, readable
}

// noteDamage adds a note about what cannot be read.
func (r *run) noteDamage() {
	damage := r.snapshot.Damage()
	if len(damage) == 0 {
		return
	}
	var passages, documents int
	var parts []string
	files := false
	for _, d := range damage {
		switch d.Kind {
		case index.DamagedText:
			passages += len(d.Chunks)
		case index.DamagedDocument:
			documents++
		default:
			files = true
		}
	}
	if passages > 0 {
		parts = append(parts, text.Count(passages, "passage"))
	}
	if documents > 0 {
		parts = append(parts, text.Count(documents, "document"))
	}
	if files {
		parts = append(parts, "a part of the index")
	}
	remedy := ""
	if r.Trusted {
		remedy = "; repair it with: quarry sync --check"
	}
	r.note(wire.NoteDamaged, "the library is damaged: %s cannot be read%s", strings.Join(parts, " and "), remedy)
}
