package vector

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// checkedHits are the nearest vectors that must be found for a sample of queries.
	checkedHits = 10
	// checkedShare of them must be.
	checkedShare = 0.99
	// checkedWork bounds what the check costs, in multiplications: half a second.
	checkedWork    = 500_000_000
	fewestChecks   = 8
	mostChecks     = 32
	checkedOffset  = 0.35 // how far off the sample queries lie from vectors, as a length
	checkedReserve = 1.5
)

// calibrate measures how many vectors, in the order of their signs, hold the checkedHits nearest of queries that lie
// near vectors of the file; 0 where all are measured anyway. raw is the content of the file.
func calibrate(l layout, raw []byte, mean, scales []float32) int {
	if l.count <= exactBelow {
		return 0
	}
	random := rand.New(rand.NewPCG(uint64(l.count), uint64(l.dimensions)))
	rows, codes := raw[l.bits:l.keys], raw[l.codes:l.content]
	checks := min(max(checkedWork/(l.count*l.dimensions), fewestChecks), mostChecks)
	var needed []int
	scores := make([]Near, l.count)
	for range checks {
		query := near(random, l.row(codes, random.IntN(l.count)))
		for i := range scores {
			scores[i] = Near{i, scales[i] * dot(query, l.row(codes, i))}
		}
		histogram := make([]int, l.dimensions+1)
		like, stride := signs(query, mean), 8*l.words
		for i := range l.count {
			histogram[differing(like, rows[i*stride:(i+1)*stride])]++
		}
		for i := 1; i < len(histogram); i++ {
			histogram[i] += histogram[i-1]
		}
		for _, best := range nearest(scores, checkedHits) {
			needed = append(needed, histogram[differing(like, rows[best.Index*stride:(best.Index+1)*stride])])
		}
	}
	slices.Sort(needed)
	at := min(int(math.Ceil(checkedShare*float64(len(needed)))), len(needed)) - 1
	return min(l.count, int(checkedReserve*float64(needed[at])))
}

// near makes a query that lies near a vector.
func near(random *rand.Rand, codes []byte) []float32 {
	query := make([]float32, len(codes)/codeBytes)
	length := 0.0
	for d := range query {
		query[d] = codeAt(codes, d)
		length += float64(query[d]) * float64(query[d])
	}
	noise := checkedOffset * math.Sqrt(length/float64(len(query)))
	moved := 0.0
	for d := range query {
		query[d] += float32(noise * random.NormFloat64())
		moved += float64(query[d]) * float64(query[d])
	}
	for d := range query {
		query[d] /= float32(max(math.Sqrt(moved), math.SmallestNonzeroFloat32))
	}
	return query
}

// nearest returns the n best, in no particular order; all changes its order.
func nearest(all []Near, n int) []Near {
	slices.SortFunc(all[:min(n, len(all))], func(a, b Near) int { return cmp.Compare(a.Score, b.Score) })
	best := slices.Clone(all[:min(n, len(all))]) // worst first
	for _, candidate := range all[len(best):] {
		if candidate.Score <= best[0].Score {
			continue
		}
		best[0] = candidate
		for i := 1; i < len(best) && best[i].Score < best[i-1].Score; i++ {
			best[i], best[i-1] = best[i-1], best[i]
		}
	}
	return best
}
