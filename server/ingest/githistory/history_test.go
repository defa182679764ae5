package githistory

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/gittest"
)

// packed is a repository that git packed, with differences, a merge, a moved and a deleted file.
const packed = "testdata/packed"

func read(t testing.TB, ctx context.Context, gitDir string) *Repository {
	t.Helper()
	r, err := Open(ctx, Checkout{gitDir, "HEAD"})
	if err != nil {
		t.Fatal(err)
	}
	r.ReadHistory(ctx)
	return r
}

func TestPackedHistory(t *testing.T) {
	r := read(t, t.Context(), packed)
	if r.Head != "5db64ddd23eb781a991f4bbe75a91b4b81916ec6" || !r.complete || len(r.files) != 42 {
		t.Errorf("head %s, complete %v, %d files", r.Head, r.complete, len(r.files))
	}
	for name, want := range map[string]string{ // as git log has them
		"READ.md":            "2023-01-02T03:04:05Z 2023-01-02T03:04:05Z Ana@acme.com",
		"docs/guide.md":      "2022-05-06T12:00:00Z 2021-03-04T09:00:00Z bo@acme.com Ana@acme.com",
		"docs/deep/page7.md": "2022-07-01T00:00:00Z 2021-03-04T09:00:00Z bo@acme.com Ana@acme.com",
		"docs/side.md":       "2022-06-01T00:00:00Z 2022-06-01T00:00:00Z cy@acme.com",
		"docs/deep/page1.md": "2021-03-04T09:00:00Z 2021-03-04T09:00:00Z Ana@acme.com",
		"docs/deep/page9.md": "0001-01-01T00:00:00Z 0001-01-01T00:00:00Z",
		"README.md":          "0001-01-01T00:00:00Z 0001-01-01T00:00:00Z",
	} {
		f := r.File(name)
		got := f.Updated.Format(time.RFC3339) + " " + f.Created.Format(time.RFC3339)
		for _, author := range f.Authors {
			got += " " + author.Email
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if name := r.File("docs/side.md").Authors[0].Name; name != "Cy" {
		t.Errorf("author %q", name)
	}
	for text, want := range map[string]bool{"page 7 again\n": true, "page 7 again\r\n": true, "page 7\n": false} {
		if got := r.IsCommitted("docs/deep/page7.md", []byte(text)); got != want {
			t.Errorf("%q is committed: %v", text, got)
		}
	}
	if r.IsCommitted("none", nil) {
		t.Error("an unknown file is committed")
	}
}

func TestLooseObjects(t *testing.T) {
	dir := t.TempDir()
	first := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	gittest.Commit(t, dir, map[string]string{"a": "1", "b": "1"}, "Ana <ana@acme.com>", first)
	gittest.Commit(t, dir, map[string]string{"a": "1", "b": "2"}, "Bo <bo@acme.com>", first.AddDate(1, 0, 0))
	r := read(t, t.Context(), dir)
	if a, b := r.File("a"), r.File("b"); !a.Updated.Equal(first) || !b.Created.Equal(first) || b.Updated.Year() != 2021 || len(b.Authors) != 2 {
		t.Errorf("%+v, %+v", a, b)
	}

	// Without the first commit, as in a shallow clone, only what is left is known.
	for _, name := range objects(t, dir) {
		if content, err := os.ReadFile(name); err == nil && strings.Contains(inflated(t, content), "author Ana") {
			check(t, os.Remove(name))
		}
	}
	if r = read(t, t.Context(), dir); r.complete || !r.File("b").Created.IsZero() || !r.File("a").Updated.IsZero() {
		t.Errorf("complete %v, %+v, %+v", r.complete, r.File("a"), r.File("b"))
	}
}

func objects(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "objects", "*", "*"))
	check(t, err)
	return names
}

func inflated(t *testing.T, data []byte) string {
	t.Helper()
	s := store{}
	return string(s.inflate(strings.NewReader(string(data)), maxObject))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTimeIsBounded keeps nothing of a history for which there is no time.
func TestTimeIsBounded(t *testing.T) {
	r, err := Open(t.Context(), Checkout{packed, "HEAD"})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.ReadHistory(ctx)
	if f := r.File("READ.md"); r.complete || !f.Updated.IsZero() {
		t.Errorf("complete %v, %+v", r.complete, f)
	}
}

// TestNothingOutsideIsRead leaves out objects and references that are links out of the folder, and pipes.
func TestNothingOutsideIsRead(t *testing.T) {
	real, dir := t.TempDir(), t.TempDir()
	gittest.Commit(t, real, map[string]string{"a": "1"}, "Ana <ana@acme.com>", time.Unix(1e9, 0))
	check(t, os.Symlink(filepath.Join(real, "objects"), filepath.Join(dir, "objects")))
	head, err := os.ReadFile(filepath.Join(real, "HEAD"))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "HEAD"), head, 0o644))
	if _, err := Open(t.Context(), Checkout{dir, "HEAD"}); err == nil {
		t.Error("objects outside of the repository were read")
	}
	check(t, os.Remove(filepath.Join(dir, "HEAD")))
	check(t, os.Symlink(filepath.Join(real, "HEAD"), filepath.Join(dir, "HEAD")))
	if _, err := Open(t.Context(), Checkout{dir, "HEAD"}); err == nil {
		t.Error("a reference outside of the repository was read")
	}
}

// FuzzPack reads damaged packs and indexes. Seeds are a good one, and cut and changed ones.
func FuzzPack(f *testing.F) {
	var seeds [2][]byte
	for i, kind := range []string{"idx", "pack"} {
		names, err := filepath.Glob(packed + "/objects/pack/*." + kind)
		if err != nil || len(names) != 1 {
			f.Fatal(names, err)
		}
		if seeds[i], err = os.ReadFile(names[0]); err != nil {
			f.Fatal(err)
		}
	}
	head, err := os.ReadFile(packed + "/packed-refs")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seeds[0], seeds[1], string(head))
	for at := 1; at < len(seeds[1]); at += 97 {
		f.Add(seeds[0], seeds[1][:at], string(head))
		changed := append([]byte(nil), seeds[1]...)
		changed[at] ^= 0x55
		f.Add(seeds[0], changed, string(head))
	}
	for at := 1; at < len(seeds[0]); at += 211 {
		f.Add(seeds[0][:at], seeds[1], string(head))
	}
	f.Add(seeds[0], seeds[1], "ref: HEAD")
	f.Fuzz(func(t *testing.T, idx, pack []byte, refs string) {
		dir := t.TempDir()
		check(t, os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o755))
		for name, data := range map[string]string{"objects/pack/p.idx": string(idx), "objects/pack/p.pack": string(pack),
			"packed-refs": refs, "HEAD": "ref: refs/heads/main\n"} {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := Open(ctx, Checkout{dir, "HEAD"})
		if err != nil {
			return
		}
		r.ReadHistory(ctx)
		for name := range r.files {
			if f := r.File(name); len(f.Authors) > maxAuthors || len(name) > maxPath {
				t.Errorf("%q: %+v", name, f)
			}
		}
	})
}
