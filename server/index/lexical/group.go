package lexical

import (
	"math/bits"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"quarry/server/index/segment"
)

// maxGroups bounds the groups that are remembered of a segment: a byte for each of its chunks. So it does the long
// forms.
const maxGroups = 32

// group is how often one occurs in each chunk of a segment, in halves, and the documents that have it in their title.
type group struct {
	halves []uint8
	titled segment.Bits
}

// remembered is what is remembered of a segment by terms.
func remembered[T any](reader *segment.Reader) *lru.Cache[string, T] {
	type key struct{}
	return segment.Derived(reader, key{}, func() *lru.Cache[string, T] {
		cache, _ := lru.New[string, T](maxGroups) // a positive size is no error
		return cache
	})
}

// groupOf adds the terms of a word, and its long forms, as if they were one.
func (s *scoring) groupOf(w *word, factor float32) {
	s.gatherAll(w.terms, w.bits)
	s.addForms(w)
	s.ungroup(factor, float32(w.bonus), w.bits)
}

// ungroup adds the scores of the chunks that are left in the group.
func (s *scoring) ungroup(factor, bonus float32, words uint64) {
	documents := s.r.documents(s.part)
	for _, chunk := range s.r.grouped {
		if f := s.r.group[chunk]; f > 0 {
			s.r.group[chunk] = 0
			s.r.scores[chunk] += factor*f/(f+(s.base+s.slope*s.length[chunk])) + bonus
			documents.Add(s.owners.Of(int(chunk)))
		}
	}
	s.r.grouped = s.r.grouped[:0]
	for ; words > 0; words &= words - 1 {
		s.held.words[bits.TrailingZeros64(words)].Or(documents)
	}
}

// gatherAll adds up how often the terms of a group occur in each chunk. Where they have more postings than there are
// chunks, the sums are remembered: what one or two letters stand for is looked for again and again.
func (s *scoring) gatherAll(names []string, words uint64) {
	terms, postings, chunks := make([]segment.Term, 0, len(names)), 0, s.reader.Chunks()
	for _, name := range names {
		if t, ok := s.r.term(s.part, name); ok {
			terms = append(terms, t)
			postings += t.Chunks
		}
	}
	key := ""
	if postings > chunks {
		key = strings.Join(names, "\x00")
		if group, known := remembered[group](s.reader).Get(key); known {
			for page := range (chunks + pageChunks - 1) / pageChunks {
				s.r.pages[page] = true
			}
			for i, n := range group.halves {
				if n > 0 {
					s.addToGroup(uint32(i), float32(n)/2)
				}
			}
			for ; words > 0; words &= words - 1 {
				s.titled(words).Or(group.titled)
			}
			return
		}
	}
	for i := range terms {
		s.gather(&terms[i], words)
	}
	if postings > chunks {
		s.remember(key, names)
	}
}

// remember keeps the sums of a group, if they fit: the weights of fields are multiples of a half.
func (s *scoring) remember(key string, names []string) {
	halves := make([]uint8, s.reader.Chunks())
	for i := range halves {
		doubled := 2 * s.r.group[i]
		if halves[i] = uint8(min(doubled, 255)); float32(halves[i]) != doubled {
			return
		}
	}
	titled := segment.NewBits(s.reader.Documents())
	for _, name := range names {
		s.reader.AddTitled(name, titled)
	}
	remembered[group](s.reader).Add(key, group{halves, titled})
}

// gather adds the frequencies of a term, none of which is 0, to those of its group.
func (s *scoring) gather(t *segment.Term, words uint64) {
	b := &s.r.block
	for i := range t.Blocks() {
		t.Load(i, b)
		s.mark(b)
		for i, chunk := range b.Chunks[:b.N] {
			s.addToGroup(chunk, s.frequency(b, i))
		}
		s.entitle(b, words)
	}
}

// addToGroup adds a frequency, which is not 0, to that of the group in a chunk.
func (s *scoring) addToGroup(chunk uint32, frequency float32) {
	if s.r.group[chunk] == 0 {
		s.r.grouped = append(s.r.grouped, chunk)
	}
	s.r.group[chunk] += frequency
}
