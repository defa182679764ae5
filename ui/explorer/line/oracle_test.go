package line_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/ui/explorer/line"
)

// naive is the slow editor that the real one is held against: a list of clusters, taken apart anew after every change.
type naive struct {
	clusters []string
	cursor   int // how many of them precede the cursor
	killed   string
	killing  bool
	undo     []snapshot
	redo     []snapshot
	group    string
}

type snapshot struct {
	text   string
	cursor int // in bytes
}

func split(text string) []string {
	var clusters []string
	for c := graphemes.FromString(text); c.Next(); {
		clusters = append(clusters, c.Value())
	}
	return clusters
}

func (n *naive) text() string   { return strings.Join(n.clusters, "") }
func (n *naive) before() string { return strings.Join(n.clusters[:n.cursor], "") }
func (n *naive) after() string  { return strings.Join(n.clusters[n.cursor:], "") }

func (n *naive) set(group, before, after string) {
	if text := n.text(); text != before+after {
		if group == "" || group != n.group {
			n.undo = append(n.undo, snapshot{text, len(n.before())})
		}
		n.redo = nil
	}
	n.group = group
	n.place(before+after, len(before))
}

func (n *naive) place(text string, cursor int) {
	n.clusters, n.cursor = split(text), 0
	for at := 0; at < cursor; n.cursor++ {
		at += len(n.clusters[n.cursor])
	}
}

func (n *naive) travel(from, to *[]snapshot) {
	if len(*from) == 0 {
		return
	}
	last := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	*to = append(*to, snapshot{n.text(), len(n.before())})
	n.place(last.text, last.cursor)
	n.group, n.killing = "", false
}

func word(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

func solid(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return !unicode.IsSpace(r)
}

func (n *naive) runLeft(is func(string) bool) int {
	i := n.cursor
	for i > 0 && !is(n.clusters[i-1]) {
		i--
	}
	for i > 0 && is(n.clusters[i-1]) {
		i--
	}
	return i
}

func (n *naive) runRight() int {
	i := n.cursor
	for i < len(n.clusters) && !word(n.clusters[i]) {
		i++
	}
	for i < len(n.clusters) && word(n.clusters[i]) {
		i++
	}
	return i
}

func (n *naive) kill(from, to int) {
	if from == to {
		return
	}
	taken := strings.Join(n.clusters[from:to], "")
	switch {
	case !n.killing:
		n.killed = taken
	case from == n.cursor:
		n.killed += taken
	default:
		n.killed = taken + n.killed
	}
	n.set("", strings.Join(n.clusters[:from], ""), strings.Join(n.clusters[to:], ""))
	n.killing = true
}

func (n *naive) move(to int) { n.cursor, n.group, n.killing = to, "move", false }

// operations are what both editors can do, by name.
func operations() map[string]struct {
	real  func(*line.Editor)
	naive func(*naive)
} {
	type op = struct {
		real  func(*line.Editor)
		naive func(*naive)
	}
	erase := func(n *naive, from, to int) {
		n.killing = false
		n.set("erase", strings.Join(n.clusters[:from], ""), strings.Join(n.clusters[to:], ""))
	}
	return map[string]op{
		"left":       {func(e *line.Editor) { e.Left() }, func(n *naive) { n.move(max(0, n.cursor-1)) }},
		"right":      {func(e *line.Editor) { e.Right() }, func(n *naive) { n.move(min(len(n.clusters), n.cursor+1)) }},
		"home":       {func(e *line.Editor) { e.Home() }, func(n *naive) { n.move(0) }},
		"end":        {func(e *line.Editor) { e.End() }, func(n *naive) { n.move(len(n.clusters)) }},
		"word left":  {func(e *line.Editor) { e.WordLeft() }, func(n *naive) { n.move(n.runLeft(word)) }},
		"word right": {func(e *line.Editor) { e.WordRight() }, func(n *naive) { n.move(n.runRight()) }},
		"back": {func(e *line.Editor) { e.DeleteBack() }, func(n *naive) {
			erase(n, max(0, n.cursor-1), n.cursor)
		}},
		"forward": {func(e *line.Editor) { e.DeleteForward() }, func(n *naive) {
			before, after := n.before(), ""
			if n.cursor < len(n.clusters) {
				after = strings.Join(n.clusters[n.cursor+1:], "")
			}
			n.killing = false
			n.set("erase", before, after)
		}},
		"to space": {func(e *line.Editor) { e.DeleteWordBack() }, func(n *naive) { n.kill(n.runLeft(solid), n.cursor) }},
		"to word":  {func(e *line.Editor) { e.DeleteWordBackAlt() }, func(n *naive) { n.kill(n.runLeft(word), n.cursor) }},
		"word on":  {func(e *line.Editor) { e.DeleteWordForward() }, func(n *naive) { n.kill(n.cursor, n.runRight()) }},
		"to end":   {func(e *line.Editor) { e.KillToEnd() }, func(n *naive) { n.kill(n.cursor, len(n.clusters)) }},
		"to start": {func(e *line.Editor) { e.KillToStart() }, func(n *naive) { n.kill(0, n.cursor) }},
		"yank": {func(e *line.Editor) { e.Yank() }, func(n *naive) {
			if n.killed != "" {
				n.killing = false
				n.set("", n.before()+n.killed, n.after())
			}
		}},
		"undo": {func(e *line.Editor) { e.Undo() }, func(n *naive) { n.travel(&n.undo, &n.redo) }},
		"redo": {func(e *line.Editor) { e.Redo() }, func(n *naive) { n.travel(&n.redo, &n.undo) }},
	}
}

func pieces() []string {
	return []string{"a", "b", "7", " ", "  ", "-", "é", "e\u0301", "漢", "字", "한", "ا", "ש", "👍🏽", "👩‍👩‍👧", "🇩", "🇪", "❤️",
		"\u0301", "\u200d", "ﾞ", "क्षि", "·", "\u00a0", "\u3000", "foo bar", "x:\"y z\""}
}

func TestAgainstANaiveEditor(t *testing.T) {
	t.Parallel()
	ops := operations()
	names := make([]string, 0, len(ops))
	for name := range ops {
		names = append(names, name)
	}
	slices.Sort(names)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var e line.Editor
		var n naive
		var log []string
		for range 80 {
			if random.IntN(2) == 0 {
				piece := pieces()[random.IntN(len(pieces()))]
				log = append(log, piece)
				e.Paste(piece)
				n.killing = false
				n.set("", n.before()+piece, n.after())
			} else {
				name := names[random.IntN(len(names))]
				log = append(log, "<"+name+">")
				ops[name].real(&e)
				ops[name].naive(&n)
			}
			if e.Text() != n.text() || e.Cursor() != len(n.before()) {
				t.Fatalf("seed %d: %q at %d, not %q at %d, after %q", seed, e.Text(), e.Cursor(), n.text(), len(n.before()), log)
			}
		}
	}
}
