package explorer

import (
	"context"
	"errors"
	"maps"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/state"
)

// checkCollected finds which marked passages changed or are gone since, as far as the server has their documents, and
// notes it in the collection, from where every export has it.
func (m *Model) checkCollected() tea.Cmd {
	c := m.client()
	if c == nil || len(m.marks()) == 0 {
		return nil
	}
	marks, known := m.marks(), map[string]string{}
	for _, p := range marks {
		known[p.Ref] = p.Stale
	}
	return background(m, &m.collection.checking, func(ctx context.Context) (map[string]string, error) {
		found := maps.Clone(known)
		for _, p := range marks {
			if m.unreadable(p.Result(1)) != "" || p.Content == "" {
				continue
			}
			stale, err := staleness(ctx, c, p)
			if err != nil { // a server without this route, or one that is down: nothing is known
				return found, err
			}
			found[p.Ref] = stale
		}
		return found, nil
	}, func(found map[string]string, _ error) tea.Cmd {
		if maps.Equal(found, known) {
			return nil
		}
		return m.changeMarks(func(s *state.State) error { s.SetStale(found); return nil })
	})
}

// staleness compares a passage with its document: first with the chunks that it was, then, since a change above them
// moves them, with the others that one request returns.
func staleness(ctx context.Context, c *client.Client, p state.Passage) (string, error) {
	for _, chunks := range [][2]int{{p.ChunkStart, p.ChunkEnd}, {0, -1}} {
		got, err := c.Chunks(ctx, p.DocumentID, chunks[0], chunks[1], "")
		switch {
		case isGone(err):
			return state.Gone, nil
		case err != nil:
			return "", err
		case holds(got.Chunks, p.Content):
			return "", nil
		}
	}
	return state.Changed, nil
}

// isGone reports whether a server has the route for documents, but not that document.
func isGone(err error) bool {
	failed, ok := errors.AsType[*client.Error](err)
	return ok && failed.Kind == client.NotAvailable && strings.Contains(strings.ToLower(failed.Reason), "document")
}

// holds reports whether chunks have a text, however it is divided into lines. The end of the text may be cut off within
// a word.
func holds(chunks []wire.Chunk, content string) bool {
	var have strings.Builder
	for _, chunk := range chunks {
		have.WriteString(chunk.Text() + "\n")
	}
	return strings.Contains(text.OneLine(have.String()), text.OneLine(content))
}
