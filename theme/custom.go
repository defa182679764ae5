package theme

import (
	"errors"
	"fmt"
	"hash/fnv"
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
