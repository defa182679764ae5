package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/internal/text"
)

const (
	// Defining is what terms of definitions begin with, and no others; it is also behind the acronym.
	Defining = "="
	// maxAcronym is how many letters an acronym has, maxLongForm about how many bytes its long form.
	maxAcronym, maxLongForm = 8, 100
	// maxSkipped is how many words of a long form may lack a letter in the acronym.
	maxSkipped = 3
)

// Definition returns a term for the definition of a word of a text as an acronym, PTO in "Paid Time Off (PTO)": there
// are words before or behind it, beyond a parenthesis, colon, dash or the border of a cell, that have its letters as
// initials. Short words in small letters between them need no letter. The term is empty if there is no definition. It
// has no surface, so that nobody finds it by typing; ParseDefinition reads it.
func Definition(line string, acronym Raw) (term string) {
	if classes[line[acronym.Start]] == lower {
		return ""
	}
	letters := acronymLetters(line[acronym.Start:acronym.End])
	if letters == nil {
		return ""
	}
	const signs, ends = " *_`\"“”'(|:=–—-", ".;:!?()|"
	before := line[max(0, acronym.Start-maxLongForm):acronym.Start]
	behind := line[acronym.End:min(len(line), acronym.End+maxLongForm)]
	left, right := strings.TrimRight(before, signs), strings.TrimLeft(behind, signs)
	var long []string
	if parts(before[len(left):]) {
		words := wordsIn(left[strings.LastIndexAny(left, ends)+1:])
		slices.Reverse(words)
		slices.Reverse(letters)
		long = spelled(words, letters)
		slices.Reverse(long)
		slices.Reverse(letters)
	}
	if long == nil && parts(behind[:len(behind)-len(right)]) {
		if end := strings.IndexAny(right, ends); end >= 0 {
			right = right[:end]
		}
		long = spelled(wordsIn(right), letters)
	}
	if long == nil {
		return ""
	}
	return Defining + string(letters) + Defining + strings.Join(long, " ")
}

// ParseDefinition returns an acronym in small letters and the words of its long form as they are written.
func ParseDefinition(term string) (acronym, long string) {
	acronym, long, _ = strings.Cut(strings.TrimPrefix(term, Defining), Defining)
	return acronym, long
}

// acronymLetters returns the letters of an acronym in lower case, folded, without the s of a plural; nil if a word is
// none: it begins with a capital and has two at least.
func acronymLetters(word string) []rune {
	first, _ := utf8.DecodeRuneInString(word)
	if len(word) > utf8.UTFMax*(maxAcronym+1) || !unicode.IsUpper(first) {
		return nil
	}
	if !strings.ContainsFunc(word[utf8.RuneLen(first):], unicode.IsUpper) || strings.ContainsFunc(word, isNoLetter) {
		return nil
	}
	singular, small := strings.TrimSuffix(word, "s"), func(r rune) bool { return !unicode.IsUpper(r) }
	if !strings.ContainsFunc(singular, small) {
		word = singular
	}
	if letters := []rune(string(fold(nil, word))); len(letters) >= 2 && len(letters) <= maxAcronym {
		return letters
	}
	return nil
}

func isNoLetter(r rune) bool { return !unicode.IsLetter(r) }

// parts reports whether the signs beside an acronym part it from what defines it.
func parts(signs string) bool {
	return strings.ContainsAny(signs, "(|:=–—") || strings.Contains(signs, " - ")
}

func wordsIn(side string) []string {
	return strings.FieldsFunc(side, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("-/&,'’*_`", r)
	})
}

// spelled returns the first words, if letters are their initials in this order; nil: they are not.
func spelled(words []string, letters []rune) []string {
	skipped := 0
	for i, word := range words {
		short := text.IsStopWord(word) || len(word) <= 3 && word == strings.ToLower(word)
		switch {
		case strings.ContainsFunc(word, isNoLetter):
			return nil
		case strings.HasPrefix(string(fold(nil, word)), string(letters[0])):
			if letters = letters[1:]; len(letters) == 0 {
				return words[:i+1]
			}
		case i == 0 || skipped == maxSkipped || !short:
			return nil
		default:
			skipped++
		}
	}
	return nil
}
