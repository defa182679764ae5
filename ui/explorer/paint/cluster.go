package paint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// normalized converts one grapheme cluster of a measured width into text with the same width if terminals add up the
// widths of its characters.
func normalized(cluster string, width int) string {
	first, _ := utf8.DecodeRuneInString(cluster)
	last, _ := utf8.DecodeLastRuneInString(cluster)
	hanging := (unicode.IsMark(first) || first == thaiAM || first == laoAM) && joinsPrevious(cluster)
	if len(cluster) == 1 || width > 0 && len(cluster) <= maxCluster && !hanging && !joinsNext(last) &&
		!strings.ContainsRune(cluster, joiner) && width == ansi.StringWidthWc(cluster) {
		return cluster
	}
	parts := []rune(cluster)
	if flag := flagLetters(parts); flag != "" {
		return flag
	}
	parts = simplify(limited(parts))
	if hanging {
		parts = slices.Insert(parts, 0, markHolder)
	}
	text := separated(parts)
	if joinsNext(parts[len(parts)-1]) {
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

// joinsPrevious reports whether a text would join the cluster before it.
func joinsPrevious(s string) bool {
	return ansi.StringWidth("x"+s) <= ansi.StringWidth(s) || ansi.StringWidth(s) == 0
}

// joinsNext reports whether a letter joins whatever follows it.
func joinsNext(r rune) bool {
	return r >= 0x600 && !isNarrow(r) && !isWide(r) && ansi.StringWidth(string(r)+"x") <= ansi.StringWidth(string(r))
}

// flagLetters returns regional indicators, which flags are written with, as plain letters.
func flagLetters(parts []rune) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x1f1e6 && r <= 0x1f1ff {
			return 'A' + r - 0x1f1e6
		}
		return -1
	}, string(parts))
}

// limited shortens clusters longer than any in writing: accents stay up to the limit, else only the first letter.
func limited(parts []rune) []rune {
	if len(parts) <= maxCluster {
		return parts
	}
	size := 1
	for size < maxCluster && parts[size] >= 0x300 && parts[size] < 0x370 {
		size++
	}
	return parts[:size]
}

const thaiAM, laoAM = 0xe33, 0xeb3

// simplify removes joiners: of a joined emoji the first one stays, letters are composed or written apart if Unicode has
// another way to write the same.
func simplify(parts []rune) []rune {
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
		case before >= 0 && composeHangul(kept[before], r) != 0:
			kept[before] = composeHangul(kept[before], r)
		default:
			kept = append(kept, r)
		}
	}
	return kept
}

// composeHangul composes two letters of a Korean syllable, or a syllable and its last letter, after section 3.12 of the
// Unicode standard. It returns 0 if they do not compose.
func composeHangul(a, b rune) rune {
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

// separated returns characters such that each one with a width is a cluster by itself: the non-joiner separates
// letters, a zero-width space separates marks.
func separated(parts []rune) string {
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
