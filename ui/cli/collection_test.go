package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/ui/state"
	"quarry/ui/target"
)

// collecting is a machine on which passages of an Onyx were collected.
func collecting(t *testing.T, passages int) testMachine {
	t.Helper()
	return collectingFrom(t, newOnyx(t), passages)
}

func collectingFrom(t *testing.T, server *fakeServer, passages int) testMachine {
	t.Helper()
	machine := server.inProcess()
	store := state.InMemory(0)
	machine.State = func(target.Choice) *state.Store { return store }
	if _, err := store.Change(func(s *state.State) error {
		for i := range passages {
			p := state.Passage{SearchResult: wire.SearchResult{Ref: fmt.Sprintf("w%d#0", i), DocumentID: fmt.Sprintf("w%d", i),
				Title: fmt.Sprintf("Rule %d", i+1), SourceType: "confluence", Link: new("https://wiki.acme.com/1"),
				Content: "Taxis need a receipt."}, Query: "taxi", Marked: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
			if err := s.Collect(p); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return machine
}

// The command prints what the explorer exports.
func TestCollection(t *testing.T) {
	t.Parallel()
	machine := collecting(t, 2)
	stored := machine.State(target.Choice{}).State().Collection
	for _, test := range []struct {
		arguments string
		tty       bool
		want      string
	}{
		{"collection", false, state.JSON}, {"collection", true, state.Markdown}, {"collection --json", true, state.JSON},
		{"collection --format md", false, state.Markdown}, {"collection --format csv", false, state.CSV}, {"collection --format json", true, state.JSON},
	} {
		want, err := state.Export(stored, test.want)
		if err != nil {
			t.Fatal(err)
		}
		if test.want == state.JSON && !test.tty {
			var line bytes.Buffer
			if err := json.Compact(&line, []byte(want)); err != nil {
				t.Fatal(err)
			}
			want = line.String() + "\n"
		}
		got := run(t, machine, terminal{tty: test.tty}, strings.Fields(test.arguments)...)
		if got.code != 0 || got.out != want {
			t.Errorf("%s: %d, %s\n%s", test.arguments, got.code, got.err, got.out)
		}
	}
}

// What changed or is gone since it was marked is not printed as if it still stood there.
func TestCollectionOfWhatChanged(t *testing.T) {
	t.Parallel()
	s := newOnyx(t)
	s.on("/document/chunks", func(w http.ResponseWriter, r *http.Request) {
		contents := map[string]string{"w0": "Taxis need a receipt.", "w1": "Taxis need two receipts."}
		if content, ok := contents[r.URL.Query().Get("document_id")]; ok {
			body(http.StatusOK, []byte(`{"document":{"id":"d","title":"T","authors":[]},"chunks":[{"content":"`+content+`"}]}`))(w, r)
			return
		}
		body(http.StatusNotFound, []byte(`{"detail":"Document not found"}`))(w, r)
	})
	got := run(t, collectingFrom(t, s, 3), terminal{}, "collection", "--format", "csv")
	rows, err := csv.NewReader(strings.NewReader(got.out)).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d, %s\n%s", got.code, got.err, got.out)
	}
	for i, want := range []string{"stale", "", state.Changed, state.Gone} {
		if stale := rows[i][len(rows[i])-1]; stale != want {
			t.Errorf("row %d is %q, want %q", i, stale, want)
		}
	}
	s.on("/document/chunks", body(http.StatusInternalServerError, []byte(`{}`)))
	if got := run(t, collectingFrom(t, s, 1), terminal{}, "collection"); got.code != 0 || !strings.Contains(got.err, "could not check") {
		t.Errorf("of a server that fails: %d, %s", got.code, got.err)
	}
}

func TestCollectionUsage(t *testing.T) {
	t.Parallel()
	machine := collecting(t, 1)
	for arguments, want := range map[string]string{
		"collection --format cvs": `Did you mean "csv"?`, "collection --json --format csv": "exclude each other", "collection x": `unexpected argument "x"`,
	} {
		if got := run(t, machine, terminal{}, strings.Fields(arguments)...); got.code != ExitUsage || !strings.Contains(got.err, want) || got.out != "" {
			t.Errorf("%s: %d %q", arguments, got.code, got.err)
		}
	}
	if got := run(t, collecting(t, 0), terminal{}, "collection"); got.code != 0 || !strings.Contains(got.out, `"passages":[]`) ||
		!strings.Contains(got.err, "is empty") {
		t.Errorf("an empty collection: %d %q %q", got.code, got.out, got.err)
	}
}

// A cut keeps whole passages, and what is printed stays valid.
func TestCollectionIsCut(t *testing.T) {
	t.Parallel()
	machine := collecting(t, 40)
	got := run(t, machine, terminal{}, "collection", "--max-output", "4000")
	var export struct {
		state.Exported
		Truncation truncation `json:"truncation"`
	}
	if err := json.Unmarshal([]byte(got.out), &export); err != nil || len(got.out) > 4000 || len(export.Passages) == 0 ||
		export.Truncation.ShownResults != len(export.Passages) || export.Truncation.TotalResults != 40 {
		t.Fatalf("%v: %s", err, got.out)
	}
	got = run(t, machine, terminal{}, "collection", "--format", "csv", "--max-output", "1000")
	if len(got.out) > 1000 || !strings.HasSuffix(got.out, "receipt.,\n") || !strings.Contains(got.err, "truncated") {
		t.Fatalf("%q %q", got.out, got.err)
	}
}
