package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// namedKey is how a terminal sends a key that is no character, without and with modifiers.
type namedKey struct {
	plain  string // what it sends alone
	number int    // first parameter of its CSI sequence
	final  byte   // last byte of that sequence; 'u': only the kitty protocol sends its modifiers
}

func namedKeys() map[string]namedKey {
	return map[string]namedKey{
		"enter": {"\r", 13, 'u'}, "tab": {"\t", 9, 'u'}, "backspace": {"\x7f", 127, 'u'}, "esc": {"\x1b", 27, 'u'},
		"space": {" ", 32, 'u'},
		"up":    {"\x1b[A", 1, 'A'}, "down": {"\x1b[B", 1, 'B'}, "right": {"\x1b[C", 1, 'C'}, "left": {"\x1b[D", 1, 'D'},
		"home": {"\x1b[H", 1, 'H'}, "end": {"\x1b[F", 1, 'F'},
		"insert": {"\x1b[2~", 2, '~'}, "delete": {"\x1b[3~", 3, '~'}, "pgup": {"\x1b[5~", 5, '~'},
		"pgdown": {"\x1b[6~", 6, '~'},
		"f1":     {"\x1bOP", 1, 'P'}, "f2": {"\x1bOQ", 1, 'Q'}, "f3": {"\x1bOR", 13, '~'}, "f4": {"\x1bOS", 1, 'S'},
		"f5": {"\x1b[15~", 15, '~'}, "f6": {"\x1b[17~", 17, '~'}, "f7": {"\x1b[18~", 18, '~'},
		"f8": {"\x1b[19~", 19, '~'}, "f9": {"\x1b[20~", 20, '~'}, "f10": {"\x1b[21~", 21, '~'},
		"f11": {"\x1b[23~", 23, '~'}, "f12": {"\x1b[24~", 24, '~'},
	}
}

// Modifiers as the parameter of a key sequence counts them, less one.
const (
	shift = 1
	alt   = 2
	ctrl  = 4
)

// splitModifiers takes "ctrl+alt+" off a key's name. A plus sign may itself be the key.
func splitModifiers(key string) (modifiers int, name string) {
	for _, m := range []struct {
		prefix string
		bit    int
	}{{"ctrl+", ctrl}, {"alt+", alt}, {"shift+", shift}} {
		if rest, found := strings.CutPrefix(key, m.prefix); found && rest != "" {
			modifiers |= m.bit
			key = rest
		}
	}
	return modifiers, key
}

// Encode gives the bytes that a terminal sends for a key. Keys have the names under which Bubble Tea prints them:
// "enter", "ctrl+f", "alt+left", "shift+tab", "ä". With kitty, keys differ that older terminals send alike
// apart; without it, such a key is an error.
func Encode(key string, kitty bool) (string, error) {
	modifiers, name := splitModifiers(key)
	if named, ok := namedKeys()[name]; ok {
		return encodeNamed(key, named, modifiers, kitty)
	}
	r, size := utf8.DecodeRuneInString(name)
	if size == 0 || (size < len(name) && modifiers != 0) || (r == utf8.RuneError && size == 1) {
		return "", fmt.Errorf("unknown key %q", key)
	}
	switch {
	case modifiers == 0:
		if isWord(name) {
			return "", fmt.Errorf("unknown key %q", key)
		}
		return name, nil
	case modifiers == shift:
		return string(unicode.ToUpper(r)), nil
	case kitty:
		return fmt.Sprintf("\x1b[%d;%du", r, 1+modifiers), nil
	case modifiers == alt:
		return "\x1b" + name, nil
	}
	return encodeControl(key, r, modifiers)
}

// isWord reports whether a text is a key's mistyped name, not a character of several code points.
func isWord(name string) bool {
	for _, r := range name {
		if r > unicode.MaxASCII {
			return false
		}
	}
	return len(name) > 1
}

func encodeControl(key string, r rune, modifiers int) (string, error) {
	control := string(r & 0x1f)
	switch {
	case modifiers&shift != 0 || !(r >= 'a' && r <= 'z' || r == '\\' || r == ']' || r == '^' || r == '_'):
		return "", fmt.Errorf("a terminal without the kitty keyboard protocol cannot tell %q", key)
	case modifiers&alt != 0:
		return "\x1b" + control, nil
	}
	return control, nil
}

func encodeNamed(key string, named namedKey, modifiers int, kitty bool) (string, error) {
	escape := named.plain == "\x1b"
	switch {
	case kitty && escape:
		return fmt.Sprintf("\x1b[27;%du", 1+modifiers), nil
	case modifiers == 0:
		return named.plain, nil
	case named.final != 'u':
		return fmt.Sprintf("\x1b[%d;%d%c", named.number, 1+modifiers, named.final), nil
	case named.plain == "\t" && modifiers == shift:
		return "\x1b[Z", nil
	case kitty:
		return fmt.Sprintf("\x1b[%d;%du", named.number, 1+modifiers), nil
	case modifiers == alt && !escape:
		return "\x1b" + named.plain, nil
	case named.plain == " " && modifiers == ctrl:
		return "\x00", nil
	}
	return "", fmt.Errorf("a terminal without the kitty keyboard protocol cannot tell %q", key)
}
