// Large measures searches in a large library by kind: through the whole pipeline in this process, and over HTTP by one
// client of BINARY serve. It fails when a kind is over its budget in process, or the server over its memory.
//
//	large [-judge=false] [-only KIND] [-cpuprofile FILE] BINARY LIBRARY QUERIES.jsonl…
//
// Each line of the query files has a "text". The kinds take turns, so that the noise of the machine falls on all alike.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"quarry/client/wire"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/pipeline"
	"quarry/server/segments"
	"quarry/tools/measure"
)

const (
	queriesOfAKind = 200
	budget         = 25  // p95 in process, in ms
	openBudget     = 20  // in ms
	memoryBudget   = 500 // of the server, in MB

	sampledDocuments = 5_000 // of which the text is measured
)

func main() {
	log.SetFlags(0)
	judge := flag.Bool("judge", true, "fail when a budget is missed")
	only := flag.String("only", "", "measure this kind alone, in process")
	profile := flag.String("cpuprofile", "", "write a profile of the searches in process")
	flag.Parse()
	if flag.NArg() < 3 {
		log.Fatal("usage: large [-judge=false] [-only KIND] [-cpuprofile FILE] BINARY LIBRARY QUERIES.jsonl…")
	}
	kinds, err := readKinds(flag.Args()[2:], *only)
	if err != nil {
		log.Fatal(err)
	}
	held, err := inProcess(context.Background(), flag.Arg(1), kinds, *profile)
	if err == nil && *only == "" {
		var served bool
		served, err = overHTTP(flag.Arg(0), flag.Arg(1), kinds)
		held = held && served
	}
	if err != nil {
		log.Fatal(err)
	}
	if !held && *judge {
		log.Fatal("over budget")
	}
}

// inProcess measures the pipeline over an index that is opened here.
func inProcess(ctx context.Context, library string, kinds []kind, profile string) (held bool, err error) {
	first, cold, err := openTimed(ctx, library)
	if err != nil {
		return false, err
	}
	if err := first.Close(); err != nil {
		return false, err
	}
	opened, warm, err := openTimed(ctx, library)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	search := func(request wire.SearchRequest) error {
		snapshot, err := opened.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer snapshot.Close()
		_, err = pipeline.Run(ctx, snapshot, pipeline.Request{
			Search: request, Access: index.Access{Terms: []string{"PUBLIC"}}, Now: time.Now()}, nil)
		return err
	}
	start := func() error { return nil }
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return false, err
		}
		defer file.Close()
		start = func() error { return pprof.StartCPUProfile(file) }
		defer pprof.StopCPUProfile()
	}
	figures, err := timeKinds(kinds, os.Getpid(), []measure.Limit{measure.P95(budget)}, start, search)
	if err != nil {
		return false, err
	}
	size, err := relativeSize(ctx, opened, library)
	if err != nil {
		return false, err
	}
	figures = append(figures, measure.One("first opening, from the disk", "ms", cold),
		measure.One("opening", "ms", warm, measure.Most(openBudget)),
		measure.One("library on disk ÷ text", "×", size, measure.Most(1)))
	return measure.Print(os.Stdout, "in process", figures)
}

// relativeSize is the size of a library of benchcorpus relative to its text, of which a part is read.
func relativeSize(ctx context.Context, opened *segments.Index, library string) (float64, error) {
	disk, err := measure.FolderBytes(library)
	if err != nil {
		return 0, err
	}
	snapshot, err := opened.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer snapshot.Close()
	stats, err := snapshot.Stats(ctx)
	if err != nil {
		return 0, err
	}
	step, read, text := max(1, stats.Documents/sampledDocuments), 0, 0
	for i := 0; i < stats.Documents; i += step {
		texts, err := snapshot.Texts(ctx, []index.Range{{DocumentID: fmt.Sprintf("doc-%07d", i), To: documents.MaxChunks}},
			index.Everything())
		if err != nil {
			return 0, err
		}
		for _, chunk := range texts[0] {
			text += len(chunk.Text)
		}
		read++
	}
	return float64(disk) / (float64(text) / float64(read) * float64(stats.Documents)), nil
}

// openTimed opens a library until it can be searched.
func openTimed(ctx context.Context, library string) (opened *segments.Index, milliseconds float64, err error) {
	before := time.Now()
	opened, err = segments.Open(ctx, segments.Options{Dir: filepath.Join(library, "tenants", "default"), ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	snapshot, err := opened.Snapshot(ctx)
	if err != nil {
		return nil, 0, errors.Join(err, opened.Close())
	}
	snapshot.Close()
	return opened, measure.Milliseconds(time.Since(before)), nil
}

// overHTTP measures the same searches by one client of a server.
func overHTTP(binary, library string, kinds []kind) (held bool, err error) {
	s, err := measure.Serve(binary, library)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	search := func(request wire.SearchRequest) error { return post(s, request) }
	figures, err := timeKinds(kinds, s.PID(), nil, func() error { return nil }, search)
	if err != nil {
		return false, err
	}
	memory, err := measure.MemoryOf(s.PID())
	if err != nil {
		return false, err
	}
	figures = append(figures, measure.One("memory of the server at most", "MB", memory.Peak, measure.Most(memoryBudget)),
		measure.One("of it, not of mapped files, at the end", "MB", memory.Anonymous))
	return measure.Print(os.Stdout, "over HTTP", figures)
}

func post(s *measure.Server, request wire.SearchRequest) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, s.Address+"/search", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.Tokens[0])
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d %s", answer.StatusCode, text)
	}
	return err
}

// timeKinds searches everything once to warm the caches, calls start, and searches again for the figures. Of a kind it also
// says how much a process computes for a search on average, which other programs of the machine change less than the time.
func timeKinds(kinds []kind, process int, limits []measure.Limit, start func() error, search func(wire.SearchRequest) error) (
	figures []measure.Figure, err error) {
	took, computed := make([][]float64, len(kinds)), make([]time.Duration, len(kinds))
	for round := range 2 {
		if round == 1 {
			if err := start(); err != nil {
				return nil, err
			}
		}
		for i := range queriesOfAKind {
			for k, kind := range kinds {
				if i >= len(kind.requests) {
					continue
				}
				running, _ := measure.RunningOf(process)
				began := time.Now()
				if err := search(kind.requests[i]); err != nil {
					return nil, fmt.Errorf("search %q: %w", kind.requests[i].Query, err)
				}
				if round == 1 {
					took[k] = append(took[k], measure.Milliseconds(time.Since(began)))
					after, _ := measure.RunningOf(process)
					computed[k] += after - running
				}
			}
		}
	}
	for k, kind := range kinds {
		cpu := measure.Milliseconds(computed[k]) / float64(max(1, len(took[k])))
		figures = append(figures, measure.New(fmt.Sprintf("%s (CPU %.1f ms)", kind.name, cpu), "ms", took[k], limits...))
	}
	return figures, nil
}
