package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// run emits the pairs of a run of characters of an unspaced script that begins at i, and returns its end. Overlapping
// pairs are the usual terms of such scripts (as in Lucene's CJKAnalyzer).
func (s *Scanner) run(text string, i int) int {
	s.chars = s.chars[:0]
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		n := len(s.chars)
		switch {
		case n > 0 && (unicode.IsMark(r) || isVoicing(r)):
			s.chars[n-1].bare, s.chars[n-1].end = i+size, i+size
		case Unspaced(r):
			s.chars = append(s.chars, char{i, i + size, i + size})
		default:
			s.pairs(text)
			return i
		}
		i += size
	}
	s.pairs(text)
	return i
}

// isVoicing reports whether r is a half-width sound mark: one character with the kana before it.
func isVoicing(r rune) bool { return r == 'ﾞ' || r == 'ﾟ' }

func (s *Scanner) pairs(text string) {
	s.shorten(text)
	for i, c := range s.chars {
		s.surface = append(s.surface[:0], text[c.start:min(c.bare, c.start+maxWordBytes)]...)
		end := c.end
		if i+1 < len(s.chars) {
			next := s.chars[i+1]
			s.surface = append(s.surface, text[next.start:min(next.bare, next.start+maxWordBytes)]...)
			end = next.end
		}
		s.surface = cut(norm.NFKC.AppendString(nil, string(s.surface)), maxWordBytes)
		s.token(c.start, end, Ideograph)
		if i+2 < len(s.chars) && s.okurigana(text, i) {
			after := s.chars[i+2]
			s.compound(text, span{c.start, c.end}, span{after.start, after.end}, c.bare)
		}
		s.position++
	}
}

// shorten leaves out the long vowel mark at the end of a katakana word of four characters and more, which is written or
// not (as in Lucene's JapaneseKatakanaStemFilter): サーバー, サーバ.
func (s *Scanner) shorten(text string) {
	kept := s.chars[:0]
	katakana := 0
	for i, c := range s.chars {
		first, _ := utf8.DecodeRuneInString(text[c.start:])
		long := first == 'ー' || first == 'ｰ'
		if long || unicode.Is(unicode.Katakana, first) {
			katakana++
		} else {
			katakana = 0
		}
		ends := i+1 == len(s.chars)
		if !ends {
			next, _ := utf8.DecodeRuneInString(text[s.chars[i+1].start:])
			ends = next != 'ー' && next != 'ｰ' && !unicode.Is(unicode.Katakana, next)
		}
		if long && ends && katakana >= 4 {
			kept[len(kept)-1].end = c.end
			continue
		}
		kept = append(kept, c)
	}
	s.chars = kept
}

// okurigana reports whether character i, the one after it and the next one are kanji, kana and kanji, where the kana
// may be left out in writing (打ち合わせ, 打合せ). Particles between words may not.
func (s *Scanner) okurigana(text string, i int) bool {
	a, _ := utf8.DecodeRuneInString(text[s.chars[i].start:])
	kana, _ := utf8.DecodeRuneInString(text[s.chars[i+1].start:])
	b, _ := utf8.DecodeRuneInString(text[s.chars[i+2].start:])
	return unicode.Is(unicode.Han, a) && unicode.Is(unicode.Han, b) && unicode.Is(unicode.Hiragana, kana) &&
		!strings.ContainsRune("のとはがをにもでへやか", kana)
}
