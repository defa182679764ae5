package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/server/index"
)

// randomTree changes a folder at random: documents of several formats, files that are skipped, hidden or ignored, and links.
func randomTree(l *library, random *rand.Rand) {
	l.dated = l.dated.Add(time.Second)
	for range 1 + random.IntN(8) {
		folder := []string{"", "sub/", ".git/", ".cache/", "ignored/", "node_modules/", "sub/deep/"}[random.IntN(7)]
		name := folder + []string{"a.md", "b.txt", "c.jsonl", "d.xyz", ".e.md", "f.skip", "g.html", "id_rsa", ".env"}[random.IntN(9)]
		switch text := fmt.Sprintf("text %d", random.IntN(3)); {
		case random.IntN(4) == 0:
			_ = os.Remove(l.path(name))
		case random.IntN(8) == 0:
			target := l.path([]string{"b.txt", "nowhere", "../outside"}[random.IntN(3)])
			must(l.t, os.MkdirAll(filepath.Dir(l.path(name)), 0o755))
			_ = os.Remove(l.path(name + ".link.md"))
			must(l.t, os.Symlink(target, l.path(name+".link.md")))
		case random.IntN(6) == 0:
			l.write(name, "")
		case strings.HasSuffix(name, ".jsonl"):
			var lines strings.Builder
			for n := range random.IntN(4) {
				fmt.Fprintf(&lines, `{"id":%q,"sections":[{"text":%q}]}`+"\n", fmt.Sprint(name, n), text)
			}
			l.write(name, lines.String()+"no JSON\n")
		default:
			l.write(name, text)
		}
	}
	l.write(".gitignore", "*.skip\n/ignored/\n")
}

// leftOut counts by a walk of its own what quarry leaves out of a folder with the ignore file of randomTree.
func leftOut(t *testing.T, folder, name string) (left wire.LeftOut) {
	entries, err := os.ReadDir(filepath.Join(folder, name))
	must(t, err)
	for _, entry := range entries {
		inner := filepath.Join(name, entry.Name())
		_, broken := os.Stat(filepath.Join(folder, inner))
		target, _ := os.Readlink(filepath.Join(folder, inner))
		count := func(files, folders *int) {
			if *files++; entry.IsDir() {
				*files--
				*folders++
			}
		}
		switch {
		case !entry.IsDir() && (entry.Name() == "id_rsa" || entry.Name() == ".env"):
			left.Secret++
		case entry.Name()[0] == '.':
			count(&left.HiddenFiles, &left.HiddenFolders)
		case strings.HasSuffix(inner, ".skip") || inner == "ignored" || entry.Name() == "node_modules":
			count(&left.IgnoredFiles, &left.IgnoredFolders)
		case entry.IsDir():
			left.Add(leftOut(t, folder, inner))
		case target != "" && broken == nil && strings.HasPrefix(target, folder+"/"):
			left.Links++
		}
	}
	return left
}

// TestDryRunsCountWhatHappens compares dry runs with the runs after them, on folders that change at random.
func TestDryRunsCountWhatHappens(t *testing.T) {
	const steps = 6
	for seed := range longtest.Rounds(20, 200) {
		l, random := newLibrary(t, nil), rand.New(rand.NewPCG(uint64(seed), 5))
		must(t, os.Mkdir(l.path("notes"), 0o755))
		must(t, os.WriteFile(l.path("outside"), nil, 0o644))
		inner := *l
		inner.folder = l.path("notes")
		for n := range steps {
			randomTree(&inner, random)
			options := Options{Set: []string{"", "x"}[random.IntN(2)], DryRun: true}
			documents, cursors := maps.Clone(l.idx.documents), maps.Clone(l.idx.cursors)
			dry := l.add(options, "notes")
			var sum index.Written
			skipped, told := 0, l.events.skipped()
			for _, event := range l.events.all {
				if event.Type == wire.LibraryFormat {
					sum.Added, sum.Updated, sum.Removed, sum.Unchanged = sum.Added+event.Added, sum.Updated+event.Updated,
						sum.Removed+event.Removed, sum.Unchanged+event.Unchanged
					skipped += event.Skipped
				}
			}
			if !reflect.DeepEqual(documents, l.idx.documents) || !maps.Equal(cursors, l.idx.cursors) {
				t.Fatalf("seed %d, step %d: the dry run changed the library", seed, n)
			}
			options.DryRun = false
			got := l.add(options, "notes")
			if dry != got || !maps.Equal(told, l.events.skipped()) {
				t.Fatalf("seed %d, step %d: a dry run counts %+v, %v, the run %+v, %v", seed, n, dry, told, got, l.events.skipped())
			}
			if want := (index.Written{Added: got.Added, Updated: got.Updated, Removed: got.Removed, Unchanged: got.Unchanged}); sum != want ||
				skipped != got.Skipped {
				t.Fatalf("seed %d, step %d: by format %+v and %d skipped, in all %+v", seed, n, sum, skipped, got)
			}
			status, err := Status(t.Context(), l.idx)
			must(t, err)
			if want := leftOut(t, inner.folder, ""); got.LeftOut != want || status.LeftOut != want {
				t.Fatalf("seed %d, step %d: left out %+v, in the status %+v, want %+v", seed, n, got.LeftOut, status.LeftOut, want)
			}
		}
	}
}

// closed is a snapshot that cannot be read any more.
type closed struct{ index.Snapshot }

func (closed) Documents(context.Context, []string, index.Access) ([]index.Stored, error) {
	return nil, fs.ErrClosed
}

// TestDryRunFails: like other indexes, that of a dry run returns its error, which the run begins with what it did.
func TestDryRunFails(t *testing.T) {
	dry := &dryIndex{newMemoryIndex(t), closed{}, map[string]string{}, map[string]*wire.LibraryEvent{}}
	if _, err := dry.Write(t.Context(), index.Batch{Delete: []string{"a"}}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("it ended with %v", err)
	}
}
