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
	folder  *request // being read
	arrived bool     // the library that the folder is read into is searched already
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
	m.pushPanel(InSetUp, &m.setUp)
	return nil
}

func (m *Model) setUpEnter() tea.Cmd { return m.carryOut(m.setUp.Enter()) }
func (m *Model) setUpNext() tea.Cmd  { return m.carryOut(m.setUp.Next()) }

// Back goes one level back, and stops a test.
func (s *settingUp) Back() bool {
	s.running.stop()
	return s.Wizard.Back()
}

// cannotClose keeps the set-up open for what is as good as written.
func cannotClose(m *Model) string {
	saving := m.overlay() == InSetUp && m.setUp.saving && m.setUp.running.running()
	return unless(!saving, "saving the connection")
}

// carryOut does what the wizard wants.
func (m *Model) carryOut(intent setup.Intent) tea.Cmd {
	backend := m.options.SetUp.Backend
	m.setUp.saving = intent.Kind == setup.Save
	switch intent.Kind {
	case setup.Test:
		return background(m, &m.setUp.running, func(ctx context.Context) (setup.Tested, error) {
			return backend.Test(ctx, intent.Connection)
		}, m.handleTested)
	case setup.Save:
		return background(m, &m.setUp.running, func(ctx context.Context) (string, error) {
			return backend.Save(ctx, intent.Connection)
		}, m.handleSaved)
	case setup.Folder:
		return background(m, &m.setUp.running, func(context.Context) (string, error) {
			return backend.Path(intent.Path)
		}, m.handlePath)
	case setup.Complete:
		return func() tea.Msg {
			completed := backend.Complete(intent.Path)
			return resultMsg{handle: func() tea.Cmd {
				m.setUp.Completed(intent.Path, completed)
				return nil
			}}
		}
	case setup.Stop:
		m.setUp.folder.cancel() // what was read so far is still reported
	case setup.Leave:
		m.panels = nil
	}
	return nil
}

func (m *Model) handleTested(found setup.Tested, err error) tea.Cmd {
	if err != nil {
		m.setUp.Stopped()
	} else {
		m.setUp.Tested(found)
	}
	return nil
}

func (m *Model) handleSaved(where string, err error) tea.Cmd {
	if err != nil {
		m.setUp.Failed(reasonOf(err), remedyOf(err))
		return nil
	}
	m.setUp.Saved(where)
	return m.findTarget()
}

// findTarget looks for the target that was set up, to search there from now on.
func (m *Model) findTarget() tea.Cmd {
	ctx, find := m.ctx, m.options.SetUp.Target
	return func() tea.Msg {
		target, err := find(ctx)
		return resultMsg{handle: func() tea.Cmd { return m.handleTarget(target, err) }}
	}
}

func (m *Model) handleTarget(target Target, err error) tea.Cmd {
	if err != nil {
		m.fail("could not switch: " + reasonOf(err))
		return nil
	}
	return m.switchTo(target)
}

// handlePath begins to read a folder.
func (m *Model) handlePath(path string, err error) tea.Cmd {
	if err != nil {
		m.setUp.Refused(err.Error())
		return nil
	}
	if !m.setUp.Adding(path) {
		return nil
	}
	m.setUp.arrived, m.setUp.rate = false, rate{}
	add := m.options.SetUp.AddFolder
	return stream(m, &m.setUp.folder, 0, func(ctx context.Context, report func(wire.LibraryEvent)) (added, error) {
		done, where, err := add(ctx, path, report)
		return added{done, where}, err
	}, m.handleFolderEvents, m.handleAdded)
}

// added is a folder that was read, and where searches go from now on.
type added struct {
	done  wire.LibraryEvent
	where string
}

// handleFolderEvents shows how far the reading is. From its first document on, searches go to the library.
func (m *Model) handleFolderEvents(events []wire.LibraryEvent) tea.Cmd {
	var found tea.Cmd
	for _, event := range events {
		m.setUp.rate.update(event.Done, m.now())
		m.setUp.Progress(event, m.setUp.rate.perSecond)
		if !m.setUp.arrived && event.Stored > 0 {
			m.setUp.arrived, found = true, m.findTarget()
		}
	}
	return found
}

func (m *Model) handleAdded(folder added, err error) tea.Cmd {
	switch {
	case err == nil:
		m.setUp.Added(folder.done, folder.where)
		if m.overlay() != InSetUp {
			m.say(folder.where)
		}
		if done := folder.done; !m.setUp.arrived && done.Added+done.Updated+done.Unchanged > 0 {
			return m.findTarget()
		}
	case errors.Is(err, context.Canceled) || client.KindOf(err) == client.Canceled:
		m.setUp.Stopped()
	default:
		m.setUp.Failed(reasonOf(err), remedyOf(err))
		if m.overlay() != InSetUp {
			m.fail("could not read the whole folder: " + reasonOf(err))
		}
	}
	return nil
}
