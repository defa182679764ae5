package server

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/sample"
	"quarry/server/segments"
)

func openSampleLibrary(t *testing.T) (index.Index, *directory.Directory) {
	t.Helper()
	ctx := context.Background()
	idx, err := segments.Open(ctx, segments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := idx.Close(); err != nil {
			t.Error(err)
		}
	})
	people, err := directory.Open(ctx, "", false, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := people.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := sample.LoadIndex(ctx, idx); err != nil {
		t.Fatal(err)
	}
	if err := sample.LoadDirectory(ctx, people); err != nil {
		t.Fatal(err)
	}
	return idx, people
}

// TestQuestionsFindTheirDocuments: what a newcomer asks finds its document among the first three.
func TestQuestionsFindTheirDocuments(t *testing.T) {
	ctx := context.Background()
	idx, _ := openSampleLibrary(t)
	snapshot, err := idx.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	lines, err := os.ReadFile("sample/library/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	questions := strings.Split(strings.TrimSpace(string(lines)), "\n")
	if len(questions) < 20 {
		t.Fatalf("%d questions", len(questions))
	}
	for _, line := range questions {
		question, document, _ := strings.Cut(line, "\t")
		result, err := snapshot.Search(ctx, index.Query{
			Text: question, Limit: 30, Filter: index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var first []string
		for _, hit := range result.Hits {
			if len(first) < 3 && !slices.Contains(first, hit.DocumentID) {
				first = append(first, hit.DocumentID)
			}
		}
		if !slices.Contains(first, document) {
			t.Errorf("%q should find %s, found %v", question, document, first)
		}
	}
}

// TestThereIsSomethingForEveryFilter: sources, authors, types, tags, sets, months and undated documents.
func TestThereIsSomethingForEveryFilter(t *testing.T) {
	ctx := context.Background()
	idx, people := openSampleLibrary(t)
	snapshot, err := idx.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	counts, err := snapshot.Facets(ctx, index.Filter{Access: index.Access{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	if counts.Documents < 60 || len(counts.Values[field.Source]) < 8 || len(counts.Values[field.Author]) < 15 || len(counts.Values[field.Type]) < 6 ||
		len(counts.Values[field.Set]) < 4 || len(counts.Values[field.Tag]) < 10 || len(counts.Months) < 20 || counts.Undated == 0 {
		t.Errorf("too little to show: %+v", counts)
	}
	agents, err := people.For(ctx, directory.Owner(directory.DefaultTenant)).Agents()
	if err != nil || len(agents) < 3 {
		t.Fatalf("%d agents, %v", len(agents), err)
	}
	sets, err := people.For(ctx, directory.Owner(directory.DefaultTenant)).DocumentSets()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		if !slices.ContainsFunc(counts.Values[field.Set], func(v index.ValueCount) bool { return v.Value == s.Name && v.Count >= 4 }) {
			t.Errorf("set %q is nearly empty: %v", s.Name, counts.Values[field.Set])
		}
	}
}

func TestDocumentsAreWhole(t *testing.T) {
	documents, err := sample.Documents()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range documents {
		if _, known := wire.LookupSource(d.Source); !known {
			t.Errorf("%s: unknown source %q", d.ID, d.Source)
		}
		if seen[d.ID] || d.ID == "" || d.Title == "" || d.Link == "" || len(d.Chunks) == 0 || d.Type == "" {
			t.Errorf("%q is incomplete or there twice: %q %q %q", d.ID, d.Title, d.Link, d.Type)
		}
		if d.UpdatedAt.After(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s is dated %v", d.ID, d.UpdatedAt)
		}
		seen[d.ID] = true
	}
}
