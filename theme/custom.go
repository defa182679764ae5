package theme

import (
	"errors"
	"fmt"
	"hash/fnv"
	"image/color"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Custom is a look of a user: a built-in one with some of its colours replaced. Source code keeps the colours of that
// one, as Chroma's styles are registered once for the whole process. The tags are the keys of a file.
type Custom struct {
	Name    string `mapstructure:"-"`
	BasedOn Base   `mapstructure:"based_on"`

	Muted        Colour        `mapstructure:"muted"`
	Disabled     Colour        `mapstructure:"disabled"`
	Border       Colour        `mapstructure:"border"`
	Accent       Colour        `mapstructure:"accent"`
	Match        Colour        `mapstructure:"match"`
	Source       Colour        `mapstructure:"source"`
	Number       Colour        `mapstructure:"number"`
	Success      Colour        `mapstructure:"success"`
	Warning      Colour        `mapstructure:"warning"`
	Error        Colour        `mapstructure:"error"`
	Heading      Colour        `mapstructure:"heading"`
	Link         Colour        `mapstructure:"link"`
	Selected     Pair          `mapstructure:"selected"`
	CurrentMatch Pair          `mapstructure:"current_match"`
	Chip         Pair          `mapstructure:"chip"`
	Sources      SourceColours `mapstructure:"sources"`
}

// Pair is a text on its own background.
type Pair struct {
	Text       Colour `mapstructure:"text"`
	Background Colour `mapstructure:"background"`
}

// SourceColours are the colours of the kinds of source.
type SourceColours struct {
	Chat    Colour `mapstructure:"chat"`
	Wiki    Colour `mapstructure:"wiki"`
	Code    Colour `mapstructure:"code"`
	Mail    Colour `mapstructure:"mail"`
	Tickets Colour `mapstructure:"tickets"`
	Drive   Colour `mapstructure:"drive"`
	Web     Colour `mapstructure:"web"`
	CRM     Colour `mapstructure:"crm"`
	Calls   Colour `mapstructure:"calls"`
	File    Colour `mapstructure:"file"`
	Other   Colour `mapstructure:"other"`
}

// Colour is "#rrggbb"; empty is that of the look below.
type Colour string

// UnmarshalText parses "#rrggbb" or "#rgb".
func (c *Colour) UnmarshalText(text []byte) error {
	digits, hash := strings.CutPrefix(strings.ToLower(strings.TrimSpace(string(text))), "#")
	isOther := func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }
	if !hash || len(digits) != 3 && len(digits) != 6 || strings.ContainsFunc(digits, isOther) {
		return errors.New(`is not a colour such as "#7fb4f0"; YAML needs the quotes`)
	}
	if len(digits) == 3 {
		digits = strings.Repeat(digits[:1], 2) + strings.Repeat(digits[1:2], 2) + strings.Repeat(digits[2:], 2)
	}
	*c = Colour("#" + digits)
	return nil
}

// Base is the name of the look that a custom one changes; empty is dark.
type Base string

// UnmarshalText accepts the names of looks with colours of their own.
func (b *Base) UnmarshalText(text []byte) error {
	var names []string
	for _, l := range looks() {
		if l.truecolour {
			names = append(names, l.name)
		}
	}
	if !slices.Contains(names, string(text)) {
		return fmt.Errorf("is not one of %s", strings.Join(names, ", "))
	}
	*b = Base(text)
	return nil
}

// look returns the look with the replaced colours.
func (c Custom) look() look {
	l := darkLook()
	for _, base := range looks() {
		if base.truecolour && base.name == string(c.BasedOn) {
			l = base
		}
	}
	replace := func(old *string, own Colour) {
		if own != "" {
			*old = string(own)
		}
	}
	for old, own := range map[*string]Colour{
		&l.muted: c.Muted, &l.faded: c.Disabled, &l.border: c.Border, &l.accent: c.Accent, &l.match: c.Match, &l.source: c.Source,
		&l.number: c.Number, &l.success: c.Success, &l.warning: c.Warning, &l.failure: c.Error, &l.heading: c.Heading, &l.link: c.Link,
		&l.selected.text: c.Selected.Text, &l.selected.ground: c.Selected.Background, &l.selected256: c.Selected.Background,
		&l.current.text: c.CurrentMatch.Text, &l.current.ground: c.CurrentMatch.Background,
		&l.chip.text: c.Chip.Text, &l.chip.ground: c.Chip.Background,
	} {
		replace(old, own)
	}
	for f, own := range [families]Colour{
		chat: c.Sources.Chat, wiki: c.Sources.Wiki, code: c.Sources.Code, mail: c.Sources.Mail, tickets: c.Sources.Tickets,
		drive: c.Sources.Drive, web: c.Sources.Web, crm: c.Sources.CRM, calls: c.Sources.Calls, file: c.Sources.File,
		other: c.Sources.Other,
	} {
		replace(&l.sources[f], own)
	}
	l.highlight = l.name
	version := fnv.New32() // caches go by the name, and a file may change
	fmt.Fprint(version, l)
	l.name = fmt.Sprintf("%s-%08x", c.Name, version.Sum32())
	return l
}

// LowContrast lists what is hard to read, such as "muted 2.1:1", with the contrast to a background as the look is made
// for: below 4.5:1 for text, below 3:1 for lines and disabled text.
func (c Custom) LowContrast() []string {
	th := ForScreen(Options{Custom: &c, Profile: colorprofile.TrueColor})
	var low []string
	for _, p := range th.pairings(lipgloss.Color(th.look.ground)) {
		if ratio := contrast(p.front, p.ground); ratio < p.least() {
			low = append(low, fmt.Sprintf("%s %.1f:1", p.name, ratio))
		}
	}
	return low
}

// luminance and contrast are the definitions of WCAG 2.2 (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance and
// #dfn-contrast-ratio).
func luminance(c color.Color) float64 {
	channel := func(v uint32) float64 {
		s := float64(v) / 0xffff
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*channel(r) + 0.7152*channel(g) + 0.0722*channel(b)
}

func contrast(a, b color.Color) float64 {
	lighter, darker := luminance(a), luminance(b)
	if lighter < darker {
		lighter, darker = darker, lighter
	}
	return (lighter + 0.05) / (darker + 0.05)
}

// pairing is a colour and what is behind it.
type pairing struct {
	name          string // as in a file of colours
	front, ground color.Color
	thin          bool // not text that is read
}

// least is the contrast that WCAG asks for.
func (p pairing) least() float64 {
	if p.thin {
		return 3
	}
	return 4.5
}

// pairings returns all pairs of colours of a look with colours, on a terminal's background.
func (t Theme) pairings(ground color.Color) []pairing {
	l := t.look
	var all []pairing
	onBoth := func(name, front string) {
		all = append(all, pairing{name, lipgloss.Color(front), ground, false},
			pairing{name + " on selected.background", lipgloss.Color(front), t.Selected.GetBackground(), false})
	}
	for _, c := range []struct{ name, front string }{
		{"muted", l.muted}, {"accent", l.accent}, {"match", l.match}, {"source", l.source}, {"number", l.number},
		{"success", l.success}, {"warning", l.warning}, {"error", l.failure},
	} {
		onBoth(c.name, c.front)
	}
	for f, name := range familyNames() {
		onBoth("sources."+name, l.sources[f])
	}
	for _, c := range []string{
		l.code.comment, l.code.keyword, l.code.name, l.code.kind, l.code.text, l.code.number, l.code.removed, l.code.added,
	} {
		all = append(all, pairing{"code", lipgloss.Color(c), ground, false})
	}
	if l.selected.text != "" {
		all = append(all, pairing{"selected", lipgloss.Color(l.selected.text), t.Selected.GetBackground(), false})
	}
	return append(all,
		pairing{"heading", lipgloss.Color(l.heading), ground, false},
		pairing{"link", lipgloss.Color(l.link), ground, false},
		pairing{"disabled", lipgloss.Color(l.faded), ground, true},
		pairing{"border", lipgloss.Color(l.border), ground, true},
		pairing{"current_match", t.MatchCurrent.GetForeground(), t.MatchCurrent.GetBackground(), false},
		pairing{"chip", t.Chip.GetForeground(), t.Chip.GetBackground(), false})
}
