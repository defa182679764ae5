// Package quality measures how well engines rank, on judged sets of queries: nDCG@10 and recall@100 over whole documents.
// quarry is measured through the product's own readers, chunker and index, without a model, and also on the same queries
// with a typo in each.
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

// bar is what quarry must reach on a set.
type bar struct{ ndcg, recall, typos float64 }

// barOf returns the minimum of a set's nDCG@10 and recall@100, and how much nDCG@10 a typo in each query may cost.
func barOf(name string) bar {
	switch name {
	case "scifact":
		return bar{ndcg: 0.70, recall: 0.93, typos: 0.005}
	case "handbook-sourcegraph":
		return bar{ndcg: 0.74, recall: 0.95, typos: 0.02}
	case "cacm":
		return bar{ndcg: 0.51, recall: 0.70, typos: 0.005}
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
			reached, err := set.measure(ctx, make(), i == 0, out)
			if err != nil {
				return false, fmt.Errorf("%s: %w", set.Name, err)
			}
			ok = ok && (reached || i > 0)
		}
	}
	return ok, nil
}

// measure prints the row of an engine; with typos, also for misspelt queries.
func (s *Set) measure(ctx context.Context, engine Engine, typos bool, out io.Writer) (reached bool, err error) {
	dir, err := os.MkdirTemp("", "quality-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := engine.Add(ctx, dir, s); err != nil {
		return false, errors.Join(err, engine.Close())
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	clean, err := s.rank(ctx, engine, s.queries)
	if err != nil {
		return false, err
	}
	minimum, cost, column := barOf(s.Name), 0.0, ""
	if typos {
		for seed := range uint64(typoRuns) {
			misspelt, err := s.rank(ctx, engine, misspell(s.queries, seed))
			if err != nil {
				return false, err
			}
			cost += (clean.ndcg - misspelt.ndcg) / typoRuns
		}
		column = fmt.Sprintf("%+8.3f", -cost)
	}
	fmt.Fprintf(out, "%-22s %-26s %9d %8d %8.3f %8.3f %6d %s\n", s.Name, engine.Name(), len(s.Documents), clean.queries,
		clean.ndcg, clean.recall, clean.empty, column)
	const rounding = 0.0005
	return clean.ndcg >= minimum.ndcg-rounding && clean.recall >= minimum.recall-rounding && cost <= minimum.typos &&
		clean.empty == 0, nil
}

// means are the figures of an engine on a set.
type means struct {
	ndcg, recall   float64
	queries, empty int
}

func (s *Set) rank(ctx context.Context, engine Engine, queries []Line) (m means, err error) {
	for _, q := range queries {
		judged := s.judgements[q.ID]
		if judged == nil {
			continue
		}
		ranking, err := engine.Rank(ctx, q.Text)
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
