package theme

import (
	_ "embed" // looks.txt
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/charmbracelet/colorprofile"
)

// look is the definition of a theme.
type look struct {
	name       string
	mono       bool   // no colours
	underlined bool   // matches have a line below
	highlight  string // the look whose style of source code it has; "": its own
	lookColours
}

// lookColours are the colours of a look.
type lookColours struct {
	Ground      Colour // the background that it is made for; "": its colours are the terminal's own
	Selected256 Colour // background of the selection with 256 colours
	Colours
	Code codeColours
}

// codeColours are the colours of source code.
type codeColours struct{ Comment, Keyword, Name, Kind, Text, Number, Removed, Added Colour }

// colours returns the colours in a struct, in the order of its fields.
func colours(group reflect.Value) (all []reflect.Value) {
	for i := range group.NumField() {
		if field := group.Field(i); field.Kind() == reflect.Struct {
			all = append(all, colours(field)...)
		} else {
			all = append(all, field)
		}
	}
	return all
}

// lookFor selects a look that the terminal can show.
func lookFor(options Options) look {
	switch mode := options.Mode; {
	case options.Profile <= colorprofile.ASCII || options.Custom == nil && mode == "mono":
		return lookNamed("mono")
	case options.Profile == colorprofile.ANSI || options.Custom == nil && mode == "ansi16":
		if mode == "dark" || options.Dark && mode != "light" {
			return lookNamed("ansi16")
		}
		return lookNamed("ansi16-light")
	case options.Custom != nil:
		return options.Custom.look()
	case mode == "high-contrast" && options.Dark:
		return lookNamed("contrast-dark")
	case mode == "high-contrast":
		return lookNamed("contrast-light")
	case mode == "light" || mode != "dark" && !options.Dark:
		return lookNamed("light")
	}
	return lookNamed("dark")
}

// lookNamed returns the look with a name, or else the dark one.
func lookNamed(name string) look {
	all := looks()
	return all[max(0, slices.IndexFunc(all, func(l look) bool { return l.name == name }))]
}

// looksText is a table with a column for each look and a row for each of its colours, in the order of their fields.
//
// Of the looks with high contrast every text has at least 7:1 in true colour; the nearest of 256 colours come close.
// With the terminal's own 16 colours, nothing on a dark background is blue (4), which is too dark in many terminals,
// and nothing on a light one yellow (3), which cannot be read, nor green (2) or cyan (6) where it is bold, which many
// terminals show bright.
//
//go:embed looks.txt
var looksText string

// looks returns all looks that lookFor selects from.
var looks = sync.OnceValue(func() (all []look) {
	var rows [][]string
	for line := range strings.Lines(looksText) {
		rows = append(rows, strings.Fields(line))
	}
	for at, name := range rows[0][1:] {
		l := look{name: name, underlined: name == "ansi16-light"}
		for i, colour := range colours(reflect.ValueOf(&l.lookColours).Elem()) {
			colour.SetString(strings.TrimPrefix(rows[i+1][at+1], "-"))
		}
		all = append(all, l)
	}
	return append(all, look{name: "mono", mono: true})
})
