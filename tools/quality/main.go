// Quality measures how well the embedded engine ranks, on judged sets of queries, through the product's own readers,
// chunker and index: the best chunk of each document stands for it, without a model.
//
//	QUARRY_DATA=DIR quality [-judge=false]        the sets under DIR/qrels, each with corpus.jsonl, queries.jsonl and qrels.tsv
//
// It fails when a set falls below its bar or a query finds nothing.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/index/embedded"
	"quarry/server/ingest"
)

// judgedSet is a collection with judged queries and the nDCG@10 that it must reach.
type judgedSet struct {
	name  string
	bar   float64
	files bool // its documents are Markdown files, named by their ids
}

func judgedSets() []judgedSet {
	return []judgedSet{
		{name: "scifact", bar: 0.68},
		{name: "handbook-sourcegraph", bar: 0.70, files: true},
		{name: "cacm", bar: 0.50},
	}
}

// passagesPerQuery is deep enough for a hundred documents of several chunks each.
const passagesPerQuery = 2000

func main() {
	log.SetFlags(0)
	judge := flag.Bool("judge", true, "fail when a set is below its bar")
	flag.Parse()
	data := os.Getenv("QUARRY_DATA")
	if data == "" {
		log.Fatal("set QUARRY_DATA to the folder that holds qrels/")
	}
	fmt.Printf("%-22s %9s %8s %8s %8s %8s %6s %12s\n",
		"", "documents", "queries", "nDCG@10", "R@100", "bar", "empty", "mean ms")
	failed := false
	for _, set := range judgedSets() {
		ok, err := measure(context.Background(), filepath.Join(data, "qrels", set.name), set)
		if err != nil {
			log.Fatalf("%s: %v", set.name, err)
		}
		failed = failed || !ok
	}
	if failed && *judge {
		log.Fatal("below the bar")
	}
}

type line struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func measure(ctx context.Context, folder string, set judgedSet) (ok bool, err error) {
	scratch, err := os.MkdirTemp("", "quality-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	idx, err := embedded.Open(ctx, embedded.Options{Dir: filepath.Join(scratch, "library")})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, idx.Close()) }()
	documents, prefix, err := add(ctx, idx, folder, filepath.Join(scratch, "corpus"), set)
	if err != nil {
		return false, err
	}
	judgements, err := readJudgements(filepath.Join(folder, "qrels.tsv"))
	if err != nil {
		return false, err
	}
	queries, err := readLines(filepath.Join(folder, "queries.jsonl"))
	if err != nil {
		return false, err
	}
	snapshot, err := idx.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	defer snapshot.Close()
	var count, empty int
	var ndcgSum, recallSum float64
	start := time.Now()
	for _, q := range queries {
		judged := judgements[q.ID]
		if judged == nil {
			continue
		}
		ranking, err := rank(ctx, snapshot, q.Text, prefix)
		if err != nil {
			return false, fmt.Errorf("query %s: %w", q.ID, err)
		}
		if len(ranking) == 0 {
			empty++
		}
		count++
		ndcgSum += ndcg(ranking, judged)
		recallSum += recall(ranking, judged)
	}
	mean := ndcgSum / float64(count)
	fmt.Printf("%-22s %9d %8d %8.3f %8.3f %8.3f %6d %12.2f\n", set.name, documents, count, mean,
		recallSum/float64(count), set.bar, empty, float64(time.Since(start).Microseconds())/1000/float64(count))
	return mean >= set.bar && empty == 0, nil
}

// rank lists the documents found, best first; prefix is what the index put before the ids of the judgements.
func rank(ctx context.Context, snapshot index.Snapshot, query, prefix string) ([]string, error) {
	result, err := snapshot.Search(ctx, index.Query{
		Text: query, Limit: passagesPerQuery, Filter: index.Filter{Access: index.Access{All: true}},
	})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var ranking []string
	for _, hit := range result.Hits {
		if id := strings.TrimPrefix(hit.DocumentID, prefix); !seen[id] {
			seen[id] = true
			ranking = append(ranking, id)
		}
	}
	return ranking, nil
}

// add brings the corpus into the index the way a user would: as Markdown files, or as ingestion documents.
func add(ctx context.Context, idx index.Index, folder, target string, set judgedSet) (documents int, prefix string, err error) {
	corpus, err := readLines(filepath.Join(folder, "corpus.jsonl"))
	if err != nil {
		return 0, "", err
	}
	path := target
	if set.files {
		prefix = "file:" + filepath.ToSlash(target) + "/"
		err = writeFiles(target, corpus)
	} else {
		path += ".jsonl"
		err = writeDocuments(path, corpus)
	}
	if err != nil {
		return 0, "", err
	}
	done, err := ingest.Add(ctx, idx, []string{path}, ingest.Options{}, func(e wire.LibraryEvent) {
		if e.Type == wire.LibrarySkipped {
			log.Printf("skipped %s: %s", e.Path, e.Reason)
		}
	})
	return done.Added, prefix, err
}

func writeFiles(target string, corpus []line) error {
	for _, d := range corpus {
		path := filepath.Join(target, filepath.FromSlash(d.ID))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(d.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeDocuments(path string, corpus []line) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, d := range corpus {
		err := encoder.Encode(wire.IngestionDocument{
			ID: d.ID, Source: "file", SemanticIdentifier: d.Title, Sections: []wire.IngestionSection{{Text: d.Text}},
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

func readLines(path string) (lines []line, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(data)); decoder.More(); {
		var l line
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
