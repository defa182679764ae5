package explorer

import (
	"context"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// handled hands a model the result of a request, as if it had just come.
func handled(m *Model, handle func() tea.Cmd) {
	m.Update(resultMsg{handle: handle})
}

// backgroundOf are all ways to work in the background, each of which adds to a log what is handled.
func backgroundOf(m *Model, slot **request, log *[]string) map[string]tea.Cmd {
	add := func(text string, _ error) tea.Cmd {
		*log = append(*log, text)
		return nil
	}
	work := func(context.Context) (string, error) { return "result", nil }
	commands := map[string]tea.Cmd{"background": background(m, slot, work, add)}
	commands["during"] = during(*slot, work, add)
	commands["after"] = after(*slot, 1, func() tea.Cmd { return add("result", nil) })
	return commands
}

func streamTo(m *Model, slot **request, log *[]string) tea.Cmd {
	return stream(m, slot, 0, func(_ context.Context, report func(string)) (string, error) {
		for _, event := range []string{"a", "b", "c"} {
			report(event)
		}
		return "result", nil
	}, func(events []string) tea.Cmd {
		*log = append(*log, events...)
		return nil
	}, func(result string, _ error) tea.Cmd {
		*log = append(*log, result)
		return nil
	})
}

func backgroundModel(t *testing.T) *Model {
	t.Helper()
	return New(t.Context(), Options{Target: Target{Kind: Remote, Where: "acme"}, Now: today, Width: 120, Height: 40})
}

func TestResultsAreHandled(t *testing.T) {
	t.Parallel()
	m := backgroundModel(t)
	var slot *request
	var log []string
	for name, command := range backgroundOf(m, &slot, &log) {
		slot.active, log = true, nil
		m.Update(command())
		if !slices.Equal(log, []string{"result"}) || slot.running() != (name != "background") {
			t.Errorf("%s: handled %q, the request is running: %t", name, log, slot.running())
		}
	}
	log = nil
	drive(t, m, streamTo(m, &slot, &log))
	if !slices.Equal(log, []string{"a", "b", "c", "result"}) || slot.running() {
		t.Errorf("stream: handled %q", log)
	}
}

func TestLateResultsAreDropped(t *testing.T) {
	t.Parallel()
	m := backgroundModel(t)
	for _, end := range []func(**request){func(slot **request) { (*slot).stop() }, func(slot **request) { m.begin(slot) }} {
		var slot *request
		var log []string
		commands := backgroundOf(m, &slot, &log)
		messages := make([]tea.Msg, 0, len(commands))
		for _, command := range commands {
			messages = append(messages, command())
		}
		end(&slot)
		for _, msg := range messages {
			m.Update(msg)
		}
		streamed := streamTo(m, &slot, &log)
		end(&slot)
		drive(t, m, streamed)
		if len(log) > 0 {
			t.Errorf("handled late: %q", log)
		}
	}
}

func TestEventsOfAPauseAreHandledTogether(t *testing.T) {
	t.Parallel()
	events := make(chan int, 3)
	for i := range 3 {
		events <- i
	}
	close(events)
	if got := receive(events, 1<<40); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("received %v", got)
	}
	if got := receive(events, 1<<40); got != nil {
		t.Errorf("received %v after the end", got)
	}
}
