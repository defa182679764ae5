package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
)

const (
	maxAround        = 99       // chunks on each side, so that a passage is one request
	maxDocumentBytes = 64 << 20 // of a whole document
)

// reading is what read prints of a document.
type reading struct {
	written  string
	document wire.DocumentInfo
	chunks   []wire.Chunk
	named    [2]int // first and last chunk that were asked for, without those around
	cited    [2]int // first and last line of the file that were asked for; 0: no line
	whole    bool
	outline  bool // it is all that is printed
	lines    *lineRange
	searched string
	err      error // instead of all the others
}

// fetchReading gets what the options name of a document.
func (a *app) fetchReading(ctx context.Context, c *client.Client, ref string, options readOptions) *reading {
	at := a.locate(ctx, c, ref)
	switch {
	case options.Outline:
		return &reading{document: at.Document, outline: true}
	case options.Section != "" || at.fragment != "" && !at.IsPart:
		return a.fetchSection(ctx, c, at, options.Section)
	case options.lines != nil:
		return wholeDocument(ctx, c, at.Document.ID).within(*options.lines)
	case at.IsPart:
		found := a.fetchPassages(ctx, c, at, options.Around)
		found.cited[0], found.cited[1] = client.CitedLines(ref)
		return found
	case options.Around > 0:
		refuse("Omit --around, or give the reference of a passage (DOCUMENT_ID#N).",
			"--around requires a passage; %q is a document", ref)
	}
	return wholeDocument(ctx, c, at.Document.ID)
}

func (a *app) fetchPassages(ctx context.Context, c *client.Client, at located, around int) *reading {
	found := fetchChunks(ctx, c, at.Document.ID, max(0, at.First-around), at.Last+around)
	if len(found.chunks) == 0 || at.First >= found.document.ChunkCount {
		guard.Abort(fail(ExitNotAvailable,
			"Read the whole document: quarry read "+config.ShellQuote(at.Document.ID)+a.targetFlags(),
			"the document has %s; there is no number %d", text.Count(found.document.ChunkCount, "passage"), at.First))
	}
	found.named = [2]int{at.First, at.Last}
	return found
}

func wholeDocument(ctx context.Context, c *client.Client, id string) *reading {
	found := fetchChunks(ctx, c, id, 0, -1)
	found.whole = true
	return found
}

// fetchChunks reads chunks first to last of a document, both included; a negative last is the end.
func fetchChunks(ctx context.Context, c *client.Client, id string, first, last int) *reading {
	found, size := &reading{}, 0
	for more, err := range c.ChunkRange(ctx, id, first, last, "") {
		guard.Check(err)
		found.document = more.Document
		for _, chunk := range more.Chunks {
			size += len(chunk.Content)
		}
		if size > maxDocumentBytes {
			guard.Abort(fail(ExitNotAvailable, "Read a part of it: quarry read 'DOCUMENT_ID#N' --around 20",
				"the document is larger than 64 MiB"))
		}
		found.chunks = append(found.chunks, more.Chunks...)
	}
	return found
}

// fetchSection reads the text below a heading, up to the next one that is not deeper. A link whose fragment names no
// heading means the whole document.
func (a *app) fetchSection(ctx context.Context, c *client.Client, at located, name string) *reading {
	outline := at.Document.Outline
	index := headingIndex(outline, name, at.fragment)
	switch {
	case index < 0 && name == "":
		return wholeDocument(ctx, c, at.Document.ID)
	case index < 0:
		headings := exslices.CastFunc(outline, func(h wire.OutlineHeading) string { return text.OneLine(h.Text) })
		do := wire.Hint(name, "See: quarry read "+config.ShellQuote(at.Document.ID)+" --outline"+a.targetFlags(),
			headings)
		refuse(do, "the document has no section %q", name)
	}
	heading, end, stop := outline[index], at.Document.ChunkCount-1, ""
	for _, next := range outline[index+1:] {
		if next.Level <= heading.Level {
			end, stop = max(heading.ChunkInd, next.ChunkInd), next.Text
			break
		}
	}
	found := fetchChunks(ctx, c, at.Document.ID, heading.ChunkInd, end)
	if len(found.chunks) > 0 {
		found.trimSection(heading.Text, stop)
	}
	return found
}

// headingIndex finds a heading by its text, or by the fragment of a link: without case, spaces and punctuation, the
// whole text first; -1 if there is none.
func headingIndex(outline []wire.OutlineHeading, name, fragment string) int {
	wanted := text.Letters(name)
	if name == "" {
		wanted = text.Letters(fragment)
	}
	if wanted == "" {
		return -1
	}
	at := slices.IndexFunc(outline, func(h wire.OutlineHeading) bool { return text.Letters(h.Text) == wanted })
	if at < 0 && name != "" {
		at = slices.IndexFunc(outline,
			func(h wire.OutlineHeading) bool { return strings.Contains(text.Letters(h.Text), wanted) })
	}
	return at
}

// trimSection leaves out what precedes the section's heading in its first passage, and what follows it in the last.
func (r *reading) trimSection(heading, next string) {
	first := &r.chunks[0]
	from := headingOffset(first.Content, heading, 0)
	after := 0
	if from > 0 {
		first.Content = first.Content[from:]
	}
	if len(r.chunks) == 1 {
		after = min(1, len(first.Content)) // the heading itself is not the end
	}
	last := &r.chunks[len(r.chunks)-1]
	end := headingOffset(last.Content, next, after)
	switch {
	case next == "" || end < 0:
	case strings.TrimSpace(last.Content[:end]) == "":
		r.chunks = r.chunks[:len(r.chunks)-1]
	default:
		last.Content = last.Content[:end]
	}
	for _, chunk := range []*wire.Chunk{first, last} {
		chunk.Lines, chunk.Bytes = nil, nil // which are those of the whole passage
	}
}

// headingOffset returns where the line of a heading begins in a text, from an offset on; -1 if it is not there.
func headingOffset(content, heading string, from int) int {
	wanted := text.Letters(heading)
	for at := 0; at < len(content); {
		line, _, _ := strings.Cut(content[at:], "\n")
		if at >= from && strings.HasPrefix(line, "#") && text.Letters(line) == wanted {
			return at
		}
		at += len(line) + 1
	}
	return -1
}

// lineRange is a range of lines, from 1, both included.
type lineRange struct{ first, last int }

// parseLines reads a:b, a-b, a: or :b, or the number of one line; nil for "".
func parseLines(written string) (*lineRange, error) {
	if written == "" {
		return nil, nil
	}
	wrong := usage("Give a range like 10:24, or 10: for the rest.", "--lines %q is not a range of lines", written)
	from, to, isRange := strings.Cut(strings.Replace(written, "-", ":", 1), ":")
	number := func(text string, fallback int) (int, bool) {
		if text = strings.TrimSpace(text); text == "" {
			return fallback, isRange
		}
		n, err := strconv.Atoi(text)
		return n, err == nil && n > 0
	}
	const end = 1 << 30
	first, ok := number(from, 1)
	last, alsoOK := number(to, end)
	if !isRange {
		last, alsoOK = first, true
	}
	if !ok || !alsoOK || last < first || strings.TrimSpace(written) == ":" {
		return nil, wrong
	}
	return &lineRange{first, last}, nil
}

// within keeps lines of a document: those of its file where the server knows them, else those of its text as read
// prints it.
func (r *reading) within(lines lineRange) *reading {
	next, last := 1, 0
	var shown lineRange
	var kept []wire.Chunk
	for _, chunk := range r.chunks {
		content := strings.Split(strings.Trim(chunk.Text(), "\n"), "\n")
		first, inFile := next, len(chunk.Lines) == 2
		last = first + len(content) - 1
		if inFile {
			first, last = chunk.Lines[0], chunk.Lines[1]
		}
		next = last + 2 // a blank line follows
		if last < lines.first || first > lines.last {
			continue
		}
		from, to := first, last
		if to-from+1 == len(content) { // else the text is not line by line that of the file
			from, to = max(lines.first, first), min(lines.last, last)
			chunk.Content, chunk.Damaged = strings.Join(content[from-first:to-first+1], "\n"), false
		}
		if inFile {
			chunk.Lines, chunk.Bytes = []int{from, to}, nil
		}
		if len(kept) == 0 {
			shown.first = from
		}
		shown.last = to
		kept = append(kept, chunk)
	}
	if len(kept) == 0 {
		refuse("Give lines of the document.", "the document has %s", text.Count(last, "line"))
	}
	r.whole = r.whole && len(kept) == len(r.chunks) && lines.first <= 1 && lines.last >= last
	r.chunks, r.lines = kept, &shown
	return r
}
