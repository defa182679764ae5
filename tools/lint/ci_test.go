package lint

import (
	"os"
	"regexp"
	"slices"
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
	groups := map[string]bool{}      // which are nothing but their prerequisites
	for _, line := range regexp.MustCompile(`(?m)^([a-z-]+):(.*) ## .*\n(\t?)`).FindAllStringSubmatch(string(makefile), -1) {
		targets[line[1]], groups[line[1]] = strings.Fields(line[2]), line[3] == ""
	}
	if len(targets) < 10 {
		t.Fatalf("found only the targets %v", targets)
	}
	joined := strings.ReplaceAll(string(script), "\\\n", "")
	run := map[string]bool{}
	var mark func(target string)
	mark = func(target string) {
		run[target] = true
		for _, prerequisite := range targets[target] {
			mark(prerequisite)
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^\s*(?:make|tests) (.*)$`).FindAllStringSubmatch(joined, -1) {
		for _, word := range strings.Fields(line[1]) {
			mark(word)
		}
	}
	for target, prerequisites := range targets {
		isLeft := func(prerequisite string) bool { return !run[prerequisite] }
		if !run[target] && (!groups[target] || slices.ContainsFunc(prerequisites, isLeft)) {
			t.Errorf(".ci/run does not run `make %s`", target)
		}
	}
}
