package explorer

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/reader"
	"quarry/ui/passage"
)

// wholeChunks is how many chunks of a document are read at most; a chunk is about a page of a book.
const wholeChunks = 2000

// noDocumentIDs is why a passage cannot be read on at a server with Onyx's own answers.
const noDocumentIDs = "this server cannot show surrounding text; o opens the original"

// reading is a reader and the passage that it shows.
type reading struct {
	reader.Reader
	result    *wire.SearchResult // nil: none
	query     string             // whose words are marked
	rendering bool               // a rendering is running
	expanding *request           // for chunks
	whole     *fetched           // the document fetched whole last, for its other passages
	drawn     []string           // the pane as it was drawn last
	drawnIn   Rect
}

// fetched are the chunks of a range around a passage, or the whole document: as they are asked for, and then with what
// came.
type fetched struct {
	whole    bool
	from, to int    // both included
	query    string // whose words are marked
	then     func() // runs once they are shown; nil for nothing
	document wire.DocumentInfo
	chunks   []wire.Chunk
}

// followSelection shows the selected passage in the reader, unless it is shown already.
func (m *Model) followSelection() {
	result, ok := m.list.Selected()
	r := m.compare.following
	switch {
	case !ok && r.result != nil:
		r.result = nil
		r.Clear()
	case ok && (r.result == nil || !sameReading(*r.result, result) || m.wordsChanged(result)):
		r.expanding.stop()
		r.result, r.query = &result, m.search.shown.text
		r.SetNow(m.now())
		r.Show(m.document(result))
		if w := r.whole; w != nil && w.document.ID == result.DocumentID && w.query == wordsOf(m.search.shown) {
			r.SetWhole(w.document, w.chunks)
		}
	}
}

// wordsChanged reports whether other words are looked for in a passage whose server does not mark them.
func (m *Model) wordsChanged(r wire.SearchResult) bool {
	return len(r.Highlights) == 0 && m.search.shown.text != m.compare.following.query
}

func sameReading(a, b wire.SearchResult) bool {
	return a.Ref == b.Ref && a.Title == b.Title && a.Content == b.Content && slices.Equal(a.Highlights, b.Highlights) &&
		passage.Citation(a) == passage.Citation(b)
}

// document is a result as the reader shows it.
func (m *Model) document(r wire.SearchResult) reader.Document {
	var words []string
	if m.search.shown != nil && !m.conn.welcome.marks {
		words = passage.Words(m.search.shown.query)
	}
	why := m.unreadable(r)
	return reader.Document{SearchResult: r, By: m.look.by, Words: words, CanExpand: why == "",
		WhyNot: why, FileLinks: m.target.Kind == Library}
}

// unreadable returns why the rest of a result's document cannot be read here; "" means that it can.
func (m *Model) unreadable(r wire.SearchResult) string {
	if r.DocumentID == "" {
		return noDocumentIDs
	}
	return m.elsewhere(r)
}

// elsewhere returns where a result's document is, unless the target itself has it.
func (m *Model) elsewhere(r wire.SearchResult) string {
	return unless(!slices.Contains(m.target.Beside, r.Origin), "this document is on "+r.Origin+"; o opens the original")
}

// render renders what the readers show, for each one rendering at a time.
func (m *Model) render() tea.Cmd {
	if m.compare.pinned == nil {
		return m.renderIn(m.compare.following, m.rects.Reader)
	}
	return tea.Batch(m.renderIn(m.compare.following, m.rects.Reader), m.renderIn(m.compare.pinned, m.rects.Pinned))
}

func (m *Model) renderIn(r *reading, rect Rect) tea.Cmd {
	if r.rendering || rect.H == 0 {
		return nil
	}
	r.View(rect.W, rect.H, m.theme) // a job is for the size shown last
	job, ok := r.RenderJob()
	if !ok {
		return nil
	}
	r.rendering = true
	document := r.result.DocumentID
	return detached(nil, func() (reader.Rendered, error) {
		rendered := job.Render()
		for _, why := range rendered.Failures {
			m.options.Log.Warn("the reader shows text unrendered", "document", document, "reason", why)
		}
		return rendered, nil
	}, func(rendered reader.Rendered, _ error) tea.Cmd {
		r.rendering = false
		r.Apply(rendered)
		return nil
	})
}

// expand fetches the chunks around what the reader shows.
func (m *Model) expand() tea.Cmd {
	m.showReader()
	from, to, ok := m.reader.Want()
	if !ok {
		m.say("this is the whole document")
		return nil
	}
	return m.fetch(fetched{from: from, to: to})
}

// expandWhole fetches the whole document.
func (m *Model) expandWhole() tea.Cmd {
	m.showReader()
	return m.fetch(fetched{to: wholeChunks - 1, whole: true})
}

// wordsOf returns the words of a search, with those of its phrases; none for nil.
func wordsOf(s *shown) string {
	if s == nil {
		return ""
	}
	return strings.TrimSpace(strings.Join(append([]string{s.query.Words}, s.query.Phrases...), " "))
}

// fetch fetches chunks of the document that the reader shows, as far as the document has them.
func (m *Model) fetch(got fetched) tea.Cmd {
	r := m.reader
	if r.result == nil || m.client() == nil {
		return nil
	}
	c, id := m.client(), r.result.DocumentID
	got.query = wordsOf(m.search.shown)
	found := background(m, &r.expanding, func(ctx context.Context) (fetched, error) {
		for answer, err := range c.ChunkRange(ctx, id, got.from, got.to, got.query) {
			if err != nil {
				return got, err
			}
			got.document = answer.Document
			got.chunks = append(got.chunks, answer.Chunks...)
		}
		return got, nil
	}, func(got fetched, err error) tea.Cmd { return m.handleChunks(r, got, err) })
	slow := after(r.expanding, slowAfter, func() tea.Cmd {
		m.inform("loading · " + m.keys.keyOf("back", m.focus) + " stops")
		return nil
	})
	return tea.Batch(slow, found)
}

// handleChunks puts fetched chunks into their reader, which keeps its place.
func (m *Model) handleChunks(r *reading, got fetched, err error) tea.Cmd {
	switch {
	case client.KindOf(err) == client.NotAvailable:
		m.warn("this server cannot show surrounding text")
	case err != nil:
		m.fail("could not load more: " + reasonOf(err) + "; " + m.keys.keyOf("expand", InList) + " retries")
	case got.whole:
		r.whole = &got
		r.SetWhole(got.document, got.chunks)
		if len(got.chunks) < got.document.ChunkCount {
			m.warn("long document: only the first part is shown")
		}
	default:
		r.Add(got.from, got.to, got.chunks)
	}
	if err == nil && got.then != nil {
		got.then()
	}
	return nil
}

// showReader makes the reader visible where only one pane fits.
func (m *Model) showReader() {
	if m.rects.Reader.H == 0 {
		m.focus = InReader
	}
}

func (m *Model) toggleRaw() tea.Cmd {
	m.showReader()
	m.reader.SetRaw(!m.reader.Raw())
	return nil
}

func (m *Model) toMatch(direction int) {
	m.showReader()
	m.reader.StepMatch(direction)
	if _, total := m.reader.Match(); total == 0 {
		m.inform("no match in this passage")
	}
}

func (m *Model) ofDocument(direction int) {
	if !m.list.NextOfDocument(direction) {
		m.inform("no other passage of this document")
	}
}

func (m *Model) copyCitation() tea.Cmd {
	result, _ := m.result()
	return m.copy(passage.Cite(passage.Shared(result)), "citation ["+passage.Citation(result)+"]")
}

// copyPassage copies what is read: the part of the text that is in sight in the reader, or else the best passage.
func (m *Model) copyPassage() tea.Cmd {
	result, _ := m.result()
	if visible := m.reader.Visible(); m.focus == InReader && visible != "" {
		result.Content = visible
	} else {
		result = passage.BestQuote(result)
	}
	return m.copy(passage.Quote(passage.Shared(result)), "passage ["+passage.Citation(result)+"]")
}

// mostOSC52 is how long text for the terminal's clipboard may be as it is sent, in base64. Many terminals drop more.
const mostOSC52 = 100_000

var errNoClipboard = errors.New("this machine has no clipboard")

// copy sends text to the terminal's clipboard, and to the machine's where that is allowed. Whether a terminal took it
// cannot be known, so that it is only said to be sent.
func (m *Model) copy(text, what string) tea.Cmd {
	return m.copyElse(text, what, func() tea.Cmd { return nil })
}

// copyElse is copy, with what is offered if the text is too long for the only clipboard in reach.
func (m *Model) copyElse(copied, what string, offer func() tea.Cmd) tea.Cmd {
	var send tea.Cmd
	if base64.StdEncoding.EncodedLen(len(copied)) <= mostOSC52 {
		send = tea.SetClipboard(copied)
	}
	handle := func(err error) tea.Cmd {
		switch {
		case err == nil:
			m.say(what + " copied to the clipboard")
		case send != nil:
			m.say(what + " sent to your terminal's clipboard")
		default:
			m.warn(fmt.Sprintf("%s not copied: %s is too long for the terminal's clipboard", what,
				text.Size(int64(len(copied)))))
			return offer()
		}
		return nil
	}
	native := m.options.Caps.Copy
	if native == nil {
		native = func(string) error { return errNoClipboard }
	}
	return tea.Sequence(send, func() tea.Msg { // so that what is copied next cannot be sent before this
		err := native(copied)
		return resultMsg{handle: func() tea.Cmd { return handle(err) }}
	})
}

// openSource opens the document where it lives, or hands its link over where nothing can be opened.
func (m *Model) openSource() tea.Cmd {
	result, _ := m.result()
	return m.openLink(m.sourceOf(result))
}

// sourceOf returns the link to a result's document that can be opened here: the one that was configured to come first,
// its own or its permalink, else the other one.
func (m *Model) sourceOf(r wire.SearchResult) string {
	links := []string{text.OrEmpty(r.Link), passage.Address(r)}
	if m.options.Permalinks {
		slices.Reverse(links)
	}
	if at := slices.IndexFunc(links, m.openable); at >= 0 {
		return links[at]
	}
	return cmp.Or(links...)
}

func (m *Model) openLink(link string) tea.Cmd {
	if strings.HasPrefix(strings.ToLower(link), "file:") {
		link, _, _ = strings.Cut(link, "#") // openers take an anchor for a part of the file's name
	}
	open := m.options.Caps.Open
	if open == nil {
		cmd := m.copy(link, m.options.Caps.OpenReason+"; link")
		m.message.link = link
		return cmd
	}
	return detached(nil, func() (string, error) { return link, open(link) }, func(link string, err error) tea.Cmd {
		if err != nil {
			return m.copy(link, "could not open the link: "+paint.Line(err.Error())+"; link")
		}
		m.say("opened " + link)
		return nil
	})
}

// openable reports whether a link may be followed: to the web or a mail, and to a file from a library of this machine.
func (m *Model) openable(link string) bool { return passage.Openable(link, m.target.Kind == Library) }

func cannotEdit(m *Model) string {
	result, _ := m.result()
	return cmp.Or(noResult(m), unless(m.target.Kind != Sample, "the sample library has no files to edit"),
		unless(m.options.Caps.Edit != nil, m.options.Caps.EditReason),
		unless(m.target.Kind == Library, "only files of a library on this machine can be edited"), notOpen(m),
		m.elsewhere(result))
}

// editFile opens the file of the passage at its line. The library says which file that is: what a document says of
// itself is not asked.
func (m *Model) editFile() tea.Cmd {
	result, _ := m.result()
	c, line := m.client(), lineOf(result)
	return background(m, &m.editing,
		func(ctx context.Context) (string, error) { return c.LibraryFile(ctx, result.DocumentID) },
		func(path string, err error) tea.Cmd {
			if err != nil {
				m.fail("cannot edit this document: " + reasonOf(err))
				return nil
			}
			return m.options.Caps.Edit(path, line, func(err error) tea.Msg {
				return resultMsg{handle: func() tea.Cmd { return m.readAgain(path, err) }}
			})
		})
}

// lineOf returns the line of the file at which the best passage begins. It is 0 where the server names no lines.
func lineOf(r wire.SearchResult) int {
	if len(r.Lines) != 2 {
		return 0
	}
	return passage.Best(r).Lines[0]
}

// readAgain has the library read a file that was edited, also where the editor failed in the end.
func (m *Model) readAgain(path string, edited error) tea.Cmd {
	name := paint.Line(filepath.Base(path))
	if edited != nil {
		m.fail("editor: " + paint.Line(edited.Error()))
	}
	c, skipped := m.client(), ""
	return background(m, &m.editing, func(ctx context.Context) (wire.LibraryEvent, error) {
		request := wire.SyncRequest{Paths: []string{path}, Check: wire.CheckNone}
		return c.ChangeLibrary(ctx, request, func(event wire.LibraryEvent) {
			if event.Type == wire.LibrarySkipped {
				skipped = event.Reason
			}
		})
	}, func(done wire.LibraryEvent, err error) tea.Cmd {
		switch {
		case err != nil:
			m.fail("the library could not read " + name + " again: " + reasonOf(err))
		case skipped != "":
			m.warn("the library skips " + name + " now: " + paint.Line(skipped))
		case done.Added+done.Updated+done.Removed > 0:
			m.say(name + " changed; the library is up to date")
			m.conn.edited = true
			return m.refresh()
		case edited == nil:
			m.inform(name + " is unchanged")
		}
		return nil
	})
}

func cannotFindSimilar(m *Model) string {
	result, _ := m.result()
	_, usable := client.SimilarQuery(result.Ref)
	return cmp.Or(noResult(m), notOpen(m), m.elsewhere(result),
		unless(result.Ref != "" && !m.conn.welcome.unlike, "this server cannot search for similar passages"),
		unless(usable, "a query cannot hold the reference of this passage"))
}

// longestTitle bounds the title of a passage in a chip, in bytes.
const longestTitle = 200

// searchSimilar searches for passages like the one that is read or selected.
func (m *Model) searchSimilar() tea.Cmd {
	result, _ := m.result()
	query, _ := client.SimilarQuery(result.Ref)
	m.box.SetTitle(result.Ref, text.Clip(passage.Title(result), longestTitle))
	m.setQuery(query)
	m.focus = InList
	return m.startSearch(m.box.Query(), false, false)
}

// copyParagraph copies the selected paragraph and ends the selection.
func (m *Model) copyParagraph() tea.Cmd {
	result, _ := m.result()
	result.Content = m.reader.Selected()
	m.reader.Select(false)
	return m.copy(passage.Quote(passage.Shared(result)), "paragraph of ["+passage.Citation(result)+"]")
}
