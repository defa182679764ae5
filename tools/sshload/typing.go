//go:build unix

package main

import (
	"slices"

	"quarry/tools/drive"
	"quarry/tools/measure"
)

// question is typed where keys are measured. Its letters change what is found. Those of a word that no document has do
// not where that word is one to leave out, and neither do spaces.
const question = "roll back a deploy"

func firstByte(s drive.Stroke) float64  { return measure.Milliseconds(s.First) }
func ofTerminal(s drive.Stroke) float64 { return float64(s.Bytes) }
func downWire(s drive.Stroke) float64   { return float64(s.Down) }
func upWire(s drive.Stroke) float64     { return float64(s.Up) }

// typed are the keys of a visitor: those that change the results, and those that do not.
type typed struct{ changing, letters, spaces []drive.Stroke }

func (t typed) all() []drive.Stroke { return slices.Concat(t.changing, t.letters, t.spaces) }

// types has a visitor type a question and take it back, and letters and spaces after one that change nothing, until there
// are enough keys of each kind.
func (v *visitor) types(enough int) (typed, error) {
	var t typed
	keys := drive.Letters(question)
	for len(t.changing) < enough {
		there, err := v.TypeAll(keys, drive.Quiet)
		if err != nil {
			return t, err
		}
		back, err := v.TypeAll(slices.Repeat([]string{"backspace"}, len(keys)), drive.Quiet)
		if err != nil {
			return t, err
		}
		t.changing = slices.Concat(t.changing, there, back)
	}
	if _, err := v.TypeAll(keys, drive.Quiet); err != nil {
		return t, err
	}
	for len(t.spaces) < enough {
		more, err := v.TypeAll([]string{"space", "space", "space", "backspace", "backspace", "backspace"}, drive.Quiet)
		if err != nil {
			return t, err
		}
		t.spaces = append(t.spaces, more...)
	}
	if _, err := v.TypeAll(drive.Letters(" -zqxjkvb"), drive.Quiet); err != nil {
		return t, err
	}
	for len(t.letters) < enough {
		more, err := v.TypeAll([]string{"w", "q", "z", "backspace", "backspace", "backspace"}, drive.Quiet)
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
		v.Settle(2 * drive.Quiet)
		before := s.load()
		t, err := v.types(b.keys)
		cpus := s.taken(before)
		v.leave()
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			measure.New("key → first byte, "+cipher, "ms", drive.Collect(t.all(), firstByte), measure.P95(20)),
			measure.New("  down the wire, a letter, results unchanged", "B", drive.Collect(t.letters, downWire), measure.P50(60)),
			measure.New("    to the terminal", "B", drive.Collect(t.letters, ofTerminal), measure.P50(25)),
			measure.New("    up the wire", "B", drive.Collect(t.letters, upWire)),
			measure.New("  down the wire, a space, results unchanged", "B", drive.Collect(t.spaces, downWire)),
			measure.New("  down the wire, results changed", "B", drive.Collect(t.changing, downWire)))
		figures = append(figures, cpus...)
	}
	return figures, nil
}
