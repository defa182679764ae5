package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/ui/state"
	"quarry/ui/target"
)

// collecting is a machine on which passages were collected.
func collecting(t *testing.T, passages int) testMachine {
	t.Helper()
	machine := newOnyx(t).inProcess()
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
			if err := json.Compact(&line, want); err != nil {
				t.Fatal(err)
			}
			want = append(line.Bytes(), '\n')
		}
		got := run(t, machine, terminal{tty: test.tty}, strings.Fields(test.arguments)...)
		if got.code != 0 || got.out != string(want) {
			t.Errorf("%s: %d, %s\n%s", test.arguments, got.code, got.err, got.out)
		}
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
