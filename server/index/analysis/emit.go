package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// emit yields the tokens of a unit: a plain word alone, an identifier whole and then in parts.
func (s *Scanner) emit(text string, u unit, yield func(Raw)) {
	if u.end <= u.start {
		return
	}
	if !u.joined && !u.hyphens && !u.capitals && !u.foreign {
		if u.end-u.start == 1 {
			s.language(text, u, yield)
		}
		s.word(text, u.start, u.end, yield)
		return
	}
	s.split(text, u)
	whole := len(s.parts) > 1 && (u.joined || u.digits || !u.hyphens)
	if whole {
		s.surface = fold(s.surface[:0], text[u.start:min(u.end, u.start+4*maxWholeBytes)])
		s.surface = cut(s.surface, maxWholeBytes)
		yield(Raw{Surface: s.surface, Start: u.start, End: u.end, Position: s.position, Kind: Whole})
	}
	for _, part := range s.parts {
		s.word(text, part.start, part.end, yield)
	}
}

// language yields the names of programming languages that are a letter and signs: C++, C#.
func (s *Scanner) language(text string, u unit, yield func(Raw)) {
	signs := 0
	switch rest := text[u.end:]; {
	case strings.HasPrefix(rest, "++"):
		signs = 2
	case strings.HasPrefix(rest, "#"):
		signs = 1
	}
	end := u.end + signs
	if signs == 0 || classes[text[u.start]] == digit || end < len(text) && classes[text[end]] != separator &&
		classes[text[end]] != connector {
		return
	}
	s.surface = fold(s.surface[:0], text[u.start:end])
	yield(Raw{Surface: s.surface, Start: u.start, End: end, Position: s.position, Kind: Whole})
}

// word yields one word.
func (s *Scanner) word(text string, start, end int, yield func(Raw)) {
	source := text[start:min(end, start+4*maxWordBytes)]
	s.surface = fold(s.surface[:0], source)
	if n := len(s.surface); n > 2 && s.surface[n-2] == '\'' && s.surface[n-1] == 's' {
		s.surface = s.surface[:n-2]
	}
	s.surface = cut(s.surface, maxWordBytes)
	if len(s.surface) == 0 {
		return
	}
	yield(Raw{Surface: s.surface, Start: start, End: end, Position: s.position, Kind: Word})
	s.position++
}

// split finds the parts of a unit: between connectors, and at the humps of camelCase.
func (s *Scanner) split(text string, u unit) {
	s.parts = s.parts[:0]
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			s.humps(text, start, end, u.capitals || u.foreign)
		}
		start = -1
	}
	for i := u.start; i < u.end; i++ {
		c := text[i]
		k := classes[c]
		if k == underscore || k == connector && c != '\'' {
			flush(i)
		} else if start < 0 {
			start = i
		}
	}
	flush(u.end)
}

// humps appends the pieces of camelCase between start and end. Long runs, such as encoded data, stay in one piece.
func (s *Scanner) humps(text string, start, end int, capitals bool) {
	if !capitals || end-start > maxWordBytes {
		s.parts = append(s.parts, span{start, end})
		return
	}
	from := start
	var before rune
	for i := start; i < end; {
		r, size := utf8.DecodeRuneInString(text[i:end])
		if i > from && hump(before, r, text[i+size:end]) {
			s.parts = append(s.parts, span{from, i})
			from = i
		}
		before = r
		i += size
	}
	s.parts = append(s.parts, span{from, end})
}

// hump reports whether a new word begins with r, which follows before and precedes rest.
func hump(before, r rune, rest string) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	if unicode.IsLower(before) {
		return true
	}
	next, size := utf8.DecodeRuneInString(rest)
	if !unicode.IsLower(next) {
		return false
	}
	plural := next == 's' && len(rest) == size // the s of IDs, APIs
	return !plural && (unicode.IsUpper(before) || unicode.IsDigit(before))
}

// run emits the pairs of a run of characters of an unspaced script that begins at i, and returns its end.
func (s *Scanner) run(text string, i int, yield func(Raw)) int {
	s.chars = s.chars[:0]
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		n := len(s.chars)
		switch {
		case n > 0 && unicode.IsMark(r):
			s.chars[n-1].end = i + size
		case Unspaced(r):
			s.chars = append(s.chars, span{i, i + size})
		default:
			s.pairs(text, yield)
			return i
		}
		i += size
	}
	s.pairs(text, yield)
	return i
}

func (s *Scanner) pairs(text string, yield func(Raw)) {
	for i, char := range s.chars {
		end := char.end
		if i+1 < len(s.chars) {
			end = s.chars[i+1].end
		}
		s.surface = norm.NFKC.AppendString(s.surface[:0], text[char.start:min(end, char.start+maxWordBytes)])
		s.surface = cut(s.surface, maxWordBytes)
		yield(Raw{Surface: s.surface, Start: char.start, End: end, Position: s.position, Kind: Ideograph})
		s.position++
	}
}

// cut shortens b to at most limit bytes, at the boundary of a character.
func cut(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	for limit > 0 && !utf8.RuneStart(b[limit]) {
		limit--
	}
	return b[:limit]
}
