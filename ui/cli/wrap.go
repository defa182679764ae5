package cli

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"quarry/internal/pattern"
)

// wordWrapper wraps Markdown while it comes, a word at a time. Lines of code and tables stay as they are.
type wordWrapper struct {
	width int
	style func(word string) string

	start    string // of a line, until it is known what it is
	begun    bool   // the line's kind is known
	verbatim bool
	fence    string // of the code block that the text is in
	indent   int    // of the lines that a line is broken into
	column   int
	gap      int // spaces before the next word
	word     strings.Builder
	out      strings.Builder
}

const (
	lineStart   = 8   // bytes of a line that have to be there to know its kind
	longestLead = 64  // bytes of it that may be spaces
	longestWord = 512 // bytes that are held back
)

func (f *wordWrapper) write(text string) string {
	for _, r := range text {
		f.writeRune(r)
	}
	return f.flush()
}

// close gives what is held back.
func (f *wordWrapper) close() string {
	if !f.begun && f.start != "" {
		f.begin()
	}
	f.endWord()
	return f.flush()
}

func (f *wordWrapper) flush() string {
	text := f.out.String()
	f.out.Reset()
	return text
}

func (f *wordWrapper) writeRune(r rune) {
	switch {
	case r == '\n':
		if !f.begun {
			f.begin()
		}
		f.endWord()
		f.out.WriteByte('\n')
		f.start, f.begun, f.verbatim, f.column, f.gap = "", false, false, 0, 0
	case !f.begun:
		f.start += string(r)
		if n := len(f.start); n >= longestLead || n >= lineStart && strings.TrimLeft(f.start, " ") != "" {
			f.begin()
		}
	default:
		f.writeText(r)
	}
}

// begin decides what kind of a line it is.
func (f *wordWrapper) begin() {
	f.begun = true
	line := f.start
	mark := fenceStart().FindString(strings.TrimLeft(line, " "))
	switch {
	case f.fence == "" && mark != "":
		f.fence, f.verbatim = mark, true
	case f.fence != "":
		f.verbatim = true
		if strings.HasPrefix(mark, f.fence) {
			f.fence = ""
		}
	default:
		f.verbatim = verbatimLine().MatchString(line)
	}
	f.indent = len(itemStart().FindString(line)) // of the lines that continue it
	for _, r := range line {
		f.writeText(r)
	}
}

// Kinds of lines, by how they begin: a quote or an item of a list, whose lines are indented below its text; a code
// block's beginning or end; a row of a table, or indented code and not an item of a list.
var (
	itemStart    = pattern.Lazy(`^ *(?:[-*+>] |[0-9]+\. )?`)
	fenceStart   = pattern.Lazy("^(?:`{3,}|~{3,})")
	verbatimLine = pattern.Lazy(`^ *\||^ {4,}[^-*+0-9 ]`)
)

func (f *wordWrapper) writeText(r rune) {
	switch {
	case f.verbatim && r == '\t':
		f.out.WriteString("    ")
	case f.verbatim:
		f.out.WriteRune(r)
	case r == ' ' || r == '\t':
		f.endWord()
		f.gap++
	default:
		if f.word.WriteRune(r); f.word.Len() >= longestWord {
			f.endWord()
		}
	}
}

// endWord prints the word that is complete, on the next line if it does not fit.
func (f *wordWrapper) endWord() {
	if f.word.Len() == 0 {
		return
	}
	word := f.word.String()
	f.word.Reset()
	wide := ansi.StringWidth(word)
	indent := min(f.indent, f.width/2)
	if f.column > indent && f.column+f.gap+wide > f.width {
		f.out.WriteString("\n" + strings.Repeat(" ", indent))
		f.column, f.gap = indent, 0
	}
	f.out.WriteString(strings.Repeat(" ", f.gap))
	f.column += f.gap
	f.gap = 0
	for f.column+wide > f.width && wide > 1 { // longer than a line
		head := ansi.Truncate(word, max(1, f.width-f.column), "")
		if head == "" || !strings.HasPrefix(word, head) { // an escape sequence moved
			break
		}
		f.out.WriteString(head + "\n" + strings.Repeat(" ", indent))
		word = strings.TrimPrefix(word, head)
		f.column, wide = indent, ansi.StringWidth(word)
	}
	f.out.WriteString(f.style(word))
	f.column += wide
}
