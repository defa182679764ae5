// Compare times searches over the same documents in quarry's embedded engine, bleve and SQLite FTS5, in one process
// and in turn, so that the noise of the machine falls on all of them alike. Read the ratios.
//
//	compare [-judge=false] CHUNKS.jsonl QUERIES.jsonl...
//	compare [-judge=false] [-meaning=false] [-model FOLDER] [-kept FOLDER] -quality FOLDER
//
// CHUNKS.jsonl holds ingestion documents of one chunk each; each line of the query files has a "text".
// With -quality it ranks instead, on the judged sets below FOLDER (see package quality), by words and with the model in
// the binary or in a folder, whose vectors take minutes for each set: -kept keeps them for the next run.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"quarry/client/wire"
	"quarry/server/encoder/builtin"
	"quarry/server/llm"
)

// engine is one of the searchers compared.
type engine interface {
	name() string
	// build indexes all documents under dir.
	build(ctx context.Context, dir string, documents []wire.IngestionDocument) error
	// search returns the ids of the documents of the best passages, with their texts read.
	search(ctx context.Context, query string, limit int) ([]string, error)
	close() error
}

const (
	queriesOfAKind = 200
	passages       = 10
)

func main() {
	log.SetFlags(0)
	judge := flag.Bool("judge", true, "fail when another engine answers sooner")
	sets := flag.String("quality", "", "rank on the judged sets below a `folder`")
	meaning := flag.Bool("meaning", true, "rank by meaning, too")
	model := flag.String("model", "", "use the model in a `folder` instead of the one in the binary")
	kept := flag.String("kept", "", "keep the libraries of the sets with their vectors in a `folder`")
	flag.Parse()
	if *sets != "" {
		embedding := llm.Embedding{}
		switch {
		case *model != "":
			embedding.Path = *model
		case *meaning:
			embedding.Packed = builtin.Model()
		}
		models, err := llm.New(llm.Config{Embedding: embedding})
		if err == nil {
			err = rankSets(context.Background(), *judge, *sets, *kept, models)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	if flag.NArg() < 2 {
		log.Fatal("usage: compare [-judge=false] CHUNKS.jsonl QUERIES.jsonl...")
	}
	if err := run(context.Background(), *judge, flag.Arg(0), flag.Args()[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, judge bool, chunks string, queryFiles []string) error {
	documents, err := readDocuments(chunks)
	if err != nil {
		return err
	}
	questions, short, err := readQueries(queryFiles)
	if err != nil {
		return err
	}
	engines := []engine{&quarryEngine{}, &bleveEngine{}, &ftsEngine{}}
	built := make([]time.Duration, len(engines))
	fmt.Printf("%d documents, %d questions, %d short queries\n\n", len(documents), len(questions), len(short))
	fmt.Printf("%-14s %10s %10s %22s %22s\n", "", "build s", "index MB", "question p50/p95 ms", "1-3 words p50/p95 ms")
	folders := make([]string, len(engines))
	for i, e := range engines {
		if folders[i], err = os.MkdirTemp("", "compare-"); err != nil {
			return err
		}
		defer os.RemoveAll(folders[i])
		start := time.Now()
		if err := e.build(ctx, folders[i], documents); err != nil {
			return fmt.Errorf("build %s: %w", e.name(), err)
		}
		defer e.close()
		built[i] = time.Since(start)
	}
	long, err := measure(ctx, engines, questions)
	if err != nil {
		return err
	}
	few, err := measure(ctx, engines, short)
	if err != nil {
		return err
	}
	for i, e := range engines {
		size, err := folderSize(folders[i])
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %10.1f %10.0f %13.2f /%7.2f %13.2f /%7.2f\n", e.name(), built[i].Seconds(), float64(size)/1e6,
			long[i].p50, long[i].p95, few[i].p50, few[i].p95)
	}
	for i, e := range engines[1:] {
		if ours, theirs := long[0].p50, long[i+1].p50; judge && ours >= theirs {
			return fmt.Errorf("a question takes quarry %.2f ms and %s %.2f ms", ours, e.name(), theirs)
		}
	}
	return nil
}

// percentiles are of the time for a query, in milliseconds.
type percentiles struct{ p50, p95 float64 }

// measure lets the engines take turns with all of the queries, once to warm the caches and then twice for the figures. A
// turn is not a single query: it would find the processor's caches full of what the slowest engine has read.
func measure(ctx context.Context, engines []engine, queries []string) ([]percentiles, error) {
	times := make([][]float64, len(engines))
	for round := range 3 {
		for i, e := range engines {
			for _, q := range queries {
				start := time.Now()
				if _, err := e.search(ctx, q, passages); err != nil {
					return nil, fmt.Errorf("search %q with %s: %w", q, e.name(), err)
				}
				if round > 0 {
					times[i] = append(times[i], float64(time.Since(start).Microseconds())/1000)
				}
			}
		}
	}
	figures := make([]percentiles, len(engines))
	for i, of := range times {
		slices.Sort(of)
		figures[i] = percentiles{of[len(of)/2], of[len(of)*95/100]}
	}
	return figures, nil
}

func readDocuments(path string) (documents []wire.IngestionDocument, err error) {
	err = eachLine(path, func(line []byte) error {
		var request wire.IngestionRequest
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		documents = append(documents, request.Document)
		return nil
	})
	return documents, err
}

// readQueries divides the queries into questions of at least six words and short ones of one to three.
func readQueries(paths []string) (questions, short []string, err error) {
	for _, path := range paths {
		err := eachLine(path, func(line []byte) error {
			var query struct{ Text string }
			if err := json.Unmarshal(line, &query); err != nil {
				return err
			}
			switch words := len(strings.Fields(query.Text)); {
			case words >= 6 && len(questions) < queriesOfAKind:
				questions = append(questions, query.Text)
			case words <= 3 && len(short) < queriesOfAKind:
				short = append(short, query.Text)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return questions, short, nil
}

func eachLine(path string, do func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return lines.Err()
}

func folderSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// words breaks a query into lower-case words for engines that take them one by one.
func words(query string) []string {
	return strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
}
