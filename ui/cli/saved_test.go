package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"quarry/ui/state"
	"quarry/ui/target"
)

// saves is a machine with one saved search, of which two of three results were seen.
func saves(t *testing.T) (*fakeServer, testMachine, *state.Store) {
	t.Helper()
	server := newOnyx(t)
	machine := server.inProcess()
	store := state.InMemory(0)
	machine.State = func(target.Choice) *state.Store { return store }
	if _, err := store.Change(func(s *state.State) error {
		return s.Save(state.Saved{Name: "Deploys", Query: "roll back source:slack,confluence",
			Seen: []string{"https://wiki.acme.example/spaces/PLAT/pages/88123/Rolling+back"}})
	}); err != nil {
		t.Fatal(err)
	}
	return server, machine, store
}

func seen(store *state.Store) []string { return store.State().Saved[0].Seen }

func TestASavedSearchRuns(t *testing.T) {
	t.Parallel()
	server, machine, store := saves(t)
	before := seen(store)
	got := run(t, machine, terminal{}, "search", "--saved", "deploys").check(t, ExitSuccess)
	var answer struct{ Results []struct{ Title string } }
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil || len(answer.Results) != 4 {
		t.Errorf("%v: %s", err, got.out)
	}
	if asked := server.asked(t); asked["query"] != "roll back" || asked["num_results"] != float64(50) {
		t.Errorf("asked %v", asked)
	}
	if !slices.Equal(seen(store), before) || !store.State().Saved[0].Opened.IsZero() {
		t.Errorf("%+v", store.State().Saved)
	}
}

// Only what was not seen is printed, once, in every format.
func TestNewResultsArePrintedOnce(t *testing.T) {
	t.Parallel()
	for format, has := range map[string]string{"json": `"title":"#incidents"`, "tsv": "\t#incidents\t", "md": "## [2] [#incidents]", "text": "#incidents",
		"ndjson": `"title":"#incidents"`} {
		_, machine, store := saves(t)
		got := run(t, machine, terminal{}, "search", "--saved", "Deploys", "--new", "--format", format).check(t, ExitSuccess)
		if !strings.Contains(strings.ReplaceAll(got.out, `\u0023`, "#"), has) || strings.Contains(got.out, "Runbook") {
			t.Errorf("%s: %s", format, got.out)
		}
		if len(seen(store)) != 3 || store.State().Saved[0].Opened != today() {
			t.Errorf("%s: %+v", format, store.State().Saved[0])
		}
		got = run(t, machine, terminal{}, "search", "--saved", "Deploys", "--new", "--format", format).check(t, ExitSuccess)
		if strings.Contains(got.out, "incidents") || format != "json" && !strings.Contains(got.err+got.out, `Nothing new in "Deploys".`) {
			t.Errorf("%s again: %q %q", format, got.out, got.err)
		}
	}
}

// What could not be printed is still new.
func TestResultsThatWereNotPrintedStayNew(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{syscall.EPIPE, errors.New("disk full")} {
		_, machine, store := saves(t)
		before := seen(store)
		Run(t.Context(), IO{In: strings.NewReader(""), Out: brokenWriter{failure}, Err: &strings.Builder{}, Now: today},
			[]string{"search", "--saved", "Deploys", "--new"}, machine.Program)
		if !slices.Equal(seen(store), before) {
			t.Errorf("%v: %q", failure, seen(store))
		}
	}
	server, machine, store := saves(t)
	before := seen(store)
	server.on("/search", body(http.StatusInternalServerError, []byte(`{"detail":"broken"}`)))
	run(t, machine, terminal{}, "search", "--saved", "Deploys", "--new").check(t, ExitServer)
	if !slices.Equal(seen(store), before) {
		t.Errorf("%q", seen(store))
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestSavedUsage(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"--saved Deploy": `Did you mean "Deploys"? Saved for test: Deploys`, "x --new": "--new works with --saved only", "x --saved Deploys": `"x" is another one`,
		"--saved Deploys --new --raw": "--new and --raw", "--saved Deploys --new --max-output 10": "--new and --max-output", "--saved=": "--saved is empty",
	} {
		_, machine, _ := saves(t)
		run(t, machine, terminal{}, append([]string{"search"}, strings.Fields(arguments)...)...).check(t, ExitUsage).twoLines(t, want)
	}
	_, machine, _ := saves(t)
	machine.State = func(target.Choice) *state.Store { return state.InMemory(0) }
	run(t, machine, terminal{}, "search", "--saved", "x").check(t, ExitUsage).twoLines(t, "none is saved for test", "ctrl+s")
	machine.private = true
	run(t, machine, terminal{}, "search", "--saved", "x").check(t, ExitUsage).twoLines(t, "private is set")
	for _, flags := range []string{"--saved x", "--new"} {
		run(t, guestDoors(t, "http://127.0.0.1:1"), terminal{}, append([]string{"search"}, strings.Fields(flags)...)...).
			check(t, ExitUsage).twoLines(t, "not available over SSH")
	}
	_, machine, _ = saves(t)
	if got := run(t, machine, terminal{}, "__complete", "search", "--saved", "").check(t, ExitSuccess).out; !strings.HasPrefix(got, "Deploys\n") {
		t.Errorf("completion: %q", got)
	}
}
