//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"quarry/tools/drive"
	"quarry/tools/measure"
)

// flood is a way to make a server work.
type flood struct {
	what  string
	begin func(*visitor) error // before it
	once  func(*visitor) error // over and over, until it fails
}

func floods() []flood {
	asked := func(v *visitor) error { return v.search(question) }
	keys := func(key string) func(*visitor) error {
		return func(v *visitor) error {
			_, err := io.WriteString(v.keys, strings.Repeat(key, 1<<10))
			return err
		}
	}
	nothing := func(*visitor) error { return nil }
	return []flood{
		{"letters", nothing, keys("x ")},
		{"a search for every key", asked, keys("/e\r")},
		{"moves of the selection", asked, keys("\x1b[B\x1b[B\x1b[A\x1b[B\x1b[A\x1b[A")},
		{"pastes", nothing, keys("\x1b[200~roll back \x1b[201~")},
		{"sizes of the window", asked, func(v *visitor) error {
			for i := range 100 {
				if err := v.session.WindowChange(rows-i%10, columns-i%20); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// measureFlood has one visitor do what costs most, as fast as the connection takes it, while another one types. What that
// one waits is held to the same budget as without.
func (b *bench) measureFlood() ([]measure.Figure, error) {
	s, err := b.serve()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.stop() }()
	typist, err := s.visit(chacha)
	if err != nil {
		return nil, err
	}
	defer typist.leave()
	typist.Settle(2 * drive.Quiet)
	figures, err := b.beside(s, typist, "nobody else")
	if err != nil {
		return nil, err
	}
	for _, f := range floods() {
		more, err := b.flooded(s, typist, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.what, err)
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

func (b *bench) flooded(s *server, typist *visitor, f flood) ([]measure.Figure, error) {
	v, err := s.visit(chacha)
	if err != nil {
		return nil, err
	}
	if err := f.begin(v); err != nil {
		v.leave()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for f.once(v) == nil {
		}
	}()
	figures, err := b.beside(s, typist, f.what)
	v.leave()
	<-ended
	typist.Settle(2 * drive.Quiet)
	return figures, err
}

// beside has the typist type while something else happens.
func (b *bench) beside(s *server, typist *visitor, what string) ([]measure.Figure, error) {
	keys := drive.Letters(question)
	at := s.load()
	var strokes []drive.Stroke
	for len(strokes) < b.keys/2 {
		there, err := typist.TypeAll(keys, drive.Quiet)
		if err != nil {
			return nil, err
		}
		back, err := typist.TypeAll(slices.Repeat([]string{"backspace"}, len(keys)), drive.Quiet)
		if err != nil {
			return nil, err
		}
		strokes = append(append(strokes, there...), back...)
	}
	waited := measure.New("key → first byte beside "+what, "ms", drive.Collect(strokes, firstByte), measure.P95(20))
	return append([]measure.Figure{waited}, s.taken(at)...), nil
}
