//go:build unix

// Agents measures what finding answers costs a language model that has only quarry's output, in estimated tokens.
//
//	agents [-judge=false] [-v] BINARY TASKS CORPORA
//
// Each line of TASKS has a question, the folder under CORPORA that answers it, and a pattern of the answer. One policy
// serves all tasks: package research has it. It never sees the patterns, which only judge what was printed. Seen are the
// answers that a person reads without a key, in the first results of the explorer's list. The run fails when too few
// answers were printed or seen, or the output was too long.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"quarry/internal/testkit/research"
	"quarry/internal/text"
)

// The bar, for twelve tasks.
const (
	mayMiss      = 1      // of twelve
	searchBudget = 1_200  // tokens of one search
	totalBudget  = 20_000 // tokens of all tasks
	mustBeSeen   = 7
)

func main() {
	log.SetFlags(0)
	judge := flag.Bool("judge", true, "fail when the bar is missed")
	verbose := flag.Bool("v", false, "print what the model reads")
	flag.Parse()
	if flag.NArg() != 3 {
		log.Fatal("usage: agents [-judge=false] [-v] BINARY TASKS CORPORA")
	}
	if err := run(flag.Arg(0), flag.Arg(1), flag.Arg(2), *judge, *verbose); err != nil {
		log.Fatal(err)
	}
}

func run(binary, tasksFile, corpora string, judge, verbose bool) error {
	tasks, err := research.ReadTasks(tasksFile)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "agents-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Printf("%-18s %8s %8s  %-9s  %s\n", "", "search", "all", "answer in", "seen")
	found, seen, total, longest, skillTokens := 0, 0, 0, 0, 0
	for _, t := range tasks {
		m := machine{binary: binary, library: filepath.Join(scratch, t.Corpus), scratch: scratch}
		skill, err := m.skill(filepath.Join(corpora, t.Corpus))
		if err != nil {
			return err
		}
		agent, err := research.NewAgent(skill, m.quarry)
		if err == nil {
			_, err = agent.Research(t.Question)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		answer, err := regexp.Compile(t.Answer)
		if err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		where := "-"
		if at := agent.Find(answer); at >= 0 {
			found++
			where = []string{"search", "read", "read"}[at]
		}
		screen, err := m.explore(t.Question)
		if err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		isSeen := answer.MatchString(firstRows(screen))
		if isSeen {
			seen++
		}
		search, all := agent.Tokens(1), agent.Tokens(len(agent.Seen))
		total, longest, skillTokens = total+all, max(longest, search), max(skillTokens, text.EstimateTokens(skill))
		fmt.Printf("%-18s %8d %8d  %-9s  %s\n", t.ID, search, all, where, map[bool]string{true: "yes", false: "-"}[isSeen])
		if verbose {
			fmt.Println(strings.Join(append(agent.Seen, screen), "\n"))
		}
	}
	fmt.Printf("%d of %d answers are seen in the first %d results of the explorer (at least %d of twelve)\n", seen, len(tasks),
		firstResults, mustBeSeen)
	fmt.Printf("%d of %d answers found; %d tokens in all (at most %d for twelve), %d for the longest search (at most %d), "+
		"beside %d for the skill\n", found, len(tasks), total, totalBudget, longest, searchBudget, skillTokens)
	if judge && (12*(len(tasks)-found) > mayMiss*len(tasks) || 12*total > totalBudget*len(tasks) || longest > searchBudget ||
		12*seen < mustBeSeen*len(tasks)) {
		return errors.New("below the bar")
	}
	return nil
}

// machine runs the program.
type machine struct{ binary, library, scratch string }

// skill makes the library of a corpus, once, and renders its skill.
func (m machine) skill(corpus string) (string, error) {
	if _, err := os.Stat(m.library); err != nil {
		if _, err := m.quarry("add", "--quiet", "--library", m.library, corpus); err != nil {
			return "", err
		}
	}
	return m.quarry("skill", "render", "--dir", "-", "--library", m.library)
}

func (m machine) command(arguments ...string) *exec.Cmd {
	command := exec.Command(m.binary, arguments...)
	command.Env = []string{"HOME=" + m.scratch, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + m.scratch, "LANG=C.UTF-8",
		"QUARRY_EMBEDDINGS_MODE=off"}
	return command
}

// quarry runs a command and returns its standard output.
func (m machine) quarry(arguments ...string) (string, error) {
	output, err := m.command(arguments...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("quarry %s: %w: %s", arguments[0], err, failed.Stderr)
	}
	return string(output), err
}
