package theme

import (
	"github.com/charmbracelet/colorprofile"
)

// look is the definition of a theme.
type look struct {
	name       string
	truecolour bool   // not the terminal's own colours
	mono       bool   // no colours
	underlined bool   // matches have a line below
	ground     Colour // the background that it is made for
	highlight  string // the look whose style of source code it has; "": its own

	Colours
	selected256 Colour // background of the selection with 256 colours
	code        codeColours
}

// codeColours are the colours of source code.
type codeColours struct{ comment, keyword, name, kind, text, number, removed, added Colour }

// lookFor selects a look that the terminal can show.
func lookFor(options Options) look {
	switch mode := options.Mode; {
	case options.Profile <= colorprofile.ASCII || options.Custom == nil && mode == "mono":
		return look{name: "mono", mono: true}
	case options.Profile == colorprofile.ANSI || options.Custom == nil && mode == "ansi16":
		if mode == "dark" || options.Dark && mode != "light" {
			return terminalLook()
		}
		return terminalLightLook()
	case options.Custom != nil:
		return options.Custom.look()
	case mode == "high-contrast" && options.Dark:
		return contrastDarkLook()
	case mode == "high-contrast":
		return contrastLightLook()
	case mode == "light" || mode != "dark" && !options.Dark:
		return lightLook()
	}
	return darkLook()
}

// looks returns all looks that lookFor selects from.
func looks() []look {
	return []look{
		darkLook(), lightLook(), contrastDarkLook(), contrastLightLook(), terminalLook(), terminalLightLook(),
		{name: "mono", mono: true},
	}
}

func darkLook() look {
	return look{
		name: "dark", truecolour: true, ground: "#1e1e1e", selected256: "#303030",
		Colours: Colours{
			Muted: "#a3a6ab", Disabled: "#868a91", Border: "#74787f", Accent: "#7fb4f0",
			Match: "#f0c060", Source: "#6cc5c1", Number: "#98cc78",
			Success: "#98cc78", Warning: "#e6b455", Error: "#f2908a",
			Selected: Pair{"", "#2c3440"}, CurrentMatch: Pair{"#1b1b1b", "#f0c060"},
			Chip:    Pair{"#d6e4f5", "#34465c"},
			Heading: "#9ec5f5", Link: "#7fb4f0",
			Sources: SourceColours{
				Chat: "#d59be6", Wiki: "#7fb4f0", Code: "#98cc78", Mail: "#f0a0b4", Tickets: "#e6b455", Drive: "#6cc5c1",
				Web: "#8fc7ee", CRM: "#e9a870", Calls: "#b4a8f5", File: "#b9bdc4", Other: "#b9bdc4",
			},
		},
		code: codeColours{
			comment: "#8d949e", keyword: "#c9a0ec", name: "#7fb4f0", kind: "#6cc5c1",
			text: "#a5cf84", number: "#e9a870", removed: "#f2908a", added: "#98cc78",
		},
	}
}

func lightLook() look {
	return look{
		name: "light", truecolour: true, ground: "#ffffff", selected256: "#eeeeee",
		Colours: Colours{
			Muted: "#5c6066", Disabled: "#73777e", Border: "#868a91", Accent: "#1a5dab",
			Match: "#8f4d00", Source: "#00656a", Number: "#2b6a1e",
			Success: "#2b6a1e", Warning: "#825200", Error: "#b3241c",
			Selected: Pair{"", "#e6eef8"}, CurrentMatch: Pair{"#1b1b1b", "#ffd75f"},
			Chip:    Pair{"#173a63", "#d9e6f5"},
			Heading: "#174f92", Link: "#1a5dab",
			Sources: SourceColours{
				Chat: "#7a2890", Wiki: "#1a5dab", Code: "#2b6a1e", Mail: "#a82358", Tickets: "#825200", Drive: "#00656a",
				Web: "#0b628f", CRM: "#9a4300", Calls: "#5a45b0", File: "#55595f", Other: "#55595f",
			},
		},
		code: codeColours{
			comment: "#676c73", keyword: "#7b2fa8", name: "#1a5dab", kind: "#00656a",
			text: "#2f6620", number: "#9a4a00", removed: "#b3241c", added: "#2b6a1e",
		},
	}
}

// contrastDarkLook is the dark look with high contrast: at least 7:1 for every text in true colour; the nearest of 256
// colours come close.
func contrastDarkLook() look {
	l := darkLook()
	l.name = "contrast-dark"
	l.Muted, l.Disabled, l.Border, l.Accent = "#d0d4da", "#b4b8be", "#b4b8be", "#9fcbff"
	l.Match, l.Warning, l.Error, l.Link, l.Heading = "#ffd75f", "#ffcc66", "#ffb3ad", "#9fcbff", "#bcdcff"
	l.Selected, l.Chip, l.CurrentMatch = Pair{"#ffffff", "#183050"}, Pair{"#ffffff", "#183050"}, Pair{"#000000", "#ffd75f"}
	l.code = codeColours{
		comment: "#c0c4ca", keyword: "#dcbcff", name: "#9fcbff", kind: "#8fe0dc",
		text: "#bde69c", number: "#ffc48f", removed: "#ffb3ad", added: "#b2e694",
	}
	l.Source, l.Number, l.Success = "#8fe0dc", "#b2e694", "#b2e694"
	l.Sources = SourceColours{
		Chat: "#eabbf7", Wiki: "#9fcbff", Code: "#b2e694", Mail: "#ffbccb", Tickets: "#ffcc66", Drive: "#8fe0dc",
		Web: "#abdcfc", CRM: "#ffc48f", Calls: "#cdc4ff", File: "#d8dce2", Other: "#d8dce2",
	}
	return l
}

// contrastLightLook is the light look with high contrast.
func contrastLightLook() look {
	l := lightLook()
	l.name = "contrast-light"
	l.Muted, l.Disabled, l.Border, l.Accent = "#3a3d42", "#4c5056", "#4c5056", "#0b3f80"
	l.Match, l.Warning, l.Error, l.Link, l.Heading = "#6b3600", "#5e3a00", "#8c1410", "#0b3f80", "#0a376f"
	l.Selected, l.Chip, l.CurrentMatch = Pair{"#000000", "#d3e4fa"}, Pair{"#000000", "#d3e4fa"}, Pair{"#000000", "#ffd75f"}
	l.code = codeColours{
		comment: "#45494f", keyword: "#5a1c80", name: "#0b3f80", kind: "#00474b",
		text: "#1d4a12", number: "#6e3300", removed: "#8c1410", added: "#1d4a12",
	}
	l.Source, l.Number, l.Success = "#00474b", "#1d4a12", "#1d4a12"
	l.Sources = SourceColours{
		Chat: "#621c78", Wiki: "#0b3f80", Code: "#1d4a12", Mail: "#7d153d", Tickets: "#5e3a00", Drive: "#00474b",
		Web: "#06486b", CRM: "#6e3000", Calls: "#3e2d88", File: "#383b40", Other: "#383b40",
	}
	return l
}

// The terminal's own colours.
const red, green, yellow, blue, magenta, cyan, grey, brightBlue = "1", "2", "3", "4", "5", "6", "8", "12"

// terminalLook uses the terminal's own 16 colours on its dark background, where blue is too dark in many terminals.
func terminalLook() look {
	return look{
		name: "ansi16",
		Colours: Colours{
			Accent: cyan, Match: yellow, Source: cyan, Number: green, Success: green,
			Warning: yellow, Error: red, Heading: cyan, Link: cyan,
			Sources: SourceColours{
				Chat: magenta, Wiki: brightBlue, Code: green, Mail: red, Tickets: yellow, Drive: cyan,
				Web: brightBlue, CRM: yellow, Calls: magenta, File: cyan, Other: cyan,
			},
		},
		code: codeColours{keyword: magenta, name: brightBlue, kind: cyan, text: green, number: yellow,
			removed: red, added: green},
	}
}

// terminalLightLook uses the terminal's own 16 colours on its light background, where yellow cannot be read, nor, as many
// terminals show what is bold, bright green and cyan.
func terminalLightLook() look {
	return look{
		name: "ansi16-light", underlined: true,
		Colours: Colours{
			Accent: blue, Match: red, Source: blue, Number: magenta, Success: green,
			Warning: magenta, Error: red, Heading: blue, Link: blue,
			Sources: SourceColours{
				Chat: magenta, Wiki: blue, Code: green, Mail: red, Drive: grey,
				Web: blue, Calls: magenta, File: grey, Other: grey,
			},
		},
		code: codeColours{
			keyword: magenta, name: blue, kind: blue, text: green, number: magenta, removed: red, added: green,
		},
	}
}
