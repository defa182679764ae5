//go:build unix

package main

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"quarry/tools/drive"
	"quarry/tools/measure"
)

// readers is how many visitors search and read at a time.
const readers = 8

// questions are what visitors ask, each the next one: something is found in any library of a company.
func questions() []string {
	return []string{"how do we roll back a deploy", "parental leave", "on-call rotation", "expense a laptop", "security incident",
		"code review", "onboarding a new engineer", "support hours", "travel policy", "release process"}
}

// measureCrowd has many visitors come in, look for something, and stay.
func (b *bench) measureCrowd() ([]measure.Figure, error) {
	s, err := b.serve()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.stop() }()
	before, err := measure.MemoryOf(s.pid())
	if err != nil {
		return nil, err
	}
	at := s.load()
	crowd, err := b.arrive(s)
	defer leaveAll(crowd)
	if err != nil {
		return nil, err
	}
	cpus := s.taken(at)
	var painted []float64
	for _, v := range crowd {
		painted = append(painted, measure.Milliseconds(v.painted))
	}
	figures := append([]measure.Figure{
		measure.New(fmt.Sprintf("connect → first paint, %d in %v", b.sessions, b.within), "ms", painted, measure.P95(300)),
	}, cpus...)
	if err := readAll(crowd); err != nil {
		return nil, err
	}
	for _, step := range []func(*server, []*visitor, measure.Memory) ([]measure.Figure, error){b.idleCrowd, b.typeInCrowd} {
		more, err := step(s, crowd, before)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

// arrive has all visitors come in, evenly spread.
func (b *bench) arrive(s *server) ([]*visitor, error) {
	var group errgroup.Group
	var mutex sync.Mutex
	var crowd []*visitor
	began := time.Now()
	for i := range b.sessions {
		time.Sleep(time.Until(began.Add(b.within * time.Duration(i) / time.Duration(b.sessions))))
		group.Go(func() error {
			v, err := s.visit(chacha)
			if err != nil {
				return fmt.Errorf("visitor %d: %w", i+1, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			crowd = append(crowd, v)
			return nil
		})
	}
	return crowd, group.Wait()
}

func leaveAll(crowd []*visitor) {
	for _, v := range crowd {
		v.leave()
	}
}

// readAll has every visitor search, and read what was found.
func readAll(crowd []*visitor) error {
	var group errgroup.Group
	group.SetLimit(readers)
	for i, v := range crowd {
		group.Go(func() error {
			if err := v.search(questions()[i%len(questions())]); err != nil {
				return err
			}
			return v.read()
		})
	}
	return group.Wait()
}

// idleCrowd watches visitors who do nothing.
func (b *bench) idleCrowd(s *server, crowd []*visitor, before measure.Memory) ([]measure.Figure, error) {
	first, err := measure.MemoryOf(s.pid())
	if err != nil {
		return nil, err
	}
	sent := written(crowd)
	at := s.load()
	time.Sleep(b.idle)
	cpus := s.taken(at, measure.Most(0.4))
	bytes := float64(written(crowd)-sent) / b.idle.Seconds() / float64(len(crowd))
	last, err := measure.MemoryOf(s.pid())
	if err != nil {
		return nil, err
	}
	each := func(after, before float64) float64 { return (after - before) / float64(len(crowd)) }
	return append([]measure.Figure{
		measure.One("memory of a session that has read, VmRSS", "MB", each(first.Resident, before.Resident), measure.Most(2.5)),
		measure.One("  RssAnon", "MB", each(first.Anonymous, before.Anonymous)),
		measure.One(fmt.Sprintf("  VmRSS, %v later", b.idle), "MB", each(last.Resident, before.Resident), measure.Most(2.5)),
		measure.One("  the server alone, VmRSS", "MB", before.Resident),
		measure.One("nobody types: to the terminal of each", "B/s", bytes, measure.Most(0)),
	}, cpus...), nil
}

// typeInCrowd has one more visitor type while the others are there, and one after the other leave.
func (b *bench) typeInCrowd(s *server, crowd []*visitor, _ measure.Memory) ([]measure.Figure, error) {
	v, err := s.visit(chacha)
	if err != nil {
		return nil, err
	}
	defer v.leave()
	v.Settle(2 * drive.Quiet)
	t, err := v.types(b.keys)
	if err != nil {
		return nil, err
	}
	var left []float64
	for _, one := range crowd {
		took, err := one.quit()
		if err != nil {
			return nil, err
		}
		left = append(left, measure.Milliseconds(took))
	}
	return []measure.Figure{
		measure.New(fmt.Sprintf("key → first byte, %d others idle", len(crowd)), "ms", drive.Collect(t.all(), firstByte), measure.P95(20)),
		measure.New("  down the wire, a letter, results unchanged", "B", drive.Collect(t.letters, downWire), measure.P50(60)),
		measure.New("quit by ctrl+c", "ms", left, measure.P50(50)),
	}, nil
}

// written is how much all terminals have been sent.
func written(crowd []*visitor) int {
	sum := 0
	for _, v := range crowd {
		sum += v.BytesWritten()
	}
	return sum
}
