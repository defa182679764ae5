package terminal

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// Modes are what a program can switch in a terminal and has to switch back before it leaves.
type Modes struct {
	AltScreen      bool
	CursorVisible  bool
	BracketedPaste bool
	Mouse          bool // any way of reporting clicks, drags or motion
	Focus          bool
	Synchronized   bool // inside an update that must not be shown yet
	// KittyKeyboard has the flags of the kitty keyboard protocol that hold on the current screen.
	KittyKeyboard int
	// KittyPushed counts the entries on the keyboard stacks of both screens.
	KittyPushed     int
	ModifyOtherKeys int
	// Other lists the remaining private modes that differ from their default.
	Other string
}

// Untouched is how a terminal is before the first program runs, and must be after the last.
func Untouched() Modes { return Modes{CursorVisible: true} }

// modes records what is switched. The emulator calls back while the terminal is locked.
type modes struct {
	set       map[ansi.Mode]bool
	kitty     [2][]int // per screen: main, alternate
	otherKeys int
	alt       bool
}

func newModes() modes {
	return modes{set: map[ansi.Mode]bool{ansi.ModeAutoWrap: true, ansi.ModeTextCursorEnable: true}}
}

// cursorVisible is the same on both screens, as in xterm, VTE and kitty; the emulator keeps it for each.
func (m *modes) cursorVisible() bool { return m.set[ansi.ModeTextCursorEnable] }

func (m *modes) screen() *[]int {
	if m.alt {
		return &m.kitty[1]
	}
	return &m.kitty[0]
}

func (m *modes) flags() int {
	if stack := *m.screen(); len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return 0
}

func (m *modes) push(flags int) { *m.screen() = append(*m.screen(), flags) }

func (m *modes) pop(n int) {
	stack := m.screen()
	*stack = (*stack)[:max(0, len(*stack)-n)]
}

// assign replaces, adds or removes flags of the entry on top: CSI = flags ; mode u.
func (m *modes) assign(flags, how int) {
	stack := m.screen()
	if len(*stack) == 0 {
		if flags == 0 {
			return
		}
		*stack = append(*stack, 0)
	}
	top := &(*stack)[len(*stack)-1]
	switch how {
	case 2:
		*top |= flags
	case 3:
		*top &^= flags
	default:
		*top = flags
	}
}

// Modes returns the modes that the program has set.
func (t *Terminal) Modes() Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := Modes{
		AltScreen: t.modes.alt, CursorVisible: t.modes.cursorVisible(), KittyKeyboard: t.modes.flags(),
		KittyPushed: len(t.modes.kitty[0]) + len(t.modes.kitty[1]), ModifyOtherKeys: t.modes.otherKeys,
	}
	var other []string
	for mode, on := range t.modes.set {
		switch mode {
		case ansi.ModeTextCursorEnable, ansi.ModeAltScreen, ansi.ModeAltScreenSaveCursor, ansi.ModeSaveCursor:
		case ansi.ModeBracketedPaste:
			m.BracketedPaste = on
		case ansi.ModeMouseX10, ansi.ModeMouseNormal, ansi.ModeMouseHighlight, ansi.ModeMouseButtonEvent,
			ansi.ModeMouseAnyEvent, ansi.ModeMouseExtSgr:
			m.Mouse = m.Mouse || on
		case ansi.ModeFocusEvent:
			m.Focus = on
		case ansi.ModeSynchronizedOutput:
			m.Synchronized = on
		default:
			if on != (mode == ansi.ModeAutoWrap) {
				other = append(other, ansi.SetMode(mode)[2:])
			}
		}
	}
	slices.Sort(other)
	for _, name := range other {
		m.Other += name
	}
	return m
}

// listen notes everything that a program switches, and answers what it asks.
func (t *Terminal) listen() {
	t.emulator.SetCallbacks(vt.Callbacks{
		Title:       func(title string) { t.title = title },
		AltScreen:   func(on bool) { t.modes.alt = on },
		EnableMode:  func(mode ansi.Mode) { t.modes.set[mode] = true },
		DisableMode: func(mode ansi.Mode) { t.modes.set[mode] = false },
	})
	t.emulator.RegisterOscHandler(52, t.copied)
	t.emulator.RegisterOscHandler(8, swapLink)
	t.emulator.RegisterCsiHandler(ansi.Command('>', 0, 'm'), func(params ansi.Params) bool {
		if resource, _, _ := params.Param(0, 0); resource == 4 {
			t.modes.otherKeys, _, _ = params.Param(1, 0)
		}
		return true
	})
	if t.bare {
		return
	}
	t.listenKitty()
	known := []ansi.Mode{ansi.ModeSynchronizedOutput, ansi.ModeUnicodeCore}
	t.emulator.RegisterCsiHandler(ansi.Command('?', '$', 'p'), func(params ansi.Params) bool {
		number, _, _ := params.Param(0, 0)
		mode := ansi.DECMode(number)
		if !slices.Contains(known, ansi.Mode(mode)) {
			return false
		}
		setting := ansi.ModeReset
		if t.modes.set[mode] {
			setting = ansi.ModeSet
		}
		t.answer(ansi.ReportMode(mode, setting))
		return true
	})
}

// listenKitty keeps the stacks of the kitty keyboard protocol.
func (t *Terminal) listenKitty() {
	t.emulator.RegisterCsiHandler(ansi.Command('?', 0, 'u'), func(ansi.Params) bool {
		t.answer(fmt.Sprintf("\x1b[?%du", t.modes.flags()))
		return true
	})
	t.emulator.RegisterCsiHandler(ansi.Command('>', 0, 'u'), func(params ansi.Params) bool {
		flags, _, _ := params.Param(0, 0)
		t.modes.push(flags)
		return true
	})
	t.emulator.RegisterCsiHandler(ansi.Command('<', 0, 'u'), func(params ansi.Params) bool {
		n, _, _ := params.Param(0, 1)
		t.modes.pop(max(1, n))
		return true
	})
	t.emulator.RegisterCsiHandler(ansi.Command('=', 0, 'u'), func(params ansi.Params) bool {
		flags, _, _ := params.Param(0, 0)
		how, _, _ := params.Param(1, 1)
		t.modes.assign(flags, how)
		return true
	})
}

func (t *Terminal) answer(sequence string) { t.keys.push([]byte(sequence)) }

// swapLink puts the address of a hyperlink where this emulator looks for it: it takes the parameters, which come first,
// for the address.
func swapLink(data []byte) bool {
	parts := bytes.SplitN(data, []byte{';'}, 3)
	if len(parts) == 3 {
		copy(data, bytes.Join([][]byte{parts[0], bytes.Clone(parts[2]), bytes.Clone(parts[1])}, []byte{';'}))
	}
	return false
}
