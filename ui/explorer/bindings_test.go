package explorer

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/ui/explorer/paint"
)

// Every action has a name of its own, says what it does, and can be reached: by a key in each of its places, or from the
// list of all actions.
func TestBindingsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, b := range Bindings() {
		if b.Action == "" || b.Long == "" || b.Group == "" || b.In == 0 || len(b.Keys()) == 0 {
			t.Errorf("incomplete: %+v", b)
		}
		if (b.Run == nil) == (b.Numbered == nil) {
			t.Errorf("%s has not exactly one handler", b.Action)
		}
		if seen[b.Action] {
			t.Errorf("%s is there twice", b.Action)
		}
		seen[b.Action] = true
		for _, place := range b.In.Places() {
			if b.keyIn(place) == "" && place&InPanes == 0 {
				t.Errorf("%s cannot be reached in %s", b.Action, place.Name())
			}
		}
	}
}

func TestNoKeyIsHeldTwiceInOnePlace(t *testing.T) {
	t.Parallel()
	held := map[Place]map[string]string{}
	for _, b := range slices.DeleteFunc(Bindings(), func(b Binding) bool { return b.Picks }) { // when picking, its key wins
		for _, place := range b.In.Places() {
			if held[place] == nil {
				held[place] = map[string]string{}
			}
			for _, key := range b.Keys() {
				if !b.acts(key, place) {
					continue
				}
				if other := held[place][key]; other != "" {
					t.Errorf("%s: %s is the key of %s and %s", place.Name(), key, other, b.Action)
				}
				held[place][key] = b.Action
			}
		}
	}
}

// Bubble Tea must name every key as the table does, or it could never be pressed.
func TestKeysAreNamedAsBubbleTeaNamesThem(t *testing.T) {
	t.Parallel()
	for _, b := range Bindings() {
		for _, key := range b.Keys() {
			if !validKey(key) {
				t.Errorf("%s: %q is not a key", b.Action, key)
			}
			if got := press(key).String(); got != key {
				t.Errorf("%s: %q is named %q", b.Action, key, got)
			}
		}
	}
}

// press makes the message of a key from its name.
func press(name string) tea.KeyPressMsg {
	var key tea.Key
	for modifier, bit := range map[string]tea.KeyMod{"ctrl+": tea.ModCtrl, "alt+": tea.ModAlt, "shift+": tea.ModShift} {
		if strings.Contains(name, modifier) {
			key.Mod |= bit
			name = strings.Replace(name, modifier, "", 1)
		}
	}
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4}
	if code, named := codes[name]; named {
		key.Code = code
		if name == "space" {
			key.Text = " "
		}
		return tea.KeyPressMsg(key)
	}
	key.Code = []rune(name)[0]
	if key.Mod == 0 {
		key.Text = name
	}
	return tea.KeyPressMsg(key)
}

func TestConfiguredKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		keys     map[string][]string
		place    Place
		key      string
		action   string // that the key runs, "" for none
		problems []string
	}{
		{"another key", map[string][]string{"open-source": {"O"}}, InList, "O", "open-source", nil},
		{"the usual one is free", map[string][]string{"open-source": {"O"}}, InList, "o", "", nil},
		{"it wins over a usual one", map[string][]string{"open-source": {"y"}}, InList, "y", "open-source", nil},
		{"no key at all", map[string][]string{"leave": {}}, InList, "q", "", nil},
		{"unknown", map[string][]string{"open-sorce": {"x"}}, InList, "o", "open-source", []string{"did you mean open-source"}},
		{"no such key", map[string][]string{"cite": {"ctrl+enterr"}}, InList, "y", "cite", []string{"cannot be used"}},
		{"a letter where one types", map[string][]string{"search": {"s"}}, InBox, "enter", "search", []string{"cannot be used"}},
		{"both at once", map[string][]string{"cite": {"c"}, "copy-passage": {"c"}}, InList, "c", "cite",
			[]string{"is already the key of"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			keys, problems := newKeymap(false, test.keys)
			b, _ := keys.find(test.place, test.key)
			if b.Action != test.action {
				t.Errorf("%s runs %q, want %q", test.key, b.Action, test.action)
			}
			if len(problems) != len(test.problems) {
				t.Fatalf("problems %q", problems)
			}
			for i, want := range test.problems {
				if !strings.Contains(problems[i], want) {
					t.Errorf("problem %q does not say %q", problems[i], want)
				}
			}
		})
	}
}

func TestTheKeyOfAnActionFitsThePlace(t *testing.T) {
	t.Parallel()
	keys, _ := newKeymap(false, nil)
	got := []string{keys.keyOf("filters", InBox), keys.keyOf("strip", InList), keys.keyOf("actions", InBox),
		keys.keyOf("search", InBox), keys.keyOf("nothing", InBox)}
	if want := []string{"ctrl+f", "f", "F1", "↵", ""}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// The keys of every place fit the room that they get, and the key to all others is among them where it acts.
func TestTheKeysFitTheBar(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{})
	m.filters.picker.Open(m.pickerInput())
	for _, place := range Everywhere.Places() {
		for room := 20; room < 240; room++ {
			text := ansi.Strip(m.hints(place, room))
			if paint.Width(text) > room || strings.HasSuffix(text, " ") {
				t.Fatalf("%s in %d columns: %q", place.Name(), room, text)
			}
			if all := m.keys.keyOf("actions", place); all != "" && place&InOverlays == 0 && !strings.HasSuffix(text, all+" all keys") {
				t.Fatalf("%s in %d columns: %q", place.Name(), room, text)
			}
		}
	}
}
