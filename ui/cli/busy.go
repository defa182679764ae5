package cli

import (
	"fmt"
	"sync"
	"time"

	"quarry/internal/guard"
)

// busyAfter is how long a command may be silent before a person is told that it works.
const busyAfter = 200 * time.Millisecond

// busy shows a dim line on a terminal if the work takes longer than a moment. The returned function takes it away; it
// may be called once.
func (a *app) busy(text string) (stop func()) {
	if !a.io.ErrTTY || a.flags.quiet || a.io.isDumb() {
		return func() {}
	}
	var mu sync.Mutex
	shown, over := false, false
	timer := time.AfterFunc(busyAfter, guard.Func(func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			shown = true
			_, _ = fmt.Fprint(a.err, a.errs().Muted.Render(text))
		}
	}, func(error) {})) // nobody misses the line
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		if shown {
			_, _ = fmt.Fprint(a.err, clearLine)
		}
	}
}

// clearLine empties the line that the cursor is in.
const clearLine = "\r\x1b[K"
