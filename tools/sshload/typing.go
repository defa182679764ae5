//go:build unix

package main

import (
	"slices"

	"quarry/tools/measure"
)

// question is typed where keys are measured. Its letters change what is found. Those of a word that no document has do
// not where that word is one to leave out, and neither do spaces.
const question = "roll back a deploy"

func firstByte(s stroke) float64  { return measure.Milliseconds(s.first) }
func ofTerminal(s stroke) float64 { return float64(s.bytes) }
func downWire(s stroke) float64   { return float64(s.down) }
func upWire(s stroke) float64     { return float64(s.up) }

// collect makes samples of strokes.
func collect(strokes []stroke, value func(stroke) float64) []float64 {
	samples := make([]float64, 0, len(strokes))
	for _, s := range strokes {
		samples = append(samples, value(s))
	}
	return samples
}

// typed are the keys of a visitor: those that change the results, and those that do not.
type typed struct{ changing, letters, spaces []stroke }

func (t typed) all() []stroke { return slices.Concat(t.changing, t.letters, t.spaces) }

// types has a visitor type a question and take it back, and letters and spaces after one that change nothing, until there
// are enough keys of each kind.
func (v *visitor) types(enough int) (typed, error) {
	var t typed
	keys := letters(question)
	for len(t.changing) < enough {
		there, err := v.pressAll(keys...)
		if err != nil {
			return t, err
		}
		back, err := v.pressAll(slices.Repeat([]string{"backspace"}, len(keys))...)
		if err != nil {
			return t, err
		}
		t.changing = slices.Concat(t.changing, there, back)
	}
	if _, err := v.pressAll(keys...); err != nil {
		return t, err
	}
	for len(t.spaces) < enough {
		more, err := v.pressAll("space", "space", "space", "backspace", "backspace", "backspace")
		if err != nil {
			return t, err
		}
		t.spaces = append(t.spaces, more...)
	}
	if _, err := v.pressAll(letters(" -zqxjkvb")...); err != nil {
		return t, err
	}
	for len(t.letters) < enough {
		more, err := v.pressAll("w", "q", "z", "backspace", "backspace", "backspace")
		if err != nil {
			return t, err
		}
		t.letters = append(t.letters, more...)
	}
	return t, nil
}

// measureTyping is about one visitor alone.
func (b *bench) measureTyping() ([]measure.Figure, error) {
	s, err := b.serve()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.stop() }()
	var figures []measure.Figure
	for _, cipher := range []string{chacha, gcm} {
		v, err := s.visit(cipher)
		if err != nil {
			return nil, err
		}
		v.settle(2 * quiet)
		before := s.load()
		t, err := v.types(b.keys)
		cpus := s.taken(before)
		v.leave()
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			measure.New("key → first byte, "+cipher, "ms", collect(t.all(), firstByte), measure.P95(20)),
			measure.New("  down the wire, a letter, results unchanged", "B", collect(t.letters, downWire), measure.P50(60)),
			measure.New("    to the terminal", "B", collect(t.letters, ofTerminal), measure.P50(25)),
			measure.New("    up the wire", "B", collect(t.letters, upWire)),
			measure.New("  down the wire, a space, results unchanged", "B", collect(t.spaces, downWire)),
			measure.New("  down the wire, results changed", "B", collect(t.changing, downWire)))
		figures = append(figures, cpus...)
	}
	return figures, nil
}
