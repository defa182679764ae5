package documents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"quarry/server/index"

	"github.com/klauspost/compress/zstd"
)

const (
	// dictionaryBytes of text are in a dictionary: twice as much shrinks a text of 1 KB by another 4 %.
	dictionaryBytes = 112 << 10
	// sampleBytes of text are what a dictionary is made of at least, and half of what it is made of at most.
	sampleBytes = 256 << 10
	// sampleSlice is the most that a dictionary takes of one value, so that it has text of many documents.
	sampleSlice = 2 << 10
	// dictionaryLevel shrinks short texts as much as the default level does. The slower one saves 2 % of a library, but
	// adding takes 1.5 times the processor time, most of it to renew large tables for each text.
	dictionaryLevel = zstd.SpeedFastest
	// smallestDictionary is the first id that a frame stores in two bytes. The ids below are left to other uses.
	smallestDictionary = 1 << 8
)

// compressor compresses with a dictionary or without one. Its tables are made at the first use: a start that reads
// nothing pays nothing.
type compressor struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

// newCompressor returns a compressor with a dictionary; nil: without one.
func newCompressor(dictionary []byte) *compressor {
	from := []zstd.DOption{zstd.WithDecoderMaxMemory(MaxUnpacked), zstd.WithDecoderLowmem(true)}
	to := []zstd.EOption{zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1 << 20)}
	if dictionary == nil {
		to = append(to, zstd.WithEncoderLevel(zstd.SpeedDefault))
	} else {
		from = append(from, zstd.WithDecoderDicts(dictionary))
		to = append(to, zstd.WithEncoderLevel(dictionaryLevel), zstd.WithEncoderDict(dictionary),
			zstd.WithEncoderCRC(false)) // what contains the value has a checksum
	}
	return &compressor{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil, to...) }),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, from...) }),
	}
}

// compressor returns the compressor with a dictionary that is stored. Errors: ErrPacked if it cannot be read.
func (p *Packer) compressor(id uint32) (*compressor, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.known[id]; known != nil {
		return known, nil
	}
	if p.stored == nil {
		return nil, fmt.Errorf("%w: its dictionary is not known", ErrPacked)
	}
	dictionary, err := p.stored(id)
	if err != nil {
		return nil, err
	}
	made := newCompressor(dictionary)
	if _, err := made.decoder(); err != nil {
		return nil, fmt.Errorf("%w: its dictionary: %w", ErrPacked, err)
	}
	if p.known == nil {
		p.known = make(map[uint32]*compressor)
	}
	p.known[id] = made
	return made, nil
}

// dictionaryOf returns the dictionary that a frame names.
func dictionaryOf(frame []byte) (id uint32, err error) {
	var header zstd.Header
	if err := header.Decode(frame[:min(len(frame), zstd.HeaderMaxSize)]); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrPacked, err)
	}
	return header.DictionaryID, nil
}

// readable reports whether there is the dictionary that a packed value needs. Errors: those of reading it.
func (p *Packer) readable(packed []byte) (bool, error) {
	if len(packed) == 0 || packed[0] != packedDictionary {
		return true, nil
	}
	id, err := dictionaryOf(frameOf(packed, nil))
	if err == nil {
		_, err = p.compressor(id)
	}
	if errors.Is(err, ErrPacked) {
		return false, nil
	}
	return err == nil, err
}

// use has new values packed with a dictionary that is stored. Errors: ErrPacked if it cannot be read.
func (p *Packer) use(id uint32) error {
	found, err := p.compressor(id)
	if err == nil {
		p.current.Store(found)
	}
	return err
}

// useNone has new values packed without a dictionary.
func (p *Packer) useNone() { p.current.Store(p.plain) }

// Undecided reports whether texts may be packed with a dictionary, and it is not known yet with which.
func (p *Packer) Undecided() bool { return p.stored != nil && p.current.Load() == nil }

// newDictionaryID returns a random number for a dictionary, so that one that is lost is not mistaken for another one.
func newDictionaryID() uint32 { return smallestDictionary + rand.Uint32N(1<<16-smallestDictionary) }

// samples are values to make a dictionary of.
type samples struct {
	bytes  int // of text
	values [][]byte
}

// add adds the values of a document.
func (s *samples) add(ctx context.Context, document *index.Document) {
	var to encoder
	detail(&to, document)
	s.values = append(s.values, to.data)
	groupChunks(ctx, shortLinks(document), func(_, _ int, data []byte) {
		s.values, s.bytes = append(s.values, append([]byte(nil), data...)), s.bytes+len(data)
	})
}

// dictionary makes a dictionary of at most size bytes of the samples. Text near its end is the cheapest to refer to.
func (s *samples) dictionary(id uint32, size int) ([]byte, error) {
	taken := thinned(s.values, size)
	var history []byte
	slices := make([][]byte, len(taken))
	for i, sample := range taken {
		slices[i] = sample[:min(len(sample), sampleSlice)]
	}
	for _, slice := range thinned(slices, dictionaryBytes) {
		history = append(history, slice...)
	}
	made, err := zstd.BuildDict(zstd.BuildDictOptions{ID: id, Contents: taken, History: history,
		Offsets: [3]int{1, 4, 8}, Level: dictionaryLevel})
	if err != nil {
		return nil, fmt.Errorf("make a dictionary: %w", err)
	}
	return made, nil
}

// thinned keeps evenly spaced values that have about size bytes.
func thinned(values [][]byte, size int) (kept [][]byte) {
	total := 0
	for _, value := range values {
		total += len(value)
	}
	passed, taken := 0, 0
	for _, value := range values {
		if passed += len(value); taken*total <= passed*min(size, total) {
			kept, taken = append(kept, value), taken+len(value)
		}
	}
	return kept
}
