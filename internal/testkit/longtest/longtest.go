// Package longtest tells tests that have a long form whether to take it.
package longtest

import "os"

// Enabled reports whether QUARRY_SLOW asks for the long forms of tests, as the targets of `make test-all` do.
func Enabled() bool { return os.Getenv("QUARRY_SLOW") != "" }

// Rounds returns how often to repeat a test on random data: usual times in `make test`, many times in the long form.
func Rounds(usual, many int) int {
	if Enabled() {
		return many
	}
	return usual
}
