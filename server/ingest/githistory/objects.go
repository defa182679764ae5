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

	"quarry/internal/guard"
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

// intact aborts unless an object is as git writes it.
func intact(is bool) {
	if !is {
		guard.Abort(errMalformed)
	}
}

// bounded aborts if there is more than is read.
func bounded(is bool) {
	if !is {
		guard.Abort(errLarge)
	}
}

// The types of objects in a pack.
const (
	typeCommit, typeTree = 1, 2
	typeOffsetDelta      = 6
	typeRefDelta         = 7
)

// store reads the objects of a repository. It reads nothing outside the .git folder. What it cannot read it aborts.
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
	if guard.Ended(p.readHead) != nil {
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

func (p *pack) readHead() {
	head := make([]byte, indexHead)
	guard.Must(p.index.ReadAt(head, 0))
	size := guard.Must(p.index.Stat()).Size()
	p.size = guard.Must(p.data.Stat()).Size()
	const version2 = "\xfftOc\x00\x00\x00\x02"
	intact(bytes.HasPrefix(head, []byte(version2)) && size <= maxIndex)
	for i := range 256 {
		p.first[i+1] = binary.BigEndian.Uint32(head[8+4*i:])
		intact(p.first[i+1] >= p.first[i])
	}
	p.count = int64(p.first[256])
	intact(indexHead+p.count*28 <= size)
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
func (s *store) object(at id, kind int) []byte {
	for _, p := range s.packs {
		if offset, ok := p.find(at); ok {
			found := s.packed(p, offset, 0)
			intact(found.kind == kind)
			return found.data
		}
	}
	return s.loose(at, kind)
}

func (s *store) loose(at id, kind int) []byte {
	name := hex.EncodeToString(at[:])
	file, err := s.regular(path.Join("objects", name[:2], name[2:]))
	if err != nil {
		guard.Abort(errMissing)
	}
	defer file.Close()
	head, content, ok := bytes.Cut(s.inflate(bufio.NewReader(file), maxObject), []byte{0})
	want := map[int]string{typeCommit: "commit", typeTree: "tree"}[kind]
	intact(ok && string(head) == fmt.Sprintf("%s %d", want, len(content)))
	return content
}

func (s *store) inflate(in io.Reader, limit int64) []byte {
	var err error
	if s.zlib == nil {
		s.zlib, err = zlib.NewReader(in)
	} else {
		err = s.zlib.(zlib.Resetter).Reset(in, nil)
	}
	intact(err == nil)
	data, err := io.ReadAll(io.LimitReader(s.zlib, limit+1))
	intact(err == nil)
	bounded(int64(len(data)) <= limit)
	return data
}

// packed returns an object of a pack. It must not be changed.
func (s *store) packed(p *pack, offset int64, depth int) packedObject {
	at := place{p, offset}
	if held, ok := s.bases[at]; ok {
		return held
	}
	object := s.unpack(p, offset, depth)
	if s.heldSize += len(object.data); s.heldSize > maxHeld {
		clear(s.bases)
		s.heldSize = len(object.data)
	}
	s.bases[at] = object
	return object
}

func (s *store) unpack(p *pack, offset int64, depth int) packedObject {
	intact(depth <= maxDeltas && offset >= 0 && offset < p.size)
	in := bufio.NewReader(io.NewSectionReader(p.data, offset, p.size-offset))
	first, err := in.ReadByte()
	size, shift := int64(first&15), 4
	for b := first; b&0x80 != 0 && err == nil && shift < 60; shift += 7 {
		b, err = in.ReadByte()
		size |= int64(b&0x7f) << shift
	}
	intact(err == nil && size >= 0)
	bounded(size <= maxObject)
	var from int64 // of the object that it differs from
	switch kind := int(first >> 4 & 7); kind {
	case typeOffsetDelta:
		back, err := baseOffset(in)
		intact(err == nil && back > 0)
		from = offset - back
	case typeRefDelta:
		var at id
		_, err := io.ReadFull(in, at[:])
		intact(err == nil)
		isHere := false
		if from, isHere = p.find(at); !isHere {
			guard.Abort(errMissing)
		}
	case typeCommit, typeTree:
		return packedObject{s.inflate(in, size), kind}
	default:
		intact(false)
	}
	object := s.packed(p, from, depth+1)
	object.data = applyDelta(object.data, s.inflate(in, size))
	return object
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
func applyDelta(base, delta []byte) []byte {
	from, n := binary.Uvarint(delta)
	intact(n > 0 && from == uint64(len(base)))
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	intact(n > 0)
	bounded(size <= maxObject)
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		code := delta[0]
		delta = delta[1:]
		piece := delta[:min(int(code), len(delta))]
		if code&0x80 == 0 {
			intact(code != 0 && len(piece) == int(code))
			delta = delta[code:]
		} else {
			var values [7]uint32 // four bytes of the offset, three of the length
			for i := range values {
				if code&(1<<i) == 0 {
					continue
				}
				intact(len(delta) > 0)
				values[i], delta = uint32(delta[0]), delta[1:]
			}
			start := uint64(values[0] | values[1]<<8 | values[2]<<16 | values[3]<<24)
			length := uint64(values[4] | values[5]<<8 | values[6]<<16)
			if length == 0 {
				length = 0x10000
			}
			intact(start+length <= uint64(len(base)))
			piece = base[start : start+length]
		}
		intact(uint64(len(out)+len(piece)) <= size)
		out = append(out, piece...)
	}
	intact(uint64(len(out)) == size)
	return out
}
