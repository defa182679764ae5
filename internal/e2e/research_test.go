package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quarry/internal/testkit/longtest"
	"quarry/internal/testkit/research"
)

// quarry runs a command for a scripted model.
func (h home) quarry(arguments ...string) (string, error) {
	got := h.run("", arguments...)
	if got.code != 0 {
		return "", fmt.Errorf("%v: exit %d: %s", arguments, got.code, got.stderr)
	}
	return got.stdout, nil
}

// solve has a scripted model, which sees the rendered skill and what commands print, research the questions. It returns the
// tasks that were solved; a citation that cannot be read fails the test.
func (h home) solve(tasks []research.Task, targetOf func(research.Task) []string) (solved []string) {
	h.t.Helper()
	for _, task := range tasks {
		agent, err := research.NewAgent(h.must(append([]string{"skill", "render", "--dir", "-"}, targetOf(task)...)...), h.quarry)
		if err != nil {
			h.t.Fatal(err)
		}
		cited, err := agent.Research(task.Question)
		if err != nil {
			h.t.Fatalf("%s: %v", task.ID, err)
		}
		isSolved, err := agent.Judge(regexp.MustCompile(task.Answer), cited)
		if err != nil {
			h.t.Errorf("%s: %v", task.ID, err)
		}
		if isSolved {
			solved = append(solved, task.ID)
		} else {
			h.t.Logf("%s: not solved", task.ID)
		}
	}
	return solved
}

// A model that sees the skill and nothing else of quarry answers questions about the sample library.
func TestScriptedModelOnTheSampleLibrary(t *testing.T) {
	tasks, err := research.ReadTasks("testdata/sample-tasks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	impossible := []research.Task{{ID: "impossible", Question: tasks[0].Question, Answer: "not in the library"},
		{ID: "elsewhere", Question: "zzqx", Answer: "€2,400"}}
	tasks = tasks[:longtest.Rounds(2, len(tasks))]
	h := newHome(t)
	onSample := func(research.Task) []string { return []string{"--sample"} }
	if solved := h.solve(tasks, onSample); 12*len(solved) < 10*len(tasks) {
		t.Errorf("%d of %d tasks solved: %v", len(solved), len(tasks), solved)
	}
	if solved := h.solve(impossible, onSample); len(solved) > 0 {
		t.Errorf("the judge accepts %v", solved)
	}
}

func TestACitationMustResolve(t *testing.T) {
	h := newHome(t)
	agent, err := research.NewAgent(h.must("skill", "render", "--sample", "--dir", "-"), h.quarry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Judge(regexp.MustCompile("x"), []research.Citation{{Number: "1", Ref: "no:such-document#0"}}); err == nil {
		t.Error("a citation of nothing is accepted")
	}
}

// The same model, with the same policy, on twelve tasks about real folders.
func TestScriptedModelOnRealFolders(t *testing.T) {
	data := os.Getenv("QUARRY_DATA")
	if data == "" {
		t.Skip("NOT TRIED: QUARRY_DATA does not name a folder with agent-tasks.jsonl and corpora/")
	}
	tasks, err := research.ReadTasks(filepath.Join(data, "agent-tasks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	library := func(task research.Task) []string { return []string{"--library", filepath.Join(h.dir, task.Corpus)} }
	added := map[string]bool{}
	for _, task := range tasks {
		if !added[task.Corpus] {
			h.must(append(library(task), "add", "--quiet", filepath.Join(data, "corpora", task.Corpus))...)
			added[task.Corpus] = true
		}
	}
	solved := h.solve(tasks, library)
	t.Logf("%d of %d tasks solved: %s", len(solved), len(tasks), strings.Join(solved, ", "))
	if 12*len(solved) < 10*len(tasks) {
		t.Errorf("%d of %d tasks solved", len(solved), len(tasks))
	}
}
