package explorer

import (
	"reflect"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// drive runs commands and hands their messages to a model until nothing is left to do, as the program would, but one
// after the other. Ticks are left out: nothing here waits.
func drive(t testing.TB, m *Model, cmd tea.Cmd) {
	t.Helper()
	queue := []tea.Cmd{cmd}
	for steps := 0; len(queue) > 0; steps++ {
		if steps > 10_000 {
			t.Fatal("there is no end to what follows")
		}
		next := queue[0]
		queue = queue[1:]
		if next == nil {
			continue
		}
		switch msg := run(t, next).(type) {
		case nil, tickMsg:
		case tea.BatchMsg:
			queue = append(queue, msg...)
		default:
			if reflect.TypeOf(msg).PkgPath() != reflect.TypeOf(m).Elem().PkgPath() {
				continue // for the program
			}
			_, following := m.Update(msg)
			queue = append(queue, following)
		}
	}
}

// run runs one command. One that only waits for time to pass is given up.
func run(t testing.TB, cmd tea.Cmd) tea.Msg {
	t.Helper()
	told := make(chan tea.Msg, 1)
	go func() { told <- cmd() }()
	select {
	case msg := <-told:
		return msg
	case <-time.After(5 * time.Minute):
		t.Fatal("a command does not end")
	}
	return nil
}
