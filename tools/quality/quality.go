// Package quality measures how well engines rank, on judged sets of queries: nDCG@10 and recall@100 over whole documents.
// quarry is measured through the product's own readers, chunker and index, without a language model: the ranking of its
// engine, and beside it the answer of POST /search, page by page, which has the bars, also on the same queries with a
// typo in each. With an embedding model follow the ranking by vectors alone, and the answer by words and meaning.
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
	// Answer returns the ids of the first documents of the answer: by words, or by meaning too.
	Answer(ctx context.Context, query string, documents int, meaning bool) ([]string, error)
	// Near returns the ids of the documents found by vector, best first; none without an embedding model.
	Near(ctx context.Context, query string) ([]string, error)
}

// bar is what quarry must reach on a set: with meaning fused, and without it in the other fields. fives and tens are the
// shares of queries with a relevant document among the first.
type bar struct{ ndcg, recall, typos, fused, fives, tens float64 }

// mostLost is what meaning may cost on a set.
const mostLost = 0.002

// barOf returns the minimum of a set's nDCG@10 and recall@100, and how much nDCG@10 a typo in each query may cost.
func barOf(name string) bar {
	switch name {
	case "scifact":
		return bar{ndcg: 0.70, recall: 0.925, typos: 0.005, fused: 0.745} // of a hundred results, matches first
	case "handbook-sourcegraph":
		return bar{ndcg: 0.74, recall: 0.948, typos: 0.02, fused: 0.76}
	case "cacm":
		return bar{ndcg: 0.51, recall: 0.69, typos: 0.005, fused: 0.54}
	case "paraphrases":
		return bar{typos: 1, fives: 0.8, tens: 0.85}
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
	fmt.Fprintf(out, "%-22s %-26s %9s %8s %8s %8s %6s %6s %6s %6s %8s\n",
		"", "", "documents", "queries", "nDCG@10", "R@100", "in 5", "in 10", "short", "empty", "typos")
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
	within := func(documents int, meaning bool) func(context.Context, string) ([]string, error) {
		return func(ctx context.Context, query string) ([]string, error) {
			return answerer.Answer(ctx, query, documents, meaning)
		}
	}
	answered, err := s.rank(ctx, s.queries, within(recallDepth, false))
	if err != nil {
		return false, err
	}
	minimum, cost := barOf(s.Name), 0.0
	for seed := range uint64(typoRuns) {
		misspelt, err := s.rank(ctx, misspell(s.queries, seed), within(ndcgDepth, false))
		if err != nil {
			return false, err
		}
		cost += (answered.ndcg - misspelt.ndcg) / typoRuns
	}
	s.print(out, engine.Name()+", the answer", answered, fmt.Sprintf("%+8.3f", -cost))
	const rounding = 0.0005
	reached = answered.ndcg >= minimum.ndcg-rounding && answered.recall >= minimum.recall-rounding &&
		cost <= minimum.typos && answered.empty == 0
	near, err := s.rank(ctx, s.queries, answerer.Near)
	if err != nil || near.empty == near.queries {
		return reached, err
	}
	s.print(out, engine.Name()+", by meaning alone", near, "")
	fused, err := s.rank(ctx, s.queries, within(recallDepth, true))
	if err != nil {
		return false, err
	}
	s.print(out, engine.Name()+", the answer fused", fused, "")
	return reached && fused.ndcg >= max(minimum.fused-rounding, answered.ndcg-mostLost) &&
		fused.fives >= minimum.fives && fused.tens >= minimum.tens, nil
}

func (s *Set) print(out io.Writer, name string, m means, typos string) {
	short := ""
	if m.short > 0 {
		short = fmt.Sprintf("%.3f", m.first)
	}
	fmt.Fprintf(out, "%-22s %-26s %9d %8d %8.4f %8.4f %6.3f %6.3f %6s %6d %s\n", s.Name, name, len(s.Documents),
		m.queries, m.ndcg, m.recall, m.fives, m.tens, short, m.empty, typos)
}

// means are the figures of an engine on a set.
type means struct {
	ndcg, recall          float64
	fives, tens           float64 // shares of the queries with a relevant document among the first five and ten
	first                 float64 // share of the short queries whose first document is relevant
	queries, short, empty int
}

// shortWords is the length of a short query: names of pages and things, of which people expect that page first.
const shortWords = 3

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
		m.fives += success(ranking, judged, 5)
		m.tens += success(ranking, judged, 10)
		if len(strings.Fields(q.Text)) <= shortWords {
			m.short++
			m.first += success(ranking, judged, 1)
		}
	}
	for _, sum := range []*float64{&m.ndcg, &m.recall, &m.fives, &m.tens} {
		*sum /= float64(max(1, m.queries))
	}
	m.first /= float64(max(1, m.short))
	return m, nil
}

// files reports whether the documents of the set are Markdown files, named by their ids.
func (s *Set) files() bool {
	return !slices.ContainsFunc(s.Documents, func(d Line) bool { return !strings.HasSuffix(d.ID, ".md") })
}
