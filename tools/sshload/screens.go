//go:build unix

package main

import (
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"quarry/tools/measure"
)

// What the server draws of a terminal at most.
const (
	mostColumns = 250
	mostRows    = 80
)

// frame is long enough for a change of size to be drawn: a change right after another replaces it.
const frame = 100 * time.Millisecond

// measureScreens has many visitors with the largest terminals, who search and read, and then change the size of their
// terminals in the way that takes the most memory: lines that are made almost as long as they may be, and then grow.
func (b *bench) measureScreens() ([]measure.Figure, error) {
	s, err := b.serve()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.stop() }()
	s.window = window{65535, 65535}
	before, err := measure.MemoryOf(s.pid())
	if err != nil {
		return nil, err
	}
	crowd, err := b.arrive(s)
	defer leaveAll(crowd)
	if err != nil {
		return nil, err
	}
	if err := readAll(crowd); err != nil {
		return nil, err
	}
	drawn, err := measure.MemoryOf(s.pid())
	if err != nil {
		return nil, err
	}
	if err := resizeAll(crowd); err != nil {
		return nil, err
	}
	resized, err := measure.MemoryOf(s.pid())
	if err != nil {
		return nil, err
	}
	each := func(m measure.Memory) float64 { return (m.Resident - before.Resident) / float64(len(crowd)) }
	return []measure.Figure{
		measure.One("memory of a session with the largest screen, VmRSS", "MB", each(drawn), measure.Most(7.5)),
		measure.One("  after changes of its size", "MB", each(resized), measure.Most(8)),
		measure.One(fmt.Sprintf("most memory of the server with %d of them, VmHWM", len(crowd)), "MB", resized.Peak, measure.Most(2048)),
	}, nil
}

func resizeAll(crowd []*visitor) error {
	var group errgroup.Group
	for _, v := range crowd {
		group.Go(func() error {
			for range 5 {
				for _, w := range []window{{mostColumns - 1, 1}, {mostColumns - 1, 65535}, {65535, 65535}, {1, 65535}} {
					if err := v.session.WindowChange(w.rows, w.columns); err != nil {
						return err
					}
					time.Sleep(frame)
				}
			}
			return nil
		})
	}
	return group.Wait()
}
