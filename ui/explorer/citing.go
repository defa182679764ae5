package explorer

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/ui/explorer/panel"
	"quarry/ui/passage"
)

// maxCitation bounds the numbers that are looked for in an answer.
const maxCitation = 500

// citedSources are the documents that an answer cites, by number.
func citedSources(got *wire.ChatAnswer) []panel.Source {
	var sources []panel.Source
	for number := 1; len(sources) < len(got.Citations) && number <= maxCitation; number++ {
		document, ok := got.Document(number)
		if !ok {
			continue
		}
		source := panel.Source{Number: number, Title: document.Title, SourceType: document.SourceType, DocumentID: document.DocumentID}
		if document.Link != nil {
			source.Link = *document.Link
		}
		sources = append(sources, source)
	}
	return sources
}

// openCited shows the document that a number of the answer stands for: the passage in the list, or else among the
// documents of the answer, which take the list's place, or else its source.
func (m *Model) openCited(number int) tea.Cmd {
	source, turn, ok := m.answer.Cited(number)
	if !ok {
		m.warn("the answer has no citation with that number")
		return nil
	}
	at := m.resultOf(source)
	if at < 0 && slices.ContainsFunc(turn.Found, func(d wire.SearchDoc) bool { return d.DocumentID == source.DocumentID }) {
		m.showDocuments(turn)
		at = m.resultOf(source)
	}
	if at < 0 && !m.openable(source.Link) {
		m.warn("that document is not in the results and has no link")
		return nil
	}
	if at < 0 {
		return m.openLink(source.Link)
	}
	m.list.SelectIndex(at)
	m.panels = nil
	m.focus = InReader
	return nil
}

// resultOf finds the passage of a cited document in the list, by its id, or where the server names none by its link; -1
// where it is not.
func (m *Model) resultOf(source panel.Source) int {
	if m.search.shown == nil {
		return -1
	}
	results := m.search.shown.response.Results
	if i := slices.IndexFunc(results, func(r wire.SearchResult) bool {
		return r.DocumentID != "" && r.DocumentID == source.DocumentID
	}); i >= 0 {
		return i
	}
	return slices.IndexFunc(results, func(r wire.SearchResult) bool {
		return source.Link != "" && r.DocumentID == "" && linkOf(r) == source.Link
	})
}

// showDocuments has the list show the documents that an answer rests on.
func (m *Model) showDocuments(turn panel.Turn) {
	m.stopSearch()
	m.stopBlaming()
	m.search.failure = nil
	response := &wire.SearchResponse{Results: documentResults(turn)}
	response.FillEmpty()
	answered := shown{search: m.searchOf(m.box.Query()), response: response, ofAnswer: true}
	m.begin(&answered.request) // for the passages that are completed
	m.answer.completed = map[string]bool{}
	m.show(answered)
}

// documentResults are the documents of an answer as passages: under the numbers that the answer cites them by, and those
// that it does not cite under numbers that are free.
func documentResults(turn panel.Turn) []wire.SearchResult {
	numbers, taken := map[string]int{}, map[int]bool{}
	for _, source := range turn.Sources {
		numbers[source.DocumentID], taken[source.Number] = source.Number, true
	}
	free := 0
	var results []wire.SearchResult
	for _, d := range turn.Found[:min(len(turn.Found), wire.MaxNumResults)] {
		number, cited := numbers[d.DocumentID]
		if !cited {
			for free++; taken[free]; free++ {
			}
			number = free
		}
		result := wire.SearchResult{CitationID: &number, Title: d.Title, Content: d.Blurb, Link: d.Link, SourceType: d.SourceType,
			UpdatedAt: d.UpdatedAt, DocumentID: d.DocumentID, Ref: d.DocumentID + "#" + strconv.Itoa(d.ChunkInd),
			ChunkInd: d.ChunkInd, ChunkStart: d.ChunkInd, ChunkEnd: d.ChunkInd, Blurb: d.Blurb, Metadata: d.Metadata,
			Authors: d.PrimaryOwners, Selected: true}
		results = append(results, result)
	}
	slices.SortStableFunc(results, func(a, b wire.SearchResult) int { return *a.CitationID - *b.CitationID })
	return results
}

// completePassage fetches the whole of the selected passage, where the list shows the documents of an answer. What cannot
// be fetched stays as it is.
func (m *Model) completePassage() tea.Cmd {
	result, ok := m.result()
	if !ok || !m.search.shown.ofAnswer || m.client() == nil || result.DocumentID == "" || m.answer.completed[result.Ref] {
		return nil
	}
	m.answer.completed[result.Ref] = true
	c, shown := m.client(), m.search.shown
	return during(shown.request, func(ctx context.Context) (*wire.DocumentChunks, error) {
		return c.Chunks(ctx, result.DocumentID, result.ChunkInd, result.ChunkInd)
	}, func(document *wire.DocumentChunks, err error) tea.Cmd {
		if err == nil && len(document.Chunks) == 1 && m.search.shown == shown {
			m.handlePassage(result.Ref, document)
		}
		return nil
	})
}

// handlePassage puts the whole of a passage in place of its beginning.
func (m *Model) handlePassage(ref string, document *wire.DocumentChunks) {
	results, chunk := m.search.shown.response.Results, document.Chunks[0]
	i := slices.IndexFunc(results, func(r wire.SearchResult) bool { return r.Ref == ref })
	if i < 0 || chunk.Damaged {
		return
	}
	results[i].Content, results[i].HeadingPath = chunk.Content, chunk.HeadingPath
	results[i].ChunkCount = document.Document.ChunkCount
	m.list.Set(results, passage.Words(m.search.shown.query), true)
}

// notOfAnswer says why there is nothing to tell about how the list came about.
func notOfAnswer(m *Model) string {
	if m.search.shown != nil && m.search.shown.ofAnswer {
		return fmt.Sprintf("these documents come from an answer; %s runs a search", m.keys.keyOf("search-again", InList))
	}
	return nothingAsked(m)
}
