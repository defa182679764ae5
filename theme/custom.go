package theme

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"image/color"
	"math"
	"reflect"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"go.mau.fi/util/exslices"
)

// Custom is a look of a user: a built-in one with some of its colours replaced. Source code keeps the colours of that
// one, as Chroma's styles are registered once for the whole process. The tags are the keys of a file.
type Custom struct {
	Name    string `mapstructure:"-"`
	BasedOn Base   `mapstructure:"based_on"`
	Colours `mapstructure:",squash"`
}

// Colours are the colours of a look by their meaning. Running text and the background always have the terminal's own
// colours.
type Colours struct {
	Muted        Colour        `mapstructure:"muted"` // secondary text
	Disabled     Colour        `mapstructure:"disabled"`
	Border       Colour        `mapstructure:"border"` // and other lines
	Accent       Colour        `mapstructure:"accent"` // focus and keys
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

// Pair is a text on its own background; without colours, in reverse.
type Pair struct {
	Text       Colour `mapstructure:"text"`
	Background Colour `mapstructure:"background"`
}

func (p Pair) style() Style {
	s := lipgloss.NewStyle()
	if p.Background == "" {
		return styleOf(s.Reverse(true))
	}
	if p.Text != "" {
		s = s.Foreground(p.Text.color())
	}
	return styleOf(s.Background(p.Background.color()))
}

// SourceColours are the colours of the families of sources, in their order.
type SourceColours struct {
	Other   Colour `mapstructure:"other"`
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
}

// of returns the colour of a family.
func (s SourceColours) of(f family) Colour { return Colour(reflect.ValueOf(s).Field(int(f)).String()) }

// Colour is "#rrggbb", in built-in looks also the number of one of the terminal's own 16; empty is that of the look
// below.
type Colour string

func (c Colour) color() color.Color { return lipgloss.Color(string(c)) }

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
	names := exslices.CastFuncFilter(looks(), func(l look) (string, bool) { return l.name, l.Ground != "" })
	if !slices.Contains(names, string(text)) {
		return fmt.Errorf("is not one of %s", strings.Join(names, ", "))
	}
	*b = Base(text)
	return nil
}

// look returns the look with the replaced colours.
func (c Custom) look() look {
	l := lookNamed(string(c.BasedOn))
	based := colours(reflect.ValueOf(&l.Colours).Elem())
	for i, own := range colours(reflect.ValueOf(c.Colours)) {
		if !own.IsZero() {
			based[i].Set(own)
		}
	}
	l.Selected256 = cmp.Or(c.Selected.Background, l.Selected256)
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
	return exslices.CastFuncFilter(th.pairings(th.look.Ground.color()), func(p pairing) (string, bool) {
		ratio := contrast(p.front, p.ground)
		return fmt.Sprintf("%s %.1f:1", p.name, ratio), ratio < p.least()
	})
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
	onBoth := func(name string, front Colour) {
		all = append(all, pairing{name, front.color(), ground, false},
			pairing{name + " on selected.background", front.color(), t.Selected.GetBackground(), false})
	}
	for _, c := range []struct {
		name  string
		front Colour
	}{
		{"muted", l.Muted}, {"accent", l.Accent}, {"match", l.Match}, {"source", l.Source}, {"number", l.Number},
		{"success", l.Success}, {"warning", l.Warning}, {"error", l.Error},
	} {
		onBoth(c.name, c.front)
	}
	for f, name := range familyNames() {
		onBoth("sources."+name, l.Sources.of(family(f)))
	}
	for _, c := range colours(reflect.ValueOf(l.Code)) {
		all = append(all, pairing{"code", Colour(c.String()).color(), ground, false})
	}
	if l.Selected.Text != "" {
		all = append(all, pairing{"selected", l.Selected.Text.color(), t.Selected.GetBackground(), false})
	}
	return append(all,
		pairing{"heading", l.Heading.color(), ground, false},
		pairing{"link", l.Link.color(), ground, false},
		pairing{"disabled", l.Disabled.color(), ground, true},
		pairing{"border", l.Border.color(), ground, true},
		pairing{"current_match", t.MatchCurrent.GetForeground(), t.MatchCurrent.GetBackground(), false},
		pairing{"chip", t.Chip.GetForeground(), t.Chip.GetBackground(), false})
}
