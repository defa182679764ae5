package explorer

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
)

// Place is where keys go, as a set of bits.
type Place uint16

const (
	InBox Place = 1 << iota
	InList
	InReader
	InPicker
	InActions
	InSetUp
	InWhy
	InAnswer
	InChats  // earlier conversations
	InAsking // the line of the answer in which a further question is typed

	// InPanes is the screen without anything laid over it.
	InPanes = InBox | InList | InReader
	// InFields are the places where text is typed.
	InFields = InBox | InPicker | InActions | InSetUp | InAsking
	// InOverlays are the places that lie over the panes.
	InOverlays = InPicker | InActions | InSetUp | InWhy | InAnswer | InChats | InAsking
	Everywhere = InPanes | InOverlays
)

// Binding is one action: what it is called, the keys that run it, where, and how. The bar of keys, the list of all
// actions and docs/keys.md are made from the table of them, so that to add an action is to add an entry and a handler.
type Binding struct {
	// Binding is Bubbles': the keys as Bubble Tea names them, the first of which is shown, and the label for the bar of
	// keys; without a label the action is not there.
	key.Binding
	Action string // its name in the configuration
	In     Place
	Long   string // a sentence for the list of all actions
	Group  string
	// Typed keeps keys that type a character for the action even where text is typed. Elsewhere such a key types there,
	// and an action needs another one to be reached from a field.
	Typed bool
	// Disabled says why the action cannot run now; nil or "" means that it can.
	Disabled func(*Model) string
	Run      func(*Model) tea.Cmd
	// Numbered stands in place of Run where the key is a digit that matters.
	Numbered func(m *Model, number int) tea.Cmd
}

func bind(label string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(KeyName(keys[0]), label))
}

// reason is why a binding cannot run now, or "".
func (b Binding) reason(m *Model) string {
	if b.Disabled == nil {
		return ""
	}
	return b.Disabled(m)
}

// keymap finds bindings by key.
type keymap struct {
	bindings []Binding
	byKey    map[Place]map[string]int // one bit of Place → key → index into bindings
}

// usualKeys are those of everybody who configured none. They never change once they are made, so that all explorers of a
// process share them.
var usualKeys = sync.OnceValue(func() keymap {
	keys, _ := newKeymap(Bindings(), nil)
	return keys
})

// Places lists the single bits of a set.
func (p Place) Places() []Place {
	var single []Place
	for bit := InBox; bit <= InAsking; bit <<= 1 {
		if p&bit != 0 {
			single = append(single, bit)
		}
	}
	return single
}

// newKeymap puts the configured keys in place of the usual ones. What cannot be used is told and left out: an unknown
// action, a key that has no meaning, or one that another action holds in the same place.
func newKeymap(bindings []Binding, configured map[string][]string) (keymap, []string) {
	var problems []string
	actions := make([]string, len(bindings))
	for i, b := range bindings {
		actions[i] = b.Action
	}
	names := make([]string, 0, len(configured))
	for name := range configured {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.Index(actions, name)
		if i < 0 {
			problems = append(problems, unknownAction(name, actions))
			continue
		}
		keys, bad := usableKeys(configured[name], bindings[i])
		for _, key := range bad {
			problems = append(problems, fmt.Sprintf("keys.%s: %q cannot be used there", name, key))
		}
		if len(keys) > 0 || len(configured[name]) == 0 {
			bindings[i].SetKeys(keys...)
		}
	}
	k := keymap{bindings: bindings, byKey: map[Place]map[string]int{}}
	// Configured keys are taken first, so that they win over the usual ones of other actions.
	order := make([]int, len(bindings))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return rank(configured, bindings[a].Action) - rank(configured, bindings[b].Action)
	})
	for _, i := range order {
		problems = append(problems, k.take(i, configured)...)
	}
	return k, problems
}

func rank(configured map[string][]string, action string) int {
	if _, ok := configured[action]; ok {
		return 0
	}
	return 1
}

func unknownAction(name string, actions []string) string {
	text := fmt.Sprintf("keys.%s: there is no such action", name)
	if near := wire.Nearest(name, actions); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	}
	return text
}

// take enters the keys of one binding. A usual key that a configured one displaced is silently gone; that is what was
// asked for.
func (k *keymap) take(i int, configured map[string][]string) []string {
	var problems []string
	b := &k.bindings[i]
	kept := b.Keys()[:0:0]
	for _, key := range b.Keys() {
		held, told := false, false
		for _, place := range b.In.Places() {
			if !b.holds(key, place) {
				continue
			}
			if k.byKey[place] == nil {
				k.byKey[place] = map[string]int{}
			}
			if holder, taken := k.byKey[place][key]; taken {
				if !told && rank(configured, b.Action) == 0 && rank(configured, k.bindings[holder].Action) == 0 {
					problems = append(problems, fmt.Sprintf("keys.%s: %s is the key of %s already", b.Action, key,
						k.bindings[holder].Action))
					told = true
				}
				continue
			}
			k.byKey[place][key], held = i, true
		}
		if held {
			kept = append(kept, key)
		}
	}
	b.SetKeys(kept...)
	return problems
}

// usableKeys parts keys that can be pressed from those that cannot. Where text is typed, a key that types something would
// make that character impossible.
func usableKeys(keys []string, b Binding) (usable, bad []string) {
	for _, key := range keys {
		if !validKey(key) || b.In&^InFields == 0 && !b.Typed && types(key) {
			bad = append(bad, key)
			continue
		}
		usable = append(usable, key)
	}
	return usable, bad
}

// holds tells that a key of the binding acts in a single place.
func (b Binding) holds(key string, place Place) bool {
	return b.In&place != 0 && (b.Typed || place&InFields == 0 || !types(key))
}

// types tells that a key puts a character into a text.
func types(key string) bool {
	return key == "space" || len([]rune(key)) == 1
}

// validKey tells that Bubble Tea can name a key so.
func validKey(key string) bool {
	shifted := false
	for _, modifier := range []string{"ctrl+", "alt+", "shift+"} {
		before := key
		key = strings.TrimPrefix(key, modifier)
		shifted = shifted || modifier == "shift+" && key != before
	}
	if len([]rune(key)) == 1 {
		return !shifted && key != " " // a shifted letter is another letter
	}
	named := []string{"enter", "esc", "tab", "space", "backspace", "delete", "insert", "up", "down", "left", "right",
		"home", "end", "pgup", "pgdown"}
	if slices.Contains(named, key) {
		return true
	}
	var number int
	_, err := fmt.Sscanf(key, "f%d", &number)
	return err == nil && number >= 1 && number <= 12 && key == fmt.Sprintf("f%d", number)
}

// find gives the binding of a key in a single place.
func (k *keymap) find(place Place, key string) (Binding, bool) {
	i, ok := k.byKey[place][key]
	if !ok {
		return Binding{}, false
	}
	return k.bindings[i], true
}

// keyIn is the key to show for a binding in a place; "" when none acts there.
func (b Binding) keyIn(place Place) string {
	for _, key := range b.Keys() {
		if b.holds(key, place) {
			return KeyName(key)
		}
	}
	return ""
}

// hint is the binding as the bar of keys shows it in a place.
func (b Binding) hint(place Place, label string) key.Binding {
	shown := b.Binding
	shown.SetHelp(b.keyIn(place), label)
	shown.SetEnabled(shown.Help().Key != "")
	return shown
}

// keyOf is the key to show for an action in a place; "" when it has none there.
func (k *keymap) keyOf(action string, place Place) string { return k.named(action).keyIn(place) }

// named is the binding of an action; the zero value when there is none.
func (k *keymap) named(action string) Binding {
	i := slices.IndexFunc(k.bindings, func(b Binding) bool { return b.Action == action })
	if i < 0 {
		return Binding{}
	}
	return k.bindings[i]
}

// KeyName is how a key is written for a person.
func KeyName(key string) string {
	switch key {
	case "enter":
		return "↵"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	if len(key) > 1 && key[0] == 'f' && key[1] <= '9' {
		return strings.ToUpper(key)
	}
	for _, arrow := range []string{"up", "down", "left", "right"} {
		if before, ok := strings.CutSuffix(key, "+"+arrow); ok {
			return before + "+" + KeyName(arrow)
		}
	}
	return key
}

// KeysText names all keys of a binding that act in a place.
func (b Binding) KeysText(place Place) string {
	var names []string
	for _, key := range b.Keys() {
		if b.holds(key, place) {
			names = append(names, KeyName(key))
		}
	}
	return strings.Join(names, " ")
}

// Name is what people call a single place.
func (p Place) Name() string {
	switch p {
	case InBox:
		return "the query"
	case InList:
		return "the results"
	case InReader:
		return "the reader"
	case InPicker:
		return "the filters"
	case InActions:
		return "the list of actions"
	case InWhy:
		return "why these results"
	case InAnswer:
		return "the answer"
	case InChats:
		return "earlier conversations"
	case InAsking:
		return "the line of the answer"
	}
	return "the set-up"
}
