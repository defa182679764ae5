package explorer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// failure is what keeps failing, and since when.
type failure struct {
	what  string
	err   error
	since time.Time
	tries int
	wait  time.Duration // until the server allows another request; 0: none
}

// countDown counts the seconds until the server allows another request, while the failure is shown.
func (m *Model) countDown(f *failure) tea.Cmd {
	if f.wait <= 0 {
		return nil
	}
	return after(nil, time.Second, func() tea.Cmd {
		if m.search.failure != f {
			return nil
		}
		f.wait -= time.Second
		return m.countDown(f)
	})
}

// remedy returns what to do about the failure by now.
func (f *failure) remedy() string {
	if limited, ok := errors.AsType[*client.Error](f.err); ok && limited.RetryAfter > 0 {
		if f.wait <= 0 {
			return "try again now"
		}
		left := *limited
		left.RetryAfter = f.wait
		return remedyOf(&left)
	}
	return remedyOf(f.err)
}

// note records a failure; a repeated one keeps the time of the first.
func (m *Model) note(what string, err error) {
	f := failure{what: what, err: err, since: m.now(), tries: 1}
	if limited, ok := errors.AsType[*client.Error](err); ok && limited.Kind == client.RateLimited {
		f.wait = limited.RetryAfter.Round(time.Second)
	}
	if before := m.search.failure; before != nil && before.what == what {
		f.since, f.tries = before.since, before.tries+1
	}
	m.search.failure = &f
}

// failing reports whether the last attempt failed, and none is running.
func (m *Model) failing() bool {
	return m.search.failure != nil && m.search.running == nil && !m.conn.opening.running()
}

// whyFailed is the reason and what to do about it, for above the results of a search before.
func (m *Model) whyFailed(width int) []string {
	return append(panel.Wrapped(reasonOf(m.search.failure.err), 1, width+1, m.theme.Error),
		panel.Wrapped(m.search.failure.remedy(), 1, width+1, m.theme.Muted)...)
}

// when returns what failed and since when. How often a request was refused says nothing.
func (f *failure) when() string {
	switch {
	case f.isRefusal():
		return f.what + " refused"
	case f.tries > 1:
		return fmt.Sprintf("%s failed %d times since %s", f.what, f.tries, f.since.Format("15:04"))
	}
	return fmt.Sprintf("%s failed at %s", f.what, f.since.Format("15:04"))
}

// isRefusal reports whether the request itself is wrong, such as a name in it, so that it fails at every attempt.
func (f *failure) isRefusal() bool {
	var strange strangeSource
	refused, ok := errors.AsType[*client.Error](f.err)
	return errors.As(f.err, &strange) ||
		ok && (refused.Kind == client.BadRequest || refused.Kind == client.NotAvailable ||
			refused.Kind == client.Auth && strings.Contains(refused.Reason, "document sets"))
}

// reasonOf is an error in one line, for a person.
func reasonOf(err error) string {
	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Reason != "" {
		during := strings.TrimSuffix(err.Error(), failed.Error()) // what was being done, where somebody said so
		return paint.Line(during + failed.Reason)
	}
	if err == nil {
		return ""
	}
	return paint.Line(err.Error())
}

// remedyOf is what to do about an error, in one line.
func remedyOf(err error) string { return paint.Line(client.RemedyOf(err)) }
