package line

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Left goes back by one cluster.
func (e *Editor) Left() bool { return e.move(previous(e.now.text, e.now.cursor)) }

// Right goes on by one cluster.
func (e *Editor) Right() bool { return e.move(next(e.now.text, e.now.cursor)) }

// WordLeft goes back to where a run of letters and digits begins.
func (e *Editor) WordLeft() bool { return e.move(wordBefore(e.now.text, e.now.cursor)) }

// WordRight goes on to where a run of letters and digits ends.
func (e *Editor) WordRight() bool { return e.move(wordAfter(e.now.text, e.now.cursor)) }

// Home goes to the beginning.
func (e *Editor) Home() bool { return e.move(0) }

// End goes behind the last character.
func (e *Editor) End() bool { return e.move(len(e.now.text)) }

func (e *Editor) move(to int) bool { return e.change(stepMove, e.now.text, to) }

// previous is where the cluster before a boundary begins.
func previous(text string, at int) int {
	start := 0
	for clusters := graphemes.FromString(text[:at]); clusters.Next(); {
		start = clusters.Start()
	}
	return start
}

// next is where the cluster after a boundary ends.
func next(text string, at int) int {
	clusters := graphemes.FromString(text[at:])
	clusters.Next()
	return at + clusters.End()
}

// boundary is the first boundary between clusters at or after an offset.
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

// wordAfter is the end of the next word after a boundary.
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

// wordBefore is the beginning of the word before a boundary.
func wordBefore(text string, at int) int {
	return runBefore(text[:at], isWord)
}

// spaceBefore is the beginning of what stands between a boundary and the space before it.
func spaceBefore(text string, at int) int {
	return runBefore(text[:at], func(cluster string) bool { return !startsWithSpace(cluster) })
}

// runBefore is where the last run of clusters of a kind begins; 0 if there is none.
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
