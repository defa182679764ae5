// Package line is an editor for one line of text: a query, a filter's name, an address. It works on grapheme clusters,
// so that an emoji or a letter with accents is one step of the cursor, and it reports the column of the cursor, so that
// the terminal's own cursor can be placed there.
package line

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/client/wire"
	"quarry/ui/explorer/paint"
)

// Editor is a line of text with a cursor. The zero value is an empty line, ready for use. Undo reverts every
// change.
type Editor struct {
	// Limit is the maximum number of runes; 0 means that of a query.
	Limit int

	now     state
	past    history
	future  history
	last    step
	killed  string // by the last kills, for Yank
	version uint64

	scroll int // first byte that is drawn
	drawn  paint.Cache[look, paint.Input]
}

// state is what Undo restores.
type state struct {
	text     string
	cursor   int // a byte offset, always between two clusters
	attached []string
}

// step is a kind of change. Several of one kind in a row may be undone together.
type step int

const (
	stepNone step = iota
	stepMove
	stepType
	stepErase
	stepKill
	stepOther
)

// Text returns the line. It is valid UTF-8 without control characters.
func (e *Editor) Text() string { return e.now.text }

// Cursor returns the byte offset of the cursor, which is never inside a cluster.
func (e *Editor) Cursor() int { return e.now.cursor }

// Version returns a number that changes with the text, the cursor and the attached strings.
func (e *Editor) Version() uint64 { return e.version }

// Attached returns strings that belong to the text without being in it, such as the filters beside it. Undo and Redo
// restore them with the text. The slice must not be changed.
func (e *Editor) Attached() []string { return e.now.attached }

// SetText replaces the text and moves the cursor to its end.
func (e *Editor) SetText(s string) {
	text := Clean(s, e.limit())
	e.put(stepOther, state{text, len(text), e.now.attached})
}

// Replace sets the text, the cursor and the attached strings as one step of Undo. The text may be longer than Limit, so
// that typed text can always be restored.
func (e *Editor) Replace(text string, cursor int, attached []string) {
	before := Clean(text[:min(max(cursor, 0), len(text))], unlimited)
	e.put(stepOther, state{Clean(text, unlimited), len(before), slices.Clone(attached)})
}

// Insert inserts typed text at the cursor. Typing is undone word by word. Escape sequences, control characters and
// characters that hide text are removed; line ends and tabs become one space; text beyond Limit is cut off.
func (e *Editor) Insert(s string) {
	kind := stepOther
	if len(s) <= longestKey {
		kind = stepType
	}
	e.insert(kind, s)
}

// Paste is Insert for text that is undone as a whole.
func (e *Editor) Paste(s string) { e.insert(stepOther, s) }

// longestKey is the size of the longest text that a single key press inserts, in bytes.
const longestKey = 32

func (e *Editor) insert(kind step, s string) {
	text, cursor := e.Inserted(s)
	if text == e.now.text {
		return
	}
	if kind == stepType && !e.continuesWord(text[e.now.cursor:cursor]) {
		e.last = stepNone
	}
	e.change(kind, text, cursor)
}

// Inserted returns the text and the end of the insertion, in bytes, that Insert would produce, without changing
// anything.
func (e *Editor) Inserted(s string) (text string, end int) {
	s = Clean(s, e.limit()-utf8.RuneCountInString(e.now.text))
	return e.now.text[:e.now.cursor] + s + e.now.text[e.now.cursor:], e.now.cursor + len(s)
}

// continuesWord reports whether typed text continues the word before the cursor, or the spaces after it.
func (e *Editor) continuesWord(s string) bool {
	return startsWithSpace(s) || !endsWithSpace(e.now.text[:e.now.cursor])
}

func (e *Editor) limit() int {
	if e.Limit > 0 {
		return e.Limit
	}
	return wire.MaxQueryRunes
}

// DeleteBack deletes the cluster before the cursor.
func (e *Editor) DeleteBack() {
	e.remove(stepErase, previous(e.now.text, e.now.cursor), e.now.cursor)
}

// DeleteForward deletes the cluster after the cursor.
func (e *Editor) DeleteForward() {
	e.remove(stepErase, e.now.cursor, next(e.now.text, e.now.cursor))
}

// DeleteWordBack kills back to the space before the word.
func (e *Editor) DeleteWordBack() {
	e.kill(spaceBefore(e.now.text, e.now.cursor), e.now.cursor)
}

// DeleteWordBackAlt kills back to the start of the word, where letters or digits begin.
func (e *Editor) DeleteWordBackAlt() {
	e.kill(wordBefore(e.now.text, e.now.cursor), e.now.cursor)
}

// DeleteWordForward kills to the end of the word.
func (e *Editor) DeleteWordForward() {
	e.kill(e.now.cursor, wordAfter(e.now.text, e.now.cursor))
}

// KillToEnd kills the text after the cursor.
func (e *Editor) KillToEnd() { e.kill(e.now.cursor, len(e.now.text)) }

// KillToStart kills the text before the cursor.
func (e *Editor) KillToStart() { e.kill(0, e.now.cursor) }

// Yank inserts the text killed last; consecutive kills count as one.
func (e *Editor) Yank() { e.insert(stepOther, e.killed) }

// Clear empties the line. The attached strings stay.
func (e *Editor) Clear() { e.change(stepOther, "", 0) }

// Transpose swaps the clusters on both sides of the cursor, or the last two at the end, and moves after them.
func (e *Editor) Transpose() {
	text, middle := e.now.text, e.now.cursor
	if middle == len(text) {
		middle = previous(text, middle)
	}
	start, end := previous(text, middle), next(text, middle)
	if start == middle {
		return
	}
	e.change(stepOther, text[:start]+text[middle:end]+text[start:middle]+text[end:], end)
}

// kill removes a range and saves it for Yank, together with the text killed just before.
func (e *Editor) kill(from, to int) {
	if from == to {
		return
	}
	taken := e.now.text[from:to]
	switch {
	case e.last != stepKill:
		e.killed = taken
	case from == e.now.cursor:
		e.killed += taken
	default:
		e.killed = taken + e.killed
	}
	e.remove(stepKill, from, to)
}

func (e *Editor) remove(kind step, from, to int) {
	e.change(kind, e.now.text[:from]+e.now.text[to:], from)
}

func (e *Editor) change(kind step, text string, cursor int) {
	e.put(kind, state{text, cursor, e.now.attached})
}

// put changes the state and saves the one before for Undo, unless the step continues the last one.
func (e *Editor) put(kind step, to state) {
	to.cursor = boundary(to.text, to.cursor)
	sameContent := to.text == e.now.text && slices.Equal(to.attached, e.now.attached)
	if !sameContent {
		grouped := kind == e.last && (kind == stepType || kind == stepErase)
		if !grouped || len(e.past.states) == 0 {
			e.past.push(e.now)
		}
		e.future = history{}
	}
	e.last = kind
	if !sameContent || to.cursor != e.now.cursor {
		e.now = to
		e.version++
	}
}

// Undo reverts the last step: a typed word, characters erased in a row, or any other single change.
func (e *Editor) Undo() { e.travel(&e.past, &e.future) }

// Redo reverts the last Undo.
func (e *Editor) Redo() { e.travel(&e.future, &e.past) }

func (e *Editor) travel(from, to *history) {
	if target, ok := from.pop(); ok {
		to.push(e.now)
		e.now, e.last = target, stepNone
		e.version++
	}
}

func startsWithSpace(s string) bool { return s != strings.TrimLeftFunc(s, unicode.IsSpace) }
func endsWithSpace(s string) bool   { return s != strings.TrimRightFunc(s, unicode.IsSpace) }

// Left moves back by one cluster.
func (e *Editor) Left() { e.move(previous(e.now.text, e.now.cursor)) }

// Right moves forward by one cluster.
func (e *Editor) Right() { e.move(next(e.now.text, e.now.cursor)) }

// WordLeft moves back to the start of a run of letters and digits.
func (e *Editor) WordLeft() { e.move(wordBefore(e.now.text, e.now.cursor)) }

// WordRight moves forward to the end of a run of letters and digits.
func (e *Editor) WordRight() { e.move(wordAfter(e.now.text, e.now.cursor)) }

// Home moves to the start of the line.
func (e *Editor) Home() { e.move(0) }

// End moves to the end of the line.
func (e *Editor) End() { e.move(len(e.now.text)) }

func (e *Editor) move(to int) { e.change(stepMove, e.now.text, to) }

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

// history is a stack of states, bounded in number and size.
type history struct {
	states []state
	bytes  int
}

const (
	maxSteps     = 500
	maxStepBytes = 256 << 10
)

// push adds a state and drops the oldest ones that exceed the bounds. The latest always stays.
func (h *history) push(s state) {
	h.states = append(h.states, s)
	h.bytes += s.size()
	forget := 0
	for len(h.states)-forget > 1 && (len(h.states)-forget > maxSteps || h.bytes > maxStepBytes) {
		h.bytes -= h.states[forget].size()
		forget++
	}
	h.states = slices.Delete(h.states, 0, forget)
}

func (h *history) pop() (state, bool) {
	if len(h.states) == 0 {
		return state{}, false
	}
	end := len(h.states) - 1
	last := h.states[end]
	h.states = slices.Delete(h.states, end, end+1)
	h.bytes -= last.size()
	return last, true
}

func (s state) size() int {
	size := len(s.text)
	for _, text := range s.attached {
		size += len(text)
	}
	return size
}
