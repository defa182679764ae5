package theme

import (
	_ "embed" // marks.txt
	"slices"
	"strings"
	"sync"
)

// family is a group of source types with the same colour.
type family int

const other family = 0

// familyNames are the names of families, as in a file of colours.
func familyNames() []string {
	return strings.Fields("other chat wiki code mail tickets drive web crm calls file")
}

// mark is how a source type looks.
type mark struct {
	family family
	glyph  string // no two sources have the same
	ascii  string // for terminals without it; no two sources of the same of the terminal's own colours have the same
}

// marks are those of the known source types. The glyphs are one column wide in every terminal, and common fonts have
// them.
var marks = sync.OnceValue(func() map[string]mark {
	rows := map[string]mark{}
	for line := range strings.Lines(marksText) {
		cells := strings.Fields(line)
		rows[cells[0]] = mark{family(slices.Index(familyNames(), cells[1])), cells[2], cells[3]}
	}
	return rows
})

// marksText has a line for each type: its name, family, glyph and ASCII.
//
//go:embed marks.txt
var marksText string

// markOf returns the mark of a source type.
func markOf(source string) mark {
	if m, known := marks()[source]; known {
		return m
	}
	return mark{other, "◦", "."}
}

// SourceStyle returns the style of a source type ("slack") for its name and glyph.
func (t Theme) SourceStyle(source string) Style {
	if len(t.sources) == 0 {
		return t.Source
	}
	return t.sources[markOf(source).family]
}

// PlaceStyle returns the style of the nth place of a library, from 0; there are as many as families of sources.
func (t Theme) PlaceStyle(n int) Style {
	if len(t.sources) == 0 {
		return t.Source
	}
	return t.sources[1+n%(len(t.sources)-1)]
}

// SourceGlyph returns a mark of one column for a source type, so that sources differ without colour.
func (t Theme) SourceGlyph(source string) string {
	if t.ascii {
		return markOf(source).ascii
	}
	return markOf(source).glyph
}
