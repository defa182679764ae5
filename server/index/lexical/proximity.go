package lexical

// proximity returns what the neighbours of the query add where they occur near each other in candidate i: for each pair
// the smaller idf times a saturated count of near places. It is the pair weighting of Rasolofo and Savoy (Term
// proximity scoring for keyword-based retrieval systems, ECIR 2003) with the two windows of sequential dependence
// (Metzler and Croft, A Markov random field model for term dependencies, SIGIR 2005).
func (s *second) proximity(i int) (sum float64) {
	words := len(s.p.words)
	for _, pair := range s.p.pairs {
		a, b := s.positions[i*words+pair[0]], s.positions[i*words+pair[1]]
		if n := nearness(s.arena[a[0]:a[1]], s.arena[b[0]:b[1]], s.r.s.params.NearUnordered); n > 0 {
			sum += min(s.p.words[pair[0]].idf, s.p.words[pair[1]].idf) * n / (n + 1)
		}
	}
	return sum
}

// nearness counts how often b occurs near a: one where it follows within orderedWindow, unordered where it is within
// nearWindow on either side.
func nearness(a, b []uint32, unordered float64) (sum float64) {
	low := 0
	for _, p := range a {
		for low < len(b) && b[low]+nearWindow < p {
			low++
		}
		near := 0.0
		for _, q := range b[low:] {
			if q > p+nearWindow {
				break
			}
			if q > p && q <= p+orderedWindow {
				near = 1
				break
			}
			near = unordered
		}
		sum += near
	}
	return sum
}
