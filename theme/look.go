package theme

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// look is the definition of a theme: colours by meaning, each "#rrggbb" or the number of one of the terminal's own 16.
// Running text and the background always have the terminal's own colours.
type look struct {
	name       string
	truecolour bool   // not the terminal's own colours
	mono       bool   // no colours
	underlined bool   // matches have a line below
	ground     string // the background that it is made for
	highlight  string // the look whose style of source code it has; "": its own

	muted, faded, border      string // secondary text; disabled; lines
	accent                    string // focus and keys
	match, source, number     string
	success, warning, failure string
	selected, current, chip   pair
	selected256               string // background of the selection with 256 colours
	heading, link             string
	code                      codeColours
	sources                   [families]string
}

// pair is a text on its own background; without colours, in reverse.
type pair struct{ text, ground string }

func (p pair) style() Style {
	s := lipgloss.NewStyle()
	if p.ground == "" {
		return styleOf(s.Reverse(true))
	}
	if p.text != "" {
		s = s.Foreground(lipgloss.Color(p.text))
	}
	return styleOf(s.Background(lipgloss.Color(p.ground)))
}

// codeColours are the colours of source code.
type codeColours struct{ comment, keyword, name, kind, text, number, removed, added string }

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
		name: "dark", truecolour: true, ground: "#1e1e1e",
		muted: "#a3a6ab", faded: "#868a91", border: "#74787f", accent: "#7fb4f0",
		match: "#f0c060", source: "#6cc5c1", number: "#98cc78",
		success: "#98cc78", warning: "#e6b455", failure: "#f2908a",
		selected: pair{"", "#2c3440"}, selected256: "#303030", current: pair{"#1b1b1b", "#f0c060"},
		chip:    pair{"#d6e4f5", "#34465c"},
		heading: "#9ec5f5", link: "#7fb4f0",
		code: codeColours{
			comment: "#8d949e", keyword: "#c9a0ec", name: "#7fb4f0", kind: "#6cc5c1",
			text: "#a5cf84", number: "#e9a870", removed: "#f2908a", added: "#98cc78",
		},
		sources: [families]string{
			chat: "#d59be6", wiki: "#7fb4f0", code: "#98cc78", mail: "#f0a0b4", tickets: "#e6b455", drive: "#6cc5c1",
			web: "#8fc7ee", crm: "#e9a870", calls: "#b4a8f5", file: "#b9bdc4", other: "#b9bdc4",
		},
	}
}

func lightLook() look {
	return look{
		name: "light", truecolour: true, ground: "#ffffff",
		muted: "#5c6066", faded: "#73777e", border: "#868a91", accent: "#1a5dab",
		match: "#8f4d00", source: "#00656a", number: "#2b6a1e",
		success: "#2b6a1e", warning: "#825200", failure: "#b3241c",
		selected: pair{"", "#e6eef8"}, selected256: "#eeeeee", current: pair{"#1b1b1b", "#ffd75f"},
		chip:    pair{"#173a63", "#d9e6f5"},
		heading: "#174f92", link: "#1a5dab",
		code: codeColours{
			comment: "#676c73", keyword: "#7b2fa8", name: "#1a5dab", kind: "#00656a",
			text: "#2f6620", number: "#9a4a00", removed: "#b3241c", added: "#2b6a1e",
		},
		sources: [families]string{
			chat: "#7a2890", wiki: "#1a5dab", code: "#2b6a1e", mail: "#a82358", tickets: "#825200", drive: "#00656a",
			web: "#0b628f", crm: "#9a4300", calls: "#5a45b0", file: "#55595f", other: "#55595f",
		},
	}
}

// contrastDarkLook is the dark look with high contrast: at least 7:1 for every text in true colour; the nearest of 256
// colours come close.
func contrastDarkLook() look {
	l := darkLook()
	l.name = "contrast-dark"
	l.muted, l.faded, l.border, l.accent = "#d0d4da", "#b4b8be", "#b4b8be", "#9fcbff"
	l.match, l.warning, l.failure, l.link, l.heading = "#ffd75f", "#ffcc66", "#ffb3ad", "#9fcbff", "#bcdcff"
	l.selected, l.chip, l.current = pair{"#ffffff", "#183050"}, pair{"#ffffff", "#183050"}, pair{"#000000", "#ffd75f"}
	l.code = codeColours{
		comment: "#c0c4ca", keyword: "#dcbcff", name: "#9fcbff", kind: "#8fe0dc",
		text: "#bde69c", number: "#ffc48f", removed: "#ffb3ad", added: "#b2e694",
	}
	l.source, l.number, l.success = "#8fe0dc", "#b2e694", "#b2e694"
	l.sources = [families]string{
		chat: "#eabbf7", wiki: "#9fcbff", code: "#b2e694", mail: "#ffbccb", tickets: "#ffcc66", drive: "#8fe0dc",
		web: "#abdcfc", crm: "#ffc48f", calls: "#cdc4ff", file: "#d8dce2", other: "#d8dce2",
	}
	return l
}

// contrastLightLook is the light look with high contrast.
func contrastLightLook() look {
	l := lightLook()
	l.name = "contrast-light"
	l.muted, l.faded, l.border, l.accent = "#3a3d42", "#4c5056", "#4c5056", "#0b3f80"
	l.match, l.warning, l.failure, l.link, l.heading = "#6b3600", "#5e3a00", "#8c1410", "#0b3f80", "#0a376f"
	l.selected, l.chip, l.current = pair{"#000000", "#d3e4fa"}, pair{"#000000", "#d3e4fa"}, pair{"#000000", "#ffd75f"}
	l.code = codeColours{
		comment: "#45494f", keyword: "#5a1c80", name: "#0b3f80", kind: "#00474b",
		text: "#1d4a12", number: "#6e3300", removed: "#8c1410", added: "#1d4a12",
	}
	l.source, l.number, l.success = "#00474b", "#1d4a12", "#1d4a12"
	l.sources = [families]string{
		chat: "#621c78", wiki: "#0b3f80", code: "#1d4a12", mail: "#7d153d", tickets: "#5e3a00", drive: "#00474b",
		web: "#06486b", crm: "#6e3000", calls: "#3e2d88", file: "#383b40", other: "#383b40",
	}
	return l
}

// The terminal's own colours.
const red, green, yellow, blue, magenta, cyan, grey, brightBlue = "1", "2", "3", "4", "5", "6", "8", "12"

// terminalLook uses the terminal's own 16 colours on its dark background, where blue is too dark in many terminals.
func terminalLook() look {
	return look{
		name: "ansi16", accent: cyan, match: yellow, source: cyan, number: green, success: green,
		warning: yellow, failure: red, heading: cyan, link: cyan,
		code: codeColours{keyword: magenta, name: brightBlue, kind: cyan, text: green, number: yellow,
			removed: red, added: green},
		sources: [families]string{
			chat: magenta, wiki: brightBlue, code: green, mail: red, tickets: yellow, drive: cyan,
			web: brightBlue, crm: yellow, calls: magenta, file: cyan, other: cyan,
		},
	}
}

// terminalLightLook uses the terminal's own 16 colours on its light background, where yellow cannot be read, nor, as many
// terminals show what is bold, bright green and cyan.
func terminalLightLook() look {
	return look{
		name: "ansi16-light", underlined: true, accent: blue, match: red, source: blue, number: magenta, success: green,
		warning: magenta, failure: red, heading: blue, link: blue,
		code: codeColours{
			keyword: magenta, name: blue, kind: blue, text: green, number: magenta, removed: red, added: green,
		},
		sources: [families]string{
			chat: magenta, wiki: blue, code: green, mail: red, drive: grey,
			web: blue, calls: magenta, file: grey, other: grey,
		},
	}
}
