package querybox_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/internal/testkit/longtest"
	"quarry/ui/explorer/querybox"
)

func now() time.Time { return time.Date(2026, 10, 5, 12, 0, 0, 0, time.UTC) }

func typed(b *querybox.Box, text string) {
	for _, r := range text {
		b.Insert(string(r))
	}
}

// show is the text with its cursor, and the chips behind it in brackets.
func show(b *querybox.Box) string {
	out := b.Text()[:b.Cursor()] + "|" + b.Text()[b.Cursor():]
	for _, chip := range b.Chips() {
		out += " [" + chip.Raw + "]"
	}
	return out
}

func want(t *testing.T, b *querybox.Box, want string) {
	t.Helper()
	if got := show(b); got != want {
		t.Fatalf("it shows %q, not %q", got, want)
	}
}

func TestTypedFiltersBecomeChips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ typed, want string }{
		{"how do we", "how do we|"},
		{"source:slack", "source:slack|"},
		{"source:slack ", "| [source:slack]"},
		{"source:slack source:github roll", "roll| [source:slack] [source:github]"},
		{"roll source:slack,github back", "roll back| [source:slack,github]"},
		{`agent:"Eng te`, `agent:"Eng te|`},
		{`agent:"Eng team"`, `agent:"Eng team"|`},
		{`agent:"Eng team" x`, `x| [agent:"Eng team"]`},
		{`agent:"Eng source:slack `, `agent:"Eng source:slack |`},
		{`"exact source:slack phrase`, `"exact source:slack phrase|`},
		{`"exact source:slack phrase" `, `"exact source:slack phrase" |`},
		{`5" source:slack x`, `5" x| [source:slack]`},
		{"source: since:2026- within:30 x", "source: since:2026- within:30 x|"},
		{"http://source:slack x", "http://source:slack x|"},
		{"-source:slack x", "x| [-source:slack]"},
		{"-since:2026-01-01 x", "-since:2026-01-01 x|"},
		{"SOURCE:Slack x", "x| [SOURCE:Slack]"},
		{"within:90d ", "| [within:90d]"},
		{"tag:team=infra ", "| [tag:team=infra]"},
	} {
		b := querybox.Box{Now: now}
		typed(&b, test.typed)
		if got := show(&b); got != test.want {
			t.Errorf("%q typed shows %q, not %q", test.typed, got, test.want)
		}
	}
}

func TestTypingInTheMiddle(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "roll back")
	for range len("back") {
		b.Left()
	}
	typed(&b, "source:slack")
	want(t, &b, "roll source:slack|back")
	typed(&b, " ")
	want(t, &b, "roll |back [source:slack]")
	b.Undo()
	want(t, &b, "roll source:slack|back")
	b.Redo()
	want(t, &b, "roll |back [source:slack]")
}

func TestFilterUnderTheCursorStaysText(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "sorce foo")
	b.Home()
	typed(&b, "author:j")
	want(t, &b, "author:j|sorce foo")
	b.DeleteWordForward()
	want(t, &b, "author:j| foo")
	typed(&b, "o")
	want(t, &b, "author:jo| foo")
	b.End()
	typed(&b, "d")
	want(t, &b, "food| [author:jo]")
}

func TestPastedFiltersBecomeChips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ paste, want string }{
		{"source:slack", "| [source:slack]"},
		{"roll back source:slack\nwithin:30d", "roll back | [source:slack] [within:30d]"},
		{`agent:"Eng team" deploys`, `deploys| [agent:"Eng team"]`},
		{"source:", "source:|"},
	} {
		b := querybox.Box{Now: now}
		b.Paste(test.paste)
		want(t, &b, test.want)
		b.Undo()
		want(t, &b, "|")
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "roll back source:slack")
	b.FinishFilters()
	b.FinishFilters()
	want(t, &b, "roll back| [source:slack]")
	b.Undo()
	want(t, &b, "roll back source:slack|")
}

func TestConversionIsOneStepBackToTheTypedText(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "roll source:slack ")
	want(t, &b, "roll | [source:slack]")
	b.Undo()
	want(t, &b, "roll source:slack|")
	b.Undo()
	want(t, &b, "roll |")
	b.Redo()
	b.Redo()
	want(t, &b, "roll | [source:slack]")
}

func TestDeletingAtTheBeginning(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "source:slack source:github roll")
	b.Home()
	b.DeleteBack()
	want(t, &b, "source:github| roll [source:slack]")
	b.DeleteBack()
	want(t, &b, "source:githu| roll [source:slack]")
	b.Home()
	b.DeleteWordBack()
	want(t, &b, "|source:githu roll")
	b.DeleteBack()
	b.DeleteWordBack()
	want(t, &b, "|source:githu roll")
	b.Undo()
	b.Undo()
	b.Undo()
	want(t, &b, "|roll [source:slack] [source:github]")
}

// repeat presses a key until it changes nothing.
func repeat(b *querybox.Box, key func()) {
	for version := b.Version() + 1; version != b.Version(); {
		version = b.Version()
		key()
	}
}

// moveTo puts the cursor at an offset, or behind the cluster that the offset is inside of.
func moveTo(b *querybox.Box, offset int) {
	for b.Home(); b.Cursor() < min(offset, len(b.Text())); {
		b.Right()
	}
}

// selected is the chip in brackets, which keys act on; empty where there is none.
func selected(b *querybox.Box) string {
	_, rest, _ := strings.Cut(ansi.Strip(b.ChipsView(200, screenTheme(), "")), "[")
	chip, _, _ := strings.Cut(rest, " ✕")
	return chip
}

func TestSelectedChips(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "source:slack source:github within:30d ")
	b.Left()
	b.Left()
	if got := selected(&b); got != "source: github" {
		t.Fatalf("%q is selected", got)
	}
	b.DeleteBack()
	want(t, &b, "| [source:slack] [within:30d]")
	if got := selected(&b); got != "last 30 days" {
		t.Fatalf("then %q is selected", got)
	}
	b.Right()
	if selected(&b) != "" {
		t.Fatal("right of the last chip is the text")
	}
	b.Left()
	typed(&b, "x")
	if selected(&b) != "" {
		t.Error("typing goes into the text")
	}
	want(t, &b, "x| [source:slack] [within:30d]")
}

func TestRemoveSetAndIgnoreFilters(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	b.SetQuery("roll back source:slack author:bob since:2026-01-01")
	b.SetIgnored([]string{"author"})
	for _, chip := range b.Chips() {
		if chip.Ignored != (chip.Field == "author") {
			t.Errorf("%s is ignored: %v", chip.Raw, chip.Ignored)
		}
	}
	b.SetFilters([]string{"source"}, []string{"source:github", "source:jira"})
	want(t, &b, "roll back| [source:github] [source:jira] [author:bob] [since:2026-01-01]")
	b.SetFilters([]string{"type"}, []string{"type:pdf"})
	b.RemoveChip(1)
	want(t, &b, "roll back| [source:github] [author:bob] [since:2026-01-01] [type:pdf]")
	b.RemoveChip(-1)
	b.RemoveChip(4)
	want(t, &b, "roll back| [source:github] [author:bob] [since:2026-01-01] [type:pdf]")
	b.Undo()
	b.Undo()
	b.Undo()
	want(t, &b, "roll back| [source:slack] [author:bob] [since:2026-01-01]")
	b.SetQuery("")
	want(t, &b, "|")
	b.Undo()
	want(t, &b, "roll back| [source:slack] [author:bob] [since:2026-01-01]")
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "source:slack roll")
	state := b.Snapshot()
	b.SetQuery("other")
	b.Restore(state)
	want(t, &b, "roll| [source:slack]")
	b.Undo()
	want(t, &b, "other|")
}

func TestInstantQuery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ typed, want string }{
		{"roll back", "roll back"},
		{"roll ", "roll "},
		{"sour", "sour"},
		{"roll source:", "roll "},
		{"roll source:sla", "roll "},
		{"roll source:slack", "roll source:slack"},
		{"roll source:slack,git", "roll source:slack"},
		{"roll source:slack,", "roll source:slack,"},
		{`roll source:slack,"google dr`, "roll source:slack"},
		{`roll source:slack,"google drive"`, `roll source:slack,"google drive"`},
		{"roll since:2026-", "roll "},
		{"roll since:2026", "roll "},
		{"roll since:2026-01", "roll "},
		{"roll since:2026-01 ", "since:2026-01 roll "},
		{"roll since:2026-01-01", "roll since:2026-01-01"},
		{"roll within:3", "roll "},
		{"roll within:30d", "roll within:30d"},
		{`roll agent:"Eng te`, "roll "},
		{"roll author:bo", "roll "},
		{`roll author:"bo"`, `roll author:"bo"`},
		{"roll author:bob,al", "roll author:bob"},
		{"roll tag:team=", "roll "},
		{"source: roll", "source: roll"},
		{"source:slack roll", "source:slack roll"},
		{"source:slack roll source:gi", "source:slack roll "},
		{"source:slack ", "source:slack"},
		{"see http://a", "see http://a"},
		{`"exact source:sl`, `"exact `},
	} {
		b := querybox.Box{Now: now}
		typed(&b, test.typed)
		if got := b.InstantQuery(); got != test.want {
			t.Errorf("%q is searched as %q, not %q", test.typed, got, test.want)
		}
	}
	b := querybox.Box{Now: now}
	typed(&b, "source: roll")
	moveTo(&b, len("source:"))
	if got := b.InstantQuery(); got != "roll" {
		t.Errorf("with the cursor at the filter: %q", got)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typed       string
		field, text string
		complete    string
		want        string
	}{
		{"roll sou", "", "sou", "source:", "roll source:|"},
		{"source:sl", "source", "sl", "slack ", "| [source:slack]"},
		{"source:slack,gi", "source", "gi", "github", "source:slack,github|"},
		{`agent:"Eng te`, "agent", "Eng te", `"Eng team" `, `| [agent:"Eng team"]`},
		{"source:", "source", "", "slack", "source:slack|"},
	} {
		b := querybox.Box{Now: now}
		typed(&b, test.typed)
		partial, ok := b.Typing()
		if !ok || partial.Field != test.field || partial.Text != test.text {
			t.Errorf("%q: %+v (%v)", test.typed, partial, ok)
		}
		b.Complete(test.complete)
		if got := show(&b); got != test.want {
			t.Errorf("%q completed shows %q, not %q", test.typed, got, test.want)
		}
		b.Undo()
		if b.Text() != test.typed {
			t.Errorf("%q undone is %q", test.typed, b.Text())
		}
	}
	b := querybox.Box{Now: now}
	_, ok := b.Typing()
	if b.Complete("x"); ok || b.Text() != "" {
		t.Error("there is nothing to complete")
	}
}

func TestQuotesAreThoseOfTheQueryLanguage(t *testing.T) {
	t.Parallel()
	for r := rune(' '); r < 0x10000; r++ {
		if r >= 0x3100 && r < 0xff00 || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			continue
		}
		parsed := client.ParseQuery(string(r)+"a source:slack "+string(r), now())
		b := querybox.Box{Now: now}
		b.Insert(string(r) + "a source:slack ")
		if quote := len(parsed.Phrases) > 0; quote != (len(b.Chips()) == 0) {
			t.Errorf("%q: ParseQuery takes it for a quotation mark: %v", r, quote)
		}
	}
}

func fragments() []string {
	return []string{"roll", "back", "漢字", "👩‍💻", "-draft", `"exact phrase"`, `"exact source:slack"`, `"open`, `-"no such"`, "-", `"`,
		"source:slack", "source:slack,github", `source:"google drive"`, "source:", "since:2026-01-01", "since:2026-", "until:2026-02-01",
		"within:30d", "within:x", `agent:"Eng team"`, `agent:"Eng`, "set:handbook", "tag:team=infra", "tag:team", "author:bob",
		`author:"J. O"rtiz`, "type:.pdf", "type:.", "foo:bar", `a"b`, `"a"b`, "«x y»", "source:„x y“", "-source:slack", "?"}
}

func anyQuery(random *rand.Rand) string {
	var parts []string
	for range random.IntN(7) {
		parts = append(parts, fragments()[random.IntN(len(fragments()))])
	}
	return strings.Join(parts, strings.Repeat(" ", 1+random.IntN(2)))
}

// meaning is what a query searches for, whatever the order of its parts.
func meaning(text string) map[string]any {
	q := client.ParseQuery(text, now())
	return map[string]any{"text": q.Text, "words": q.Words, "phrases": q.Phrases, "exclude": q.Exclude, "sources": q.Sources,
		"sets": q.DocumentSets, "authors": q.Authors, "types": q.DocumentTypes, "tags": q.Tags, "agent": q.Agent, "since": q.Since, "until": q.Until}
}

func TestQueryMeansWhatWasSet(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Rounds(1000, 10_000)) {
		q := anyQuery(rand.New(rand.NewPCG(seed, 3)))
		b := querybox.Box{Now: now}
		b.SetQuery(q)
		if got := b.Query(); !reflect.DeepEqual(meaning(got), meaning(q)) {
			t.Fatalf("seed %d: %q became %q (%s):\n%v\n%v", seed, q, got, show(&b), meaning(q), meaning(got))
		}
		for _, chip := range b.Chips() {
			if chip.Field == "" || chip.Label == "" {
				t.Fatalf("%q has a chip %+v", q, chip)
			}
		}
		if chips := client.ParseQuery(b.Text(), now()).Chips; len(chips) > 0 {
			t.Fatalf("%q leaves filters in the text %q", q, b.Text())
		}
		again := querybox.Box{Now: now}
		again.SetQuery(b.Query())
		if show(&again) != show(&b) {
			t.Fatalf("%q: once %s, again %s", q, show(&b), show(&again))
		}
	}
}

// letters is what was typed, without spaces and whatever the order.
func letters(texts ...string) string {
	letters := []rune(strings.Join(strings.Fields(strings.Join(texts, " ")), ""))
	slices.Sort(letters)
	return string(letters)
}

func held(b *querybox.Box) string {
	texts := []string{b.Text()}
	for _, chip := range b.Chips() {
		texts = append(texts, chip.Raw)
	}
	return letters(texts...)
}

func TestNothingTypedIsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 4))
		q := anyQuery(random) + strings.Repeat(" ", random.IntN(2))
		b := querybox.Box{Now: now}
		typed(&b, q)
		if held(&b) != letters(q) {
			t.Fatalf("typed %q, it holds %s", q, show(&b))
		}
		if !reflect.DeepEqual(meaning(b.Query()), meaning(q)) {
			t.Fatalf("typed %q, it means %q", q, b.Query())
		}
		b.FinishFilters()
		for b.Cursor() > 0 || len(b.Chips()) > 0 {
			b.Home()
			if len(b.Chips()) == 0 {
				break
			}
			b.DeleteBack()
		}
		if held(&b) != letters(q) {
			t.Fatalf("taken back, %q is %s", q, show(&b))
		}
		final := show(&b)
		repeat(&b, b.Undo)
		want(t, &b, "|")
		repeat(&b, b.Redo)
		if show(&b) != final {
			t.Fatalf("%q redone is %s, not %s", q, show(&b), final)
		}
	}
}
