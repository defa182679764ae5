package explorer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"charm.land/bubbles/v2/key"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

// keymap finds bindings by key.
type keymap struct {
	bindings []Binding
	byKey    map[Place]map[string]int // one bit of Place → key → index into bindings
}

// usualKeys are those of everybody who configured none. They never change once they are made, so that all explorers of
// a process share them.
var usualKeys = sync.OnceValue(func() keymap {
	keys, _ := newKeymap(false, nil)
	return keys
})

// keysFor returns the keys of an explorer, and what is wrong with the configured ones.
func keysFor(options Options) (keymap, []string) {
	picking := options.Pick != nil
	if !picking && len(options.Keys) == 0 {
		return usualKeys(), nil
	}
	return newKeymap(picking, options.Keys)
}

// KeyProblems returns why configured keys cannot be used, keys by action; empty if they can.
func KeyProblems(keys map[string][]string) []string {
	_, problems := newKeymap(false, keys)
	return problems
}

// newKeymap puts the configured keys in place of the usual ones. It reports and leaves out what cannot be used: an
// unknown action, a key that has no meaning, or one that another action has in the same place. The key that picks a
// passage comes first, and wins over a configured one: nothing could be picked without it.
func newKeymap(picking bool, configured map[string][]string) (keymap, []string) {
	var problems []string
	bindings := Bindings()
	actions := exslices.CastFunc(bindings, func(b Binding) string { return b.Action })
	for _, name := range slices.Sorted(maps.Keys(configured)) {
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
	at := slices.IndexFunc(bindings, func(b Binding) bool { return b.Picks })
	choose := bindings[at]
	if bindings = slices.Delete(bindings, at, at+1); picking {
		bindings = slices.Insert(bindings, 0, choose)
	}
	k := keymap{bindings: bindings, byKey: map[Place]map[string]int{}}
	var usual []int // whose keys give way to the others
	for i, b := range bindings {
		if _, ok := configured[b.Action]; ok || b.Picks {
			problems = append(problems, k.assign(i)...)
		} else {
			usual = append(usual, i)
		}
	}
	for _, i := range usual {
		k.assign(i)
	}
	return k, problems
}

func unknownAction(name string, actions []string) string {
	text := fmt.Sprintf("keys.%s: unknown action", name)
	if near := wire.Nearest(name, actions); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	}
	return text
}

// assign enters the keys of one binding, except those that are assigned already. It reports these, each once.
func (k *keymap) assign(i int) (problems []string) {
	b := &k.bindings[i]
	var kept []string
	for _, key := range b.Keys() {
		assigned, holder := false, -1
		for _, place := range b.In.Places() {
			if !b.acts(key, place) {
				continue
			}
			if k.byKey[place] == nil {
				k.byKey[place] = map[string]int{}
			}
			if other, taken := k.byKey[place][key]; taken {
				holder = other
				continue
			}
			k.byKey[place][key], assigned = i, true
		}
		if assigned {
			kept = append(kept, key)
		}
		if holder >= 0 {
			problems = append(problems,
				fmt.Sprintf("keys.%s: %s is already the key of %s", b.Action, key, k.bindings[holder].Action))
		}
	}
	b.SetKeys(kept...)
	return problems
}

// usableKeys parts keys that can be pressed from those that cannot. Where text is typed, a key that types something
// would make that character impossible.
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

// acts reports whether a key of the binding acts in a single place.
func (b Binding) acts(key string, place Place) bool {
	return b.In&place != 0 && (b.Typed || place&InFields == 0 || !types(key))
}

// types reports whether a key puts a character into a text.
func types(key string) bool {
	return key == "space" || len([]rune(key)) == 1
}

// validKey reports whether Bubble Tea can name a key so.
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
	return text.IsAmong(key, "enter esc tab space backspace delete insert up down left right home end pgup pgdown "+
		"f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12")
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
		if b.acts(key, place) {
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

// KeyName returns how a key is written for a person.
func KeyName(key string) string {
	last := strings.LastIndexByte(key[:len(key)-1], '+') + 1
	if arrow := map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→"}[key[last:]]; arrow != "" {
		return key[:last] + arrow
	}
	switch {
	case key == "enter":
		return "↵"
	case len(key) > 1 && key[0] == 'f' && key[1] <= '9':
		return strings.ToUpper(key)
	}
	return key
}

// KeysText names all keys of a binding that act in a place.
func (b Binding) KeysText(place Place) string {
	return strings.Join(exslices.CastFuncFilter(b.Keys(), func(key string) (string, bool) {
		return KeyName(key), b.acts(key, place)
	}), " ")
}
