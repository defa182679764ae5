package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/llm"
)

const (
	// selectionTokens bounds the passages that a model chooses from (Onyx: 25 chunks of 512).
	selectionTokens = 25 * 512
	// sectionTokens estimates the other fields of a passage.
	sectionTokens = 75
)

// selectSections keeps the sections that a model chooses, or the first ten.
func (r *run) selectSections() (skipped string) {
	if r.Search.Lists() {
		r.chosen = r.sections
		return "every document of the page is kept"
	}
	r.chosen, r.rest = firstSections(r.sections, r.Search.NumResults)
	if why := r.skipReason(r.Search.SkipDocumentSelection); why != "" {
		return fmt.Sprintf("%s: the first %d are kept", why, maxSelected)
	}
	if len(r.sections) < 2 {
		return "nothing to choose from"
	}
	shown := r.shownSections()
	material := struct {
		Question llm.Quoted
		Passages []llm.Quoted
		Most     int
	}{llm.QuoteText(r.Search.Query, questionTokens), shown, maxSelected}
	var picks []pick
	tally := r.ask([]inquiry{{purposeSelect, material, nil, func(reply string) bool {
		picks = parseSelection(reply, len(shown))
		return len(picks) > 0
	}}}, nil)
	detail := fmt.Sprintf("the first %d are kept", len(r.chosen))
	r.stage.Outcome = r.noteFailures(tally, detail)
	if len(picks) > 0 {
		r.chosen, r.rest = choose(r.sections, picks, r.Search.NumResults)
		detail = fmt.Sprintf("%d of %d", len(picks), len(shown))
		if more := len(r.sections) - len(shown); more > 0 {
			detail += fmt.Sprintf("; the prompt has no room for %d more", more)
		}
	}
	r.stage.Detail = r.withUsage(detail, tally.usage)
	return ""
}

// shownSections returns the sections that fit into the prompt, in order. A document that was removed meanwhile is an
// empty passage, so that the numbers stay.
func (r *run) shownSections() (shown []llm.Quoted) {
	r.look(idsOf(r.sections))
	room := selectionTokens
	for i, s := range r.sections {
		var one wire.SearchResult
		if p := s.center.remote; p != nil {
			one = describeRemote(p)
		} else if d := r.described[s.document]; d != nil {
			one = describe(*d)
			from, to := s.aroundCenter()
			one.Content = r.text(s.document, from, to, passageTokens)
		}
		if room -= text.EstimateTokens(one.Content) + sectionTokens; room < 0 && i > 0 {
			break
		}
		one.CitationID = &i
		shown = append(shown, llm.Quote(wire.CandidateResult.Of(&one)))
	}
	return shown
}

// describe returns a document's fields without its content, bounded to about sectionTokens.
func describe(d index.Stored) wire.SearchResult {
	const mostAuthors, authorTokens, metadataBytes = 3, 16, 160
	shown := wire.SearchResult{
		Title: text.ClipTokens(oneLine(d.Title), titleTokens), SourceType: d.Source, UpdatedAt: Timestamp(d.UpdatedAt),
	}
	for _, author := range d.Authors[:min(len(d.Authors), mostAuthors)] {
		shown.Authors = append(shown.Authors, text.ClipTokens(oneLine(author.Display()), authorTokens))
	}
	room, fits := metadataBytes, 0
	for _, f := range d.Metadata {
		if room -= len(f.Key) + len(strings.Join(f.Values, ", ")); room < 0 {
			break
		}
		fits++
	}
	shown.Metadata = wireMetadata(d.Metadata[:fits])
	return shown
}

// text returns a run of chunks as one text of at most most tokens; "" if the document was removed meanwhile.
func (r *run) text(document string, from, to, most int) string {
	texts, err := r.snapshot.Texts(r.ctx, []index.Range{{DocumentID: document, From: from, To: to}}, r.Access)
	guard.While("read "+document, err)
	whole, _ := joined(texts[0])
	return text.ClipTokens(whole, most)
}

// pick is a section that a model chose; whole asks for the whole document.
type pick struct {
	section int
	whole   bool
}

// parseSelection parses the numbers of sections: the first list in brackets, else the first list with commas, else
// every separate number. A ! after a number asks for the whole document. Unknown and repeated numbers are ignored, and
// at most ten are read.
func parseSelection(reply string, sections int) []pick {
	const id = `\d+"?\s*!?`
	bracketed := regexp.MustCompile(`\[\s*"?` + id + `(?:\s*,\s*"?` + id + `)*\s*,?\s*\]`)
	commas := regexp.MustCompile(id + `(?:\s*,\s*` + id + `)+`)
	list := bracketed.FindStringIndex(reply)
	if list == nil {
		list = commas.FindStringIndex(reply)
	}
	if list == nil {
		list = []int{0, len(reply)}
	}
	var picks []pick
	for _, n := range numbersIn(reply) {
		taken := func(p pick) bool { return p.section == n.value }
		if n.start < list[0] || n.start >= list[1] || n.value >= sections || slices.ContainsFunc(picks, taken) {
			continue
		}
		whole := strings.HasPrefix(strings.TrimLeft(reply[n.end:list[1]], "\" "), "!")
		if picks = append(picks, pick{n.value, whole}); len(picks) == maxSelected {
			break
		}
	}
	return picks
}

// number is a whole number in a text and its position.
type number struct{ value, start, end int }

// numbersIn returns the whole numbers in a text that are not part of a word, a fraction or another number.
func numbersIn(text string) []number {
	joinedBefore, joinedAfter := regexp.MustCompile(`(?:[0-9]\.|[-A-Za-z])$`),
		regexp.MustCompile(`^(?:\.[0-9]|[A-Za-z])`)
	var numbers []number
	for _, at := range regexp.MustCompile(`[0-9]+`).FindAllStringIndex(text, -1) {
		start, end := at[0], at[1]
		value, err := strconv.Atoi(text[start:end])
		if err == nil && !joinedBefore.MatchString(text[max(0, start-2):start]) &&
			!joinedAfter.MatchString(text[end:]) {
			numbers = append(numbers, number{value, start, end})
		}
	}
	return numbers
}
