package theme

import (
	"cmp"
	"strconv"
	"strings"
	"sync"

	"charm.land/glamour/v2/ansi"
	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/charmbracelet/colorprofile"
)

// QuoteBar is before each line of a quote.
const QuoteBar = "▎"

// Glamour returns the style of documents. Document and quotes have no style of their own: Glamour pads each line cell
// by cell, and would send the style for every cell. Source code has a Chroma style with a name for each look, because
// Glamour would use the first style it meets for the whole process.
func (t Theme) Glamour() ansi.StyleConfig {
	registerCodeStyles()
	l := t.look
	none, indent := uint(0), uint(1)
	bar := t.Border.Render(QuoteBar) + " "
	heading := func(c Colour, italic *bool) ansi.StyleBlock {
		return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: on(), Color: colour(c), Italic: italic}}
	}
	config := ansi.StyleConfig{
		Document:   ansi.StyleBlock{Margin: &none},
		BlockQuote: ansi.StyleBlock{Indent: &indent, IndentToken: &bar},
		List:       ansi.StyleList{LevelIndent: 2},
		// 1 and 2 have a line below
		H1: heading(l.Accent, nil), H2: heading(l.Heading, nil), H3: heading("", nil),
		H4: heading(l.Muted, nil), H5: heading(l.Muted, on()), H6: heading(l.Muted, on()),
		Strikethrough:  ansi.StylePrimitive{CrossedOut: on()},
		Emph:           ansi.StylePrimitive{Italic: on()},
		Strong:         ansi.StylePrimitive{Bold: on()},
		HorizontalRule: ansi.StylePrimitive{Color: colour(l.Border), Format: "\n────────\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		Link:           ansi.StylePrimitive{Color: colour(l.Muted)},
		LinkText:       ansi.StylePrimitive{Color: colour(l.Link), Underline: on()},
		Image:          ansi.StylePrimitive{Color: colour(l.Muted)},
		ImageText:      ansi.StylePrimitive{Color: colour(l.Link), Format: "▣ {{.text}}"},
		Code:           ansi.StyleBlock{StylePrimitive: t.inlineCode()},
		CodeBlock:      ansi.StyleCodeBlock{Theme: codeStyleName(l)},
	}
	config.Heading.BlockSuffix = "\n"
	if l.mono {
		config.Code.Prefix, config.Code.Suffix = "`", "`"
	}
	return config
}

// inlineCode is code within a line: on a background of its own, since a colour alone looks like a match; with the
// terminal's own colours, in one that matches do not have.
func (t Theme) inlineCode() ansi.StylePrimitive {
	l := t.look
	if l.Ground == "" {
		return ansi.StylePrimitive{Color: colour(l.Code.Kind)}
	}
	return ansi.StylePrimitive{BackgroundColor: colour(l.Selected.Background)}
}

// ChromaFormatter returns the name of the Chroma formatter for as many colours as the terminal has.
func (t Theme) ChromaFormatter() string {
	switch {
	case t.look.mono:
		return "noop"
	case t.look.Ground == "":
		return "terminal16"
	case t.profile < colorprofile.TrueColor:
		return "terminal256"
	}
	return "terminal16m"
}

// LinkNumber returns the number behind a link: raised, and in brackets for a terminal that lacks such digits.
func (t Theme) LinkNumber(number int) string {
	digits := strconv.Itoa(number)
	if t.ascii {
		return "[" + digits + "]"
	}
	return strings.Map(func(digit rune) rune { return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[digit-'0'] }, digits)
}

func on() *bool { yes := true; return &yes }

// colour returns a colour as Glamour expects it; nil for none.
func colour(c Colour) *string {
	if c == "" {
		return nil
	}
	text := string(c)
	return &text
}

func codeStyleName(l look) string { return "quarry-" + cmp.Or(l.highlight, l.name) }

// registerCodeStyles registers the styles of all looks with Chroma. Its registry is global and read without a lock
// during rendering, so all of them are registered once, before the first rendering.
var registerCodeStyles = sync.OnceFunc(func() {
	for _, l := range looks() {
		styles.Register(codeStyle(l))
	}
})

// codeStyle returns a look's style of source code. All other tokens have the colour of running text.
func codeStyle(l look) *chroma.Style {
	entries := chroma.StyleEntries{}
	if l.mono {
		return chroma.MustNewStyle(codeStyleName(l), entries)
	}
	set := func(c Colour, more string, types ...chroma.TokenType) {
		entry := chromaColour(c)
		if more != "" {
			entry += " " + more
		}
		for _, t := range types {
			entries[t] = entry
		}
	}
	c := l.Code
	set(c.Comment, "italic", chroma.Comment)
	set(c.Keyword, "", chroma.Keyword, chroma.OperatorWord, chroma.CommentPreproc)
	set(c.Kind, "", chroma.KeywordType, chroma.NameClass, chroma.NameNamespace, chroma.NameBuiltin)
	set(c.Name, "", chroma.NameFunction, chroma.NameTag, chroma.NameAttribute, chroma.NameDecorator)
	set(c.Text, "", chroma.LiteralString)
	set(c.Number, "", chroma.LiteralNumber, chroma.LiteralStringEscape, chroma.KeywordConstant, chroma.NameConstant)
	set(c.Removed, "", chroma.GenericDeleted, chroma.GenericError)
	set(c.Added, "", chroma.GenericInserted)
	set("", "bold", chroma.GenericHeading, chroma.GenericSubheading, chroma.GenericStrong)
	set("", "italic", chroma.GenericEmph)
	return chroma.MustNewStyle(codeStyleName(l), entries)
}

// chromaColour returns a colour as Chroma expects it. Chroma identifies the terminal's own colours by these values.
func chromaColour(c Colour) string {
	if number, err := strconv.Atoi(string(c)); err == nil {
		return [...]string{"", "#7f0000", "#007f00", "#7f7fe0", "#00007f", "#7f007f", "#007f7f", 12: "#0000ff"}[number]
	}
	return string(c)
}
