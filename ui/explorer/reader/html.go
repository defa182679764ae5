package reader

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"quarry/ui/passage"
)

// html returns the text in a block of HTML.
func (r *renderer) html(n *ast.HTMLBlock) string {
	segments := n.Lines().Sliced(0, n.Lines().Len())
	if n.HasClosure() {
		segments = append(slices.Clip(segments), n.ClosureLine)
	}
	var raw []byte
	for i := range segments {
		raw = append(raw, segments[i].Value(r.source)...)
	}
	text := withoutTags(string(raw))
	var shown []string
	var line strings.Builder
	endLine := func() {
		if line.Len() > 0 {
			shown = append(shown, line.String())
		}
		line.Reset()
	}
	for _, segment := range segments {
		size := segment.Padding + segment.Stop - segment.Start
		start := segment.Start - segment.Padding
		for at, part := range runs(text[:size]) {
			if part == "\n" {
				endLine()
				continue
			}
			if line.Len() == 0 {
				indented := len(part)
				part = strings.TrimLeft(part, " \t")
				at += indented - len(part)
			}
			for within, resolved := range unescaped(part, false) {
				inline{renderer: r}.run(&line, start+at+within, resolved)
			}
		}
		text = text[size:]
	}
	endLine()
	return strings.Join(shown, note(newLine, 0))
}

// runs yields the line ends and the text between the zero bytes of a text, with their offsets.
func runs(text string) func(yield func(at int, run string) bool) {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			end := at + 1
			switch {
			case text[at] == 0:
				at++
				continue
			case text[at] != '\n':
				for end < len(text) && text[end] != 0 && text[end] != '\n' {
					end++
				}
			}
			if !yield(at, text[at:end]) {
				return
			}
			at = end
		}
	}
}

// withoutTags returns a text of the same length, with what takes the place of HTML tags and comments, and zero bytes.
func withoutTags(s string) string {
	masked := []byte(s)
	for at := 0; at < len(s); at++ {
		shown, length := passage.Tag(s[at:])
		if length == 0 {
			continue
		}
		clear(masked[at : at+length])
		copy(masked[at:], shown)
		at += length - 1
	}
	return string(masked)
}

// tag replaces an inline tag by its text.
func (in inline) tag(parent ast.Node, n *ast.RawHTML) {
	var raw []byte
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		raw = append(raw, segment.Value(in.source)...)
	}
	var shown strings.Builder
	if text, length := passage.Tag(string(raw)); length == len(raw) {
		shown.WriteString(strings.ReplaceAll(text, "\n", in.lineEnd()))
	} else {
		in.run(&shown, n.Segments.At(0).Start, strings.ReplaceAll(string(raw), "\n", " "))
	}
	parent.ReplaceChild(parent, n, in.made(shown.String()))
}
