package client

import "runtime/debug"

// Guard calls a function and gives its panic as an error. In a goroutine nobody else would catch it, and it would end
// the program with all that others do there.
func Guard(f func() error) (failure error) {
	returned := false
	defer func() {
		if !returned {
			failure = &PanicError{Value: recover(), Stack: debug.Stack()}
		}
	}()
	failure = f()
	returned = true
	return failure
}
