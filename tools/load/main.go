// Load measures a served library over HTTP: how long a search takes on an idle server, what the server answers at most,
// and how long searches take then, and at a part of that. Each figure stands beside its budget; it fails when one is
// over, or when a request is lost.
//
//	load [-judge=false] [-clients N] [-part P] [-time D] [-words N] BINARY LIBRARY QUERIES.jsonl…
//
// It starts BINARY serve on LIBRARY, with tokens of its own that it removes again. A closed loop is a number of clients
// of which each asks again when it is answered. An open loop asks at random moments at a fixed rate, whatever is
// answered, and counts from the moment at which a request was due: a server that stalls is not spared what it delayed.
// The queries of all files are mixed, always in the same way. Generator and server share the machine: the CPU that each
// takes is told, and what others take, by whom the tails are lengthened most of all.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"quarry/tools/measure"
)

const (
	idleBudget   = 20 * time.Millisecond // p50 of one client
	openBudget   = 20                    // p99 of the open loop, in p50s of one client
	closedBudget = 2                     // p99 of the closed loop, in clients ÷ throughput
)

func main() {
	log.SetFlags(0)
	clients := flag.Int("clients", 64, "clients of the closed loop")
	part := flag.Float64("part", 0.6, "rate of the open loop, as a part of what the closed loop reached")
	span := flag.Duration("time", 15*time.Second, "of each measurement")
	words := flag.Int("words", 0, "ask for this many words of each query only, the longest; 0: for all")
	judge := flag.Bool("judge", true, "fail when a budget is missed")
	flag.Parse()
	if flag.NArg() < 3 || *clients < 1 || *part <= 0 {
		log.Fatal("usage: load [flags] BINARY LIBRARY QUERIES.jsonl… (-h lists the flags)")
	}
	within, err := run(flag.Arg(0), flag.Arg(1), flag.Args()[2:], *words, *clients, *part, *span)
	if err != nil {
		log.Fatal(err)
	}
	if !within && *judge {
		log.Fatal("over budget")
	}
}

func run(binary, library string, files []string, words, clients int, part float64, span time.Duration) (within bool, err error) {
	queries, err := readQueries(files)
	if err != nil {
		return false, err
	}
	for i := range queries {
		queries[i] = longest(queries[i], words)
	}
	// In the order of the files, hundreds of the long questions come in a row, which are no load of a server but two.
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	s, err := measure.Serve(binary, library)
	if err != nil {
		return false, err
	}
	defer func() {
		if stopErr := s.Stop(); err == nil {
			err = stopErr
		}
	}()
	g := newGenerator(s, queries, clients)
	if warm := g.closed(1, span/5); warm.errors > 0 {
		return false, fmt.Errorf("searches fail: %s", warm.reason)
	}
	idle := g.closed(1, span/3)
	full := g.closed(clients, span)
	open := g.open(part*full.throughput(), span)

	print("one client", idle, fmt.Sprintf("p50 at most %v", idleBudget))
	fair := time.Duration(closedBudget * float64(clients) / full.throughput() * float64(time.Second))
	print(fmt.Sprintf("%d clients", clients), full, fmt.Sprintf("p99 at most %s", ms(fair)))
	most := openBudget * idle.percentile(50)
	print(fmt.Sprintf("open loop, %.0f/s", part*full.throughput()), open, fmt.Sprintf("p99 at most %s", ms(most)))
	if memory, err := measure.MemoryOf(s.PID()); err == nil {
		fmt.Printf("memory of the server at most %.0f MB\n", memory.Peak)
	}
	within = idle.percentile(50) <= idleBudget && full.percentile(99) <= fair && open.percentile(99) <= most &&
		idle.errors+full.errors+open.errors == 0
	return within, nil
}

func print(name string, r result, budget string) {
	fmt.Printf("%-18s %7.1f/s  p50 %8s  p95 %8s  p99 %8s  %d requests, %d failed  CPU: server %.0f %%, generator %.0f %%, others %.0f %%  (%s)\n",
		name, r.throughput(), ms(r.percentile(50)), ms(r.percentile(95)), ms(r.percentile(99)), len(r.took)+r.errors, r.errors,
		100*r.serverCPU, 100*r.ownCPU, 100*r.othersCPU, budget)
	if r.reason != "" {
		fmt.Printf("%-18s the first failure: %s\n", "", r.reason)
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// longest returns the n longest words of a query in their order; all for 0.
func longest(query string, n int) string {
	words := strings.Fields(query)
	for n > 0 && len(words) > n {
		shortest := slices.MinFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		at := slices.Index(words, shortest)
		words = slices.Delete(words, at, at+1)
	}
	return strings.Join(words, " ")
}

// readQueries reads the texts of JSONL files with one {"text"} a line.
func readQueries(files []string) ([]string, error) {
	var queries []string
	for _, name := range files {
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
			if query.Text != "" {
				queries = append(queries, query.Text)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("no query in %v", files)
	}
	return queries, nil
}
