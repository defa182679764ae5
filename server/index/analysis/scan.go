package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/internal/text"
)

// class sorts bytes for the scanner.
type class uint8

const (
	separator class = iota
	lower
	upper
	digit
	underscore
	connector // joins what is on both sides of it, by the rules of joins
	foreign   // the first byte of a character beyond ASCII
)

// classes is a lookup table, never written after it was made.
var classes = makeClasses()

func makeClasses() (table [256]class) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf:
			table[c] = foreign
		case c >= 'a' && c <= 'z':
			table[c] = lower
		case c >= 'A' && c <= 'Z':
			table[c] = upper
		case c >= '0' && c <= '9':
			table[c] = digit
		case c == '_':
			table[c] = underscore
		}
	}
	for _, c := range "-./\\:@+,'" {
		table[c] = connector
	}
	return table
}

// Scanner finds tokens. The zero Scanner is ready; it keeps its buffers and is not safe for concurrent use.
type Scanner struct {
	surface  []byte
	parts    []span
	stretch  []span // of a unit, between its connectors: those of several parts
	chars    []char
	position int
	yield    func(Raw)
}

type span struct{ start, end int }

// char is a character of an unspaced script with its marks; those from bare on are not part of its surface.
type char struct{ start, bare, end int }

// unit is a run of letters, digits and connectors: one word, or an identifier of several.
type unit struct {
	start, end int
	// joined: it has a connector or an underscore other than a hyphen between letters.
	joined bool
	// hyphens, apostrophes and digits say what occurs in it.
	hyphens, apostrophes, digits bool
	// several: it may have several parts even if it is not joined, as a capital follows the first letter, or a letter
	// beyond ASCII an underscore.
	several bool
}

// Scan passes the tokens of text to yield, in order of their starts.
func (s *Scanner) Scan(text string, yield func(Raw)) {
	s.position, s.yield = 0, yield
	for i := 0; i < len(text); {
		switch classes[text[i]] {
		case separator, connector, underscore:
			i++
		case foreign:
			r, size := utf8.DecodeRuneInString(text[i:])
			switch {
			case Unspaced(r):
				i = s.run(text, i)
			case letterOf(r).begins:
				i = s.unit(text, i)
			default:
				i += size
			}
		default:
			i = s.unit(text, i)
		}
	}
}

// Unspaced reports whether r belongs to a script that is written without spaces between words, which is indexed by
// pairs of characters.
func Unspaced(r rune) bool {
	if r < 0x0E00 || r >= 0x2000 && r < 0x2E80 { // the latter are punctuation and symbols
		return false
	}
	if text.IsCJK(r) || r == 'ー' || r == 'ｰ' {
		return true
	}
	return r < 0x1800 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer)
}

// unit scans the unit that begins at i and emits its tokens; it returns where the unit ends.
func (s *Scanner) unit(text string, i int) int {
	u := unit{start: i}
	end := i
scan:
	for i < len(text) {
		switch classes[text[i]] {
		case lower:
			i++
		case upper:
			u.several = u.several || i > u.start
			i++
		case digit:
			u.digits = true
			i++
		case foreign:
			r, size := foreignPart(text, i)
			if size == 0 {
				break scan
			}
			u.several = u.several || i > u.start && (text[i-1] == '_' || letterOf(r).capital)
			u.apostrophes = u.apostrophes || r == '’'
			i += size
		case underscore:
			i++
			u.joined = u.joined || i < len(text) && alphanumeric(text[i])
			continue // does not end a unit
		case connector:
			if !joins(text, i) {
				break scan
			}
			u.note(text[i])
			i++
			continue
		default:
			break scan
		}
		end = i
	}
	u.end = end
	s.emit(text, u)
	return i
}

func alphanumeric(c byte) bool {
	k := classes[c]
	return k == lower || k == upper || k == digit
}

// note records a connector that joined.
func (u *unit) note(c byte) {
	switch c {
	case '-':
		u.hyphens = true
	case '\'':
		u.apostrophes = true
	default:
		u.joined = true
	}
}

// joins reports whether the connector at i joins what is on both sides of it.
func joins(text string, i int) bool {
	if i == 0 || i+1 >= len(text) {
		return false
	}
	before, after := classes[text[i-1]], classes[text[i+1]]
	word := func(k class) bool { return k == lower || k == upper || k == digit || k == foreign }
	switch text[i] {
	case ',', ':':
		return before == digit && after == digit
	case '\'':
		return word(before) && word(after) && before != digit && after != digit
	}
	if after == foreign {
		r, _ := utf8.DecodeRuneInString(text[i+1:])
		if !letterOf(r).begins || Unspaced(r) {
			return false
		}
	}
	return word(before) && word(after)
}

// foreignPart returns the character beyond ASCII at i and its length, which is 0 if it does not belong to a word.
func foreignPart(text string, i int) (rune, int) {
	r, size := utf8.DecodeRuneInString(text[i:])
	if r == '’' && i+size < len(text) { // an apostrophe between letters
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		last, _ := utf8.DecodeLastRuneInString(text[:i])
		if unicode.IsLetter(next) && !Unspaced(next) && unicode.IsLetter(last) {
			return r, size
		}
		return r, 0
	}
	if Unspaced(r) || !letterOf(r).prolongs {
		return r, 0
	}
	return r, size
}

// emit yields the tokens of a unit: a plain word alone, an identifier whole and then in parts.
func (s *Scanner) emit(text string, u unit) {
	if u.end <= u.start {
		return
	}
	if !u.joined && !u.hyphens && !u.several {
		if u.end-u.start == 1 {
			s.language(text, u)
		}
		s.name(text, u)
		if u.apostrophes {
			u.start += elided(text[u.start:u.end])
		}
		s.word(text, u.start, u.end)
		return
	}
	s.split(text, u)
	whole := len(s.parts) > 1 && (u.joined || u.digits || !u.hyphens)
	if whole {
		s.whole(text, u.start, u.end)
	}
	switch {
	case len(s.parts) == 1:
		s.name(text, u)
	case !whole && len(s.parts) == 2:
		s.compound(text, s.parts[0], s.parts[1], s.parts[0].end)
	}
	stretches := s.stretch
	for _, part := range s.parts {
		if len(stretches) > 0 && part.start == stretches[0].start {
			s.whole(text, part.start, stretches[0].end) // Internet/WiFi has the word wifi
			stretches = stretches[1:]
		}
		s.word(text, part.start, part.end)
	}
}

// token yields the surface as a token.
func (s *Scanner) token(start, end int, kind Kind) {
	s.yield(Raw{Surface: s.surface, Start: start, End: end, Position: s.position, Kind: kind})
}

// whole yields an identifier as it is written.
func (s *Scanner) whole(text string, start, end int) {
	s.surface = fold(s.surface[:0], text[start:min(end, start+4*maxWholeBytes)])
	s.surface = cut(s.surface, maxWholeBytes)
	s.token(start, end, Whole)
}

// compound yields the text of a until bare and of b as one word.
func (s *Scanner) compound(text string, a, b span, bare int) {
	if b.end-a.start > maxWordBytes {
		return
	}
	s.surface = append(s.surface[:0], hyphenated...)
	s.surface = append(s.surface, fold(nil, text[a.start:bare])...)
	s.surface = cut(append(s.surface, fold(nil, text[b.start:b.end])...), maxWordBytes)
	if len(s.surface) == len(hyphenated) { // of signs that fold to nothing
		return
	}
	s.token(a.start, b.end, Compound)
}

// language yields the names of programming languages that are a letter and signs: C++, C#.
func (s *Scanner) language(text string, u unit) {
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
	s.token(u.start, end, Whole)
}

// word yields one word.
func (s *Scanner) word(text string, start, end int) {
	source := text[start:min(end, start+4*maxWordBytes)]
	s.surface = fold(s.surface[:0], source)
	if n := len(s.surface); n > 2 && s.surface[n-2] == '\'' && s.surface[n-1] == 's' {
		s.surface = s.surface[:n-2]
	}
	s.surface = cut(s.surface, maxWordBytes)
	if len(s.surface) == 0 {
		return
	}
	s.token(start, end, Word)
	s.position++
}

// split finds the parts of a unit: between connectors, and at the humps of camelCase.
func (s *Scanner) split(text string, u unit) {
	s.parts, s.stretch = s.parts[:0], s.stretch[:0]
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			if u.apostrophes {
				start += elided(text[start:end])
			}
			before := len(s.parts)
			s.humps(text, start, end, u.several)
			if len(s.parts) > before+1 && (start > u.start || end < u.end) {
				s.stretch = append(s.stretch, span{start, end})
			}
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

// elided returns the length of the elided word that a word begins with, such as l' or dell', with its apostrophe:
// French, Italian and Catalan write it together with a word that begins with a vowel or h. Of other words it is 0.
func elided(word string) int {
	const longest, apostrophe = 8, "’" // bytes
	start := word[:min(len(word), longest)]
	at, width := strings.IndexByte(start, '\''), 1
	if at < 0 {
		at, width = strings.Index(start, apostrophe), len(apostrophe)
	}
	if at < 1 || len(word) < at+width+2 {
		return 0
	}
	switch strings.ToLower(word[:at]) {
	case "l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu",
		"un", "gl", "all", "dall", "dell", "nell", "sull", "coll", "quest", "quell":
	default:
		return 0
	}
	_, size := utf8.DecodeRuneInString(word[at+width:])
	first := fold(nil, word[at+width:at+width+size])
	if len(first) == 0 || !strings.ContainsRune("aeiouyh", rune(first[0])) {
		return 0
	}
	return at + width
}

// humps appends the pieces of camelCase between start and end. Long runs, such as encoded data, stay in one piece.
func (s *Scanner) humps(text string, start, end int, several bool) {
	if !several || end-start > maxWordBytes {
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
