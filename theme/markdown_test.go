package theme

import (
	"strings"
	"sync"
	"testing"

	"charm.land/glamour/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

func rendered(t testing.TB, th Theme, markdown string) string {
	t.Helper()
	renderer, err := glamour.NewTermRenderer(
		glamour.WithStyles(th.Glamour()), glamour.WithChromaFormatter(th.ChromaFormatter()), glamour.WithWordWrap(80))
	if err != nil {
		t.Fatal(err)
	}
	out, err := renderer.Render(markdown)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const codeSample = "```go\n// rollback undoes a release\nfunc rollback(build int) error {\n\treturn fmt.Errorf(\"no build %d\", 42)\n}\n```\n"

const everything = "# Rolling back\n\nSome *emphasis*, **weight**, ~~gone~~, `inline code`.\n\n## When\n\n> quoted text\n> of two lines\n\n" +
	"- one\n- two\n  - nested\n\n1. first\n2. second\n\n- [x] done\n- [ ] open\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" +
	"[a link](https://example.com/page) and ![a picture](https://example.com/p.png)\n\n---\n\n" + codeSample

func TestEachLookHasItsOwnCode(t *testing.T) {
	t.Parallel()
	first := map[string]string{}
	for _, s := range screens() {
		first[s.theme.Name] = rendered(t, s.theme, codeSample)
		if !strings.Contains(ansi.Strip(first[s.theme.Name]), "func rollback(build int) error {") {
			t.Errorf("%s loses text: %q", s.theme.Name, first[s.theme.Name])
		}
	}
	if len(first) != len(screens()) {
		t.Fatalf("names repeat: %d of %d", len(first), len(screens()))
	}
	if first["dark"] == first["light"] || first["dark"] == first["contrast-dark"] || first["dark"] == first["ansi16"] {
		t.Error("looks share their colours of code")
	}
	for name, want := range map[string]string{"dark": "38;2;201;160;236", "light": "38;2;123;47;168", "ansi16": "[35m", "dark-256": "38;5;"} {
		if !strings.Contains(first[name], want) {
			t.Errorf("%s: no %s in %q", name, want, first[name])
		}
	}
	var group sync.WaitGroup
	for range 4 {
		for _, s := range screens() {
			group.Go(func() {
				if again := rendered(t, s.theme, codeSample); again != first[s.theme.Name] {
					t.Errorf("%s looks different beside others: %q", s.theme.Name, again)
				}
			})
		}
	}
	group.Wait()
}

func TestMarkdownWithoutColours(t *testing.T) {
	t.Parallel()
	mono := ForScreen(Options{Profile: colorprofile.ASCII})
	got := rendered(t, mono, everything)
	if found := colourSequence().FindString(got); found != "" {
		t.Errorf("a colour %q in %q", found, got)
	}
	if !strings.Contains(got, "\x1b[") || !strings.Contains(got, "`inline code`") {
		t.Errorf("nothing stands out in %q", got)
	}
}

func TestMarkdownKeepsItsText(t *testing.T) {
	t.Parallel()
	for _, s := range screens() {
		plain := ansi.Strip(rendered(t, s.theme, everything))
		for _, want := range []string{
			"Rolling back", "When", "emphasis", "inline code", QuoteBar + " quoted text", "• one", "1. first", "[x] done", "[ ] open", "a link",
			"────────", "return fmt.Errorf",
		} {
			if !strings.Contains(plain, want) {
				t.Errorf("%s: no %q in\n%s", s.theme.Name, want, plain)
			}
		}
		if strings.HasPrefix(plain, " ") {
			t.Errorf("%s: a margin before %q", s.theme.Name, plain[:20])
		}
	}
}

// prose is about 4 KB of paragraphs as people write them.
func prose() string {
	paragraph := "Roll back when the error budget of the last hour is spent, or when **two** pages name the same release. " +
		"The last green build is in the `deploy` channel; whoever rolls back says so there first. "
	return "## When to roll back\n\n" + strings.Repeat(strings.Repeat(paragraph, 3)+"\n\n", 7)
}

func TestProseStaysLean(t *testing.T) {
	t.Parallel()
	for _, s := range screens() {
		in := prose()
		if out := rendered(t, s.theme, in); len(in) < 4000 || len(out) > 20_000 {
			t.Errorf("%s: %d bytes became %d", s.theme.Name, len(in), len(out))
		}
	}
}

func BenchmarkProse(b *testing.B) {
	th, in := ForScreen(Options{Mode: "dark", Profile: colorprofile.TrueColor}), prose()
	for b.Loop() {
		rendered(b, th, in)
	}
}

func BenchmarkForScreen(b *testing.B) {
	for b.Loop() {
		ForScreen(Options{Mode: "dark", Profile: colorprofile.TrueColor})
	}
}

func TestNumbersOfLinks(t *testing.T) {
	t.Parallel()
	for number, want := range map[int][2]string{1: {"¹", "[1]"}, 20: {"²⁰", "[20]"}} {
		if got := [2]string{ForScreen(Options{}).LinkNumber(number), ForScreen(Options{ASCII: true}).LinkNumber(number)}; got != want {
			t.Errorf("%d: %q, want %q", number, got, want)
		}
	}
}
