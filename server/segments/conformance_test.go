package segments

import (
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/internal/testkit/longtest"
	"quarry/server/index"
	"quarry/server/index/lexical"
)

// TestConformance holds the engine to what every engine does: on disk and in memory, as it is and while it merges all
// the time.
func TestConformance(t *testing.T) {
	kinds := map[string]func(t *testing.T) Options{
		"disk":            func(t *testing.T) Options { return Options{Dir: t.TempDir()} },
		"disk, merging":   func(t *testing.T) Options { return Options{Dir: t.TempDir(), policy: eager()} },
		"memory":          func(*testing.T) Options { return Options{} },
		"memory, merging": func(*testing.T) Options { return Options{policy: eager()} },
	}
	for name, options := range kinds {
		t.Run(name, func(t *testing.T) {
			if !longtest.Enabled() && name != "disk, merging" && name != "memory" {
				t.Skip("the same code with less beside it; QUARRY_SLOW tests it, too")
			}
			indextest.Run(t, indextest.Params(lexical.DefaultParams()), func(t *testing.T) index.Index {
				settings := options(t)
				settings.Log = testLog(t)
				x, err := Open(t.Context(), settings)
				if err != nil {
					t.Fatal(err)
				}
				return x
			})
		})
	}
}
