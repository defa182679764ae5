// Package research scripts what a language model does with quarry: it reads the rendered skill, runs the commands that it
// finds there, and cites passages. One policy serves all questions and never sees their answers.
package research

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"quarry/internal/text"
)

// Task is a question about a folder of documents.
type Task struct {
	ID       string `json:"id"`
	Corpus   string `json:"corpus"`
	Question string `json:"question"`
	Answer   string `json:"answer_matches"` // a regular expression, for the judge only
}

// ReadTasks reads tasks, one a line.
func ReadTasks(path string) (tasks []Task, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var t Task
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

// Run runs a command of quarry and returns its standard output.
type Run func(arguments ...string) (string, error)

// Agent is a language model at work, as far as it can be scripted.
type Agent struct {
	run          Run
	search, read []string // the commands of the skill
	Seen         []string // what the commands printed
}

// NewAgent returns an agent that knows a rendered skill.
func NewAgent(skill string, run Run) (*Agent, error) {
	a := &Agent{run: run}
	_, usage, _ := strings.Cut(skill, "\n## Usage\n\n```sh\n")
	commands, _, found := strings.Cut(usage, "\n```")
	for line := range strings.Lines(commands) {
		switch words := strings.Fields(line); {
		case len(words) > 2 && words[1] == "search" && words[len(words)-1] == `"QUESTION"`:
			a.search = words[1 : len(words)-1]
		case len(words) > 2 && words[1] == "read" && words[len(words)-1] == "REF…":
			a.read = words[1 : len(words)-1]
		}
	}
	if !found || a.search == nil || a.read == nil {
		return nil, errors.New("the skill does not say how to search and read")
	}
	return a, nil
}

// Citation is a passage that an answer rests on.
type Citation struct {
	Number, Ref string
	excerpt     string
}

// reads is how many results the agent reads.
const reads = 3

// Research is the policy: search, in other words if nothing is found, and read the first passages that were found. Those
// are cited, and the excerpt with the most words of the question.
func (a *Agent) Research(question string) ([]Citation, error) {
	a.Seen = nil
	found, err := a.find(question)
	if words := keywords(question); err == nil && len(found) == 0 && len(words) > 0 {
		found, err = a.find(strings.Join(words, " "))
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	best := slices.MaxFunc(found, func(x, y Citation) int {
		return countWords(x.excerpt, question) - countWords(y.excerpt, question)
	})
	found = found[:min(reads, len(found))]
	refs := []string{}
	for _, citation := range found {
		refs = append(refs, citation.Ref)
	}
	if !slices.Contains(refs, best.Ref) {
		found = append(found, best)
	}
	return found, a.do(a.read, refs...)
}

// keywords returns the words of a question without the short ones.
func keywords(question string) []string {
	return slices.DeleteFunc(strings.Fields(strings.ToLower(question)), func(word string) bool { return len(word) < 5 })
}

// countWords counts the keywords of a question that a text has.
func countWords(passage, question string) (n int) {
	passage = strings.ToLower(passage)
	for _, word := range keywords(question) {
		if strings.Contains(passage, word) {
			n++
		}
	}
	return n
}

func (a *Agent) find(question string) ([]Citation, error) {
	if err := a.do(a.search, question); err != nil {
		return nil, err
	}
	return citations(a.Seen[len(a.Seen)-1]), nil
}

func (a *Agent) do(command []string, arguments ...string) error {
	output, err := a.run(slices.Concat(command, arguments)...)
	if err == nil {
		a.Seen = append(a.Seen, output)
	}
	return err
}

// citations lists the passages in the output of a search: a ref is on the line below a title, or only its number where the
// document is that of an earlier result.
func citations(output string) (found []Citation) {
	documents := map[string]string{} // by citation
	lines := strings.Split(output, "\n")
	again := regexp.MustCompile(`^same document (#[\d-]+)`)
	for i, line := range lines {
		number, head, isHead := strings.Cut(line, "] ")
		if !isHead || !strings.HasPrefix(line, "[") {
			continue
		}
		if passage := again.FindStringSubmatch(head); passage != nil {
			found = append(found, Citation{number[1:], documents[number] + passage[1], lines[min(i+1, len(lines)-1)]})
		} else if at := strings.LastIndex(lines[min(i+1, len(lines)-1)], "#"); at >= 0 {
			documents[number] = lines[i+1][:at]
			found = append(found, Citation{number[1:], lines[i+1], lines[min(i+2, len(lines)-1)]})
		}
	}
	return found
}

// Tokens estimates what the first outputs cost.
func (a *Agent) Tokens(outputs int) (sum int) {
	for _, output := range a.Seen[:min(outputs, len(a.Seen))] {
		sum += text.EstimateTokens(output)
	}
	return sum
}

// Find returns the number of the first output, from 0, that has the answer; -1 for none.
func (a *Agent) Find(answer *regexp.Regexp) int {
	return slices.IndexFunc(a.Seen, answer.MatchString)
}

// Judge reads each citation. It returns whether the agent saw the answer and cited a passage that has it, and an error for
// a citation that cannot be read.
func (a *Agent) Judge(answer *regexp.Regexp, cited []Citation) (solved bool, err error) {
	read := slices.Clone(a.read)
	if at := slices.Index(read, "--budget"); at >= 0 { // the whole passage
		read = slices.Delete(read, at, at+2)
	}
	for _, citation := range cited {
		passage, err := a.run(append(slices.Clone(read), citation.Ref)...)
		if err != nil {
			return false, fmt.Errorf("citation [%s] %s: %w", citation.Number, citation.Ref, err)
		}
		solved = solved || answer.MatchString(passage)
	}
	return solved && a.Find(answer) >= 0, nil
}
