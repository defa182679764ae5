package state

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

// Check returns which collected passages changed or are gone since they were marked, or are as they were again, by
// reference: those that are not known to be so. It ends at the first one of which the server says nothing. Passages of
// the profiles beside it are on other servers.
func Check(ctx context.Context, c *client.Client, passages []Passage,
	beside []string) (found map[string]string, err error) {
	found = map[string]string{}
	for _, p := range passages {
		if p.DocumentID == "" || p.Content == "" || slices.Contains(beside, p.Origin) {
			continue
		}
		stale, err := staleness(ctx, c, p)
		if err != nil {
			return found, err
		}
		if stale != p.Stale {
			found[p.Ref] = stale
		}
	}
	return found, nil
}

// staleness compares a passage with its document: first with the chunks that it was, then, since a change above them
// moves them, with the others that one request returns.
func staleness(ctx context.Context, c *client.Client, p Passage) (string, error) {
	for _, chunks := range [][2]int{{p.ChunkStart, p.ChunkEnd}, {0, -1}} {
		got, err := c.Chunks(ctx, p.DocumentID, chunks[0], chunks[1], "")
		switch {
		case isGone(err):
			return Gone, nil
		case err != nil:
			return "", err
		case holds(got.Chunks, p.Content):
			return "", nil
		}
	}
	return Changed, nil
}

// isGone reports whether a server has the route for documents, but not that document.
func isGone(err error) bool {
	failed, ok := errors.AsType[*client.Error](err)
	return ok && failed.Kind == client.NotAvailable && strings.Contains(strings.ToLower(failed.Reason), "document")
}

// holds reports whether chunks have a text, however it is divided into lines. The end of the text may be cut off within
// a word.
func holds(chunks []wire.Chunk, content string) bool {
	have := strings.Join(exslices.CastFunc(chunks, wire.Chunk.Text), "\n")
	return strings.Contains(text.OneLine(have), text.OneLine(content))
}
