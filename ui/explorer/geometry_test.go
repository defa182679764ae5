package explorer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/ui/explorer/panel"
)

// awkward are texts whose width is easily got wrong.
func awkward() []string {
	return []string{
		"plain words about a rollback", "回滚发布的运行手册和部署政策", "배포를 되돌리는 방법", "デプロイをロールバックする",
		"👩‍👩‍👧‍👦 family 🇳🇱 flag ❤️ heart ⚠️ warn 👍🏽", "العودة إلى الإصدار السابق", "חזרה לגרסה הקודמת", "नमस्ते दुनिया क्षत्रिय",
		"e\u0301a\u0308 zalgo z̸̢̛̗̩̈́͛", "tab\tand\r\nline", strings.Repeat("wide字", 400), strings.Repeat("x", 5000), "",
		"```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 字 |\n\n> quote\n\n- [ ] task", "\u200b\ufeff\u2028 invisible",
	}
}

func awkwardResponse(random *rand.Rand) *wire.SearchResponse {
	texts := awkward()
	pick := func() string { return client.Sanitize(texts[random.IntN(len(texts))]) }
	response := &wire.SearchResponse{TotalMatches: random.IntN(1000),
		Notes: []wire.Note{{Code: wire.NoteSourceFailed, Text: pick()}}}
	for i := range random.IntN(30) {
		number := i/2 + 1
		link, updated := "https://wiki/"+pick(), "2026-03-12T09:00:00Z"
		response.Results = append(response.Results, wire.SearchResult{CitationID: &number, Title: pick(), Content: pick(),
			Link: &link, SourceType: []string{"slack", "web", pick()}[random.IntN(3)], UpdatedAt: &updated,
			DocumentID: fmt.Sprint(number), Ref: fmt.Sprintf("%d#%d", number, i), ChunkInd: i, ChunkStart: i, ChunkEnd: i,
			ChunkCount: 40, Authors: []string{pick()}, HeadingPath: []string{pick(), pick()}, Selected: i < 5})
	}
	return response
}

// requireGeometry fails unless a frame has as many lines as the terminal, each exactly as wide.
func requireGeometry(t *testing.T, m *Model, what string) {
	t.Helper()
	view := m.View()
	if m.width <= 0 || m.height <= 0 {
		if view.Content != "" {
			t.Fatalf("%s: drawn without a size", what)
		}
		return
	}
	lines := strings.Split(view.Content, "\n")
	if len(lines) != m.height {
		t.Fatalf("%s at %d×%d: %d lines", what, m.width, m.height, len(lines))
	}
	for i, line := range lines {
		grapheme, wide := ansi.StringWidth(line), ansi.StringWidthWc(line)
		if grapheme != m.width || wide != m.width {
			t.Fatalf("%s at %d×%d: line %d is %d wide (%d by wcwidth): %q", what, m.width, m.height, i, grapheme, wide, line)
		}
	}
	if c := view.Cursor; c != nil && (c.X < 0 || c.X >= m.width || c.Y < 0 || c.Y >= m.height) {
		t.Fatalf("%s at %d×%d: the cursor is at %d,%d", what, m.width, m.height, c.X, c.Y)
	}
}

// Every state at every size, with every kind of text, fills the screen exactly.
func TestEveryLineIsAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{0, 0}, {1, 1}, {19, 4}, {20, 4}, {20, 5}, {40, 12}, {60, 20}, {80, 24}, {80, 30}, {100, 30}, {120, 40}, {240, 80}}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range longtest.Rounds(2, 24) {
		for name, state := range states(random) {
			m := awkwardModel(t, random)
			state(m)
			for _, size := range sizes {
				m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				finishRendering(m)
				requireGeometry(t, m, fmt.Sprintf("round %d, %s", round, name))
			}
		}
	}
}

// Random keys at random sizes never break the frame, and never panic.
func TestRandomKeysKeepTheFrameWhole(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var keys []string
	for _, b := range Bindings() {
		if b.Action != "quit" && b.Action != "leave" && b.Action != "suspend" {
			keys = append(keys, b.Keys()...)
		}
	}
	for range longtest.Rounds(8, 80) {
		m := awkwardModel(t, random)
		for step := range 120 {
			switch random.IntN(12) {
			case 0:
				m.Update(tea.WindowSizeMsg{Width: random.IntN(180), Height: random.IntN(60)})
			case 1:
				m.Update(tea.PasteMsg{Content: awkward()[random.IntN(len(awkward()))]})
			case 2:
				m.show(shown{search: m.shownSearch(), response: awkwardResponse(random)})
				m.Update(nil)
			default:
				key := keys[random.IntN(len(keys))]
				m.Update(press(key))
			}
			finishRendering(m)
			requireGeometry(t, m, fmt.Sprintf("step %d", step))
		}
	}
}

// shownSearch is the search of what is shown, or none.
func (m *Model) shownSearch() search {
	if m.search.shown == nil {
		return search{}
	}
	return m.search.shown.search
}

// finishRendering does what the running program does in the background.
func finishRendering(m *Model) {
	finishReader(m, m.compare.following, m.rects.Reader)
	if m.compare.pinned != nil {
		finishReader(m, m.compare.pinned, m.rects.Pinned)
	}
}

func finishReader(m *Model, r *reading, rect Rect) {
	r.rendering = false
	for range 5 {
		if rect.H == 0 {
			return
		}
		r.View(rect.W, rect.H, m.theme)
		job, ok := r.RenderJob()
		if !ok {
			return
		}
		r.Apply(job.Render())
		m.Update(nil)
		r.rendering = false
	}
}

func awkwardModel(t *testing.T, random *rand.Rand) *Model {
	t.Helper()
	profile := []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI, colorprofile.ASCII}[random.IntN(3)]
	texts := awkward()
	target := Target{Kind: Kind(random.IntN(3)), Where: texts[random.IntN(8)], Examples: texts[:3],
		Open: func(context.Context) (*client.Session, error) { return nil, fmt.Errorf("never") }}
	m := New(t.Context(), Options{Target: target, Now: today, Profile: profile, Theme: "auto", Width: 120, Height: 40,
		Query: texts[random.IntN(10)]})
	m.conn.welcome = welcome{sources: []wire.FacetValue{{Value: "slack", Count: 3}, {Value: "日本語", Count: 1}}, exact: true, documents: 4}
	answer := awkwardResponse(random)
	m.show(shown{search: search{text: m.box.Query(), query: client.ParseQuery(m.box.Query(), today())}, response: answer})
	m.Update(nil)
	return m
}

// comparePassages pins the selected passage, where there is one, and reads another or the pinned one.
func (m *Model) comparePassages(readPinned bool) {
	m.focus = InReader
	if m.list.Len() == 0 {
		return
	}
	m.togglePin()
	m.list.Move(1)
	if readPinned {
		m.reader = m.compare.pinned
	}
}

func awkwardDocuments(text string) []wire.SearchDoc {
	return []wire.SearchDoc{{DocumentID: "a", Title: text, Blurb: text, SourceType: "slack"}, {DocumentID: "b", Title: text}}
}

// states are what a screen can be in, each reached from one with results.
func states(random *rand.Rand) map[string]func(*Model) {
	texts := awkward()
	text := texts[random.IntN(len(texts))]
	return map[string]func(*Model){
		"results": func(m *Model) { m.focus = InList },
		"typing":  func(m *Model) { m.focus = InBox; m.box.SetQuery(text + " source:slack set:\"日本 語\" ") },
		"reading": func(m *Model) { m.focus = InReader; m.reader.StepMatch(1) },
		"outline": func(m *Model) { m.focus = InList; m.Update(press("O")); m.outline.Move(random.IntN(3)) },
		"links":   func(m *Model) { finishRendering(m); m.openLinks() },
		"paragraph": func(m *Model) {
			m.focus = InReader
			m.reader.Select(true)
			m.reader.MoveSelection(1)
		},
		"sideways": func(m *Model) {
			m.focus, m.look.zoomed = InReader, random.IntN(2) == 0
			finishRendering(m)
			m.reader.Sideways(1)
		},
		"zoomed":                     func(m *Model) { m.focus = InReader; m.look.zoomed = true },
		"comparing":                  func(m *Model) { m.comparePassages(false) },
		"reading the pinned passage": func(m *Model) { m.comparePassages(true) },
		"choosing what to compare":   func(m *Model) { m.comparePassages(false); m.focus = InList },
		"the pinned passage zoomed":  func(m *Model) { m.comparePassages(true); m.look.zoomed = true },
		"a pinned passage without results": func(m *Model) {
			m.comparePassages(true)
			m.show(shown{search: m.shownSearch(), response: &wire.SearchResponse{}})
		},
		"welcome": func(m *Model) { m.box.SetQuery(""); m.forgetResults() },
		"actions": func(m *Model) { m.openActions(); m.actions.Move(random.IntN(60)) },
		"filters": func(m *Model) { m.filters.picker.Open(m.facets()); m.pushPanel(InPicker, &m.filters.picker) },
		"time": func(m *Model) {
			m.filters.picker.Open(m.facets())
			m.pushPanel(InPicker, &m.filters.picker)
			m.filters.picker.Turn(1)
		},
		"answer": func(m *Model) {
			m.answer.Begin(text)
			m.answer.Append(text)
			m.answer.Type()
			m.pushPanel(InAnswer, &m.answer)
		},
		"an earlier answer": func(m *Model) {
			m.answer.Restore([]panel.Turn{{Question: text, ChatAnswer: wire.ChatAnswer{Text: text, Documents: awkwardDocuments(text)}}, {Question: text, Problem: text}})
			m.answer.Incognito()
			m.answer.Note(text)
			turn, _ := m.answer.Found()
			m.showFound(documentResults(turn), fromAnswer)
			m.pushPanel(InAnswer, &m.answer)
		},
		"conversations": func(m *Model) {
			m.chats.Open(today())
			var sessions []wire.ChatSession
			for i := range random.IntN(60) {
				name := texts[random.IntN(len(texts))]
				sessions = append(sessions, wire.ChatSession{ID: fmt.Sprint(i), Name: &name, TimeUpdated: "2026-03-12T09:00:00Z"})
			}
			m.chats.Add(sessions, random.IntN(2) == 0)
			m.chats.Move(random.IntN(80))
			m.pushPanel(InChats, &m.chats)
		},
		"no conversations": func(m *Model) {
			m.chats.Open(today())
			m.chats.Fail(text, text)
			m.pushPanel(InChats, &m.chats)
		},
		"why":     func(m *Model) { m.openWhy(); m.why.Move(random.IntN(40)) },
		"message": func(m *Model) { m.warn(text) },
		"failure": func(m *Model) { m.forgetResults(); m.note("search", fmt.Errorf("%s", client.Sanitize(text))) },
		"searching": func(m *Model) {
			m.search.running = &search{slow: true, stage: "retrieve", started: today()}
			m.begin(&m.search.running.request)
		},
		"nothing": func(m *Model) {
			query := client.ParseQuery("字 source:slack", today())
			m.show(shown{search: search{text: "字", query: query}, response: &wire.SearchResponse{}})
			m.filters.cut = &blame{counts: []int{3}, worst: 0}
		},
	}
}
