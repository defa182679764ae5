package ssh_test

import (
	"os"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
)

// The regular expressions that colour code share one clock, in a goroutine that ends when none has needed it for a while.
// It is kept running here, in real time: one that a synctest bubble starts would know only that bubble's time.
func TestMain(m *testing.M) {
	clock := regexp2.MustCompile("clock", regexp2.None)
	clock.MatchTimeout = 24 * time.Hour
	if _, err := clock.MatchString("clock"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
