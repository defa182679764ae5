package explorer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"quarry/client"
	"quarry/client/wire"
)

// benchModel shows fifty passages of about four kilobytes.
func benchModel(b *testing.B, width, height int) *Model {
	b.Helper()
	m := New(b.Context(), Options{Target: Target{Kind: Library, Where: "the library"}, Now: today, Profile: colorprofile.TrueColor,
		Theme: "dark", Width: width, Height: height, Query: "roll back the deploy"})
	m.show(benchAnswer(m, 1))
	m.Update(nil)
	finishRendering(m)
	m.View()
	return m
}

func benchAnswer(m *Model, seed uint64) shown {
	random := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("we roll back the deploy when the error budget of a service is spent and the canary was paused before anybody " +
		"looked at the graphs which say what the release did to the queue")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[random.IntN(len(words))] + " ")
			if random.IntN(40) == 0 {
				b.WriteString("\n\n## Heading of a part\n\n- **item** with `code`\n\n")
			}
		}
		return b.String()
	}
	response := &wire.SearchResponse{TotalMatches: 900}
	for i := range 50 {
		number, link, updated := i+1, "https://wiki.acme.com/pages/"+fmt.Sprint(i), "2026-03-12T09:00:00Z"
		content := text(4000)
		at := strings.Index(content, "deploy")
		response.Results = append(response.Results, wire.SearchResult{CitationID: &number, Title: text(40), Content: content,
			Link: &link, UpdatedAt: &updated, SourceType: "confluence", DocumentID: fmt.Sprint(seed, i), Ref: fmt.Sprintf("%d-%d#0", seed, i),
			Highlights: []wire.Span{{at, at + 6}}, BestPassage: wire.Span{at, at + 60}, Authors: []string{"J. Ortiz"},
			Selected: i < 10, ChunkCount: 9})
	}
	return shown{search: search{text: m.box.Query(), query: client.ParseQuery(m.box.Query(), today())}, response: response}
}

// measure runs Update and View for each message and reports the slow ones, which are those that people feel.
func measure(b *testing.B, m *Model, message func(i int) tea.Msg) {
	b.Helper()
	took := make([]time.Duration, 0, 1<<16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		msg := message(i)
		began := time.Now()
		m.Update(msg)
		m.View()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}

func BenchmarkUpdateAndView(b *testing.B) {
	for _, size := range [][2]int{{120, 40}, {240, 80}} {
		name := fmt.Sprintf("%dx%d/", size[0], size[1])
		b.Run(name+"typing", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			m.focus = InBox
			keys := []tea.KeyPressMsg{press("x"), press("backspace")}
			measure(b, m, func(i int) tea.Msg { return keys[i%2] })
		})
		b.Run(name+"moving", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			m.focus = InList
			measure(b, m, func(i int) tea.Msg { return press([]string{"down", "up"}[i/20%2]) })
		})
		b.Run(name+"scrolling", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			m.focus = InReader
			measure(b, m, func(i int) tea.Msg { return press([]string{"down", "up"}[i/10%2]) })
		})
		b.Run(name+"results", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			m.focus = InBox
			answers := []shown{benchAnswer(m, 1), benchAnswer(m, 2)}
			measure(b, m, func(i int) tea.Msg {
				s := answers[i%2].search
				m.begin(&s.request)
				m.search.running = &s
				return resultMsg{handle: func() tea.Cmd { return m.handleSearch(&s, answers[i%2].response, nil) }}
			})
		})
		b.Run(name+"actions", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			m.focus = InList
			m.Update(press("?"))
			measure(b, m, func(i int) tea.Msg { return press([]string{"down", "up"}[i/20%2]) })
		})
		b.Run(name+"filters", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			m.focus = InList
			m.Update(press("f"))
			measure(b, m, func(i int) tea.Msg { return press([]string{"down", "up"}[i/20%2]) })
		})
		b.Run(name+"unchanged", func(b *testing.B) {
			m := benchModel(b, size[0], size[1])
			measure(b, m, func(int) tea.Msg { return nil })
		})
	}
}

// BenchmarkRendering is what the reader does in the background for 4 KB of Markdown.
func BenchmarkRendering(b *testing.B) {
	m := benchModel(b, 120, 40)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		m.show(benchAnswer(m, uint64(i+10)))
		m.followSelection()
		m.reader.View(m.rects.Reader.W, m.rects.Reader.H, m.theme)
		job, ok := m.reader.RenderJob()
		if !ok {
			b.Fatal("nothing is to be rendered")
		}
		b.StartTimer()
		job.Render()
	}
}
