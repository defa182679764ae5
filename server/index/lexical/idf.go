package lexical

import "math"

// idf returns the inverse document frequency of a term that n of total contain: the weight of Robertson and Spärck
// Jones (Relevance weighting of search terms, JASIS 1976) without relevance judgements, as BM25 has it, with 1 added to
// the ratio so that it is never negative.
func idf(total, n int64) float64 {
	n = min(max(n, 0), total)
	return math.Log(1 + (float64(total-n)+0.5)/(float64(n)+0.5))
}
