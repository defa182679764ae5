package quality

import (
	"cmp"
	"math"
	"slices"
)

// grades are the judgements of one query: document → grade.
type grades map[string]int

const (
	ndcgDepth   = 10
	recallDepth = 100
)

// ndcg is nDCG@10 as trec_eval computes it: gain = grade, discount log2(rank + 1), the ideal from all judged documents.
func ndcg(ranking []string, judged grades) float64 {
	gain := 0.0
	for i, document := range ranking[:min(len(ranking), ndcgDepth)] {
		gain += float64(max(judged[document], 0)) / math.Log2(float64(i)+2)
	}
	ideal := make([]int, 0, len(judged))
	for _, grade := range judged {
		ideal = append(ideal, grade)
	}
	slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(b, a) })
	best := 0.0
	for i, grade := range ideal[:min(len(ideal), ndcgDepth)] {
		best += float64(max(grade, 0)) / math.Log2(float64(i)+2)
	}
	if best == 0 {
		return 0
	}
	return gain / best
}

// success is 1 if a relevant document is among the first n.
func success(ranking []string, judged grades, n int) float64 {
	if slices.ContainsFunc(ranking[:min(len(ranking), n)], func(document string) bool { return judged[document] > 0 }) {
		return 1
	}
	return 0
}

// recall is recall@100: the share of the relevant documents among the first hundred.
func recall(ranking []string, judged grades) float64 {
	relevant, found := 0, 0
	for _, grade := range judged {
		if grade > 0 {
			relevant++
		}
	}
	for _, document := range ranking[:min(len(ranking), recallDepth)] {
		if judged[document] > 0 {
			found++
		}
	}
	if relevant == 0 {
		return 0
	}
	return float64(found) / float64(relevant)
}
