// Package chat answers questions from search results: it stores sessions, calls the model, and turns the numbers that
// the model cites into links. It does not search.
package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/internal/pattern"
)

// Source is a document that an answer may cite.
type Source struct {
	DocumentID string
	Link       string // empty: none
}

// Piece is a part of an answer: text, or the number of a document that the text after it cites for the first time.
type Piece struct {
	Text     string
	Citation int // 0: a piece of text
}

// Citer rewrites citations while an answer is streamed. [1], [1, 2] and [[1]] become [[1]](link) for known sources,
// whatever address the model wrote behind them; other numbers, and everything in code, stay as they are. The result
// does not depend on where the text is cut.
type Citer struct {
	sources map[int]Source
	drop    bool // removes citations instead

	held     string // not decided yet
	previous rune   // character before held; 0 at the beginning
	inLine   bool   // the line before held has more than spaces
	fence    string // that opened the current code block
	ticks    int    // backticks that opened the current code span
	cited    map[int]bool
	out      []Piece
	pending  strings.Builder // text of the next piece
}

// Bounds of the text that is held back because it may be a citation, in bytes.
const (
	maxCitation = 64
	maxTarget   = 2048
)

// NewCiter returns a Citer for sources by number. It links citations, or removes them if drop is set.
func NewCiter(sources map[int]Source, drop bool) *Citer {
	return &Citer{sources: sources, drop: drop, cited: map[int]bool{}}
}

// Write returns the pieces that are complete with more of the answer.
func (c *Citer) Write(text string) []Piece {
	c.held += text
	return c.rewrite(false)
}

// Close returns the rest.
func (c *Citer) Close() []Piece { return c.rewrite(true) }

func (c *Citer) rewrite(last bool) []Piece {
	c.out = nil
	for c.held != "" && c.step(last) {
	}
	c.endText()
	return c.out
}

// step handles the beginning of the held text. It returns false if it needs more text to decide.
func (c *Citer) step(last bool) bool {
	switch next := c.held[0]; {
	case next == '\n':
		c.ticks = 0 // an unclosed code span ends with its line, so that it does not hide citations for long
		return c.pass(1)
	case next == '`' || next == '~':
		return c.code(last)
	case c.fence != "" || c.ticks > 0:
		c.plain(c.untilAny("`~\n"))
	case next == '[' && c.previous != '\\':
		return c.bracket(last)
	case next == ' ' && c.drop:
		return c.blank(last)
	case c.drop:
		c.plain(c.untilAny("`~\n[ "))
	default:
		c.plain(c.untilAny("`~\n["))
	}
	return true
}

// untilAny returns the number of held bytes before any of stops; at least 1.
func (c *Citer) untilAny(stops string) int {
	if at := strings.IndexAny(c.held[1:], stops); at >= 0 {
		return at + 1
	}
	return len(c.held)
}

// plain emits the first n held bytes unchanged.
func (c *Citer) plain(n int) {
	text := c.held[:n]
	c.held = c.held[n:]
	c.previous, _ = utf8.DecodeLastRuneInString(text)
	c.inLine = c.previous != '\n' && (c.inLine || strings.Trim(text, " ") != "")
	c.pending.WriteString(text)
}

// endText completes a piece of text.
func (c *Citer) endText() {
	if c.pending.Len() > 0 {
		c.out = append(c.out, Piece{Text: c.pending.String()})
		c.pending.Reset()
	}
}

// code handles the marks of code blocks and code spans.
func (c *Citer) code(last bool) bool {
	const fence = 3
	mark := c.held[:1]
	n := len(c.held) - len(strings.TrimLeft(c.held, mark))
	if n == len(c.held) && !last {
		return n > maxCitation && c.pass(n)
	}
	switch {
	case c.fence != "":
		if n >= len(c.fence) && mark == c.fence[:1] && !c.inLine {
			c.fence = ""
		}
	case n >= fence && !c.inLine:
		c.fence, c.ticks = c.held[:n], 0
	case mark == "~":
	case c.ticks == n:
		c.ticks = 0
	case c.ticks == 0:
		c.ticks = n
	}
	return c.pass(n)
}

func (c *Citer) pass(n int) bool {
	c.plain(n)
	return true
}

// blank holds back spaces that are removed together with the citation after them.
func (c *Citer) blank(last bool) bool {
	n := len(c.held) - len(strings.TrimLeft(c.held, " "))
	switch {
	case n == len(c.held) && !last && n <= maxCitation:
		return false
	case n == len(c.held) || n > maxCitation || c.held[n] != '[':
		return c.pass(n)
	}
	numbers, length, open := citation(c.held[n:], last)
	if open {
		return false
	}
	unknown := func(number int) bool { return !c.known(number) }
	if length == 0 || slices.ContainsFunc(numbers, unknown) {
		return c.pass(n)
	}
	c.held, c.previous = c.held[n:], ' '
	return true
}

func (c *Citer) known(number int) bool {
	_, ok := c.sources[number]
	return ok
}

// bracket rewrites a citation, if it is one.
func (c *Citer) bracket(last bool) bool {
	numbers, length, open := citation(c.held, last)
	if open {
		return false
	}
	if length == 0 {
		return c.pass(1)
	}
	if !slices.ContainsFunc(numbers, c.known) {
		return c.pass(length)
	}
	c.held, c.previous, c.inLine = c.held[length:], ']', true
	for _, number := range numbers {
		source, ok := c.sources[number]
		switch {
		case !ok:
			c.pending.WriteString("[" + strconv.Itoa(number) + "]")
			continue
		case c.drop:
			continue
		}
		if !c.cited[number] {
			c.cited[number] = true
			c.endText()
			c.out = append(c.out, Piece{Citation: number})
		}
		c.pending.WriteString("[[" + strconv.Itoa(number) + "]](" + target(source.Link) + ")")
	}
	return true
}

var (
	wholeCitation = pattern.Lazy(`^(?:\[ *\d{1,3} *(?:, *\d{1,3} *)*\]|\[\[ *\d{1,3} *(?:, *\d{1,3} *)*\]\])`)
	partOfOne     = pattern.Lazy(`^\[{1,2}[\d ,]*\]?$`)
)

// citation parses the citation that a text begins with: its numbers and its length, 0 if there is none. open is set if
// the text ends too early to decide.
func citation(text string, last bool) (numbers []int, length int, open bool) {
	start := text[:min(len(text), maxCitation)]
	found := wholeCitation().FindString(start)
	if found == "" {
		return nil, 0, !last && len(text) < maxCitation && partOfOne().MatchString(start)
	}
	target, open := linkTarget(text[len(found):], last)
	if open {
		return nil, 0, true
	}
	for digits := range strings.FieldsFuncSeq(found, func(r rune) bool { return r < '0' || r > '9' }) {
		number, _ := strconv.Atoi(digits) // three digits always parse
		numbers = append(numbers, number)
	}
	return numbers, len(found) + target, false
}

// linkTarget returns the length of the address in parentheses that a text begins with; 0 if there is none.
func linkTarget(text string, last bool) (length int, open bool) {
	if text == "" {
		return 0, !last
	}
	if text[0] != '(' {
		return 0, false
	}
	depth := 0
	for i := range len(text) {
		switch {
		case i > maxTarget || text[i] <= ' ':
			return 0, false
		case text[i] == '(':
			depth++
		case text[i] == ')':
			if depth--; depth == 0 {
				return i + 1, false
			}
		}
	}
	return 0, !last && len(text) <= maxTarget
}

// target escapes an address for a Markdown link: nothing in it ends the link or starts another.
func target(link string) string {
	return unsafeInLinks().ReplaceAllStringFunc(link, func(s string) string { return fmt.Sprintf("%%%02X", s[0]) })
}

var unsafeInLinks = pattern.Lazy("[\\x00-\\x20\\x7F()<>\\[\\]\\\\`]")

// Uncited returns an answer without the citations of a Citer.
func Uncited(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, "[[")
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		_, length, _ := citation(text[at:], true)
		if length == 0 {
			b.WriteString(text[:at+2])
			text = text[at+2:]
			continue
		}
		b.WriteString(strings.TrimRight(text[:at], " "))
		text = text[at+length:]
	}
}
