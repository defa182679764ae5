package ingest

import (
	"fmt"
	"slices"

	"quarry/client/wire"
)

// badLines are the lines of a JSONL file, or the files of a container, without a document.
type badLines struct {
	Count   int      `json:"count"`
	Reasons []string `json:"reasons"` // of the first ones, with line numbers
	Secret  int      `json:"secret,omitempty"`
}

// mostRemembered bounds the stored reasons of a file.
const mostRemembered = 20

// add counts a line and returns the reason to report.
func (l *badLines) add(number int, problem string) (reason string) {
	reason = problem
	if number > 0 {
		reason = fmt.Sprintf("line %d: %s", number, problem)
	}
	if wire.IsSecret(problem) {
		l.Secret++
	}
	if l.Count++; len(l.Reasons) < mostRemembered {
		l.Reasons = append(l.Reasons, reason)
	}
	return reason
}

// merge adds the lines of another list.
func (l *badLines) merge(other badLines) {
	l.Count += other.Count
	l.Secret += other.Secret
	l.Reasons = append(l.Reasons, other.Reasons[:min(len(other.Reasons), mostRemembered-len(l.Reasons))]...)
}

// listed returns the reasons to report for a file that is not read again.
func (l *badLines) listed() []string {
	if further := l.Count - len(l.Reasons); further > 0 {
		return append(slices.Clip(l.Reasons), fmt.Sprintf("further ones: %d", further))
	}
	return l.Reasons
}
