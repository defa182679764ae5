package segment

import (
	"bytes"
	"sort"
)

// Automaton accepts words, byte by byte.
type Automaton interface {
	Start() int
	IsMatch(state int) bool
	// Accept returns the state after a byte; ok is false if nothing can match then.
	Accept(state int, b byte) (next int, ok bool)
	// Least returns the least byte, not less than from, that Accept accepts, and its state.
	Least(state int, from byte) (b byte, next int, ok bool)
}

// Matching calls yield with every surface that the automaton accepts, in order. It skips the blocks of the dictionary in
// which no accepted word can be.
func (r *Reader) Matching(automaton Automaton, yield func(Surface)) {
	m := matching{automaton: automaton, states: []int{automaton.Start()}}
	for e := r.surfaces.from(0); e.next(); {
		if m.accepts(e.key, e.shared) {
			yield(r.surfaceOf(e.key, e.value))
		}
		if len(e.rest) > 0 || e.left <= 0 {
			continue
		}
		next, ok := m.after(e.key)
		if !ok {
			return
		}
		e.skipTo(next)
	}
}

// matching runs an automaton over ascending keys.
type matching struct {
	automaton Automaton
	states    []int // states[i] is reached after i bytes of the key; cut where nothing can match
	bound     []byte
}

// accepts reports whether the automaton accepts a key that begins with shared bytes of the key before.
func (m *matching) accepts(key []byte, shared int) bool {
	m.states = m.states[:min(len(m.states), shared+1)]
	for len(m.states) <= len(key) {
		i := len(m.states) - 1
		state, ok := m.automaton.Accept(m.states[i], key[i])
		if !ok {
			return false
		}
		m.states = append(m.states, state)
	}
	return m.automaton.IsMatch(m.states[len(key)])
}

// after returns a string that is greater than the key, and not greater than any accepted word behind the key; false if
// there is no such word.
func (m *matching) after(key []byte) (bound []byte, ok bool) {
	for i := len(m.states) - 1; i >= 0; i-- {
		from := byte(0)
		if i < len(key) {
			if from = key[i] + 1; from == 0 {
				continue
			}
		}
		if b, state, ok := m.automaton.Least(m.states[i], from); ok {
			m.bound = append(append(m.bound[:0], key[:i]...), b)
			return m.complete(state), true
		}
	}
	return nil, false
}

// complete adds the least bytes with which the automaton accepts the bound.
func (m *matching) complete(state int) []byte {
	const longest = 256 // whatever the automaton is
	for !m.automaton.IsMatch(state) && len(m.bound) < longest {
		b, next, ok := m.automaton.Least(state, 0)
		if !ok {
			break
		}
		m.bound, state = append(m.bound, b), next
	}
	return m.bound
}

// skipTo moves entries at the end of a block to the block that may contain key, or the first one behind it.
func (e *entries) skipTo(key []byte) {
	for step := 1; ; step *= 2 { // blocks near by are more likely
		until := min(e.block+step, e.d.blocks)
		if until < e.d.blocks && bytes.Compare(e.d.first(until), key) <= 0 {
			e.block = until
			continue
		}
		behind := sort.Search(until-e.block, func(i int) bool { return bytes.Compare(e.d.first(e.block+i), key) > 0 })
		e.block += max(0, behind-1)
		e.left = max(0, e.d.count-e.block*dictionaryBlock)
		return
	}
}
