package analysis

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// letter has the properties of a character that the scanner needs each time it meets one.
type letter struct {
	// plain is what fold makes of it.
	plain string
	// alone: fold does the same wherever it stands. It does not with a mark, which belongs to the letter before.
	alone bool
	// begins and prolongs say where in a word it may stand.
	begins, prolongs, capital bool
}

// tabulated are the characters of two bytes, among them Latin letters with marks, Greek, Cyrillic, Hebrew and Arabic.
// Unicode's own tables took half of the time of indexing such texts.
const tabulated = 0x800

var letters = sync.OnceValue(func() *[tabulated]letter {
	table := new([tabulated]letter)
	for r := range rune(tabulated) {
		table[r] = letter{
			plain: string(foldForeign(nil, string(r))), alone: !unicode.Is(unicode.Mn, r),
			begins: beginsWord(r), prolongs: prolongsWord(r), capital: unicode.IsUpper(r),
		}
	}
	return table
})

// letterOf returns what is known of any character; only tabulated ones have a plain form.
func letterOf(r rune) letter {
	if r < tabulated {
		return letters()[r]
	}
	return letter{begins: beginsWord(r), prolongs: prolongsWord(r), capital: unicode.IsUpper(r)}
}

func beginsWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// prolongsWord reports whether r may follow the first letter of a word: also as a mark or an invisible joiner.
func prolongsWord(r rune) bool {
	const zeroWidthSpace = 0x200B
	return beginsWord(r) || unicode.IsMark(r) || r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}
