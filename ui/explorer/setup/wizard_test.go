package setup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

func dark() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Profile: colorprofile.TrueColor})
}

func mono() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})
}

func enter(text string) func(*line.Editor) {
	return func(e *line.Editor) { e.Insert(text) }
}

// connected is a wizard whose form is filled in.
func connected(url, token string) *Wizard {
	w := &Wizard{}
	w.Open(Input{Sample: true})
	w.Enter()
	w.Edit(enter(url))
	w.Move(1)
	w.Edit(enter(token))
	return w
}

func passed(c Connection) Tested {
	return Tested{Connection: c, Steps: []Step{{"server", Passed, "answers"}, {"token", Passed, "jo@acme.com"}, {"search", Passed, "answers"}}}
}

func failed(at int) Tested {
	found := passed(Connection{})
	for i := range found.Steps {
		if i >= at {
			found.Steps[i].Mark, found.Steps[i].Detail = Skipped, "not tried"
		}
	}
	found.Steps[at].Mark, found.Steps[at].Detail = Failed, "failed"
	found.Problem, found.Remedy = "the server cannot be reached", "Check the address."
	return found
}

func shown(w *Wizard) string {
	return ansi.Strip(strings.Join(panel.Draw(w, 80, 24, mono(), "enter go on").Lines, "\n"))
}

func says(t *testing.T, w *Wizard, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(shown(w), text) {
			t.Errorf("does not show %q:\n%s", text, shown(w))
		}
	}
}

func TestConnecting(t *testing.T) {
	w := &Wizard{}
	w.Open(Input{Sample: true})
	says(t, w, "Connect to an Onyx server", "Open a folder", "Stay with the sample library", "enter go on")
	w.Enter()
	if got := w.Enter(); got != (Intent{}) {
		t.Errorf("without an address: %+v", got)
	}
	says(t, w, "missing address")
	w.Edit(enter(" onyx.acme.com "))
	w.Enter()
	if w.Enter(); w.focus != tokenField {
		t.Error("a missing token is not asked for")
	}
	says(t, w, "missing token")
	w.Edit(enter("onyx_pat_secret"))
	if strings.Contains(shown(w), "secret") {
		t.Errorf("the token is shown:\n%s", shown(w))
	}
	want := Intent{Kind: Test, Connection: Connection{URL: "onyx.acme.com", Token: "onyx_pat_secret"}}
	if got := w.Enter(); got != want {
		t.Errorf("%+v", got)
	}
	says(t, w, "Testing")
	typed := w.address.Text()
	w.Edit(enter("x"))
	if got := w.Enter(); got != (Intent{}) || w.address.Text() != typed {
		t.Error("the form changes while it is tested")
	}
	w.Tested(failed(0))
	says(t, w, "✕ server", "· token", "the server cannot be reached", "Check the address.")
	if w.focus != addressField {
		t.Error("the address is to blame")
	}
	w.Enter()
	w.Tested(failed(1))
	if w.focus != tokenField {
		t.Error("the token is to blame")
	}
	w.Enter()
	works := Connection{URL: "https://onyx.acme.com", Prefix: "/api", Token: "onyx_pat_secret"}
	w.Tested(passed(works))
	says(t, w, "● server", "jo@acme.com", "Save and use")
	if got := w.Enter(); got != (Intent{Kind: Save, Connection: works}) {
		t.Errorf("%+v", got)
	}
	w.Failed("the disk is full", "Free some space.")
	says(t, w, "the disk is full", "Free some space.")
	w.Enter()
	w.Saved("Saved as the profile default.")
	says(t, w, "Connected to https://onyx.acme.com.", "profile default", "Search now")
	if w.token.Text() != "" || w.tested != nil {
		t.Error("the token is still there")
	}
	if got := w.Enter(); got.Kind != Leave {
		t.Errorf("%+v", got)
	}
}

// After a failed test one types on where something is to be corrected.
func TestTheFieldThatIsToBlameHasTheFocus(t *testing.T) {
	for name, test := range map[string]struct {
		marks []Mark // of server, token and search
		want  string
	}{
		"no server":                {[]Mark{Failed, Skipped, Skipped}, "Address"},
		"the token is refused":     {[]Mark{Passed, Failed, Skipped}, "Token"},
		"no server was asked":      {[]Mark{Skipped, Failed, Skipped}, "Token"},
		"the token may not search": {[]Mark{Passed, Passed, Failed}, "Token"},
		"nobody knows":             {nil, "Address"},
	} {
		w := connected("onyx.acme.com", "onyx_pat_secret")
		w.Enter()
		found := Tested{Problem: "it does not work"}
		for i, mark := range test.marks {
			found.Steps = append(found.Steps, Step{Name: []string{StepServer, StepToken, StepSearch}[i], Mark: mark})
		}
		w.Tested(found)
		drawn := panel.Draw(w, 80, 24, mono(), "")
		if !drawn.Cursor || !strings.Contains(drawn.Lines[drawn.Y], test.want) {
			t.Errorf("%s: the cursor stands in %q", name, drawn.Lines[drawn.Y])
		}
	}
}

func TestAChangedFormIsTestedAgain(t *testing.T) {
	w := connected("a", "b")
	w.Enter()
	w.Tested(passed(Connection{URL: "https://a", Token: "b"}))
	w.Move(-1)
	w.Edit(enter("c"))
	if got := w.Enter(); got.Kind != Test || got.Connection.Token != "bc" {
		t.Errorf("%+v", got)
	}
	if !w.Back() || w.busy != None {
		t.Error("esc does not cancel the test")
	}
	w.Tested(passed(Connection{}))
	if w.tested != nil {
		t.Error("a cancelled test is told")
	}
	if !w.Back() || w.page != choosing || w.Back() {
		t.Error("esc does not step back level by level")
	}
	w.Enter()
	if w.address.Text() != "a" {
		t.Error("what was typed is lost")
	}
}

func TestReadingAFolder(t *testing.T) {
	w := &Wizard{}
	w.Open(Input{Sample: true})
	w.Move(1)
	w.Enter()
	if got := w.Enter(); got != (Intent{}) {
		t.Errorf("%+v", got)
	}
	w.Edit(enter("~/no"))
	if got := w.Next(); got != (Intent{Kind: Complete, Path: "~/no"}) {
		t.Errorf("%+v", got)
	}
	w.Completed("~/n", "~/nothing")
	w.Completed("~/no", "/home/jo/notes/")
	if got := w.Enter(); got != (Intent{Kind: Folder, Path: "/home/jo/notes/"}) {
		t.Errorf("%+v", got)
	}
	w.Refused("cannot open it: no such file")
	says(t, w, "no such file")
	if !w.Adding("/home/jo/notes") || w.Adding("/again") {
		t.Error("one folder at a time")
	}
	w.Progress(wire.LibraryEvent{Type: wire.LibraryProgress, Done: 120, Total: 456, Bytes: 12_300_000, Path: "/home/jo/notes/a.md"}, 40.4)
	w.Progress(wire.LibraryEvent{Type: wire.LibraryProgress, Done: 120, Total: 456, Bytes: 12_300_000, TotalBytes: 50_000_000, Path: "/home/jo/notes/a.md"}, 40.4)
	says(t, w, "40 files/s · 12 MB of 50 MB")
	w.Progress(wire.LibraryEvent{Type: wire.LibraryProgress, Done: 120, Total: 456, Bytes: 12_300_000, Path: "/home/jo/notes/a.md"}, 40.4)
	w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "/home/jo/b.pdf", Reason: "it is encrypted"}, 0)
	for range 3 {
		w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "c.png", Reason: wire.ReasonNotRead(".png")}, 0)
	}
	says(t, w, "120 of 456 files", "40 files/s · 12 MB · 4 skipped", "b.pdf: it is encrypted", "3 .png", "Search now", "█")
	if w.Back() || w.busy != Folder {
		t.Error("esc closes the wizard and the reading goes on")
	}
	w.Open(Input{})
	says(t, w, "120 of 456")
	if got := w.Enter(); got.Kind != Leave {
		t.Errorf("%+v", got)
	}
	w.Move(1)
	if got := w.Enter(); got.Kind != Stop {
		t.Errorf("%+v", got)
	}
	w.Added(wire.LibraryEvent{Added: 300, Updated: 2, Unchanged: 1, Skipped: 4}, "Searches go there now.")
	says(t, w, "Documents: 300 added, 2 updated, 1 unchanged. 4 files skipped.", "Searches go there now.", "it is encrypted")
	w.Open(Input{Sample: true})
	if w.page != choosing {
		t.Error("it opens at the end")
	}
}

// A folder without anything to read changes nothing; another one can be typed.
func TestAFolderWithNothingToRead(t *testing.T) {
	w := &Wizard{page: naming}
	w.Adding("/x/empty")
	w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "/x/empty/a.pdf", Reason: "it is encrypted"}, 0)
	w.Added(wire.LibraryEvent{Skipped: 1}, "")
	says(t, w, "no readable files in /x/empty", "Type another path", "skipped a.pdf: it is encrypted", "Folder")
	if strings.Contains(shown(w), "Search now") || w.busy == Folder {
		t.Errorf("it went on:\n%s", shown(w))
	}
	w.Adding("/x/full")
	w.Added(wire.LibraryEvent{Added: 1}, "Searches go there now.")
	says(t, w, "Documents: 1 added.", "Searches go there now.")
}

func TestTheWayOnIsSeenAboveWhatWasSkipped(t *testing.T) {
	w := &Wizard{page: naming}
	w.Adding("/x/")
	for range 40 {
		w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "/x/a.pdf", Reason: "it is encrypted"}, 0)
	}
	w.Added(wire.LibraryEvent{Added: 1, Skipped: 40}, "Searches go there now.")
	text := shown(w)
	if on, skipped := strings.Index(text, "Search now"), strings.Index(text, "skipped a.pdf"); on < 0 || skipped < on {
		t.Errorf("shows:\n%s", text)
	}
}

// A long path gives way to the reason.
func TestWhySomethingWasSkippedIsSeen(t *testing.T) {
	w := &Wizard{page: naming}
	w.Adding("/x/")
	w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "/x/" + strings.Repeat("long/", 30) + "of/a.pdf", Reason: "it is encrypted"}, 0)
	says(t, w, "skipped …", "/of/a.pdf: it is encrypted")
	w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: "/xyz/b.pdf", Reason: "it is broken"}, 0)
	says(t, w, "skipped /xyz/b.pdf: it is broken")
}

func TestAFolderThatFails(t *testing.T) {
	w := &Wizard{page: naming}
	w.Adding("/x")
	w.Failed("cannot write to /data", "Name another folder.")
	says(t, w, "cannot write to /data", "Name another folder.", "Folder")
	w.Adding("/x")
	w.Progress(wire.LibraryEvent{Type: wire.LibraryProgress, Done: 3, Stored: 2}, 0)
	w.Stopped()
	says(t, w, "2 files stored")
}

func TestRefusedChoices(t *testing.T) {
	w := &Wizard{}
	w.Open(Input{Current: "acme", ModelRefused: "acme has its own model"})
	says(t, w, "acme has its own model")
	w.Open(Input{Current: "acme", Refused: "QUARRY_READONLY is set", ModelRefused: "acme has its own model"})
	says(t, w, "QUARRY_READONLY is set", "Stay with acme")
	for range 3 {
		if got := w.Enter(); got != (Intent{}) || w.page != choosing {
			t.Errorf("%+v", got)
		}
		w.Move(1)
	}
	if got := w.Enter(); got.Kind != Leave {
		t.Errorf("%+v", got)
	}
}

// TestGeometry holds that every page fills every area exactly, whatever is in it, and keeps the cursor inside.
func TestGeometry(t *testing.T) {
	texts := map[string]string{"plain": "notes", "cjk": strings.Repeat("デプロイ手順", 30), "emoji": "👩‍🚀 ❤️ 🇩🇪 é",
		"rtl": "שלום עולם مرحبا", "huge": strings.Repeat("/x y", longtest.Rounds(250, 5_000)), "empty": ""}
	sizes := [][2]int{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {2, 3}, {11, 4}, {12, 5}, {20, 4}, {20, 5}, {29, 6}, {30, 8}, {49, 10}, {80, 24}, {240, 80}}
	for name, text := range texts {
		for state, w := range states(text) {
			for _, size := range sizes {
				for _, th := range []theme.Theme{dark(), mono()} {
					drawn := panel.Draw(w, size[0], size[1], th, th.Key.Render("enter")+" go on")
					lines, x, y, cursor := drawn.Lines, drawn.X, drawn.Y, drawn.Cursor
					if len(lines) > size[1] {
						t.Fatalf("%s/%s %v: %d lines", state, name, size, len(lines))
					}
					for i, l := range lines {
						if paint.Width(l) != size[0] {
							t.Fatalf("%s/%s %v: line %d is %d wide: %q", state, name, size, i, paint.Width(l), l)
						}
					}
					if cursor && (x < 0 || x >= size[0] || y < 0 || y >= size[1]) {
						t.Fatalf("%s/%s %v: cursor at %d, %d", state, name, size, x, y)
					}
				}
			}
		}
	}
}

// states are wizards of every page with a text wherever one can be.
func states(text string) map[string]*Wizard {
	all := map[string]*Wizard{}
	add := func(name string, prepare func(*Wizard)) {
		w := &Wizard{}
		w.Open(Input{Current: text, Refused: text})
		prepare(w)
		all[name] = w
	}
	for i := range 4 {
		add(fmt.Sprint("choosing ", i), func(w *Wizard) { w.Move(i) })
	}
	form := func(w *Wizard) {
		w.show(connecting)
		w.Edit(enter("h" + text))
		w.Move(1)
		w.Edit(enter("t" + text))
	}
	add("connecting", form)
	add("testing", func(w *Wizard) { form(w); w.Enter() })
	add("failed", func(w *Wizard) {
		form(w)
		w.Enter()
		found := failed(1)
		found.Problem, found.Remedy, found.Steps[0].Detail = "p"+text, text, text
		w.Tested(found)
	})
	add("works", func(w *Wizard) { form(w); w.Enter(); w.Tested(passed(Connection{URL: text})) })
	add("saved", func(w *Wizard) { form(w); w.Enter(); w.Tested(passed(Connection{URL: text})); w.Enter(); w.Saved(text) })
	naming := func(w *Wizard) { w.show(naming); w.Edit(enter(text)) }
	modelling := func(w *Wizard) {
		w.show(modelling)
		for range 3 {
			w.Edit(enter("m" + text))
			w.Move(1)
		}
		w.ModelStatus(wire.ModelStatus{TokensToday: 1234, Budget: 5000})
	}
	add("modelling", modelling)
	add("no such model", func(w *Wizard) {
		modelling(w)
		w.Enter()
		w.Tested(Tested{Problem: "p" + text, Remedy: text, ModelProblem: wire.ModelUnknown, Steps: []Step{{"model", Failed, text}}})
	})
	add("naming", naming)
	add("refused", func(w *Wizard) { naming(w); w.Refused("r" + text) })
	reading := func(w *Wizard) {
		naming(w)
		w.Adding(text)
		w.Progress(wire.LibraryEvent{Type: wire.LibraryProgress, Done: 12, Total: 10, Path: text}, 3)
		for range 60 {
			w.Progress(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: text, Reason: text}, 0)
		}
	}
	add("reading", reading)
	add("stopping", func(w *Wizard) { reading(w); w.Move(1) })
	add("read", func(w *Wizard) { reading(w); w.Added(wire.LibraryEvent{Added: 1}, text); w.Move(1000) })
	return all
}

func TestTheFocusIsAlwaysSeen(t *testing.T) {
	for height := 1; height < 30; height++ {
		w := connected("onyx.acme.com", "x")
		w.Enter()
		w.Tested(failed(0))
		for field := range connectButton + 1 {
			w.focus = field
			drawn := panel.Draw(w, 40, height, mono(), "")
			lines, seen := drawn.Lines, drawn.Cursor || field == connectButton && strings.Contains(strings.Join(drawn.Lines, ""), "▌")
			if !seen {
				t.Errorf("height %d, field %d:\n%s", height, field, strings.Join(lines, "\n"))
			}
		}
	}
}

func TestTailOfAPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path  string
		width int
		want  string
	}{
		{"/a/b/c", 10, "/a/b/c"}, {"/a/bb/c", 6, "…bb/c"}, {"/a/bb/c", 4, "…c"}, {"/a/bb/ccccccc", 3, "…ccccccc"},
		{"name", 2, "name"}, {"/字/字", 6, "/字/字"}, {"/字/字", 4, "…字"},
		{strings.Repeat("/y", 400), 10, "…y/y/y/y/y"}, {"a/b", 2, "…b"}, {"/a", 0, "…a"},
	} {
		if got := tail(test.path, test.width); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.path, test.width, got, test.want)
		}
	}
}
