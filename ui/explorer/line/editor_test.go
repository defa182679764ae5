package line_test

import (
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/ui/explorer/line"
)

func typed(e *line.Editor, text string) {
	for _, r := range text {
		e.Insert(string(r))
	}
}

// at makes an editor of a text in which | is the cursor.
func at(marked string) *line.Editor {
	before, after, _ := strings.Cut(marked, "|")
	e := &line.Editor{}
	e.SetText(before + after)
	moveTo(e, len(before))
	return e
}

// moveTo puts the cursor at an offset, or behind the cluster that the offset is inside of.
func moveTo(e *line.Editor, offset int) {
	for e.Home(); e.Cursor() < min(offset, len(e.Text())); {
		e.Right()
	}
}

func show(e *line.Editor) string { return e.Text()[:e.Cursor()] + "|" + e.Text()[e.Cursor():] }

func TestKeys(t *testing.T) {
	t.Parallel()
	type edit = func(*line.Editor)
	for _, test := range []struct {
		name       string
		from, want string
		edit       edit
	}{
		{"left", "ab|", "a|b", (*line.Editor).Left},
		{"left over a family", "a👩‍👩‍👧|", "a|👩‍👩‍👧", (*line.Editor).Left},
		{"left over an accent", "e\u0301|", "|e\u0301", (*line.Editor).Left},
		{"left at the start", "|ab", "|ab", (*line.Editor).Left},
		{"right over a flag", "|🇩🇪🇫🇷", "🇩🇪|🇫🇷", (*line.Editor).Right},
		{"right at the end", "ab|", "ab|", (*line.Editor).Right},
		{"word left", "foo-bar baz|", "foo-bar |baz", (*line.Editor).WordLeft},
		{"word left within a compound", "foo-bar |baz", "foo-|bar baz", (*line.Editor).WordLeft},
		{"word left over marks only", " -- |", "| -- ", (*line.Editor).WordLeft},
		{"word right", "|foo-bar baz", "foo|-bar baz", (*line.Editor).WordRight},
		{"word right from between", "foo|-bar baz", "foo-bar| baz", (*line.Editor).WordRight},
		{"word right over umlauts", "|für 2026", "für| 2026", (*line.Editor).WordRight},
		{"home", "ab|c", "|abc", (*line.Editor).Home},
		{"end", "a|bc", "abc|", (*line.Editor).End},
		{"delete back", "ab|c", "a|c", (*line.Editor).DeleteBack},
		{"delete back a heart", "a❤️|c", "a|c", (*line.Editor).DeleteBack},
		{"delete forward", "a|bc", "a|c", (*line.Editor).DeleteForward},
		{"delete to space", "see foo-bar|", "see |", (*line.Editor).DeleteWordBack},
		{"delete to space before spaces", "see foo-bar  |x", "see |x", (*line.Editor).DeleteWordBack},
		{"delete word", "see foo-bar|", "see foo-|", (*line.Editor).DeleteWordBackAlt},
		{"delete word forward", "|foo-bar", "|-bar", (*line.Editor).DeleteWordForward},
		{"kill to end", "ab|cd", "ab|", (*line.Editor).KillToEnd},
		{"kill to start", "ab|cd", "|cd", (*line.Editor).KillToStart},
		{"transpose", "a|bc", "ba|c", (*line.Editor).Transpose},
		{"transpose at the end", "abc|", "acb|", (*line.Editor).Transpose},
		{"transpose at the start", "|abc", "|abc", (*line.Editor).Transpose},
		{"transpose one", "a|", "a|", (*line.Editor).Transpose},
		{"clear", "a|b", "|", (*line.Editor).Clear},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := at(test.from)
			version := e.Version()
			test.edit(e)
			if got := show(e); got != test.want {
				t.Errorf("%q became %q, not %q", test.from, got, test.want)
			}
			if changed := test.from != test.want; changed != (e.Version() != version) {
				t.Error("the version tells another story")
			}
			text := e.Text()
			if text != strings.ReplaceAll(test.from, "|", "") {
				e.Undo()
				if got := show(e); got != test.from {
					t.Errorf("undone: %q, not %q", got, test.from)
				}
				e.Redo()
				if e.Text() != text {
					t.Errorf("redone: %q, not %q", e.Text(), text)
				}
			}
		})
	}
}

func TestInsertFlattens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ paste, want string }{
		{"two\r\nlines", "two lines"},
		{"a\n\n\t  b\tc", "a b c"},
		{"a  b", "a  b"},
		{"\x1b[31mred\x1b[0m \x1b]0;title\x07x", "red x"},
		{"a\x00b\x7fc\u0085d", "abc d"},
		{"\u202eevil\u2066\ufeff\u200b", "evil"},
		{"bad\xff\xfeutf", "bad\ufffdutf"},
		{"👩‍💻 می\u200cخواهم", "👩‍💻 می\u200cخواهم"},
		{"a\u2028b", "a b"},
	} {
		var e line.Editor
		e.Paste(test.paste)
		if e.Text() != test.want {
			t.Errorf("%q became %q, not %q", test.paste, e.Text(), test.want)
		}
	}
}

func TestInsertKeepsTheCursorBetweenClusters(t *testing.T) {
	t.Parallel()
	e := at("🇩|")
	e.Home()
	e.Insert("🇫")
	if got := show(e); got != "🇫🇩|" {
		t.Errorf("two letters that make a flag: %q", got)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	e := line.Editor{Limit: 5}
	e.Insert("abc")
	e.Paste("d👩‍💻f")
	if e.Text() != "abcd" {
		t.Errorf("cut to %q, though an emoji is cut whole", e.Text())
	}
	e.Insert("ef")
	if e.Insert("g"); e.Text() != "abcde" {
		t.Errorf("%q is longer than it may be", e.Text())
	}
	e.SetText("123456")
	if e.Text() != "12345" {
		t.Errorf("set to %q", e.Text())
	}
	e.Clear()
	e.Paste("a" + strings.Repeat("\u0301", 10))
	if n := utf8.RuneCountInString(e.Text()); n != 5 {
		t.Errorf("a cluster without end was cut to %d runes", n)
	}
}

func TestHugePasteIsCutAtOnce(t *testing.T) {
	for _, unit := range []string{"word ", "\n", "\x1b]", "\u0301", "\xff", "\x1b[31m漢", "👩\u200d"} {
		paste := strings.Repeat(unit, 100<<20/len(unit))
		var e line.Editor
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e.Paste(paste)
		runtime.ReadMemStats(&after)
		if n := utf8.RuneCountInString(e.Text()); n > 2048 {
			t.Errorf("%q: %d runes", unit, n)
		}
		if worked := after.TotalAlloc - before.TotalAlloc; worked > 8<<20 {
			t.Errorf("%q: %d bytes were worked on", unit, worked)
		}
	}
}

func TestTypingIsUndoneByWord(t *testing.T) {
	t.Parallel()
	var e line.Editor
	typed(&e, "roll back a")
	var steps []string
	for range 3 {
		e.Undo()
		steps = append(steps, e.Text())
	}
	if got := strings.Join(steps, "/"); got != "roll back /roll /" {
		t.Errorf("undone as %q", got)
	}
	for range 4 {
		e.Redo()
	}
	if e.Text() != "roll back a" {
		t.Errorf("redone to %q", e.Text())
	}
}

func TestErasingInARowIsOneStep(t *testing.T) {
	t.Parallel()
	e := at("abcdef|")
	e.DeleteBack()
	e.DeleteBack()
	e.Undo()
	if show(e) != "abcdef|" {
		t.Errorf("undone to %q", show(e))
	}
}

func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*line.Editor){
		"clear":    (*line.Editor).Clear,
		"set text": func(e *line.Editor) { e.SetText("other") },
		"kill":     (*line.Editor).KillToStart,
		"replace":  func(e *line.Editor) { e.Replace("other", 0, []string{"b"}) },
	} {
		var e line.Editor
		e.Replace("", 0, []string{"a"})
		typed(&e, "precious words")
		lose(&e)
		e.Undo()
		if show(&e) != "precious words|" || strings.Join(e.Attached(), ",") != "a" {
			t.Errorf("%s: undone to %q with %q", name, show(&e), e.Attached())
		}
	}
}

func TestYankGivesBackWhatWasKilledInARow(t *testing.T) {
	t.Parallel()
	e := at("one two three| four")
	e.DeleteWordBack()
	e.DeleteWordBack()
	e.KillToEnd()
	if show(e) != "one |" {
		t.Fatalf("left %q", show(e))
	}
	e.Yank()
	if show(e) != "one two three four|" {
		t.Errorf("yanked to %q", show(e))
	}
}

func TestUndoMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var e line.Editor
	for i := range 2000 {
		e.SetText(strings.Repeat("x", 1000+i%2))
	}
	steps := 0
	for version := e.Version() - 1; e.Version() != version; steps++ {
		version = e.Version()
		e.Undo()
	}
	if steps == 0 || steps > 500 {
		t.Errorf("%d steps were kept", steps)
	}
}
