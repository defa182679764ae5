package cli

import (
	"cmp"
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// agentExcerpt is how many characters of a passage a block of --format agent shows.
const agentExcerpt = 400

// agentAnswer is what a language model reads of a search: a short block a result, and the next step in the last line. A
// document is described once, and a passage is shown once, also when several queries find it.
func (a *app) agentAnswer(outcomes []outcome, choice target.Choice) answer {
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		p := agentPrinter{content: c.content, seen: map[string]bool{}}
		for _, o := range outcomes {
			if len(outcomes) > 1 {
				fmt.Fprintf(&p.text, "# %s\n\n", text.OneLine(o.query.text))
			}
			if o.err != nil {
				fmt.Fprintf(&p.text, "failed: %s\n\n", clampError(o.err))
				continue
			}
			if len(o.response.Results) == 0 {
				p.text.WriteString(cmp.Or(o.nothing, "no results") + "\n\n")
			}
			for _, r := range firstOf(o.response.Results, c.shown) {
				p.result(r, o.query.words, len(o.response.Searched) > 1)
			}
		}
		last := a.nextStep(outcomes, choice)
		if c.note != nil {
			short := *c.note
			short.FullResponsePath = nil
			last += " " + short.line()
		}
		return p.text.String() + last + "\n"
	}}
}

// agentPrinter writes results one after the other.
type agentPrinter struct {
	text    strings.Builder
	content int             // bytes of each excerpt; less than 0: all
	seen    map[string]bool // documents and refs that were printed
}

func (p *agentPrinter) result(r wire.SearchResult, words []string, several bool) {
	again, number := r.DocumentID != "" && p.seen[r.DocumentID], passages(r)
	head := p.head(r, several)
	if again {
		head[0] = "same document " + number
	}
	p.text.WriteString("[" + passage.Citation(r) + "] " + strings.Join(head, " · ") + "\n")
	if place := text.OneLine(cmp.Or(r.DocumentID, text.OrEmpty(r.Link))); place != "" && !again {
		p.text.WriteString(place + number + "\n")
	}
	shown := r.Ref != "" && p.seen[r.Ref]
	p.seen[r.Ref], p.seen[r.DocumentID] = true, true
	if excerpt := passage.Best(r, words, agentExcerpt); excerpt != "" && !shown {
		if p.content >= 0 {
			excerpt = text.Clip(excerpt, p.content)
		}
		p.text.WriteString(excerpt + "\n")
	}
	p.text.WriteString("\n")
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
func (p *agentPrinter) head(r wire.SearchResult, several bool) []string {
	parts := []string{""}
	if r.DocumentID == "" || !p.seen[r.DocumentID] {
		parts = []string{passage.Title(r), r.SourceType}
		if r.UpdatedAt != nil {
			parts = append(parts, passage.Day(*r.UpdatedAt))
		}
		if several {
			parts = append(parts, text.OneLine(r.Origin))
		}
	}
	path := r.HeadingPath
	if len(path) > 0 && strings.EqualFold(text.OneLine(path[0]), passage.Title(r)) {
		path = path[1:]
	}
	if heading := text.OneLine(strings.Join(path, " › ")); heading != "" {
		parts = append(parts, heading)
	}
	if len(r.Lines) == 2 {
		parts = append(parts, fmt.Sprintf("lines %d-%d", r.Lines[0], r.Lines[1]))
	}
	return parts
}

// nextStep is what a reader of the results can do, in one line.
func (a *app) nextStep(outcomes []outcome, choice target.Choice) string {
	found := false
	for _, o := range outcomes {
		for _, r := range o.results() {
			if r.Ref != "" {
				return "next: quarry read REF --around 1" + a.readFlags(r, choice) + ", or search in other words"
			}
			found = true
		}
	}
	if found {
		return "next: open a link, or search in other words; this server shows no more of a document"
	}
	return "next: search in other words or with fewer filters; quarry sources lists what can be searched"
}
