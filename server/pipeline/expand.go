package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"quarry/server/llm"
)

// class is how much of a document to show around a section.
type class int

const (
	notRelevant class = iota
	sectionOnly
	withNeighbours
	muchMore
)

// Chunks that a class adds on either side (Onyx: FULL_DOC_NUM_CHUNKS_AROUND for muchMoreChunks).
const (
	neighbourChunks = 2
	muchMoreChunks  = 5
)

// expand adds to each selected section what the model considers necessary around it, and drops those that it considers
// irrelevant.
func (r *run) expand() (skipped string) {
	if r.Search.Lists() {
		r.final = boundContext(r.chosen, contextLimit(r.Search))
		return r.skipReason(false)
	}
	if why := r.skipReason(r.Search.SkipDocumentSelection); why != "" {
		r.final = r.untilMatch(arrange(r.chosen, r.rest, r.Search))
		return why
	}
	if len(r.chosen) == 0 {
		return "nothing to expand"
	}
	classes := make([]class, len(r.chosen))
	usage := ""
	if inquiries := r.classifying(classes); len(inquiries) > 0 {
		tally := r.ask(inquiries, nil)
		r.stage.Outcome = r.noteFailures(tally, "those passages stay unchanged")
		usage = r.withUsage("", tally.usage)
	}
	r.stage.Detail = classesDetail(r.chosen, classes) + usage
	kept, dropped := widen(r.chosen, classes, r.chunkCount)
	r.final = arrange(kept, sortByRank(append(dropped, r.rest...)), r.Search)
	return ""
}

// classifying lists the model calls that classify the selected sections. Sections that are shown as whole documents
// need none. Without an answer a section stays as it is.
func (r *run) classifying(classes []class) (inquiries []inquiry) {
	r.look(idsOf(r.chosen))
	for i, s := range r.chosen {
		classes[i] = sectionOnly
		d := r.described[s.document]
		if s.whole || d == nil || s.center.remote != nil {
			continue
		}
		around := r.around(s)
		around.Title = llm.QuoteText(oneLine(d.Title), titleTokens)
		inquiries = append(inquiries, inquiry{purposeClassify, around, nil, func(reply string) bool {
			given, ok := parseClass(reply)
			if ok {
				classes[i] = given
			}
			return ok
		}})
	}
	return inquiries
}

// surroundings is a section with its neighbours, as a model sees it.
type surroundings struct {
	Question, Title, Before, Passage, After llm.Quoted
}

func (r *run) around(s section) surroundings {
	shown := surroundings{Question: llm.QuoteText(r.Search.Query, questionTokens), Before: `"N/A"`, After: `"N/A"`}
	parts := []struct {
		from, to, most int
		shown          *llm.Quoted
	}{
		{s.start - neighbourChunks, s.start - 1, aroundTokens, &shown.Before},
		{s.start, s.end, passageTokens, &shown.Passage},
		{s.end + 1, s.end + neighbourChunks, aroundTokens, &shown.After},
	}
	for _, part := range parts {
		if text := r.text(s.document, part.from, part.to, part.most); text != "" {
			*part.shown = llm.QuoteText(text, part.most)
		}
	}
	return shown
}

// parseClass returns the last single digit from 0 to 3.
func parseClass(reply string) (class, bool) {
	for _, n := range slices.Backward(numbersIn(reply)) {
		if n.value <= int(muchMore) {
			return class(n.value), true
		}
	}
	return sectionOnly, false
}

// widen extends each section as its class says. Irrelevant sections are dropped unless nothing else is left: then all
// stay unchanged.
func widen(sections []section, classes []class, chunkCount func(document string) int) (kept, dropped []section) {
	for i, s := range sections {
		by := 0
		switch {
		case s.center.remote != nil: // its document is elsewhere
		case s.whole:
			by = chunkCount(s.document)
		case classes[i] == notRelevant:
			s.selected = false
			dropped = append(dropped, s)
			continue
		case classes[i] == withNeighbours:
			by = neighbourChunks
		case classes[i] == muchMore:
			by = muchMoreChunks
		}
		s.start = max(s.start-by, 0)
		s.end = max(min(s.end+by, chunkCount(s.document)-1), s.end)
		kept = append(kept, s)
	}
	if len(kept) == 0 {
		return sections, nil
	}
	return kept, dropped
}

// chunkCount returns the number of chunks of a document that was described before.
func (r *run) chunkCount(document string) int {
	if d := r.described[document]; d != nil {
		return d.ChunkCount
	}
	return 0
}

// classesDetail counts the classes, for the stage's detail.
func classesDetail(sections []section, classes []class) string {
	const names = 5
	var counts [names]int
	for i, s := range sections {
		if s.whole {
			counts[muchMore+1]++
			continue
		}
		counts[classes[i]]++
	}
	var parts []string
	for i, name := range [names]string{"beside the question", "as found", "with neighbours", "with more", "whole"} {
		if counts[i] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[i], name))
		}
	}
	return strings.Join(parts, ", ")
}
