package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/colorprofile"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/theme"
	"quarry/ui/target"
)

func TestBareQuery(t *testing.T) {
	s := newOnyx(t)
	for _, arguments := range [][]string{{"how", "do", "we"}, {"--", "search", "x"}, {"--", "serach"}, {"deploy", "--source", "slack"}} {
		s.searches = nil
		run(t, testDoors(s.URL), terminal{}, arguments...).check(t, ExitSuccess)
		want := strings.TrimSpace(strings.Split(strings.TrimPrefix(strings.Join(arguments, " "), "-- "), " --")[0])
		if got := s.asked(t)["query"]; got != want {
			t.Errorf("%v searched for %q", arguments, got)
		}
	}
	got := run(t, testDoors(s.URL), terminal{tty: true}, "serach", "x").check(t, ExitSuccess)
	if !strings.Contains(got.err, "quarry search") {
		t.Errorf("a person gets a note: %s", got.err)
	}
	got = run(t, testDoors(s.URL), terminal{}).check(t, ExitSuccess)
	if !strings.Contains(got.out, "Usage:") || got.err != "" {
		t.Errorf("no arguments print help: %q", got.err)
	}
}

func TestNearestCommand(t *testing.T) {
	root := (&app{io: IO{Out: io.Discard, Err: io.Discard}}).root()
	for word, want := range map[string]string{
		"search": "search", "SEARCH": "search", "tags": "tags", "serach": "search", "seach": "search", "searchh": "search", "xearch": "search", "sxxrch": "", "s": "", "tag": "tags",
		"research": "",
	} {
		if got := nearestCommand(root, []string{word}); got != want {
			t.Errorf("nearestCommand(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestInterruption(t *testing.T) {
	s := newOnyx(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s.on("/search", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(queryHeader) == "slow query" {
				cancel()
				<-r.Context().Done()
				return
			}
			body(http.StatusOK, fixture(t, "search.json"))(w, r)
		})
		started := time.Now()
		got := runContext(t, ctx, s.inProcess(), terminal{}, "search", "slow query")
		got.check(t, ExitInterrupted).interrupted(t)
		if took := time.Since(started); took > unwindTime {
			t.Errorf("it took %v", took)
		}
	})
}

func TestCommandThatDoesNotUnwindIsLeft(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	doors.decide = func(target.Request) (target.Choice, error) {
		cancel()
		<-release
		return target.Choice{}, errNotConfigured
	}
	runContext(t, ctx, doors, terminal{}, "search", "x").check(t, ExitInterrupted).interrupted(t)
}

func TestPanicIsAnError(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	doors.decide = func(target.Request) (target.Choice, error) { panic("boom") }
	run(t, doors, terminal{}, "search", "x").check(t, ExitGeneral).twoLines(t, "boom")
}

func TestInterruptionPrintsWhatFinished(t *testing.T) {
	s := newOnyx(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan struct{})
		quick := func(w http.ResponseWriter, r *http.Request) {
			body(http.StatusOK, fixture(t, "search-empty.json"))(w, r)
			close(first)
		}
		s.on("/search", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(queryHeader) != "slow query" {
				quick(w, r)
				return
			}
			<-first
			cancel()
			<-r.Context().Done()
		})
		got := runContext(t, ctx, s.inProcess(), terminal{}, "search", "quick query", "slow query")
		got.check(t, ExitInterrupted)
		if got.out != "" && !strings.Contains(got.out, `"query":"quick query"`) {
			t.Errorf("stdout: %s", got.out)
		}
	})
}

// TestFinishedQueriesArePrintedWhenOthersAreInterrupted holds what the run above may or may not reach in time.
func TestFinishedQueriesArePrintedWhenOthersAreInterrupted(t *testing.T) {
	var out, notes bytes.Buffer
	a := &app{program: testDoors("").Program, io: IO{Now: today}, out: &gate{to: &out}, err: &gate{to: &notes}, style: theme.New(colorprofile.NoTTY)}
	outcomes := []outcome{
		{query: plannedQuery{text: "quick query"}, response: &wire.SearchResponse{}},
		{query: plannedQuery{text: "slow query"}, err: &client.Error{Kind: client.Canceled}},
	}
	err := guard.Ended(func() { a.printSearch(outcomes, formatJSON, &searchOptions{}, target.Choice{}) })
	if !errors.Is(err, errInterrupted) {
		t.Errorf("the run ends with %v", err)
	}
	if !strings.Contains(out.String(), `"query":"quick query"`) || !strings.Contains(out.String(), `"results":[]`) {
		t.Errorf("stdout: %s", out.String())
	}
}
