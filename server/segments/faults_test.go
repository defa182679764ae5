package segments

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"quarry/internal/testkit/longtest"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqlite"
)

type watchedFile struct {
	writableFile
	path   string
	before func(call, path string) error
}

func (w watchedFile) Write(data []byte) (int, error) {
	if err := w.before("write", w.path); err != nil {
		n, _ := w.writableFile.Write(data[:len(data)/2])
		return n, err
	}
	return w.writableFile.Write(data)
}

func (w watchedFile) Chmod(mode os.FileMode) error {
	return errors.Join(w.before("chmod", w.path), w.writableFile.Chmod(mode))
}

func (w watchedFile) Sync() error {
	if err := w.before("sync", w.path); err != nil {
		return err
	}
	return w.writableFile.Sync()
}

func (w watchedFile) Close() error {
	return errors.Join(w.before("close", w.path), w.writableFile.Close())
}

// watched returns files that pass every call of the system to before, which may let it fail.
func watched(t *testing.T, dir string, before func(call, path string) error) segmentFiles {
	t.Helper()
	folder := filepath.Join(dir, segmentsFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	files := newDiskFiles(folder)
	create, sync := files.createFile, files.syncFolder
	files.createFile = func(path string) (writableFile, error) {
		if err := before("create", path); err != nil {
			return nil, err
		}
		file, err := create(path)
		return watchedFile{file, path, before}, err
	}
	files.syncFolder = func(path string) error {
		if err := before("sync folder", path); err != nil {
			return err
		}
		return sync(path)
	}
	return files
}

// TestASegmentIsDurableBeforeItIsNamed asserts the order that a power cut would test.
func TestASegmentIsDurableBeforeItIsNamed(t *testing.T) {
	dir := t.TempDir()
	var calls []string
	named := func() int { return 0 }
	files := watched(t, dir, func(call, _ string) error {
		calls = append(calls, fmt.Sprintf("%s (%d named)", call, named()))
		return nil
	})
	x := open(t, Options{Dir: dir, files: files})
	named = func() int { return len(segmentsOf(t, x)) }
	put(t, x, document("a", "one"))
	want := []string{"create (0 named)", "write (0 named)", "chmod (0 named)", "sync (0 named)", "close (0 named)",
		"sync folder (0 named)"}
	if !slices.Equal(calls, want) {
		t.Errorf("the calls were %q, want %q", calls, want)
	}
	if named() != 1 {
		t.Error("the segment is not named")
	}
	info, err := os.Stat(filepath.Join(dir, segmentsFolder, segmentsOf(t, x)[0].name+segmentSuffix))
	if err != nil || info.Mode().Perm() != segmentMode {
		t.Errorf("the segment's mode is %v, %v", info.Mode(), err)
	}
}

func TestFullDiskAtEveryCall(t *testing.T) {
	for failing := 1; ; failing++ {
		dir, calls, armed := t.TempDir(), 0, false
		x := open(t, Options{Dir: dir, files: watched(t, dir, func(call, path string) error {
			if armed {
				calls++
			}
			if armed && calls == failing {
				return &fs.PathError{Op: call, Path: path, Err: syscall.ENOSPC}
			}
			return nil
		})})
		put(t, x, document("a", "walrus"))
		armed = true
		_, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a", "penguin"), document("b", "x")},
			Cursors: map[string]string{"key": "value"}})
		armed = false
		if err == nil && calls < failing {
			if failing < 6 {
				t.Fatalf("only %d calls were made to fail", failing-1)
			}
			return
		}
		if !errors.Is(err, fault.ErrDiskFull) {
			t.Fatalf("call %d fails: %v, want ErrDiskFull", failing, err)
		}
		expectOnlyWalrus(t, x, dir)
		put(t, x, document("a", "penguin"))
		if got := find(t, snapshotOf(t, x), "penguin"); len(got) != 1 {
			t.Errorf("afterwards penguin is found in %v", got)
		}
	}
}

// expectOnlyWalrus checks that a write which failed left nothing behind.
func expectOnlyWalrus(t *testing.T, x *Index, dir string) {
	t.Helper()
	s := snapshotOf(t, x)
	if got := find(t, s, "walrus"); len(got) != 1 {
		t.Errorf("walrus is found in %v", got)
	}
	if got := find(t, s, "penguin"); len(got) != 0 {
		t.Errorf("penguin is found in %v", got)
	}
	if cursors, err := x.Cursors(t.Context(), ""); err != nil || len(cursors) != 0 {
		t.Errorf("cursors are %v, %v", cursors, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, segmentsFolder))
	if err != nil || len(entries) != 1 {
		t.Errorf("there are %d segment files (%v), want the first alone", len(entries), err)
	}
}

func TestFullDatabase(t *testing.T) {
	dir := t.TempDir()
	x := open(t, Options{Dir: dir})
	put(t, x, document("a", "walrus"))
	if _, err := x.db.Writer.Exec("PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	var large []index.Document
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		large = append(large, document(fmt.Sprint("penguin", i), words(random, 200)))
	}
	_, err := x.Write(t.Context(), index.Batch{Upsert: large})
	if !errors.Is(err, fault.ErrDiskFull) {
		t.Errorf("got %v, want ErrDiskFull", err)
	}
	expectOnlyWalrus(t, x, dir)
}

// damagedLibrary makes a library of three segments and returns its folder and what it holds.
func damagedLibrary(t *testing.T) (string, model) {
	t.Helper()
	dir, m, random := t.TempDir(), make(model), rand.New(rand.NewPCG(3, 3))
	x, err := Open(t.Context(), Options{Dir: dir, policy: &mergePolicy{fanOut: 1000, largest: 1 << 30, deletedPart: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		batch := randomBatch(random, 20)
		write(t, x, batch)
		m.apply(batch)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func segmentPaths(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, segmentsFolder, "*"+segmentSuffix))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no segments, %v", err)
	}
	for _, path := range paths {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func execSQL(t *testing.T, dir, text string, args ...any) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, databaseName)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(text, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestDamageIsHealed(t *testing.T) {
	each := func(damage func(t *testing.T, path string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, path := range segmentPaths(t, dir) {
				damage(t, path)
			}
		}
	}
	statement := func(text string, args ...any) func(*testing.T, string) {
		return func(t *testing.T, dir string) { execSQL(t, dir, text, args...) }
	}
	tests := map[string]func(t *testing.T, dir string){
		"one segment missing": func(t *testing.T, dir string) {
			if err := os.Remove(segmentPaths(t, dir)[0]); err != nil {
				t.Fatal(err)
			}
		},
		"all segments missing": each(func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}),
		"no folder": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, segmentsFolder)); err != nil {
				t.Fatal(err)
			}
		},
		"cut short": each(func(t *testing.T, path string) { truncate(t, path, 0.5) }),
		"empty":     each(func(t *testing.T, path string) { truncate(t, path, 0) }),
		"not a segment": each(func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("a letter ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}),
		"every byte's lowest bit flipped": each(func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range data {
				data[i] ^= 1
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}),
		"a name outside":     statement("UPDATE segments SET name = '../../../etc/passwd' || id"),
		"wrong count":        statement("UPDATE segments SET documents = documents + 1"),
		"negative count":     statement("UPDATE segments SET documents = -1"),
		"bitmaps garbled":    statement("UPDATE deletes SET bitmap = x'0102030405060708'"),
		"statistics garbled": statement("UPDATE deletes SET delta = x'09ff'"),
		"deletes gone":       statement("DELETE FROM deletes"),
		"ordinals out of range": statement("UPDATE deletes SET bitmap = ?",
			[]byte{0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0xff, 0x7f, 0, 0, 16, 0, 0, 0, 5, 0}),
	}
	whole, documents := damagedLibrary(t)
	fresh := open(t, Options{})
	put(t, fresh, documents.documents()...)
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			dir, m := t.TempDir(), maps.Clone(documents)
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			damage(t, dir)
			if name != "no folder" {
				expectNoted(t, dir)
			}
			x := open(t, Options{Dir: dir})
			m.compareWith(t, x, fresh)
			batch := randomBatch(rand.New(rand.NewPCG(9, 9)), 20)
			write(t, x, batch)
			m.apply(batch)
			m.compare(t, x)
		})
	}
}

// expectNoted: a library that may not be written answers with the rest, and says what it lacks.
func expectNoted(t *testing.T, dir string) {
	t.Helper()
	s := snapshotOf(t, open(t, Options{Dir: dir, ReadOnly: true}))
	for i := range 20 {
		find(t, s, fmt.Sprintf("word%d", i))
	}
	if len(s.Damage()) == 0 {
		t.Error("read-only: nothing says that the library is damaged")
	}
}

func truncate(t *testing.T, path string, part float64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(float64(info.Size())*part)); err != nil {
		t.Fatal(err)
	}
}

// TestEveryFlippedByteIsFound flips single bits in every region of a segment and elsewhere, and cuts it off there: what is
// found stays right, and a check leaves no damage. With QUARRY_SLOW it does so at five hundred more places.
func TestEveryFlippedByteIsFound(t *testing.T) {
	dir, m := damagedLibrary(t)
	path := segmentPaths(t, dir)[0]
	pristine, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 5))
	places, more := regionsOf(pristine), longtest.Rounds(10, 500)
	if len(places) < 60 {
		t.Fatalf("only %d places", len(places))
	}
	fresh := open(t, Options{})
	put(t, fresh, m.documents()...)
	for range more {
		places = append(places, random.IntN(len(pristine)))
	}
	for i, at := range places {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		alter(t, filepath.Join(copied, segmentsFolder, filepath.Base(path)), func(data []byte) []byte {
			if i%3 == 2 {
				return data[:at]
			}
			data[at] ^= 1 << random.IntN(8)
			return data
		})
		x := open(t, Options{Dir: copied})
		m.compareWith(t, x, fresh)
		found, err := x.Check(t.Context(), index.CheckOptions{Full: true, Repair: true}, nil)
		if rebuilt := !slices.ContainsFunc(segmentsOf(t, x), func(p *part) bool { return strings.HasPrefix(filepath.Base(path), p.name) }); err != nil ||
			len(found) == 0 && !rebuilt {
			t.Errorf("byte %d of %d: found %v, %v", at, len(pristine), found, err)
		}
		if left, err := x.Check(t.Context(), index.CheckOptions{Full: true}, nil); err != nil || len(left) > 0 {
			t.Errorf("byte %d of %d: after the repair %v, %v", at, len(pristine), left, err)
		}
		m.compareWith(t, x, fresh)
		if err := errors.Join(x.Close(), os.RemoveAll(copied)); err != nil {
			t.Fatal(err)
		}
	}
}

// regionsOf returns places in each region of a segment: the header, the beginning, middle and end of each section, the
// checksums, the footer with its table of sections, and the trailer.
func regionsOf(segment []byte) (places []int) {
	const trailer, statistics = 16, 16 * 8
	number := func(at int) int { return int(binary.LittleEndian.Uint64(segment[at:])) }
	end := len(segment) - trailer
	footer := end - int(binary.LittleEndian.Uint32(segment[end:]))
	checksums := number(footer + statistics)
	places = []int{0, 8, 12, checksums, footer - 1, footer, footer + statistics, end - 1, end, end + 4, len(segment) - 1}
	for at := footer + statistics + 16; at+24 <= end; at += 24 {
		places = append(places, at, at+8)
		if offset, length := number(at+8), number(at+16); length > 0 {
			places = append(places, offset, offset+length/2, offset+length-1)
		}
	}
	return places
}

// TestAMappedFileIsCutOff takes the file away from under a running search.
func TestAMappedFileIsCutOff(t *testing.T) {
	dir, m := damagedLibrary(t)
	x := open(t, Options{Dir: dir})
	s := snapshotOf(t, x)
	find(t, s, "word1")
	for _, path := range segmentPaths(t, dir) {
		truncate(t, path, 0)
	}
	for i := range 30 {
		find(t, s, fmt.Sprintf("word%d", i))
	}
	m.compare(t, x)
	m.compareStored(t, s)
}

func TestWritingHealsToo(t *testing.T) {
	dir, m := damagedLibrary(t)
	x := open(t, Options{Dir: dir})
	for _, path := range segmentPaths(t, dir) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	batch := index.Batch{Delete: []string{"doc1", "doc2", "doc3"}, Upsert: []index.Document{document("doc4", "word1")}}
	write(t, x, batch)
	m.apply(batch)
	m.compare(t, x)
}

func TestMatchedOutlivesARepair(t *testing.T) {
	dir, _ := damagedLibrary(t)
	x := open(t, Options{Dir: dir})
	s := snapshotOf(t, x)
	query := index.Query{Text: "word1", Limit: 10, Count: true, Filter: index.Filter{Access: everything}}
	result, err := s.Search(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	want, err := result.Matched.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result, err = s.Search(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	for _, path := range segmentPaths(t, dir) {
		truncate(t, path, 0)
	}
	for i := range 10 { // something needs a page that is not there any more
		find(t, s, fmt.Sprintf("word%d", i))
	}
	got, err := result.Matched.Count(t.Context())
	if err != nil || got.Documents != want.Documents {
		t.Errorf("counted %+v, %v; before the damage %+v", got, err, want)
	}
}

// TestSoundSegmentsAreNotRebuilt: an error that blames a sound file is passed on, or every such search would rebuild it.
func TestSoundSegmentsAreNotRebuilt(t *testing.T) {
	dir, _ := damagedLibrary(t)
	x := open(t, Options{Dir: dir})
	before := segmentsOf(t, x)
	cause := fmt.Errorf("%w: so it seems", segment.ErrDamaged)
	if err := x.repair(t.Context(), damaged(before[0].name, cause)); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
	if after := segmentsOf(t, x); len(after) != len(before) || after[0].name != before[0].name {
		t.Error("segments were replaced")
	}
	if err := x.repair(t.Context(), damaged("replaced", cause)); err != nil {
		t.Errorf("a segment that somebody else replaced: %v", err)
	}
}

// vanishing lets segments be gone for a while, each time because a merge has just changed the manifest.
type vanishing struct {
	segmentFiles
	left  int
	merge func()
}

func (v *vanishing) Open(name string) ([]byte, func(), error) {
	if v.left > 0 {
		v.left--
		v.merge()
		return nil, nil, fs.ErrNotExist
	}
	return v.segmentFiles.Open(name)
}

func TestReadersKeepUpWithMerges(t *testing.T) {
	dir := t.TempDir()
	writer := open(t, Options{Dir: dir})
	put(t, writer, document("a", "walrus"))
	files := &vanishing{segmentFiles: writer.files, left: 10, merge: func() {
		if _, err := writer.db.Writer.Exec("UPDATE meta SET manifest = manifest + 1"); err != nil {
			t.Error(err)
		}
	}}
	reader := open(t, Options{Dir: dir, ReadOnly: true, files: files})
	if got := find(t, snapshotOf(t, reader), "walrus"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	files.left, files.merge = 10, func() {}
	put(t, writer, document("b", "walrus"))
	if lost := snapshotOf(t, reader).Damage(); len(lost) != 1 || lost[0].Kind != index.DamagedSegment {
		t.Errorf("a segment that is lost: %+v", lost)
	}
}
