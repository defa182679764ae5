package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"quarry/server/index"
	"quarry/server/sample"
)

// mostTasks is how many research tasks there are.
const mostTasks = 12

// tiny writes a stand-in for DATA, made from the sample library, so that every measurement can be tried without the real
// corpora. The queries of each document are made from its title.
func tiny(out string) error {
	documents, err := sample.Documents()
	if err != nil {
		return err
	}
	var corpus, queries, judgements, tasks strings.Builder
	handbook := filepath.Join(out, "corpora", "sourcegraph-handbook")
	if err := os.MkdirAll(handbook, 0o755); err != nil {
		return err
	}
	for i, d := range documents {
		id, text := fmt.Sprintf("%03d.md", i), textOf(d)
		task := map[string]string{"id": id, "corpus": "sourcegraph-handbook", "question": d.Title,
			"answer_matches": regexp.QuoteMeta(firstWords(d.Chunks[0].Text, 6))}
		if i < mostTasks {
			if err := writeLine(&tasks, task); err != nil {
				return err
			}
		}
		err := errors.Join(os.WriteFile(filepath.Join(handbook, id), []byte(text), 0o644),
			writeLine(&corpus, map[string]string{"_id": id, "title": d.Title, "text": text}))
		if err != nil {
			return err
		}
		words := strings.Fields(d.Title)
		for kind, query := range map[string]string{
			"short": strings.Join(words[:min(3, len(words))], " "), "question": "what do we know about the topic " + d.Title,
		} {
			if err := writeLine(&queries, map[string]string{"_id": kind + id, "text": query}); err != nil {
				return err
			}
			fmt.Fprintf(&judgements, "%s%s\t%s\t1\n", kind, id, id)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "agent-tasks.jsonl"), []byte(tasks.String()), 0o644); err != nil {
		return err
	}
	for _, set := range []string{"scifact", "handbook-sourcegraph", "cacm"} {
		folder := filepath.Join(out, "qrels", set)
		err := errors.Join(os.MkdirAll(folder, 0o755),
			os.WriteFile(filepath.Join(folder, "corpus.jsonl"), []byte(corpus.String()), 0o644),
			os.WriteFile(filepath.Join(folder, "queries.jsonl"), []byte(queries.String()), 0o644),
			os.WriteFile(filepath.Join(folder, "qrels.tsv"), []byte(judgements.String()), 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}

func firstWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(n, len(words))], " ")
}

func textOf(d index.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", d.Title)
	for _, chunk := range d.Chunks {
		fmt.Fprintf(&b, "\n%s\n", chunk.Text)
	}
	return b.String()
}

func writeLine(b *strings.Builder, value any) error { return json.NewEncoder(b).Encode(value) }
