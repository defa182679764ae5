// Package quality measures how well engines rank, on judged sets of queries: nDCG@10 and recall@100 over whole documents.
// quarry is measured through the product's own readers, chunker and index, without a model: the ranking of its engine, and
// beside it the answer of POST /search, page by page, which has the bars, also on the same queries with a typo in each.
package quality

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Engine is one of the engines measured.
type Engine interface {
	Name() string
	// Add indexes the documents of a set below dir.
	Add(ctx context.Context, dir string, set *Set) error
	// Rank returns the ids of the documents found, best first.
	Rank(ctx context.Context, query string) ([]string, error)
	Close() error
}

// Answerer is an engine with a server before it, which may order its documents otherwise.
type Answerer interface {
	// Answer returns the ids of the first documents of the answer.
	Answer(ctx context.Context, query string, documents int) ([]string, error)
}

// bar is what quarry must reach on a set.
type bar struct{ ndcg, recall, typos float64 }

// barOf returns the minimum of a set's nDCG@10 and recall@100, and how much nDCG@10 a typo in each query may cost.
func barOf(name string) bar {
	switch name {
	case "scifact":
		return bar{ndcg: 0.70, recall: 0.925, typos: 0.005} // a page of 100 ends with a match, not with what it outscores
	case "handbook-sourcegraph":
		return bar{ndcg: 0.74, recall: 0.95, typos: 0.02}
	case "cacm":
		return bar{ndcg: 0.51, recall: 0.70, typos: 0.005}
	case "xquad-de", "xquad-ru":
		return bar{ndcg: 0.945, recall: 0.99, typos: 0.01}
	case "xquad-es":
		return bar{ndcg: 0.96, recall: 0.99, typos: 0.01}
	case "xquad-tr":
		return bar{ndcg: 0.945, recall: 0.99, typos: 0.01}
	}
	return bar{typos: 1}
}

// Run measures engines on every set below folder and writes a table to out. It reports whether the first engine, which is
// quarry, reaches all bars and finds something for every query.
func Run(ctx context.Context, folder string, engines []func() Engine, out io.Writer) (ok bool, err error) {
	ok = true
	fmt.Fprintf(out, "%-22s %-26s %9s %8s %8s %8s %6s %8s\n",
		"", "", "documents", "queries", "nDCG@10", "R@100", "empty", "typos")
	folders, err := filepath.Glob(filepath.Join(folder, "*", "qrels.tsv"))
	if err != nil || len(folders) == 0 {
		return false, errors.Join(err, fmt.Errorf("%s has no folder with a file qrels.tsv", folder))
	}
	for _, file := range folders {
		set, err := load(filepath.Dir(file))
		if err != nil {
			return false, err
		}
		for i, make := range engines {
			reached, err := set.measure(ctx, make(), out)
			if err != nil {
				return false, fmt.Errorf("%s: %w", set.Name, err)
			}
			ok = ok && (reached || i > 0)
		}
	}
	return ok, nil
}

// measure prints the row of an engine, and of its answer where that is another one, also for misspelt queries.
func (s *Set) measure(ctx context.Context, engine Engine, out io.Writer) (reached bool, err error) {
	dir, err := os.MkdirTemp("", "quality-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := engine.Add(ctx, dir, s); err != nil {
		return false, errors.Join(err, engine.Close())
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	ranked, err := s.rank(ctx, s.queries, engine.Rank)
	if err != nil {
		return false, err
	}
	s.print(out, engine.Name(), ranked, "")
	answerer, ok := engine.(Answerer)
	if !ok {
		return true, nil
	}
	within := func(documents int) func(context.Context, string) ([]string, error) {
		return func(ctx context.Context, query string) ([]string, error) {
			return answerer.Answer(ctx, query, documents)
		}
	}
	answered, err := s.rank(ctx, s.queries, within(recallDepth))
	if err != nil {
		return false, err
	}
	minimum, cost := barOf(s.Name), 0.0
	for seed := range uint64(typoRuns) {
		misspelt, err := s.rank(ctx, misspell(s.queries, seed), within(ndcgDepth))
		if err != nil {
			return false, err
		}
		cost += (answered.ndcg - misspelt.ndcg) / typoRuns
	}
	s.print(out, engine.Name()+", the answer", answered, fmt.Sprintf("%+8.3f", -cost))
	const rounding = 0.0005
	return answered.ndcg >= minimum.ndcg-rounding && answered.recall >= minimum.recall-rounding && cost <= minimum.typos &&
		answered.empty == 0, nil
}

func (s *Set) print(out io.Writer, name string, m means, typos string) {
	fmt.Fprintf(out, "%-22s %-26s %9d %8d %8.4f %8.4f %6d %s\n", s.Name, name, len(s.Documents), m.queries, m.ndcg, m.recall, m.empty, typos)
}

// means are the figures of an engine on a set.
type means struct {
	ndcg, recall   float64
	queries, empty int
}

func (s *Set) rank(ctx context.Context, queries []Line, rank func(context.Context, string) ([]string, error)) (m means,
	err error) {
	for _, q := range queries {
		judged := s.judgements[q.ID]
		if judged == nil {
			continue
		}
		ranking, err := rank(ctx, q.Text)
		if err != nil {
			return m, fmt.Errorf("query %s: %w", q.ID, err)
		}
		if len(ranking) == 0 {
			m.empty++
		}
		m.queries++
		m.ndcg += ndcg(ranking, judged)
		m.recall += recall(ranking, judged)
	}
	if m.queries > 0 {
		m.ndcg /= float64(m.queries)
		m.recall /= float64(m.queries)
	}
	return m, nil
}

// files reports whether the documents of the set are Markdown files, named by their ids.
func (s *Set) files() bool {
	return !slices.ContainsFunc(s.Documents, func(d Line) bool { return !strings.HasSuffix(d.ID, ".md") })
}
