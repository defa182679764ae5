package explorer

import (
	"context"
	"time"

	"charm.land/bubbles/v2/stopwatch"
	tea "charm.land/bubbletea/v2"
)

// request is work outside the event loop: a call to the server, or something done to the machine.
type request struct {
	ctx    context.Context
	cancel context.CancelFunc
	active bool            // neither finished nor stopped
	watch  stopwatch.Model // runs where the seconds are shown
}

// stop cancels the request. It is safe on nil.
func (r *request) stop() {
	if r != nil {
		r.active = false
		r.cancel()
	}
}

// running reports whether the result is still to come.
func (r *request) running() bool { return r != nil && r.active }

// begin puts a new request into slot and stops the one before. Its context ends when it is stopped, or with the
// session.
func (m *Model) begin(slot **request) *request {
	(*slot).stop()
	ctx, cancel := context.WithCancel(m.ctx)
	*slot = &request{ctx: ctx, cancel: cancel, active: true, watch: stopwatch.New(stopwatch.WithInterval(time.Second))}
	return *slot
}

// resultMsg carries the result of a request to its handler, which runs in the event loop unless the request was stopped
// meanwhile. Without a request it always runs.
type resultMsg struct {
	request *request
	handle  func() tea.Cmd
}

// tickMsg is a resultMsg of a request to wait.
type tickMsg resultMsg

func (m *Model) handleResult(msg resultMsg) tea.Cmd {
	if msg.request != nil && !msg.request.active {
		return nil
	}
	return msg.handle()
}

// background begins a request in slot: work runs outside the event loop, then handle in it with the result.
func background[T any](m *Model, slot **request, work func(context.Context) (T, error),
	handle func(T, error) tea.Cmd) tea.Cmd {
	r := m.begin(slot)
	return during(r, work, func(result T, err error) tea.Cmd {
		r.stop()
		return handle(result, err)
	})
}

// during is background for work that is a part of a request.
func during[T any](r *request, work func(context.Context) (T, error), handle func(T, error) tea.Cmd) tea.Cmd {
	return detached(r, func() (T, error) { return work(r.ctx) }, handle)
}

// detached runs work outside the event loop, then handle in it. Only a request, if there is one, can stop it.
func detached[T any](r *request, work func() (T, error), handle func(T, error) tea.Cmd) tea.Cmd {
	return func() tea.Msg {
		result, err := work()
		return resultMsg{r, func() tea.Cmd { return handle(result, err) }}
	}
}

// stream is background for work that reports events, which are handled in order before the result. Events that follow
// one another within pause are handled together.
func stream[E, T any](m *Model, slot **request, pause time.Duration,
	work func(ctx context.Context, report func(E)) (T, error),
	handleEvents func([]E) tea.Cmd, handle func(T, error) tea.Cmd,
) tea.Cmd {
	r, events, end := m.begin(slot), make(chan E, 64), make(chan func() tea.Cmd, 1)
	run := func() tea.Msg {
		defer close(end)
		defer close(events)
		result, err := work(r.ctx, func(event E) {
			select {
			case events <- event:
			case <-r.ctx.Done():
			}
		})
		end <- func() tea.Cmd {
			r.stop()
			return handle(result, err)
		}
		return nil
	}
	var next tea.Cmd
	next = func() tea.Msg {
		if received := receive(events, pause); len(received) > 0 {
			return resultMsg{r, func() tea.Cmd { return tea.Batch(handleEvents(received), next) }}
		}
		if handleEnd, ok := <-end; ok { // else work panicked
			return resultMsg{r, handleEnd}
		}
		return nil
	}
	return tea.Batch(run, next)
}

// receive waits for an event and gathers those that follow it within pause. It returns none when there are no more.
func receive[E any](events <-chan E, pause time.Duration) []E {
	first, open := <-events
	if !open {
		return nil
	}
	received := []E{first}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for pause > 0 {
		select {
		case event, open := <-events:
			if !open {
				return received
			}
			received = append(received, event)
		case <-timer.C:
			return received
		}
	}
	return received
}

// after runs handle in the event loop once some time has passed.
func after(r *request, pause time.Duration, handle func() tea.Cmd) tea.Cmd {
	return tea.Tick(pause, func(time.Time) tea.Msg { return tickMsg{r, handle} })
}
