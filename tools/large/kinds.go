package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"quarry/client/wire"
)

// kind is a kind of searches that is measured by itself.
type kind struct {
	name     string
	requests []wire.SearchRequest
}

// readKinds makes the kinds of searches from the texts of JSONL files; only one of them, if it is named.
func readKinds(files []string, only string) (kinds []kind, err error) {
	var short, questions []string
	for _, name := range files {
		texts, err := readTexts(name)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			switch words := len(strings.Fields(text)); {
			case words <= 3 && len(short) < queriesOfAKind:
				short = append(short, text)
			case words >= 6 && len(questions) < queriesOfAKind:
				questions = append(questions, text)
			}
		}
	}
	filters := wire.SearchRequest{Filters: wire.Filters{Sources: []string{"google_drive", "slack"}}, TimeCutoffDays: new(1000)}
	for _, made := range []kind{
		{"words", from(short, asTyped, wire.SearchRequest{})},
		{"questions", from(questions, asTyped, wire.SearchRequest{})},
		{"misspelt", from(append(short, questions...), misspelt, wire.SearchRequest{})},
		{"prefixes", from(append(short, questions...), unfinished, wire.SearchRequest{Instant: true})},
		{"letters", from(short, firstLetter, wire.SearchRequest{Instant: true})},
		{"filters", from(questions, asTyped, filters)},
		{"newest", from(questions, asTyped, wire.SearchRequest{Sort: wire.SortNewest})},
		{"hundred", from(questions, asTyped, wire.SearchRequest{NumResults: new(100)})},
	} {
		if only == "" || only == made.name {
			kinds = append(kinds, made)
		}
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no kind of searches is called %q", only)
	}
	return kinds, nil
}

func readTexts(name string) (texts []string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var query struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &query); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		texts = append(texts, query.Text)
	}
	return texts, lines.Err()
}

// from makes searches of texts; those of which it makes nothing are left out.
func from(texts []string, change func(string) string, request wire.SearchRequest) (requests []wire.SearchRequest) {
	for i, text := range texts {
		if text = change(text); text == "" || i%max(1, len(texts)/queriesOfAKind) > 0 {
			continue
		}
		request.Query = text
		if request.NumResults == nil {
			request.NumResults = new(wire.DefaultNumResults)
		}
		requests = append(requests, request)
	}
	return requests
}

func asTyped(text string) string { return text }

// misspelt exchanges two neighbouring letters in the middle of the longest word.
func misspelt(text string) string {
	longest := ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < 'A' || r > 'z' }) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	middle := len(longest) / 2
	if middle < 2 || longest[middle-1] == longest[middle] {
		return ""
	}
	typo := longest[:middle-1] + string(longest[middle]) + string(longest[middle-1]) + longest[middle+1:]
	return strings.Replace(text, longest, typo, 1)
}

// unfinished ends a text within its last word.
func unfinished(text string) string {
	last := strings.LastIndexByte(text, ' ') + 1
	return text[:min(len(text), last+2)]
}

// firstLetter is what is typed first.
func firstLetter(text string) string { return text[:min(len(text), 1)] }
