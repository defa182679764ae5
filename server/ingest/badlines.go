package ingest

import (
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
)

// badLines are the lines of a JSONL file, or the files of a container, without a document.
type badLines struct {
	Count   int      `json:"count"`
	Reasons []string `json:"reasons"` // of the first ones that differ, with line numbers
	Secret  int      `json:"secret,omitempty"`
}

// mostRemembered bounds the reported and stored reasons of a file.
const mostRemembered = 20

// add counts a line and returns the reason to report: none for the problem of an earlier line, or beyond the bound.
func (l *badLines) add(number int, problem string) (reasons []string) {
	reason := problem
	if number > 0 {
		reason = fmt.Sprintf("line %d: %s", number, problem)
	}
	if wire.IsSecret(problem) {
		l.Secret++
	}
	l.Count++
	isKnown := func(known string) bool { return number > 0 && strings.HasSuffix(known, ": "+problem) }
	if len(l.Reasons) == mostRemembered || slices.ContainsFunc(l.Reasons, isKnown) {
		return nil
	}
	l.Reasons = append(l.Reasons, reason)
	return []string{reason}
}

// merge adds the lines of another list.
func (l *badLines) merge(other badLines) {
	l.Count += other.Count
	l.Secret += other.Secret
	l.Reasons = append(l.Reasons, other.Reasons[:min(len(other.Reasons), mostRemembered-len(l.Reasons))]...)
}

// listed returns the reasons to report for a file that is not read again.
func (l *badLines) listed() []string { return slices.Concat(l.Reasons, l.further()) }

// further counts the lines whose reasons are not listed.
func (l *badLines) further() []string {
	if further := l.Count - len(l.Reasons); further > 0 {
		return []string{fmt.Sprintf("further ones: %d", further)}
	}
	return nil
}
