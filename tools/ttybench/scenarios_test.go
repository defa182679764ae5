//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range scenarios() {
		if seen[s.name] || s.name == "all" || s.name == "list" || strings.Contains(s.name, ",") {
			t.Errorf("the name %q", s.name)
		}
		seen[s.name] = true
	}
	b := &bench{}
	chosen, err := b.choose("all")
	if err != nil || len(chosen) == 0 || len(chosen) == len(scenarios()) {
		t.Errorf("without a library: %d of %d, %v", len(chosen), len(scenarios()), err)
	}
	for _, names := range []string{"nothing", "start,", "library-start"} {
		if _, err := b.choose(names); err == nil {
			t.Errorf("%q was taken", names)
		}
	}
}
