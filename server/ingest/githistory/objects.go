package githistory

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"
)

// Bounds of what is read.
const (
	maxObject = 16 << 20  // bytes of a commit or tree
	maxIndex  = 512 << 20 // bytes of the index of a pack
	maxPacks  = 1_000
	maxDeltas = 100 // of one object; git makes chains of 50
	maxRef    = 4_096
)

type id [20]byte

func parseID(s string) (at id, ok bool) {
	raw, err := hex.DecodeString(s)
	return id(append(raw, make([]byte, 20)...)[:20]), err == nil && len(raw) == 20
}

var (
	errMissing   = errors.New("an object is missing")
	errMalformed = errors.New("an object is malformed")
	errLarge     = errors.New("it has too many files, or an object is too large")
	errFormat    = errors.New("its format is not known")
	errShallow   = errors.New("it is a shallow clone")
)

// The types of objects in a pack.
const (
	typeCommit, typeTree = 1, 2
	typeOffsetDelta      = 6
	typeRefDelta         = 7
)

// store reads the objects of a repository. It reads nothing outside the .git folder.
type store struct {
	dir   *os.Root
	packs []*pack

	zlib     io.ReadCloser // reused; nil before the first object
	bases    map[place]packedObject
	heldSize int // bytes in bases
}

// maxHeld bounds the objects that are kept because others may be stored as differences from them, in bytes.
const maxHeld = 32 << 20

type place struct {
	pack   *pack
	offset int64
}

type packedObject struct {
	data []byte
	kind int
}

type pack struct {
	index *os.File
	data  *os.File
	size  int64 // of data
	count int64
	first [257]uint32 // number of objects below each first byte
}

func openStore(gitDir string) (*store, error) {
	dir, err := os.OpenRoot(gitDir)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, bases: map[place]packedObject{}}
	names, err := fs.Glob(dir.FS(), "objects/pack/*.idx")
	if err != nil {
		names = nil
	}
	for _, name := range names[:min(len(names), maxPacks)] {
		if p := s.openPack(name); p != nil {
			s.packs = append(s.packs, p)
		}
	}
	return s, nil
}

func (s *store) Close() {
	for _, p := range s.packs {
		p.close()
	}
	s.dir.Close()
}

// openPack returns nil for a pack of another version, or a damaged one: its objects are missing.
func (s *store) openPack(name string) *pack {
	index, err := s.regular(name)
	if err != nil {
		return nil
	}
	data, err := s.regular(strings.TrimSuffix(name, ".idx") + ".pack")
	if err != nil {
		index.Close()
		return nil
	}
	p := &pack{index: index, data: data}
	if p.readHead() != nil {
		p.close()
		return nil
	}
	return p
}

func (p *pack) close() {
	p.index.Close()
	p.data.Close()
}

func (s *store) regular(name string) (*os.File, error) {
	if info, err := s.dir.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errMissing
	}
	return s.dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it does not block if the file became a pipe
}

const indexHead = 8 + 256*4

func (p *pack) readHead() error {
	head := make([]byte, indexHead)
	if _, err := p.index.ReadAt(head, 0); err != nil {
		return err
	}
	info, err := p.index.Stat()
	if err != nil {
		return err
	}
	data, err := p.data.Stat()
	if err != nil {
		return err
	}
	p.size = data.Size()
	const version2 = "\xfftOc\x00\x00\x00\x02"
	if !bytes.HasPrefix(head, []byte(version2)) || info.Size() > maxIndex {
		return errMalformed
	}
	for i := range 256 {
		if p.first[i+1] = binary.BigEndian.Uint32(head[8+4*i:]); p.first[i+1] < p.first[i] {
			return errMalformed
		}
	}
	if p.count = int64(p.first[256]); indexHead+p.count*28 > info.Size() {
		return errMalformed
	}
	return nil
}

// find returns where an object is in the pack.
func (p *pack) find(at id) (offset int64, ok bool) {
	low, high := int(p.first[at[0]]), int(p.first[int(at[0])+1])
	var name id
	n := low + sort.Search(high-low, func(i int) bool {
		_, err := p.index.ReadAt(name[:], indexHead+int64(low+i)*20)
		return err != nil || bytes.Compare(name[:], at[:]) >= 0
	})
	if _, err := p.index.ReadAt(name[:], indexHead+int64(n)*20); n >= high || err != nil || name != at {
		return 0, false
	}
	const isLong = 1 << 31
	offset = p.number(indexHead+p.count*24+int64(n)*4, 4)
	if offset >= isLong {
		offset = p.number(indexHead+p.count*28+(offset-isLong)*8, 8)
	}
	return offset, offset >= 0
}

// number returns a number of some bytes in the index; -1 if it cannot be read.
func (p *pack) number(at int64, bytes int) int64 {
	var number [8]byte
	if _, err := p.index.ReadAt(number[len(number)-bytes:], at); err != nil {
		return -1
	}
	return int64(binary.BigEndian.Uint64(number[:]))
}

// object returns the content of a commit or tree.
func (s *store) object(at id, kind int) ([]byte, error) {
	for _, p := range s.packs {
		if offset, ok := p.find(at); ok {
			data, found, err := s.packed(p, offset, 0)
			if err == nil && found != kind {
				err = errMalformed
			}
			return data, err
		}
	}
	return s.loose(at, kind)
}

func (s *store) loose(at id, kind int) ([]byte, error) {
	name := hex.EncodeToString(at[:])
	file, err := s.regular(path.Join("objects", name[:2], name[2:]))
	if err != nil {
		return nil, errMissing
	}
	defer file.Close()
	data, err := s.inflate(bufio.NewReader(file), maxObject)
	if err != nil {
		return nil, err
	}
	head, content, ok := bytes.Cut(data, []byte{0})
	want := map[int]string{typeCommit: "commit", typeTree: "tree"}[kind]
	if !ok || string(head) != fmt.Sprintf("%s %d", want, len(content)) {
		return nil, errMalformed
	}
	return content, nil
}

func (s *store) inflate(in io.Reader, limit int64) (data []byte, err error) {
	if s.zlib == nil {
		s.zlib, err = zlib.NewReader(in)
	} else {
		err = s.zlib.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		s.zlib = nil
		return nil, errMalformed
	}
	data, err = io.ReadAll(io.LimitReader(s.zlib, limit+1))
	switch {
	case err != nil:
		return nil, errMalformed
	case int64(len(data)) > limit:
		return nil, errLarge
	}
	return data, nil
}

// packed returns an object of a pack, and its type. It must not be changed.
func (s *store) packed(p *pack, offset int64, depth int) (data []byte, kind int, err error) {
	at := place{p, offset}
	if held, ok := s.bases[at]; ok {
		return held.data, held.kind, nil
	}
	if data, kind, err = s.unpack(p, offset, depth); err != nil {
		return nil, 0, err
	}
	if s.heldSize += len(data); s.heldSize > maxHeld {
		clear(s.bases)
		s.heldSize = len(data)
	}
	s.bases[at] = packedObject{data, kind}
	return data, kind, nil
}

func (s *store) unpack(p *pack, offset int64, depth int) (data []byte, kind int, err error) {
	if depth > maxDeltas || offset < 0 || offset >= p.size {
		return nil, 0, errMalformed
	}
	in := bufio.NewReader(io.NewSectionReader(p.data, offset, p.size-offset))
	first, err := in.ReadByte()
	size, shift := int64(first&15), 4
	for b := first; b&0x80 != 0 && err == nil && shift < 60; shift += 7 {
		b, err = in.ReadByte()
		size |= int64(b&0x7f) << shift
	}
	switch {
	case err != nil || size < 0:
		return nil, 0, errMalformed
	case size > maxObject:
		return nil, 0, errLarge
	}
	kind = int(first >> 4 & 7)
	from, ok := offset, true // of the object that it differs from
	switch kind {
	case typeOffsetDelta:
		back, failed := baseOffset(in)
		from, ok = offset-back, failed == nil && back > 0
	case typeRefDelta:
		var at id
		if _, err := io.ReadFull(in, at[:]); err != nil {
			return nil, 0, errMalformed
		}
		if from, ok = p.find(at); !ok {
			return nil, 0, errMissing
		}
	case typeCommit, typeTree:
		data, err = s.inflate(in, size)
		return data, kind, err
	default:
		ok = false
	}
	if !ok {
		return nil, 0, errMalformed
	}
	base, kind, err := s.packed(p, from, depth+1)
	if err != nil {
		return nil, 0, err
	}
	delta, err := s.inflate(in, size)
	if err != nil {
		return nil, 0, err
	}
	data, err = applyDelta(base, delta)
	return data, kind, err
}

func baseOffset(in io.ByteReader) (int64, error) {
	b, err := in.ReadByte()
	back := int64(b & 0x7f)
	for b&0x80 != 0 && err == nil && back < 1<<55 {
		b, err = in.ReadByte()
		back = (back+1)<<7 | int64(b&0x7f)
	}
	return back, err
}

// applyDelta builds an object from its base and instructions to copy from it or to insert.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errMalformed
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	switch {
	case n <= 0:
		return nil, errMalformed
	case size > maxObject:
		return nil, errLarge
	}
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		code := delta[0]
		delta = delta[1:]
		piece := delta[:min(int(code), len(delta))]
		if code&0x80 == 0 {
			if code == 0 || len(piece) < int(code) {
				return nil, errMalformed
			}
			delta = delta[code:]
		} else {
			var values [7]uint32 // four bytes of the offset, three of the length
			for i := range values {
				if code&(1<<i) == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, errMalformed
				}
				values[i], delta = uint32(delta[0]), delta[1:]
			}
			start := uint64(values[0] | values[1]<<8 | values[2]<<16 | values[3]<<24)
			length := uint64(values[4] | values[5]<<8 | values[6]<<16)
			if length == 0 {
				length = 0x10000
			}
			if start+length > uint64(len(base)) {
				return nil, errMalformed
			}
			piece = base[start : start+length]
		}
		if uint64(len(out)+len(piece)) > size {
			return nil, errMalformed
		}
		out = append(out, piece...)
	}
	if uint64(len(out)) != size {
		return nil, errMalformed
	}
	return out, nil
}
