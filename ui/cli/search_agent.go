package cli

import (
	"cmp"
	"fmt"
	"strings"

	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// agentAnswer is what a language model reads of a search: a short block a result, and the next step in the last line. A
// document is described once, and a passage is shown once, also when several queries find it.
func (a *app) agentAnswer(outcomes []outcome, choice target.Choice) answer {
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		var written strings.Builder
		var blocks passage.Blocks
		for _, o := range outcomes {
			if len(outcomes) > 1 {
				fmt.Fprintf(&written, "# %s\n\n", text.OneLine(o.query.text))
			}
			if o.err != nil {
				fmt.Fprintf(&written, "failed: %s\n\n", clampError(o.err))
				continue
			}
			if len(o.response.Results) == 0 {
				written.WriteString(cmp.Or(o.nothing, "no results") + "\n\n")
			}
			blocks.Origins = len(o.response.Searched) > 1
			for _, r := range firstOf(o.response.Results, c.shown) {
				excerpt, best := passage.Short(r, o.query.words, passage.BlockExcerpt), passage.Best(r)
				if c.content >= 0 {
					excerpt = text.Clip(excerpt, c.content)
				}
				written.WriteString(blocks.Block(best, excerpt))
			}
		}
		last := a.nextStep(outcomes, choice)
		if c.note != nil {
			short := *c.note
			short.FullResponsePath = nil
			last += " " + short.line()
		}
		return written.String() + last + "\n"
	}}
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
	return "next: search in other words or with fewer filters; quarry sources" + a.targetFlags() +
		" lists what can be searched"
}
