package analysis

import (
	"strings"
	"unicode/utf8"

	"quarry/internal/text"
)

// shouted is the length from which a word in capitals beside a name shows that everything is written in capitals.
const shouted = 5

// name yields a unit that is a name written like a stop word.
func (s *Scanner) name(text string, u unit) {
	if !isName(text, u.start, u.end) {
		return
	}
	s.surface = append(s.surface[:0], text[u.start:u.end]...)
	if s.surface[0] == 'm' {
		s.surface[0] = 'M' // surfaces of other words have no capitals
	}
	s.token(u.start, u.end, Whole)
}

// isName reports whether the word at [start, end) is a name that is written like a stop word: IT, US and WHO in
// capitals among words that are not, May within a sentence, before a number, or before a word that no stop word is.
func isName(line string, start, end int) bool {
	switch line[start:end] {
	case "IT", "US", "WHO":
		beside := wordBefore(line[:start])
		if beside == "" {
			beside = wordAfter(line[end:])
		}
		return len(beside) < shouted || beside != strings.ToUpper(beside)
	case "May":
		before := strings.TrimRight(line[:start], " ")
		if n := len(before); n > 0 &&
			(alphanumeric(before[n-1]) || before[n-1] == ',' || before[n-1] >= utf8.RuneSelf) {
			return true
		}
		next := wordAfter(line[end:])
		return next != "" && !text.IsStopWord(strings.ToLower(next))
	case "may":
		next := wordAfter(line[end:])
		return next != "" && classes[next[0]] == digit
	}
	return false
}

// wordBefore returns the letters and digits that text ends with before spaces.
func wordBefore(text string) string {
	text = strings.TrimRight(text[max(0, len(text)-maxWordBytes):], " ")
	start := len(text)
	for start > 0 && alphanumeric(text[start-1]) {
		start--
	}
	return text[start:]
}

// wordAfter returns the letters and digits that text begins with behind spaces.
func wordAfter(text string) string {
	text = strings.TrimLeft(text[:min(len(text), maxWordBytes)], " ")
	end := 0
	for end < len(text) && alphanumeric(text[end]) {
		end++
	}
	return text[:end]
}
