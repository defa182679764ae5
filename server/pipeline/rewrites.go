package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/index"
)

const (
	// comparedDocuments of two queries say whether they mean the same: a page of each.
	comparedDocuments = 10
	// sufficientAgreement is the share of them that a rewrite has in common with the question when it counts in full.
	// With less it counts by the square of what it has: otherwise the rewrites of a bad model cost up to .07 of
	// nDCG@10.
	sufficientAgreement = 0.8
	// trailingWeight is that of a worthless rewrite. What it alone finds follows everything that the question finds,
	// whose ranks it leaves as they are: the last two of them differ by more in the fusion.
	trailingWeight = 1e-4
)

// weighRewrites sets what share of their weight a model's queries are worth, so that a model that answers nonsense is
// no worse than none: nothing for one that shares no word with the question or the conversation, and without a
// conversation, in which the question may mean nothing by itself, no more than it agrees with the question on what is
// found, and than the share of its words that documents have, if they have half of them. Where the question finds
// nothing, they count in full.
func (r *run) weighRewrites() {
	r.worth = slices.Repeat([]float64{1}, len(r.queries))
	said := r.Search.Query
	for _, turn := range r.Search.MessageHistory {
		said += "\n" + turn.Message
	}
	asked := firstDocuments(r.listOf(r.question))
	if len(asked) == 0 {
		return
	}
	for i, q := range r.queries {
		if q.Kind == kindOriginal {
			continue
		}
		h, alone := r.found[i].Highlighter, len(r.Search.MessageHistory) == 0
		unknown := float64(len(r.found[i].Missing)) / float64(max(1, len(strings.Fields(q.Query))))
		switch {
		case h != nil && marksIn(h, said)+marksIn(r.answer().Highlighter, q.Query) == 0, alone && unknown > 0.5:
			r.worth[i] = 0
		case alone:
			agreed := min(1, agreement(asked, firstDocuments(r.listOf(i)))/sufficientAgreement)
			r.worth[i] = agreed * agreed * (1 - unknown) * r.share(q.Query, h)
		}
	}
}

// share returns what share of the question a rewrite repeats that has no other words: one word of three says less than
// the question. It is 1 where it has others.
func (r *run) share(query string, h index.Highlighter) float64 {
	question := r.answer().Highlighter
	all, repeated := marksIn(question, r.Search.Query), marksIn(h, r.Search.Query)
	if all == 0 || marksIn(question, query) < marksIn(h, query) {
		return 1
	}
	return min(1, float64(repeated)/float64(all))
}

// followUp puts the rephrasing in the place of the question where a conversation precedes it: its words decide what
// matches. A worthless one does not.
func (r *run) followUp() {
	for i, q := range r.queries {
		if q.Kind == kindSemantic && r.worth[i] > 0 && len(earlierTurns(r.Search)) > 0 {
			r.question = i
		}
	}
}

// withWorth adds to the detail of a stage how many rewrites count for less than their weight.
func (r *run) withWorth(detail string) string {
	less := 0
	for _, worth := range r.worth {
		if worth < 1 {
			less++
		}
	}
	if less > 0 {
		detail += fmt.Sprintf(", %s weighed lower", text.Count(less, "rewrite"))
	}
	return detail
}

// marksIn counts the words of a highlighter's query in a text.
func marksIn(h index.Highlighter, text string) int {
	if h == nil {
		return 0
	}
	marks, _ := h.Highlight(text, index.InLanguage(""), wire.Span{0, len(text)})
	return len(marks)
}

// firstDocuments returns the first documents of a list.
func firstDocuments(hits []index.Hit) (ids []string) {
	for _, hit := range hits {
		if len(ids) < comparedDocuments && !slices.Contains(ids, hit.DocumentID) {
			ids = append(ids, hit.DocumentID)
		}
	}
	return ids
}

// agreement returns the share of documents that two lists have in common, of the longer one.
func agreement(a, b []string) float64 {
	common := 0
	for _, id := range b {
		if slices.Contains(a, id) {
			common++
		}
	}
	return float64(common) / float64(max(len(a), len(b)))
}
