package client

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "Roll back — 戻す", "Roll back — 戻す"},
		{"empty", "", ""},
		{"lines and tabs stay", "a\tb\nc", "a\tb\nc"},
		{"carriage return before a line feed", "a\r\nb", "a\nb"},
		{"lone carriage return", "shown\rgone", "showngone"},
		{"controls", "a\x00b\x07c\x08d\x7fe", "abcde"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"private CSI", "\x1b[?2004hpaste\x1b[?25l", "paste"},
		{"CSI with intermediate", "\x1b[2 qcursor", "cursor"},
		{"CSI cut by text", "\x1b[31é", "é"},
		{"CSI at the end", "text\x1b[31", "text"},
		{"C1 CSI", "a\u009b31mb", "ab"},
		{"title by BEL", "\x1b]0;owned\x07Title", "Title"},
		{"title by ST", "\x1b]0;owned\x1b\\Title", "Title"},
		{"title by C1 ST", "\u009d0;owned\u009cTitle", "Title"},
		{"hyperlink", "\x1b]8;;file:///etc/passwd\x07link\x1b]8;;\x07", "link"},
		{"clipboard", "a\x1b]52;c;cm0gLXJm\x07b", "ab"},
		{"title that never ends", "\x1b]0;all this text", "0;all this text"},
		{"title cut by a sequence", "\x1b]0;owned\x1b[31mred", "red"},
		{"title cancelled", "\x1b]0;owned\x18text", "text"},
		{"DCS", "\x1bPq#0;2;0;0;0\x1b\\after", "after"},
		{"bell does not end DCS", "\x1bPabc\x07def\x1b\\after", "after"},
		{"APC, PM, SOS", "\x1b_a\x1b\\1\x1b^b\x1b\\2\x1bXc\x1b\\3", "123"},
		{"two characters", "\x1b7a\x1b8b\x1bcc", "abc"},
		{"character set", "\x1b(0lqk\x1b(B", "lqk"},
		{"escape alone", "\x1b", ""},
		{"escape before text", "\x1bé", "é"},
		{"two escapes", "\x1b\x1b[31mx", "x"},
		{"bidi", "Title\u202e.txt.exe\u202c \u2066a\u2069 \u200e\u200f\u061c", "Title.txt.exe a "},
		{"byte order mark", "\ufeffa\ufeff", "a"},
		{"separators", "a\u2028b\u2029c", "a\nb\nc"},
		{"tags", "a\U000e0001\U000e0061\U000e007fb", "ab"},
		{"annotation", "a\ufff9b\ufffac\ufffbd", "abcd"},
		{"emoji keep their joiners", "👩\u200d🚀 ❤\ufe0f", "👩\u200d🚀 ❤\ufe0f"},
		{"scripts keep their joiners", "\u0915\u094d\u200c\u0937", "\u0915\u094d\u200c\u0937"},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"bytes do not join", "\xe2\x1b[m\x80\xae", "\ufffd\ufffd\ufffd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Sanitize(test.in); got != test.want {
				t.Errorf("Sanitize(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestSanitizeLongControlStringsAreLinear(t *testing.T) {
	t.Parallel()
	for _, introducer := range []string{"\x1b]", "\u009d", "\x1bP", "\x1b[", "\x1b", "\u009b"} {
		text := strings.Repeat(introducer, 1<<17)
		if got := Sanitize(text); got != "" {
			t.Errorf("%q repeated leaves %d bytes", introducer, len(got))
		}
	}
}

func TestSanitizeSpans(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		in    string
		spans []wire.Span
		want  []wire.Span
	}{
		{"unchanged", "roll back", []wire.Span{{0, 4}, {5, 9}}, []wire.Span{{0, 4}, {5, 9}}},
		{"after a sequence", "\x1b[31mred\x1b[0m", []wire.Span{{5, 8}}, []wire.Span{{0, 3}}},
		{"around a sequence", "a\x1b[31mb", []wire.Span{{0, 7}}, []wire.Span{{0, 2}}},
		{"inside a sequence", "a\x1b[31mb", []wire.Span{{2, 4}}, []wire.Span{}},
		{"beginning inside a sequence", "a\x1b[31mb", []wire.Span{{3, 7}}, []wire.Span{{1, 2}}},
		{"half a character", "aéb", []wire.Span{{2, 3}}, []wire.Span{{1, 3}}},
		{"outside", "abc", []wire.Span{{-5, 1}, {2, 99}, {7, 9}}, []wire.Span{{0, 1}, {2, 3}}},
		{"backwards and empty", "abc", []wire.Span{{2, 1}, {1, 1}}, []wire.Span{}},
		{"overlapping, unsorted", "abcdef", []wire.Span{{3, 5}, {0, 2}, {1, 4}}, []wire.Span{{0, 5}}},
		{"before an invalid byte", "ab\xae", []wire.Span{{1, 2}}, []wire.Span{{1, 2}}},
		{"replaced", "a\xffb", []wire.Span{{1, 2}}, []wire.Span{{1, 4}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, got := SanitizeSpans(test.in, test.spans...); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff'
	})
}

func FuzzSanitize(f *testing.F) {
	f.Add("\x1b]0;a\x07b\u202ec\xff", 1, 9)
	f.Add("plain é text", 6, 8)
	f.Add("\x1b[31mred\x1b[0m\r\n", 0, 7)
	f.Add("\u009d8;;x\u009cy\x1bPz", 2, 5)
	f.Fuzz(func(t *testing.T, s string, start, stop int) {
		clean, spans := SanitizeSpans(s, wire.Span{start, stop}, wire.Span{stop, start}, wire.Span{start / 2, stop})
		if clean != Sanitize(s) {
			t.Fatal("spans change the text")
		}
		if !utf8.ValidString(clean) || hasControl(clean) {
			t.Fatalf("not clean: %q", clean)
		}
		if again := Sanitize(clean); again != clean {
			t.Fatalf("not idempotent: %q, then %q", clean, again)
		}
		if line := sanitizeLine(s); strings.ContainsAny(line, "\n\t") {
			t.Fatalf("more than a line: %q", line)
		}
		checkSpans(t, clean, spans)
		checkMarked(t, s, start, stop)
	})
}

// checkSpans holds what every list of spans promises.
func checkSpans(t *testing.T, text string, spans []wire.Span) {
	t.Helper()
	last := 0
	for i, span := range spans {
		if span[0] < last || span[0] >= span[1] || span[1] > len(text) || i > 0 && span[0] == last {
			t.Fatalf("spans %v of %d bytes", spans, len(text))
		}
		if !utf8.RuneStart(text[span[0]]) || span[1] < len(text) && !utf8.RuneStart(text[span[1]]) {
			t.Fatalf("span %v cuts a character of %q", span, text)
		}
		last = span[1]
	}
}

// checkMarked puts visible marks around the range before the text is sanitised: afterwards the same text stands
// between them. It says nothing of marks that would fall inside a sequence or a character, which they would break.
func checkMarked(t *testing.T, s string, start, stop int) {
	t.Helper()
	const open, shut = "\ue000", "\ue001"
	if start < 0 || start >= stop || stop > len(s) || strings.Contains(s, open) || strings.Contains(s, shut) {
		return
	}
	marked := Sanitize(s[:start] + open + s[start:stop] + shut + s[stop:])
	clean, spans := SanitizeSpans(s, wire.Span{start, stop})
	from, to := strings.Index(marked, open), strings.Index(marked, shut)
	if from < 0 || to < 0 || strings.NewReplacer(open, "", shut, "").Replace(marked) != clean {
		return
	}
	want := marked[from+len(open) : to]
	got := ""
	if len(spans) > 0 {
		got = clean[spans[0][0]:spans[0][1]]
	}
	if got != want {
		t.Fatalf("%q [%d,%d) marks %q, want %q", s, start, stop, got, want)
	}
}

func TestSanitizeValueReachesEveryText(t *testing.T) {
	t.Parallel()
	const bad = "a\x1b[31mb\u202ec\x07\nd"
	for _, into := range []any{
		new(wire.SearchResponse), new(wire.SearchEvent), new(wire.Me), new(wire.Version), new(wire.Status),
		new(wire.FullPersona), new(wire.DocumentSet), new(wire.ConnectorStatus), new(wire.ValidTags),
		new(wire.DocumentChunks), new(wire.ChunkInfo), new(wire.Suggestions), new(wire.FacetCounts),
		new(wire.LibraryEvent), new(wire.LibraryStatus), new(wire.NewAccessToken), new(wire.IngestionResponse),
	} {
		value := reflect.ValueOf(into).Elem()
		fill(value, bad, 0)
		sanitizeValue(into, true)
		eachText(value, value.Type().String(), func(path, text string) {
			if hasControl(text) || strings.Contains(text, "[31m") {
				t.Errorf("%s is still %q", path, text)
			}
		})
	}
}

// fill puts a text everywhere that a text fits.
func fill(v reflect.Value, text string, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{text: []any{text, 1.5, nil, map[string]any{text: text}}}))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), text, depth+1)
		fill(v.Index(1), text, depth+1)
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(element, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text, depth+1)
			}
		}
	}
}

// eachText visits every text within a value.
func eachText(v reflect.Value, path string, visit func(path, text string)) {
	switch v.Kind() {
	case reflect.String:
		visit(path, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachText(v.Elem(), path, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachText(v.Index(i), path+"[]", visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			eachText(key, path+" key", visit)
			eachText(v.MapIndex(key), path+"{}", visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachText(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
			}
		}
	}
}

func TestLinksAndDates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		link        string
		kept, local bool
	}{
		{"https://wiki.acme.example/a", true, true},
		{"HTTP://wiki.acme.example", true, true},
		{"mailto:jo@acme.example", true, true},
		{"file:///home/jo/a.md", false, true},
		{"javascript:alert(1)", false, false},
		{"java\x1b[mscript:alert(1)", false, false},
		{"data:text/html,x", false, false},
		{"vscode://file/x", false, false},
		{"https:///nohost", false, false},
		{"/relative", false, false},
		{"", false, false},
		{"http://a b:x/%zz", false, false},
	}
	for _, test := range tests {
		for _, local := range []bool{false, true} {
			link, date := test.link, "yesterday"
			result := wire.SearchResult{Link: &link, UpdatedAt: &date}
			sanitizeValue(&result, local)
			want := test.kept
			if local {
				want = test.local
			}
			if (result.Link != nil) != want {
				t.Errorf("link %q kept: %v, local %v", test.link, result.Link != nil, local)
			}
			if result.UpdatedAt != nil {
				t.Error("an unreadable date stays")
			}
		}
	}
}
