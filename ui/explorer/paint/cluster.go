package paint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// settled makes one character as a reader counts them, measured so, into text that is as wide when its parts are
// added up.
func settled(cluster string, width int) string {
	first, _ := utf8.DecodeRuneInString(cluster)
	last, _ := utf8.DecodeLastRuneInString(cluster)
	hanging := (unicode.IsMark(first) || first == thaiAM || first == laoAM) && hangs(cluster)
	if len(cluster) == 1 || width > 0 && len(cluster) <= maxCluster && !hanging && !leads(last) &&
		!strings.ContainsRune(cluster, joiner) && width == ansi.StringWidthWc(cluster) {
		return cluster
	}
	parts := []rune(cluster)
	if flag := flagLetters(parts); flag != "" {
		return flag
	}
	parts = simplified(bounded(parts))
	if hanging {
		parts = slices.Insert(parts, 0, markHolder)
	}
	text := apart(parts)
	if leads(parts[len(parts)-1]) {
		text += string(rune(zeroSpace))
	}
	if agreed := ansi.StringWidth(text); agreed > 0 && agreed == ansi.StringWidthWc(text) {
		return text
	}
	if width == 0 {
		return ""
	}
	return unknownBox
}

// hangs tells whether a text would become a part of a character before it.
func hangs(s string) bool {
	return ansi.StringWidth("x"+s) <= ansi.StringWidth(s) || ansi.StringWidth(s) == 0
}

// leads tells of letters that grow together with whatever follows.
func leads(r rune) bool {
	return r >= 0x600 && !width1(r) && !width2(r) && ansi.StringWidth(string(r)+"x") <= ansi.StringWidth(string(r))
}

// flagLetters are the letters that flags are written with, as common ones: for those that do not make a flag.
func flagLetters(parts []rune) string {
	var letters strings.Builder
	for _, r := range parts {
		if r >= 0x1f1e6 && r <= 0x1f1ff {
			letters.WriteByte(byte('A' + r - 0x1f1e6))
		}
	}
	return letters.String()
}

// bounded cuts what is longer than anything in writing: accents stay up to the limit, else the first letter alone.
func bounded(parts []rune) []rune {
	if len(parts) <= maxCluster {
		return parts
	}
	size := 1
	for size < maxCluster && parts[size] >= 0x300 && parts[size] < 0x370 {
		size++
	}
	return parts[:size]
}

// thaiAM and laoAM are vowels that stand partly over the letter before, and take a column of their own.
const thaiAM, laoAM = 0xe33, 0xeb3

// simplified takes out what joins several characters: of an emoji made of several the first stays, letters are composed
// or written apart where Unicode has another way to write the same.
func simplified(parts []rune) []rune {
	kept := make([]rune, 0, len(parts)+1)
	for _, r := range parts {
		if r == joiner && !unicode.IsLetter(parts[0]) && !unicode.IsMark(parts[0]) {
			return parts[:1]
		}
		switch before := len(kept) - 1; {
		case r == joiner:
		case r == thaiAM || r == laoAM: // a ring above and AA
			kept = append(kept, r+0x1a, r-1)
			if tone := before; tone > 0 && kept[tone]&^0x80 >= 0xe48 && kept[tone]&^0x80 <= 0xe4b {
				kept[tone], kept[tone+1] = kept[tone+1], kept[tone] // the ring is below the tone mark
			}
		case before >= 0 && syllable(kept[before], r) != 0:
			kept[before] = syllable(kept[before], r)
		default:
			kept = append(kept, r)
		}
	}
	return kept
}

// syllable composes Korean: two letters of a syllable, or a syllable and its last letter; 0 if they do not compose. The
// arithmetic is the one of the Unicode standard, section 3.12.
func syllable(a, b rune) rune {
	const first, vowel, last, composed = 0x1100, 0x1161, 0x11a7, 0xac00
	const vowels, lasts = 21, 28
	switch {
	case a >= first && a < first+19 && b >= vowel && b < vowel+vowels:
		return composed + ((a-first)*vowels+b-vowel)*lasts
	case a >= composed && a < composed+19*vowels*lasts && (a-composed)%lasts == 0 && b > last && b < last+lasts:
		return a + b - last
	}
	return 0
}

// apart writes the parts of a character such that every part with a width of its own is a character of its own: the
// non-joiner keeps letters from growing together, a space of no width keeps marks.
func apart(parts []rune) string {
	whole := string(parts)
	if ansi.StringWidth(whole) == ansi.StringWidthWc(whole) {
		return whole
	}
	var text strings.Builder
	for i, r := range parts {
		if i > 0 && ansi.StringWidthWc(string(r)) > 0 {
			if unicode.IsLetter(r) {
				text.WriteRune(nonJoiner)
			} else {
				text.WriteRune(zeroSpace)
			}
		}
		text.WriteRune(r)
	}
	return text.String()
}
