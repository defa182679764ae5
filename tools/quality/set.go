package quality

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Set is a collection of documents with judged queries.
type Set struct {
	Name       string
	Documents  []Line
	queries    []Line
	judgements map[string]grades
}

// Line is a document or a query.
type Line struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// load reads corpus.jsonl, queries.jsonl and qrels.tsv of a folder.
func load(folder string) (*Set, error) {
	s := &Set{Name: filepath.Base(folder)}
	var err error
	if s.Documents, err = readLines(filepath.Join(folder, "corpus.jsonl")); err != nil {
		return nil, err
	}
	if s.queries, err = readLines(filepath.Join(folder, "queries.jsonl")); err != nil {
		return nil, err
	}
	s.judgements, err = readJudgements(filepath.Join(folder, "qrels.tsv"))
	return s, err
}

func readLines(path string) (lines []Line, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(data)); decoder.More(); {
		var l Line
		if err := decoder.Decode(&l); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func readJudgements(path string) (map[string]grades, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	judgements := map[string]grades{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q has not three fields", path, lines.Text())
		}
		grade, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if judgements[fields[0]] == nil {
			judgements[fields[0]] = grades{}
		}
		judgements[fields[0]][fields[1]] = grade
	}
	return judgements, lines.Err()
}
