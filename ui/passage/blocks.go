package passage

import (
	"cmp"
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
)

// BlockExcerpt is how many characters of a passage a block shows.
const BlockExcerpt = 400

// Blocks writes results for language models: a short block each. It describes a document once, and shows a passage
// once, also when several queries find it.
type Blocks struct {
	Origins bool            // name the profile of each result
	seen    map[string]bool // documents and refs that were written
}

// Block returns the block of a result with an excerpt of its text. It ends with an empty line.
func (b *Blocks) Block(r wire.SearchResult, excerpt string) string {
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	again, number := r.DocumentID != "" && b.seen[r.DocumentID], passages(r)
	head := b.head(r)
	if again {
		head[0] = "same document " + number
	}
	var block strings.Builder
	block.WriteString("[" + Citation(r) + "] " + text.Join(" · ", head...) + "\n")
	id, _, _ := wire.SplitRef(r.ShortestRef())
	if place := text.OneLine(cmp.Or(id, r.DocumentID, text.OrEmpty(r.Link))); place != "" && !again {
		block.WriteString(place + number + "\n")
	}
	shown := r.Ref != "" && b.seen[r.Ref]
	b.seen[r.Ref], b.seen[r.DocumentID] = true, true
	if excerpt != "" && !shown {
		block.WriteString(excerpt + "\n")
	}
	return block.String() + "\n"
}

// passages returns the end of the ref of a result's text, such as "#3" or "#3-5".
func passages(r wire.SearchResult) string {
	switch {
	case r.DocumentID == "":
		return ""
	case r.ChunkStart == r.ChunkEnd:
		return fmt.Sprintf("#%d", r.ChunkStart)
	}
	return fmt.Sprintf("#%d-%d", r.ChunkStart, r.ChunkEnd)
}

// head lists what a block says about its passage; of a document that was described, only what is new.
func (b *Blocks) head(r wire.SearchResult) []string {
	parts := []string{""}
	if r.DocumentID == "" || !b.seen[r.DocumentID] {
		parts = []string{Reference(r), r.SourceType}
		if b.Origins {
			parts = append(parts, text.OneLine(r.Origin))
		}
	}
	if _, heading, below := strings.Cut(headed(r), " › "); below && parts[0] == "" {
		parts = append(parts, heading)
	}
	lines := ""
	if len(r.Lines) == 2 {
		lines = fmt.Sprintf("lines %d-%d", r.Lines[0], r.Lines[1])
	}
	return append(parts, Related(r), lines)
}
