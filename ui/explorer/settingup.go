package explorer

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/setup"
)

// settingUp is the set-up and the work that it started.
type settingUp struct {
	setup.Wizard
	running *request // a connection is being tested or saved
	saving  bool     // running writes a profile
	folder  *folder  // being read
}

// setUpMsg is what came of something that the wizard asked for.
type setUpMsg struct {
	id   int
	tell func(*setup.Wizard)
	// arrived tells that there is somewhere else to search now.
	arrived bool
}

// pathMsg brings the path that a folder is to be read from.
type pathMsg struct {
	id   int
	path string
	err  error
}

// folderMsg is news of the folder that is being read.
type folderMsg struct {
	id    int
	event *wire.LibraryEvent // on the way
	done  wire.LibraryEvent
	told  string
	err   error
}

// arrivedMsg brings the target that was set up.
type arrivedMsg struct {
	target Target
	err    error
}

// folder is one that is read into the library.
type folder struct {
	*request
	events  chan folderMsg
	arrived bool // the library is searched already
	rate    rate
}

// rate measures files per second over the last moments.
type rate struct {
	at        time.Time
	done      int
	perSecond float64
}

// update takes the number of files that are done by now.
func (r *rate) update(done int, now time.Time) {
	const window = time.Second
	switch elapsed := now.Sub(r.at); {
	case r.at.IsZero():
		r.at, r.done = now, done
	case elapsed >= window:
		r.perSecond = float64(done-r.done) / elapsed.Seconds()
		r.at, r.done = now, done
	}
}

// openSetUp lays the wizard over the panes. A folder that is being read is shown as it is.
func (m *Model) openSetUp() tea.Cmd {
	m.setUp.Open(setup.Input{Sample: m.target.Kind == Sample, Current: m.target.Where,
		ConnectRefused: m.options.SetUp.ConnectRefused, FolderRefused: m.options.SetUp.FolderRefused})
	m.lay(InSetUp, &m.setUp)
	return nil
}

func (m *Model) setUpEnter() tea.Cmd { return m.carryOut(m.setUp.Enter()) }
func (m *Model) setUpNext() tea.Cmd  { return m.carryOut(m.setUp.Next()) }

// Back goes one level back, and gives up a test.
func (s *settingUp) Back() bool {
	s.running.stop()
	s.running = nil
	return s.Wizard.Back()
}

// cannotClose keeps the set-up open for what is as good as written.
func cannotClose(m *Model) string {
	if m.overlay() == InSetUp && m.setUp.saving && m.setUp.running != nil {
		return "the connection is being saved; a moment"
	}
	return ""
}

func (m *Model) setUpPrevious() tea.Cmd {
	m.setUp.Previous()
	return nil
}

// carryOut does what the wizard wants.
func (m *Model) carryOut(intent setup.Intent) tea.Cmd {
	doors := m.options.SetUp.Doors
	m.setUp.saving = intent.Kind == setup.Save
	switch intent.Kind {
	case setup.Test:
		return m.setUpCall(func(ctx context.Context) setUpMsg {
			found, err := doors.Test(ctx, intent.Connection)
			if err != nil {
				return setUpMsg{tell: (*setup.Wizard).Stopped}
			}
			return setUpMsg{tell: func(w *setup.Wizard) { w.Tested(found) }}
		})
	case setup.Save:
		return m.setUpCall(func(ctx context.Context) setUpMsg {
			told, err := doors.Save(ctx, intent.Connection)
			if err != nil {
				return setUpMsg{tell: func(w *setup.Wizard) { w.Failed(reasonOf(err), remedyOf(err)) }}
			}
			return setUpMsg{tell: func(w *setup.Wizard) { w.Saved(told) }, arrived: true}
		})
	case setup.Folder:
		m.setUp.running.stop()
		_, r := m.begin()
		m.setUp.running = r
		return func() tea.Msg {
			path, err := doors.Path(intent.Path)
			return pathMsg{id: r.id, path: path, err: err}
		}
	case setup.Complete:
		return func() tea.Msg {
			completed := doors.Complete(intent.Path)
			return completedMsg{typed: intent.Path, completed: completed}
		}
	case setup.Stop:
		m.setUp.folder.stop()
	case setup.Leave:
		m.panels = nil
	}
	return nil
}

// completedMsg goes on with a typed path.
type completedMsg struct{ typed, completed string }

// setUpCall does one thing for the wizard; what was under way before is given up.
func (m *Model) setUpCall(call func(context.Context) setUpMsg) tea.Cmd {
	m.setUp.running.stop()
	ctx, r := m.begin()
	m.setUp.running = r
	return func() tea.Msg {
		msg := call(ctx)
		msg.id = r.id
		return msg
	}
}

func (m *Model) setUpTold(msg setUpMsg) tea.Cmd {
	if !m.setUp.running.is(msg.id) {
		return nil
	}
	m.setUp.running.stop()
	m.setUp.running = nil
	msg.tell(&m.setUp.Wizard)
	if !msg.arrived {
		return nil
	}
	return m.arrive()
}

// arrive asks for the target that was set up, to search there from now on.
func (m *Model) arrive() tea.Cmd {
	ctx, find := m.ctx, m.options.SetUp.Target
	return func() tea.Msg {
		found, err := find(ctx)
		return arrivedMsg{found, err}
	}
}

func (m *Model) arrived(msg arrivedMsg) tea.Cmd {
	if msg.err != nil {
		m.fail("could not go there: " + reasonOf(msg.err))
		return nil
	}
	return m.switchTo(msg.target)
}

// pathTold begins to read a folder.
func (m *Model) pathTold(msg pathMsg) tea.Cmd {
	if !m.setUp.running.is(msg.id) {
		return nil
	}
	m.setUp.running.stop()
	m.setUp.running = nil
	if msg.err != nil {
		m.setUp.Refused(msg.err.Error())
		return nil
	}
	if !m.setUp.Adding(msg.path) {
		return nil
	}
	ctx, r := m.begin()
	f := folder{request: r, events: make(chan folderMsg)}
	m.setUp.folder = &f
	add := m.options.SetUp.AddFolder
	return tea.Batch(f.next(), func() tea.Msg {
		defer close(f.events)
		done, told, err := add(ctx, msg.path, func(event wire.LibraryEvent) {
			select {
			case f.events <- folderMsg{id: r.id, event: &event}:
			case <-ctx.Done():
			}
		})
		return folderMsg{id: r.id, done: done, told: told, err: err}
	})
}

// next waits for news on the way; none come after the folder was read.
func (f folder) next() tea.Cmd {
	return func() tea.Msg {
		if msg, ok := <-f.events; ok {
			return msg
		}
		return nil
	}
}

// stop gives up the reading; what was read stays. A nil folder is none.
func (f *folder) stop() {
	if f != nil {
		f.request.stop()
	}
}

// folderTold follows the reading of a folder. From its first document on, searches go to the library.
func (m *Model) folderTold(msg folderMsg) tea.Cmd {
	f := m.setUp.folder
	if f == nil || !f.is(msg.id) {
		return nil
	}
	if msg.event != nil {
		f.rate.update(msg.event.Done, m.now())
		m.setUp.Progress(*msg.event, f.rate.perSecond)
		if f.arrived || msg.event.Stored == 0 {
			return f.next()
		}
		f.arrived = true
		return tea.Batch(f.next(), m.arrive())
	}
	m.setUp.folder = nil
	f.stop()
	switch {
	case msg.err == nil:
		m.setUp.Added(msg.done, msg.told)
		if m.overlay() != InSetUp {
			m.say(msg.told)
		}
		if !f.arrived && msg.done.Added+msg.done.Updated+msg.done.Unchanged > 0 {
			return m.arrive()
		}
	case errors.Is(msg.err, context.Canceled) || client.KindOf(msg.err) == client.Canceled:
		m.setUp.Stopped()
	default:
		m.setUp.Failed(reasonOf(msg.err), remedyOf(msg.err))
		if m.overlay() != InSetUp {
			m.fail("the folder was not read whole: " + reasonOf(msg.err))
		}
	}
	return nil
}
