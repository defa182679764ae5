package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/tamil"
	"golang.org/x/text/unicode/norm"
)

// fold appends text to dst in lower case, in compatibility form and, for Latin, Greek, Arabic and Hebrew letters,
// without marks: those for vowels are optional in the latter two. Tatweel, which only widens a word, is left out.
func fold(dst []byte, text string) []byte {
	from := len(dst)
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r >= tabulated || !letters()[r].alone {
			return foldForeign(dst[:from], text)
		}
		dst = append(dst, letters()[r].plain...)
		i += size
	}
	return dst
}

const tatweel = 0x640

func foldForeign(dst []byte, text string) []byte {
	from := len(dst)
	bare := false // the letter before loses its marks
	exotic := false
	for _, r := range string(norm.NFKD.AppendString(nil, text)) {
		switch {
		case unicode.Is(unicode.Mn, r):
			if bare {
				continue
			}
			exotic = true
		case r == '’':
			r = '\''
		case r == utf8.RuneError, unicode.Is(unicode.Cf, r), r == tatweel:
			continue
		default:
			bare = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew)
		}
		if plain := unaccented(r); plain != "" {
			dst = append(dst, plain...)
			continue
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	if exotic { // marks that stayed belong to their letters again
		return norm.NFC.Append(dst[:from:from], dst[from:]...)
	}
	return dst
}

// unaccented spells letters that no decomposition takes apart.
func unaccented(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'æ', 'Æ':
		return "ae"
	case 'œ', 'Œ':
		return "oe"
	case 'ø', 'Ø':
		return "o"
	case 'ł', 'Ł':
		return "l"
	case 'đ', 'Đ', 'ð', 'Ð':
		return "d"
	case 'þ', 'Þ':
		return "th"
	case 'ı':
		return "i"
	case 'ς':
		return "σ"
	}
	return ""
}

// Stem returns the term of a surface: the stem of a word by Snowball's rules (Porter, Snowball: a language for stemming
// algorithms, 2001), otherwise the surface itself. The script says which language's rules they are: English for plain
// letters, Russian for Cyrillic ones, and Arabic and Tamil for their own.
func Stem(surface string) string {
	if word, compound := strings.CutPrefix(surface, hyphenated); compound && word != "" {
		return hyphenated + Stem(word)
	}
	stem := stemmer(surface)
	if len(surface) < 3 || stem == nil {
		return surface
	}
	word := snowballstem.NewEnv(surface)
	if stem(word); word.Current() != "" {
		return word.Current()
	}
	return surface
}

// stemmer returns the rules for a surface; nil: there are none.
func stemmer(surface string) func(*snowballstem.Env) bool {
	first, _ := utf8.DecodeRuneInString(surface)
	switch {
	case first < utf8.RuneSelf:
		for i := range len(surface) {
			if c := surface[i]; (c < 'a' || c > 'z') && c != '\'' {
				return nil
			}
		}
		return english.Stem
	case unicode.Is(unicode.Cyrillic, first):
		return russian.Stem
	case unicode.Is(unicode.Arabic, first):
		return arabic.Stem
	case unicode.Is(unicode.Tamil, first):
		return tamil.Stem
	}
	return nil
}
