// Agents measures what finding answers costs a language model that has only quarry's output, in estimated tokens.
//
//	agents [-judge=false] [-v] BINARY TASKS CORPORA
//
// Each line of TASKS has a question, the folder under CORPORA that answers it, and a pattern of the answer. One policy
// serves all tasks: search, then read the first passages, a fixed number of them. It never sees the patterns, which only
// judge what was printed. The run fails when too few answers were printed or the output was too long.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"quarry/internal/text"
)

// The bar, for twelve tasks.
const (
	mayMiss      = 1      // of twelve
	searchBudget = 1_200  // tokens of one search
	totalBudget  = 20_000 // tokens of all tasks
)

// The policy: one search, then the first passages that it found in one read.
const (
	searchTokens = 800
	reads        = 3
	readTokens   = 1000
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

type task struct {
	ID       string `json:"id"`
	Corpus   string `json:"corpus"`
	Question string `json:"question"`
	Answer   string `json:"answer_matches"` // a regular expression
}

func run(binary, tasksFile, corpora string, judge, verbose bool) error {
	tasks, err := readTasks(tasksFile)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "agents-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Printf("%-18s %8s %8s  %s\n", "", "search", "all", "answer in")
	found, total, longest := 0, 0, 0
	for _, t := range tasks {
		m := &model{binary: binary, library: filepath.Join(scratch, t.Corpus), scratch: scratch}
		if err := m.add(filepath.Join(corpora, t.Corpus)); err != nil {
			return err
		}
		if err := m.research(t.Question); err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		where, err := m.whereIs(t.Answer)
		if err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		if where != "-" {
			found++
		}
		search, all := m.tokens(1), m.tokens(len(m.seen))
		total, longest = total+all, max(longest, search)
		fmt.Printf("%-18s %8d %8d  %s\n", t.ID, search, all, where)
		if verbose {
			fmt.Println(strings.Join(m.seen, "\n"))
		}
	}
	fmt.Printf("%d of %d answers found; %d tokens in all (at most %d for twelve), %d for the longest search (at most %d)\n",
		found, len(tasks), total, totalBudget, longest, searchBudget)
	if judge && (12*(len(tasks)-found) > mayMiss*len(tasks) || 12*total > totalBudget*len(tasks) || longest > searchBudget) {
		return errors.New("below the bar")
	}
	return nil
}

func readTasks(path string) (tasks []task, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var t task
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tasks = append(tasks, t)
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("%s has no tasks", path)
	}
	return tasks, lines.Err()
}

// model is a language model at work on a question, as far as it can be scripted.
type model struct {
	binary, library, scratch string
	seen                     []string // what the commands printed
}

// add makes the library of a corpus, once.
func (m *model) add(corpus string) error {
	if _, err := os.Stat(m.library); err == nil {
		return nil
	}
	_, err := m.quarry("add", "--quiet", corpus)
	return err
}

// quarry runs a command on the library and returns its standard output.
func (m *model) quarry(command string, arguments ...string) (string, error) {
	run := exec.Command(m.binary, append([]string{command, "--library", m.library}, arguments...)...)
	run.Env = []string{"HOME=" + m.scratch, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + m.scratch}
	output, err := run.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("quarry %s: %w: %s", command, err, failed.Stderr)
	}
	return string(output), err
}

// research is the policy.
func (m *model) research(question string) error {
	output, err := m.quarry("search", "--format", "agent", "--budget", strconv.Itoa(searchTokens), "--", question)
	if err != nil {
		return err
	}
	m.seen = append(m.seen, output)
	found := refs(output)
	if len(found) == 0 {
		return nil
	}
	output, err = m.quarry("read", append([]string{"--budget", strconv.Itoa(readTokens), "--"}, found[:min(reads, len(found))]...)...)
	m.seen = append(m.seen, output)
	return err
}

// refs lists the passages in the output of a search: on the line below a title, or only the number of the passage where
// the document is that of an earlier result.
func refs(output string) (found []string) {
	documents := map[string]string{} // by citation
	lines := strings.Split(output, "\n")
	again := regexp.MustCompile(`^same document (#[\d-]+)`)
	for i, line := range lines {
		citation, head, isHead := strings.Cut(line, "] ")
		if !isHead || !strings.HasPrefix(line, "[") {
			continue
		}
		if number := again.FindStringSubmatch(head); number != nil {
			found = append(found, documents[citation]+number[1])
		} else if document, _, isRef := strings.Cut(lines[min(i+1, len(lines)-1)], "#"); isRef {
			documents[citation] = document
			found = append(found, lines[i+1])
		}
	}
	return found
}

func (m *model) tokens(outputs int) (sum int) {
	for _, output := range m.seen[:outputs] {
		sum += text.EstimateTokens(output)
	}
	return sum
}

// whereIs names the first output that has the answer, "-" for none.
func (m *model) whereIs(pattern string) (string, error) {
	answer, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	for i, output := range m.seen {
		if !answer.MatchString(output) {
			continue
		}
		return []string{"search", "read"}[i], nil
	}
	return "-", nil
}
