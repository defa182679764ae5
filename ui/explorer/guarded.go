package explorer

import (
	tea "charm.land/bubbletea/v2"

	"quarry/internal/guard"
)

// guarded is a model whose panics end its program in order. Bubble Tea catches them, too, but prints them on the standard
// error of the process, which among many explorers is the log of who serves them. Of a panic in its renderer, whose
// goroutine recovers from nothing, neither can hear.
type guarded struct {
	inner tea.Model
	broke func(error)
}

// Init is tea.Model's.
func (g guarded) Init() (cmd tea.Cmd) {
	g.try(func() { cmd = g.inner.Init() })
	return g.command(cmd)
}

// Update is tea.Model's.
func (g guarded) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	g.try(func() { g.inner, cmd = g.inner.Update(msg) })
	return g, g.command(cmd)
}

// View is tea.Model's. A screen that cannot be drawn is empty.
func (g guarded) View() (view tea.View) {
	g.try(func() { view = g.inner.View() })
	return view
}

// command returns a command without its panics, and those of the commands that it gives.
func (g guarded) command(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		g.try(func() { msg = cmd() })
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = g.command(batch[i])
			}
		}
		return msg
	}
}

func (g guarded) try(f func()) { guard.Func(f, g.broke)() }
