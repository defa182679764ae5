package lint

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCIRunsEveryTarget requires each target that `make help` lists in .ci/run, itself or as a prerequisite of one there.
func TestCIRunsEveryTarget(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string][]string{} // with their prerequisites
	for _, line := range regexp.MustCompile(`(?m)^([a-z-]+):(.*) ## `).FindAllStringSubmatch(string(makefile), -1) {
		targets[line[1]] = strings.Fields(line[2])
	}
	if len(targets) < 10 {
		t.Fatalf("found only the targets %v", targets)
	}
	run := map[string]bool{}
	var mark func(target string)
	mark = func(target string) {
		run[target] = true
		for _, prerequisite := range targets[target] {
			mark(prerequisite)
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^\s*(?:make|tests) ([a-z-]+)|^for target in (.*); do$`).FindAllStringSubmatch(string(script), -1) {
		for _, target := range strings.Fields(line[1] + " " + line[2]) {
			mark(target)
		}
	}
	for target := range targets {
		if !run[target] {
			t.Errorf(".ci/run does not run `make %s`", target)
		}
	}
}
