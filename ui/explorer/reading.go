package explorer

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/reader"
	"quarry/ui/passage"
)

// wholeChunks is how many chunks of a document are read at most; a chunk is about a page of a book.
const wholeChunks = 2000

// noDocumentIDs is why a passage cannot be read on at a server with Onyx's own answers.
const noDocumentIDs = "this server names no documents; o opens the source"

// reading is what the reader shows.
type reading struct {
	result    *wire.SearchResult
	query     string     // whose words are marked
	rendering bool       // a rendering is under way
	expanding *request   // for chunks
	whole     *chunksMsg // the document fetched whole last, for its other passages
}

// chunksMsg brings chunks around a passage, or the whole document.
type chunksMsg struct {
	id       int
	whole    bool
	document wire.DocumentInfo
	chunks   []wire.Chunk
	err      error
}

// expandSlowMsg comes when fetching takes long enough to be told.
type expandSlowMsg struct{ id int }

func (m *Model) expandIsSlow(msg expandSlowMsg) {
	if m.reading.expanding.is(msg.id) {
		m.message = message{"reading on · " + m.keys.keyOf("back", m.focus) + " stops", told}
	}
}

type renderedMsg struct{ rendered reader.Rendered }

// followSelection shows the selected passage in the reader, unless it stands there already.
func (m *Model) followSelection() {
	result, ok := m.result()
	switch {
	case !ok && m.reading.result != nil:
		m.reading.result = nil
		m.reader.Clear()
	case ok && (m.reading.result == nil || !sameReading(*m.reading.result, result) || m.wordsChanged(result)):
		m.reading.expanding.stop()
		m.reading.expanding = nil
		m.reading.result, m.reading.query = &result, m.search.shown.text
		m.reader.SetNow(m.now())
		m.reader.Show(m.document(result))
		if w := m.reading.whole; w != nil && w.document.ID == result.DocumentID {
			m.reader.SetWhole(w.document, w.chunks)
		}
	}
}

// wordsChanged tells that other words are looked for in a passage whose server does not mark them.
func (m *Model) wordsChanged(r wire.SearchResult) bool {
	return len(r.Highlights) == 0 && m.search.shown.text != m.reading.query
}

func sameReading(a, b wire.SearchResult) bool {
	return a.Ref == b.Ref && a.Title == b.Title && a.Content == b.Content && slices.Equal(a.Highlights, b.Highlights) &&
		passage.Citation(a) == passage.Citation(b)
}

// document is a result as the reader shows it.
func (m *Model) document(r wire.SearchResult) reader.Document {
	var words []string
	if m.search.shown != nil {
		words = passage.Words(m.search.shown.query)
	}
	d := reader.OfResult(r, words, m.unreadable(r))
	d.FileLinks = m.target.Kind == Library
	return d
}

// unreadable says why no more of a result's document can be read here; empty where it can.
func (m *Model) unreadable(r wire.SearchResult) string {
	switch {
	case r.DocumentID == "":
		return noDocumentIDs
	case slices.Contains(m.target.Beside, r.Origin):
		return "found in one go at " + r.Origin + ", and read there; o opens the source"
	}
	return ""
}

// render renders what the reader shows, one rendering at a time.
func (m *Model) render() tea.Cmd {
	if m.reading.rendering || m.rects.Reader.H == 0 {
		return nil
	}
	m.reader.View(m.rects.Reader.W, m.rects.Reader.H, m.theme, m.focus == InReader) // a job is for the size shown last
	job, ok := m.reader.RenderJob()
	if !ok {
		return nil
	}
	m.reading.rendering = true
	return func() tea.Msg { return renderedMsg{job.Render()} }
}

func (m *Model) rendered(msg renderedMsg) {
	m.reading.rendering = false
	m.reader.Apply(msg.rendered)
}

// expand fetches the chunks around what the reader shows.
func (m *Model) expand() tea.Cmd {
	m.showReader()
	from, to, ok := m.reader.Want()
	if !ok {
		m.say("that is the whole document")
		return nil
	}
	return m.fetch(func(ctx context.Context, c *client.Client, id string) chunksMsg {
		answer, err := c.Chunks(ctx, id, from, to)
		if err != nil {
			return chunksMsg{err: err}
		}
		return chunksMsg{document: answer.Document, chunks: answer.Chunks}
	})
}

// expandWhole fetches the whole document.
func (m *Model) expandWhole() tea.Cmd {
	m.showReader()
	return m.fetch(wholeDocument)
}

func wholeDocument(ctx context.Context, c *client.Client, id string) chunksMsg {
	msg := chunksMsg{whole: true}
	for len(msg.chunks) < wholeChunks {
		from := len(msg.chunks)
		answer, err := c.Chunks(ctx, id, from, from+wire.MaxChunksPerRequest-1)
		if err != nil {
			return chunksMsg{whole: true, err: err}
		}
		msg.document = answer.Document
		msg.chunks = append(msg.chunks, answer.Chunks...)
		if len(answer.Chunks) == 0 || len(msg.chunks) >= answer.Document.ChunkCount {
			break
		}
	}
	return msg
}

// fetch asks for chunks of the document that the reader shows.
func (m *Model) fetch(ask func(context.Context, *client.Client, string) chunksMsg) tea.Cmd {
	if m.reading.result == nil || m.client() == nil {
		return nil
	}
	m.reading.expanding.stop()
	ctx, r := m.begin()
	m.reading.expanding = r
	c, id := m.client(), m.reading.result.DocumentID
	slow := tea.Tick(slowAfter, func(time.Time) tea.Msg { return expandSlowMsg{r.id} })
	return tea.Batch(slow, func() tea.Msg {
		msg := ask(ctx, c, id)
		msg.id = r.id
		return msg
	})
}

// chunksTold puts fetched chunks into the reader; what was looked at stays in place.
func (m *Model) chunksTold(msg chunksMsg) {
	if !m.reading.expanding.is(msg.id) {
		return
	}
	m.reading.expanding.stop()
	m.reading.expanding = nil
	switch {
	case client.KindOf(msg.err) == client.NotAvailable:
		m.warn("the server does not give the passages around this one")
	case msg.err != nil:
		m.fail("could not read on: " + reasonOf(msg.err) + "; " + m.keys.keyOf("expand", InList) + " tries again")
	case msg.whole:
		m.reading.whole = &msg
		m.reader.SetWhole(msg.document, msg.chunks)
		if len(msg.chunks) < msg.document.ChunkCount {
			m.warn("the document is very long; its first part is shown")
		}
	default:
		m.reader.AddAbove(msg.chunks)
		m.reader.AddBelow(msg.chunks)
	}
}

// showReader makes the reader visible where only one pane fits.
func (m *Model) showReader() {
	if m.rects.Reader.H == 0 {
		m.focus = InReader
	}
}

func (m *Model) readerLineDown() tea.Cmd { m.reader.Down(1); return nil }
func (m *Model) readerLineUp() tea.Cmd   { m.reader.Up(1); return nil }
func (m *Model) readerHalfDown() tea.Cmd { m.reader.HalfPage(1); return nil }
func (m *Model) readerHalfUp() tea.Cmd   { m.reader.HalfPage(-1); return nil }
func (m *Model) readerPageDown() tea.Cmd { m.reader.Page(1); return nil }
func (m *Model) readerPageUp() tea.Cmd   { m.reader.Page(-1); return nil }
func (m *Model) readerTop() tea.Cmd      { m.reader.Top(); return nil }
func (m *Model) readerBottom() tea.Cmd   { m.reader.Bottom(); return nil }

func (m *Model) toggleRaw() tea.Cmd {
	m.showReader()
	m.reader.SetRaw(!m.reader.Raw())
	return nil
}

func (m *Model) nextMatch() tea.Cmd     { return m.toMatch(m.reader.NextMatch) }
func (m *Model) previousMatch() tea.Cmd { return m.toMatch(m.reader.PrevMatch) }

func (m *Model) toMatch(move func() bool) tea.Cmd {
	m.showReader()
	move()
	if _, total := m.reader.Match(); total == 0 {
		m.message = message{"the query's words do not stand in this passage", told}
	}
	return nil
}

func (m *Model) nextOfDocument() tea.Cmd     { return m.ofDocument(1) }
func (m *Model) previousOfDocument() tea.Cmd { return m.ofDocument(-1) }

func (m *Model) ofDocument(direction int) tea.Cmd {
	if !m.list.NextOfDocument(direction) {
		m.message = message{"no further passage of this document was found", told}
	}
	return nil
}
