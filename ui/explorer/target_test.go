package explorer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/ui/explorer/setup"
)

// answering is a target whose searches find one passage with a title of its own.
func answeringServer(t *testing.T, title string) Target {
	t.Helper()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, title, "x")}})
	}}
	target := server.remote(t)
	target.Where = title
	return target
}

func TestConnectingToAServer(t *testing.T) {
	t.Parallel()
	tried := make(chan setup.Connection, 10)
	before, after := sampleTarget(t), answeringServer(t, "the new server")
	screen := start(t, 120, 40, Options{Target: before, Query: "roll back", SetUp: SetUp{
		Backend: setup.Backend{
			Test: func(_ context.Context, c setup.Connection) (setup.Tested, error) {
				tried <- c
				if c.Token == "wrong" {
					return setup.Tested{Connection: c, Problem: "the token was refused", Remedy: "Make a new one.",
						Steps: []setup.Step{{Name: setup.StepServer}, {Name: setup.StepToken, Mark: setup.Failed}}}, nil
				}
				return setup.Tested{Connection: c, Steps: []setup.Step{{Name: "server", Mark: setup.Passed, Detail: "Onyx 4.1"}}}, nil
			},
			Save: func(context.Context, setup.Connection) (string, error) { return "Saved as the profile default.", nil },
		},
		Target: func(context.Context) (Target, error) { return after, nil },
	}})
	screen.WaitText("Runbook")
	screen.Press("f3")
	screen.WaitText("Connect to an Onyx server")
	screen.Press("enter")
	screen.WaitText("token")
	screen.Type("onyx.acme.com")
	screen.Press("tab")
	screen.Type("wrong")
	screen.Wait("the token to be masked", func(text string) bool {
		return strings.Contains(text, "•••••") && !strings.Contains(text, "wrong")
	})
	screen.Press("enter")
	screen.WaitText("the token was refused")
	screen.WaitText("Make a new one.")
	if c := <-tried; c.Token != "wrong" || !strings.Contains(c.URL, "onyx.acme.com") {
		t.Errorf("tried %+v", c)
	}
	screen.Press("ctrl+u") // of the token
	screen.Type("right")
	screen.Press("enter")
	screen.WaitText("Onyx 4.1")
	<-tried
	screen.Press("enter")
	screen.WaitText("Saved as the profile default.")
	screen.Press("enter")
	screen.WaitText("▌ 1  the new server") // the question was asked there
	screen.WaitGone("Sample library")
}

// importing is a folder that is read file by file, as the test lets it.
type importing struct {
	next   chan wire.LibraryEvent
	target Target
}

func (i *importing) setUp() SetUp {
	return SetUp{Backend: setup.Backend{
		Path: func(typed string) (string, error) {
			if typed == "/nowhere" {
				return "", errors.New("cannot open /nowhere: it does not exist")
			}
			return typed, nil
		},
		Complete: func(typed string) string { return typed },
		AddFolder: func(ctx context.Context, _ string, report func(wire.LibraryEvent)) (wire.LibraryEvent, string, error) {
			for {
				select {
				case event := <-i.next:
					if event.Type == wire.LibraryDone {
						return event, "The library is searched from now on.", nil
					}
					report(event)
				case <-ctx.Done():
					return wire.LibraryEvent{}, "", ctx.Err()
				}
			}
		},
	}, Target: func(context.Context) (Target, error) { return i.target, nil }}
}

func openFolder(t *testing.T, i *importing) (screen interface {
	Press(...string)
	WaitText(string)
	WaitGone(string)
	Type(string)
}) {
	t.Helper()
	s := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "roll back", SetUp: i.setUp(), Now: time.Now})
	s.WaitText("Runbook")
	s.Press("f3")
	s.WaitText("Open a folder")
	s.Press("down", "enter")
	return s
}

func TestOpeningAFolder(t *testing.T) {
	t.Parallel()
	i := &importing{next: make(chan wire.LibraryEvent), target: answeringServer(t, "my own notes")}
	screen := openFolder(t, i)
	screen.Type("/nowhere")
	screen.Press("enter")
	screen.WaitText("it does not exist")
	screen.Press("ctrl+u")
	screen.Type("/notes")
	screen.Press("enter")
	i.next <- wire.LibraryEvent{Type: wire.LibraryProgress, Done: 1, Total: 40, Path: "/notes/a.md"}
	screen.WaitText("1 of 40")
	i.next <- wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "/notes/b.pdf", Reason: "quarry does not read .pdf files"}
	screen.WaitText(".pdf")
	i.next <- wire.LibraryEvent{Type: wire.LibraryProgress, Done: 20, Total: 40, Stored: 18, Path: "/notes/c.md"}
	screen.WaitText("20 of 40")
	screen.Press("esc") // reading goes on
	screen.WaitGone("20 of 40")
	screen.WaitText(" 1  my own notes")
	screen.Press("f3")
	screen.WaitText("20 of 40")
	i.next <- wire.LibraryEvent{Type: wire.LibraryDone, Added: 39, Skipped: 1}
	screen.WaitText("39")
	screen.WaitText("The library is searched from now on.")
}

func TestAFolderThatIsGivenUp(t *testing.T) {
	t.Parallel()
	i := &importing{next: make(chan wire.LibraryEvent), target: answeringServer(t, "my own notes")}
	screen := openFolder(t, i)
	screen.Type("/notes")
	screen.Press("enter")
	i.next <- wire.LibraryEvent{Type: wire.LibraryProgress, Done: 1, Total: 40, Path: "/notes/a.md"}
	screen.WaitText("1 of 40")
	screen.Press("down", "enter")
	screen.WaitText("topped")
}

func TestSetUpThatIsRefused(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), SetUp: SetUp{Refused: "nothing is set up over SSH"}})
	screen.WaitText("documents in")
	screen.Press("f3")
	screen.WaitText("nothing is set up over SSH")
	if strings.Contains(screen.Text(), "f3 connects") {
		t.Errorf("the banner promises what is refused:\n%s", screen.Frame())
	}
}

func TestATargetThatIsNotFound(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Sample}, Now: today, Width: 120, Height: 40})
	m.handleTarget(Target{}, fmt.Errorf("no such profile"))
	if !strings.Contains(m.message.text, "no such profile") {
		t.Errorf("the message is %q", m.message.text)
	}
}

func TestRateOfFiles(t *testing.T) {
	t.Parallel()
	var r rate
	at := today()
	for i := range 50 {
		r.update(i*10, at)
		at = at.Add(100 * time.Millisecond)
	}
	if r.perSecond < 99 || r.perSecond > 101 {
		t.Errorf("%v files per second, want 100", r.perSecond)
	}
}

// A model is tested and saved, and the library is searched with it from then on.
func TestSettingUpAModel(t *testing.T) {
	t.Parallel()
	var saved atomic.Pointer[setup.Model]
	after := sampleTarget(t)
	after.Where = "the library with a model"
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "roll back", SetUp: SetUp{
		Backend: setup.Backend{
			Model: func() setup.Model { return setup.Model{BaseURL: "http://127.0.0.1:1/v1", Name: "old", HasKey: true} },
			TestModel: func(_ context.Context, m setup.Model) (setup.Tested, error) {
				if m.Name != "small" {
					return setup.Tested{Model: m, Problem: "no model " + m.Name, Remedy: "Type one of: small", ModelProblem: wire.ModelUnknown}, nil
				}
				return setup.Tested{Model: m, Steps: []setup.Step{{Name: "model", Mark: setup.Passed, Detail: "replied in 12 ms"}}}, nil
			},
			SaveModel: func(_ context.Context, m setup.Model) (string, error) {
				saved.Store(&m)
				return "Saved as local/small.", nil
			},
		},
		Target: func(context.Context) (Target, error) { return after, nil },
	}})
	screen.WaitText("Runbook")
	screen.Press("f3")
	screen.WaitText("Set up a language model")
	screen.WaitText("old")
	screen.Press("down", "down", "enter")
	screen.WaitText("Endpoint")
	screen.WaitText("No daily limit") // as the library itself says
	screen.Press("enter")
	screen.WaitText("Type one of: small")
	screen.Press("ctrl+u") // of the model
	screen.Type("small")
	screen.Press("enter")
	screen.WaitText("replied in 12 ms")
	screen.Press("enter")
	screen.WaitText("Saved as local/small.")
	if m := saved.Load(); m == nil || m.Name != "small" || m.BaseURL != "http://127.0.0.1:1/v1" {
		t.Errorf("saved %+v", m)
	}
	screen.Press("enter")
	screen.WaitText("▌ 1  Runbook")
}

// A server's model is the server's.
func TestTheModelOfAServer(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: answeringServer(t, "acme"), SetUp: SetUp{}})
	screen.Press("f3")
	screen.WaitText("unavailable: acme has its own model")
}
