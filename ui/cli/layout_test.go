package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
)

func TestTablesKeepToTheWidth(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for width := 1; width < 140; width++ {
		text := table{header: []string{"ID", "NAME", "COUNT", "DESCRIPTION"}, right: 2, width: width, style: theme.New(colorprofile.ANSI),
			rows: [][]string{{"a-rather-long-identifier", long, "12345", long}, {"b", "ロールバック手順書", "7", "short"}}}.String()
		for line := range strings.Lines(text) {
			if got := ansi.StringWidth(strings.TrimRight(line, "\n")); got > width {
				t.Fatalf("%d columns of %d: %q", got, width, line)
			}
		}
		if width >= 32 && (!strings.Contains(text, "12345") || !strings.Contains(text, "short")) {
			t.Errorf("width %d lost what is short:\n%s", width, text)
		}
	}
}

func TestProseIsWrappedAndCodeIsNot(t *testing.T) {
	prose := strings.TrimSpace(strings.Repeat("prose ", 20))
	code := "kubectl rollout undo deployment/payments --to-revision=41 --namespace production"
	row := "| service | owner | what happens when it is rolled back in the middle of the night |"
	text := prose + "\n\n````sh\n" + code + "\n```\n" + code + "\n````\n\n" + row + "\n|---|---|---|\n\n    " + code + "\n\n    - " + prose + "\n"
	got := wrapMarkdown(text, 40, wire.Span{}, nil)
	if strings.Count(got, "\n"+code+"\n") != 2 || !strings.Contains(got, "\n"+row+"\n") || !strings.Contains(got, "\n    "+code+"\n") {
		t.Errorf("broken:\n%s", got)
	}
	for line := range strings.Lines(got) {
		if strings.Contains(line, "prose") && ansi.StringWidth(strings.TrimRight(line, "\n")) > 40 {
			t.Errorf("not wrapped: %q", line)
		}
	}
}

func TestPassageIsCutBetweenWords(t *testing.T) {
	a := &app{io: IO{Width: 80, Now: today}, style: theme.New(colorprofile.NoTTY)}
	content := strings.Repeat("incomprehensibilities ", 60)
	for room := 24; room < 90; room++ {
		lines := a.passage(wire.SearchResult{Content: content}, nil, room)
		last := strings.TrimSuffix(lines[len(lines)-1], " …")
		for _, word := range strings.Fields(last) {
			if word != "incomprehensibilities" {
				t.Fatalf("room %d: cut inside of a word: %q", room, last)
			}
		}
	}
	lines := a.passage(wire.SearchResult{Content: "|---|:--:|\n| a | b |\n"}, nil, 40)
	if len(lines) != 1 || lines[0] != "a · b" {
		t.Errorf("%q", lines)
	}
}

func TestCompletionOfTypedTagsAndOfTheLibrary(t *testing.T) {
	s := newOnyx(t)
	match := ""
	s.on("/query/valid-tags", func(w http.ResponseWriter, r *http.Request) {
		match = r.URL.Query().Get("match_pattern")
		body(http.StatusOK, fixture(t, "valid-tags.json"))(w, r)
	})
	run(t, testDoors(s.URL), terminal{}, "__complete", "search", "x", "--tag", "te")
	if match != "te" {
		t.Errorf("the server was asked for %q", match)
	}
	got := run(t, localDoors(s.URL), terminal{}, "__complete", "remove", "--set", "")
	if !strings.Contains(got.out, "Engineering handbook") {
		t.Errorf("stdout %s", got.out)
	}
	got = run(t, localDoors(s.URL), terminal{}, "__complete", "add", "--as", "sl")
	if !strings.Contains(got.out, "slack") || strings.Contains(got.out, "mock_connector") {
		t.Errorf("stdout %s", got.out)
	}
}
