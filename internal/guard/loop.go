package guard

import "sync"

// Loop runs a function in a goroutine of its own as often as it is asked for, one run at a time. The zero value is
// ready.
type Loop struct {
	mutex   sync.Mutex
	running bool
	again   bool // asked for since the last run began
	stopped bool
	idle    sync.WaitGroup
}

// Kick runs do, or once more after the current run. A panic of do goes to broke and costs one run.
func (l *Loop) Kick(do func(), broke func(error)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.stopped {
		return
	}
	l.again = true
	if !l.running {
		l.running = true
		l.idle.Add(1)
		Go(func() {
			defer l.idle.Done()
			for l.next() {
				Func(do, broke)()
			}
		}, broke)
	}
}

func (l *Loop) next() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running, l.again = l.again, false
	return l.running
}

// Stop lets no further runs begin but the ones that were asked for.
func (l *Loop) Stop() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.stopped = true
}

// Wait waits until nothing is left to run.
func (l *Loop) Wait() { l.idle.Wait() }
