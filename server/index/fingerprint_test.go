package index

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

func fingerprint(text string) Fingerprint {
	var sim SimHash
	for word := range strings.FieldsSeq(text) {
		sim.Add(WordHash(word))
	}
	return sim.Sum()
}

func TestAlike(t *testing.T) {
	text := strings.Join(strings.Fields(`the release train leaves on tuesday and everybody who has a change on it checks the board before
		noon so that nothing is left behind when the gates close and the build begins which takes an hour on most days but may take
		two when the caches are cold or the tests of the mobile apps run on the slow farm in the basement where nobody likes to go
		after the build a person of the team on duty reads the list of changes aloud in the channel and asks their authors to stay
		near a keyboard until the graphs of errors and of latency have been flat for an hour and the first customers have it too`), " ")
	tests := map[string]struct {
		other string
		alike bool
	}{
		"the same text":          {text, true},
		"one word changed":       {strings.Replace(text, "nobody", "no-one", 1), true},
		"a number added":         {text + " 7", true},
		"most of it":             {text[:2*len(text)/3], true},
		"the beginning of it":    {text[:60], false},
		"words in another order": {strings.Join(reversed(strings.Fields(text)), " "), false},
		"nothing":                {"", false},
	}
	for name, test := range tests {
		a, b := fingerprint(text), fingerprint(test.other)
		if a.Alike(b) != test.alike || b.Alike(a) != test.alike {
			t.Errorf("%s: alike %v, distance %d", name, a.Alike(b), a.Distance(b))
		}
	}
	if short := fingerprint("see the runbook of the team before a deploy"); short != 0 || short.Alike(short) {
		t.Errorf("a passage of a few words has the fingerprint %x", short)
	}
	if fingerprint("error 12 "+text) == fingerprint("error 13 "+text) {
		t.Error("numbers make no difference")
	}
}

func reversed(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[len(words)-1-i] = word
	}
	return out
}

// TestSimHash compares the fast sums with slow ones, past the size of a lane, and one passage after the other.
func TestSimHash(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var sim SimHash
	for _, words := range []int{0, 9, 10, 254, 255, 256, 1000, 5000} {
		hashes := make([]uint64, words)
		for i := range hashes {
			hashes[i] = random.Uint64N(1 << 40) // some are equal, and not all bits are
			sim.Add(hashes[i])
		}
		var want Fingerprint
		numbers := uint64(0)
		var counts [64]int
		for i, hash := range hashes {
			if hash&1 != 0 {
				numbers += hash >> 1
			}
			if i >= 2 {
				triple := scramble(hash ^ bits.RotateLeft64(hashes[i-1], 21) ^ bits.RotateLeft64(hashes[i-2], 42))
				for bit := range counts {
					counts[bit] += int(triple >> bit & 1)
				}
			}
		}
		for bit := range simBits {
			if 2*counts[bit] > words-2 {
				want |= 1 << bit
			}
		}
		want |= Fingerprint(numbers << simBits)
		if words < minTriples+2 {
			want = 0
		}
		if got := sim.Sum(); got != want {
			t.Errorf("%d words: %x, want %x", words, got, want)
		}
	}
}

func BenchmarkSimHash(b *testing.B) {
	var sim SimHash
	word := WordHash("word")
	for i := range uint64(b.N) {
		sim.Add(word + i)
	}
	b.SetBytes(6) // of a word and its space
	_ = sim.Sum()
}
