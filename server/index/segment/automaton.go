package segment

import (
	"math"
	"sort"
	"unicode/utf8"
)

// Automaton accepts words, character by character. It keeps the characters that it was given.
type Automaton interface {
	// Push adds a character; false if no accepted word begins with them all: then it is not added.
	Push(c rune) bool
	// Truncate keeps the first n characters.
	Truncate(n int)
	// IsMatch reports whether the characters are an accepted word.
	IsMatch() bool
	// Least returns the least character, not less than from, that Push would add.
	Least(from rune) (c rune, ok bool)
}

// Matching calls yield with every surface that the automaton accepts, in order. It skips the blocks of the dictionary
// in which no accepted word can be.
func (r *Reader) Matching(automaton Automaton, yield func(Surface)) {
	m := matching{Automaton: automaton}
	shared := math.MaxInt // by the keys since the one that the automaton had last
	for e := r.surfaces.from(0); e.step(); {
		shared = min(shared, e.shared)
		if !e.has && len(e.rest) > 0 {
			continue
		}
		if m.accepts(e.key, shared) && e.has {
			yield(e.Surface())
		}
		if shared = math.MaxInt; len(e.rest) > 0 || e.left <= 0 {
			continue
		}
		next, ok := m.after(e.key)
		if !ok {
			return
		}
		e.skipTo(next)
	}
}

// Match calls yield with every item whose key the automaton accepts; the keys ascend.
func Match[T any](automaton Automaton, items []T, key func(T) string, yield func(T)) {
	m, before := matching{Automaton: automaton}, ""
	for _, item := range items {
		own := key(item)
		if m.accepts([]byte(own), sharedPrefix(own, before)) {
			yield(item)
		}
		before = own
	}
}

// matching runs an automaton over ascending keys.
type matching struct {
	Automaton
	ends  []int // where the characters that the automaton has end in the key
	dead  int   // where the character ends that it refused; 0: none
	bound []byte
}

// end is where the first n characters end.
func (m *matching) end(n int) int {
	if n == 0 {
		return 0
	}
	return m.ends[n-1]
}

// accepts reports whether the automaton accepts a key that begins with shared bytes of the key before.
func (m *matching) accepts(key []byte, shared int) bool {
	if m.dead > 0 && shared >= m.dead {
		return false
	}
	n := len(m.ends)
	for n > 0 && m.ends[n-1] > shared {
		n--
	}
	m.ends = m.ends[:n]
	m.Truncate(n)
	m.dead = 0
	for at := m.end(n); at < len(key); {
		c, size := utf8.DecodeRune(key[at:])
		at += size
		if !m.Push(c) {
			m.dead = at
			return false
		}
		m.ends = append(m.ends, at)
	}
	return m.IsMatch()
}

// after returns a string that is greater than the key, and not greater than any accepted word behind the key; false if
// there is no such word. The key is the one that accepts had last.
func (m *matching) after(key []byte) (bound []byte, ok bool) {
	const longest = 256 // whatever the automaton is
	for n := len(m.ends); n >= 0; n-- {
		m.Truncate(n)
		from, at := rune(0), m.end(n)
		if at < len(key) {
			from, _ = utf8.DecodeRune(key[at:])
			from++
		}
		c, ok := m.Least(from)
		if !ok {
			continue
		}
		m.bound = utf8.AppendRune(append(m.bound[:0], key[:at]...), c)
		for ok = m.Push(c); ok && !m.IsMatch() && len(m.bound) < longest; ok = ok && m.Push(c) {
			if c, ok = m.Least(0); ok {
				m.bound = utf8.AppendRune(m.bound, c)
			}
		}
		m.ends, m.dead = m.ends[:0], 0 // the next key begins a block, and shares nothing
		return m.bound, true
	}
	return nil, false
}

// skipTo moves entries at the end of a block to the block that may contain key, or the first one behind it.
func (e *entries) skipTo(key []byte) {
	start := keyStart(key)
	for step := 1; ; step *= 2 { // blocks near by are more likely
		until := min(e.block+step, e.d.blocks)
		if until < e.d.blocks && !e.d.isBehind(until, key, start) {
			e.block = until
			continue
		}
		behind := sort.Search(until-e.block, func(i int) bool { return e.d.isBehind(e.block+i, key, start) })
		e.block += max(0, behind-1)
		e.left = max(0, e.d.count-e.block*dictionaryBlock)
		return
	}
}
