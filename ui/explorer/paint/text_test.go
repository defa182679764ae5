package paint

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/client/wire"
)

// corpus is text that terminals have trouble with.
func corpus() []string {
	return []string{
		"", " ", "plain words", "  two  spaces  ", "tab\tand\r\nline\rends\n\n", "日本語のテキスト、全角。", "한글 \u1112\u1161\u11ab\u1100\u1173\u11af",
		"☎️ ⚠️ ❤️ 1️⃣", "🇩🇪🇫🇷 🇩", "👨‍👩‍👧‍👦 family", "👍🏽 and 🏽", "❤️‍🔥", "cafe\u0301 é", "\u0301 alone", "שָׁלוֹם עולם", "سَلام می\u200cخواهم",
		"हिन्दी में क्षत्रिय नमस्ते", "বাংলা", "தமிழ் நிகொ", "ไทย น้ำ กำ", "ລາວ ນ້ຳ", "ကျွန်တော်", "សួស្តី", "\u0600\u0661", "\u0d4e\u0d15",
		"a\u200db", "\u200d\u200d", "क्\u200dष", "zero\u200bwidth\u2060joiner\ufeff", "\u202eright\u202c \u2066x\u2069", "soft\u00adhyphen",
		"bad \xff\xfe utf8 \xe6\x97", "\x1b[31mred\x1b[0m \x07", "mark\u2063ers\u2064 here", "\u3000wide\u00a0space", "a" + strings.Repeat("\u0301", 60) + "b",
		"x\u0897y \U0001d165 \u0cb5\u0cf3", "🧑‍💻️", "\u1100\u1100\u1161", "क" + strings.Repeat("\u094d\u0937", 30), "\u115f\u1160\u3164", "🏴\U000e0067\U000e0062\U000e007f",
	}
}

// checkPaintable holds a result to what every widget relies on.
func checkPaintable(t *testing.T, from, got string, oneLine bool) {
	t.Helper()
	if g, w := ansi.StringWidth(got), ansi.StringWidthWc(got); g != w {
		t.Errorf("%+q became %+q: %d columns as clusters, %d added up", from, got, g, w)
	}
	if !utf8.ValidString(got) {
		t.Errorf("%+q became %+q, which is not UTF-8", from, got)
	}
	for _, r := range got {
		switch {
		case r == '\n' && !oneLine, r == nonJoiner, r == zeroSpace:
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r >= 0xfe00 && r <= 0xfe0f, r == 0x2028, r == 0x2029:
			t.Errorf("%+q became %+q, which has %U", from, got, r)
		}
	}
}

func FuzzPaintable(f *testing.F) {
	for _, s := range corpus() {
		f.Add(s)
	}
	f.Add(strings.Join(corpus(), ""))
	f.Add("\xe2\x89 \u200d") // a joiner at the end joins nothing
	f.Add("\u200c\n\ufffd")  // nor does a non-joiner at the start separate
	f.Fuzz(func(t *testing.T, s string) {
		line, text := Line(s), Text(s)
		checkPaintable(t, s, line, true)
		checkPaintable(t, s, text, false)
		if again := Line(line); again != line {
			t.Errorf("Line is not stable: %+q, then %+q", line, again)
		}
		if again := Text(text); again != text {
			t.Errorf("Text is not stable: %+q, then %+q", text, again)
		}
		if strings.Contains(line, "  ") || strings.TrimSpace(line) != line {
			t.Errorf("spaces in %+q", line)
		}
	})
}

func TestPaintableMixes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	tables := []*unicode.RangeTable{
		unicode.Devanagari, unicode.Tamil, unicode.Malayalam, unicode.Thai, unicode.Hangul, unicode.Arabic, unicode.Latin, unicode.Mn,
		unicode.Mc, unicode.Me, unicode.Cf, unicode.So, unicode.Han, unicode.Myanmar, unicode.Tibetan, unicode.Khmer, unicode.Zs, unicode.Cc,
	}
	extra := []rune{joiner, nonJoiner, 0xfe0f, 0xfe0e, 0x1f1e6, 0x1f1ff, 0x1f469, 0x1f3fd, 0x20e3, '1', ' ', '\n', '\t', 0x94d, 0x915}
	pick := func() rune {
		if random.IntN(3) == 0 {
			return extra[random.IntN(len(extra))]
		}
		ranges := tables[random.IntN(len(tables))]
		if len(ranges.R32) > 0 && random.IntN(4) == 0 {
			r := ranges.R32[random.IntN(len(ranges.R32))]
			return rune(r.Lo + uint32(random.IntN(int(r.Hi-r.Lo+1))))
		}
		if len(ranges.R16) == 0 {
			return 'x'
		}
		r := ranges.R16[random.IntN(len(ranges.R16))]
		return rune(int(r.Lo) + random.IntN(int(r.Hi)-int(r.Lo)+1))
	}
	for range 30_000 {
		var s strings.Builder
		for range 1 + random.IntN(12) {
			s.WriteRune(pick())
		}
		checkPaintable(t, s.String(), Line(s.String()), true)
		checkPaintable(t, s.String(), Text(s.String()), false)
		if t.Failed() {
			return
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, line, text string }{
		{"ascii", "plain", "plain", "plain"},
		{"spaces", "  a \t b\n", "a b", "  a      b\n"},
		{"tab stops", "ab\tc\n\tx", "ab c x", "ab  c\n    x"},
		{"tab after wide", "日\tc", "日 c", "日  c"},
		{"line ends", "a\r\nb\rc\u2028d\u0085e", "a b c d e", "a\nb\nc\nd\ne"},
		{"emoji variation", "☎️ on", "☎ on", "☎ on"},
		{"family", "👨‍👩‍👧 x", "👨 x", "👨 x"},
		{"skin", "👍🏽!", "👍!", "👍!"},
		{"flag", "🇩🇪", "🇩🇪", "🇩🇪"},
		{"half a flag", "🇩🇪🇫", "🇩🇪F", "🇩🇪F"},
		{"vowel sign alone", "\tि", "◌\u200bि", "    ◌\u200bि"},
		{"keycap", "1️⃣", "1\u20e3", "1\u20e3"},
		{"accent", "e\u0301", "e\u0301", "e\u0301"},
		{"lone mark", "\u0301", "◌\u0301", "◌\u0301"},
		{"korean letters", "\u1112\u1161\u11ab", "한", "한"},
		{"thai", "น้ำ", "น\u0e4d\u0e49า", "น\u0e4d\u0e49า"},
		{"conjunct", "क्ष", "क्\u200cष", "क्\u200cष"},
		{"vowel sign", "कि", "क\u200bि", "क\u200bि"},
		{"persian", "می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم"},
		{"markers", "a\u2063b\u2064c", "abc", "abc"},
		{"direction", "\u202eabc", "abc", "abc"},
		{"not utf-8", "a\xffb", "a�b", "a�b"},
		{"control after a space", "a \x7f b", "a b", "a  b"},
		{"control among spaces", "a \x01 b", "a b", "a  b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Line(test.in); got != test.line {
				t.Errorf("Line = %+q, want %+q", got, test.line)
			}
			if got := Text(test.in); got != test.text {
				t.Errorf("Text = %+q, want %+q", got, test.text)
			}
		})
	}
}

func TestSpansFollow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		spans    []wire.Span
		want     []string
	}{
		{"plain", "find the word", []wire.Span{{9, 13}, {0, 4}}, []string{"find", "word"}},
		{"after spaces", "  a   word", []wire.Span{{6, 10}}, []string{"word"}},
		{"across spaces", "one \n two x", []wire.Span{{0, 9}}, []string{"one two"}},
		{"inside an emoji", "x 👨‍👩‍👧 y", []wire.Span{{8, 10}}, []string{"👨"}},
		{"a removed character alone", "a\u2063b", []wire.Span{{1, 4}}, nil},
		{"beyond the end", "word", []wire.Span{{2, 99}, {50, 60}, {-5, 1}}, []string{"w", "rd"}},
		{"touching", "abcd", []wire.Span{{0, 2}, {2, 4}}, []string{"abcd"}},
		{"overlapping", "abcd", []wire.Span{{1, 4}, {0, 2}}, []string{"abcd"}},
		{"half a letter", "aéb", []wire.Span{{2, 3}}, []string{"é"}},
		{"reversed", "abc", []wire.Span{{2, 1}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			line, moved := LineSpans(test.in, test.spans)
			var got []string
			for _, span := range moved {
				got = append(got, line[span[0]:span[1]])
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q marked in %q, want %q", got, line, test.want)
			}
		})
	}
}

func FuzzSpans(f *testing.F) {
	for _, s := range corpus() {
		f.Add(s, 1, 4, 3, 9)
	}
	f.Fuzz(func(t *testing.T, s string, a, b, c, d int) {
		for _, edited := range []func(string, []wire.Span) (string, []wire.Span){LineSpans, TextSpans} {
			text, spans := edited(s, []wire.Span{{a, b}, {c, d}})
			if plain, _ := edited(s, nil); plain != text {
				t.Fatalf("%+q with spans, %+q without", text, plain)
			}
			end := -1
			for _, span := range spans {
				if span[0] <= end || span[1] <= span[0] || span[1] > len(text) {
					t.Fatalf("spans %v of %+q", spans, text)
				}
				end = span[1]
				for _, at := range span {
					if !boundary(text, at) {
						t.Fatalf("span %v cuts a character of %+q", span, text)
					}
				}
			}
		}
	})
}

// boundary tells whether an offset lies between two characters as a reader counts them.
func boundary(s string, at int) bool {
	rest := graphemes.FromString(s)
	for end := 0; end <= at; {
		if end == at || !rest.Next() {
			return end == at
		}
		end += len(rest.Value())
	}
	return false
}

func TestKnownWidths(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		want := 0
		switch {
		case isNarrow(r):
			want = 1
		case isWide(r):
			want = 2
		default:
			continue
		}
		s := string(r)
		if ansi.StringWidth(s) != want || ansi.StringWidthWc(s) != want || unicode.IsMark(r) || unicode.IsSpace(r) || isInvisible(r) {
			t.Errorf("%U is not a plain character of %d columns", r, want)
		}
		if pair := "a" + s + s; ansi.StringWidth(pair) != 1+2*want {
			t.Errorf("%U grows together with its neighbours", r)
		}
	}
}

func TestPlainTextCostsNothing(t *testing.T) {
	s := strings.Repeat("a line of plain text, as most are. ", 20) + "end"
	if n := testing.AllocsPerRun(100, func() { Line(s); Text(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLine(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":  strings.Repeat("most text is plain, ", 12) + "end",
		"europe": strings.Repeat("größer, naïve, Привет; ", 12) + "Ende",
		"cjk":    strings.Repeat("日本語のテキスト、", 12),
		"emoji":  strings.Repeat("ship it 🚀 ☎️ now ", 12),
		"hindi":  strings.Repeat("हिन्दी में ", 12),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Line(s)
			}
		})
	}
}
