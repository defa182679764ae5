package line

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Left moves back by one cluster.
func (e *Editor) Left() bool { return e.move(previous(e.now.text, e.now.cursor)) }

// Right moves forward by one cluster.
func (e *Editor) Right() bool { return e.move(next(e.now.text, e.now.cursor)) }

// WordLeft moves back to the start of a run of letters and digits.
func (e *Editor) WordLeft() bool { return e.move(wordBefore(e.now.text, e.now.cursor)) }

// WordRight moves forward to the end of a run of letters and digits.
func (e *Editor) WordRight() bool { return e.move(wordAfter(e.now.text, e.now.cursor)) }

// Home moves to the start of the line.
func (e *Editor) Home() bool { return e.move(0) }

// End moves to the end of the line.
func (e *Editor) End() bool { return e.move(len(e.now.text)) }

func (e *Editor) move(to int) bool { return e.change(stepMove, e.now.text, to) }

// previous returns the start of the cluster before a boundary.
func previous(text string, at int) int {
	start := 0
	for clusters := graphemes.FromString(text[:at]); clusters.Next(); {
		start = clusters.Start()
	}
	return start
}

// next returns the end of the cluster after a boundary.
func next(text string, at int) int {
	clusters := graphemes.FromString(text[at:])
	clusters.Next()
	return at + clusters.End()
}

// boundary returns the first cluster boundary at or after an offset.
func boundary(text string, at int) int {
	if at <= 0 {
		return 0
	}
	for clusters := graphemes.FromString(text); clusters.Next(); {
		if clusters.End() >= at {
			return clusters.End()
		}
	}
	return len(text)
}

// wordAfter returns the end of the next word after a boundary.
func wordAfter(text string, at int) int {
	clusters := graphemes.FromString(text[at:])
	inWord := false
	for clusters.Next() {
		if word := isWord(clusters.Value()); inWord && !word {
			return at + clusters.Start()
		} else if word {
			inWord = true
		}
	}
	return len(text)
}

// wordBefore returns the start of the word before a boundary.
func wordBefore(text string, at int) int {
	return runBefore(text[:at], isWord)
}

// spaceBefore returns the start of the text between a boundary and the space before it.
func spaceBefore(text string, at int) int {
	return runBefore(text[:at], func(cluster string) bool { return !startsWithSpace(cluster) })
}

// runBefore returns the start of the last run of clusters of a kind, or 0.
func runBefore(text string, isKind func(string) bool) int {
	start, inRun := 0, false
	for clusters := graphemes.FromString(text); clusters.Next(); {
		kind := isKind(clusters.Value())
		if kind && !inRun {
			start = clusters.Start()
		}
		inRun = kind
	}
	return start
}

func isWord(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }
