package ingest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/segments"
)

// TestMetadataIsSearched finds a file by its name and by the metadata that describes it.
func TestMetadataIsSearched(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "fire-drill_2.md")
	text := "---\nkeywords: FTTWA\nsubtitle: Assembly points\nreviewed: yearly\n---\n# Evacuation\n\nLeave by the stairs."
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	idx, err := segments.Open(ctx, segments.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer idx.Close()
	if _, err := ingest.Add(ctx, idx, []string{file}, ingest.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	snapshot, err := idx.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	for query, hits := range map[string]int{"FTTWA": 1, "assembly": 1, "drill": 1, "yearly": 0} {
		result, err := snapshot.Search(ctx, index.Query{Text: query, Limit: 10, Filter: index.Filter{Access: index.Access{All: true}}})
		if err != nil || len(result.Hits) != hits {
			t.Errorf("%q finds %d passages, want %d (%v)", query, len(result.Hits), hits, err)
		}
	}
}

// TestWithTheEmbeddedEngine follows one folder through its life in a library on disk.
func TestWithTheEmbeddedEngine(t *testing.T) {
	ctx := context.Background()
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	library := t.TempDir()
	open := func() *segments.Index {
		t.Helper()
		idx, err := segments.Open(ctx, segments.Options{Dir: library})
		if err != nil {
			t.Fatal(err)
		}
		return idx
	}
	idx := open()
	expect := func(step string, done wire.LibraryEvent, err error, added, updated, removed, unchanged int) {
		t.Helper()
		if err != nil || done.Added != added || done.Updated != updated || done.Removed != removed || done.Unchanged != unchanged {
			t.Fatalf("%s: %+v, %v", step, done, err)
		}
	}
	finds := func(query string) int {
		t.Helper()
		snapshot, err := idx.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer snapshot.Close()
		result, err := snapshot.Search(ctx, index.Query{Text: query, Limit: 10,
			Filter: index.Filter{Access: index.Access{Terms: []string{ingest.AccessPublic}}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(result.Hits)
	}

	write("a.md", "---\ntags: [ops]\n---\n# Rolling back\n\nUse the lever named quokka.")
	write("b.jsonl", `{"id":"s1","source":"slack","semantic_identifier":"Thread","sections":[{"text":"wombat","link":"https://x.example/1"}]}`+"\n")
	done, err := ingest.Add(ctx, idx, []string{folder}, ingest.Options{Set: "Ops"}, nil)
	expect("add", done, err, 2, 0, 0, 0)
	if finds("quokka") != 1 || finds("wombat") != 1 {
		t.Error("what was added is not found")
	}
	before, err := idx.Version(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done, err = ingest.Sync(ctx, idx, nil, ingest.Local{}, nil)
	expect("sync", done, err, 0, 0, 0, 2)
	if after, err := idx.Version(ctx); after != before || err != nil {
		t.Errorf("a sync that changed nothing made version %s of %s: %v", after, before, err)
	}
	if err := idx.Close(); err != nil {
		t.Fatal(err)
	}

	idx = open()
	defer func() {
		if err := idx.Close(); err != nil {
			t.Error(err)
		}
	}()
	status, err := ingest.Status(ctx, idx)
	roots := status.Roots
	if err != nil || len(roots) != 1 || roots[0].Documents != 2 || roots[0].Set != "Ops" {
		t.Errorf("roots %+v, %v", roots, err)
	}
	write("a.md", "# Rolling back\n\nUse the lever named numbat.")
	if err := os.Remove(filepath.Join(folder, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	done, err = ingest.Sync(ctx, idx, nil, ingest.Local{}, nil)
	expect("sync after changes", done, err, 0, 1, 1, 0)
	if finds("quokka") != 0 || finds("wombat") != 0 || finds("numbat") != 1 {
		t.Error("the library does not follow the files")
	}
	done, err = ingest.Remove(ctx, idx, wire.RemoveRequest{Refs: []string{folder}}, ingest.Local{}, nil)
	expect("remove", done, err, 0, 0, 1, 0)
}

// TestSpeedWithTheEmbeddedEngine tells how long a real handbook takes, for who looks at the log.
func TestSpeedWithTheEmbeddedEngine(t *testing.T) {
	data := os.Getenv("QUARRY_DATA")
	if data == "" {
		t.Skip("QUARRY_DATA does not name a folder with real data")
	}
	ctx := context.Background()
	idx, err := segments.Open(ctx, segments.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer idx.Close()
	folder := filepath.Join(data, "corpora", "sourcegraph-handbook")
	began := time.Now()
	done, err := ingest.Add(ctx, idx, []string{folder}, ingest.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("add: %v, %d documents", time.Since(began), done.Added)
	began = time.Now()
	if done, err = ingest.Sync(ctx, idx, nil, ingest.Local{}, nil); err != nil || done.Added+done.Updated+done.Removed > 0 {
		t.Fatalf("sync: %+v, %v", done, err)
	}
	t.Logf("sync without changes: %v", time.Since(began))
}
