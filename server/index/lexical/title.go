package lexical

// title returns BM25 over the title alone for candidate i, with the average length of all titles.
func (s *second) title(i int) (sum float64) {
	params := &s.r.s.params
	norm := params.K1 * (1 - params.B)
	if s.p.title > 0 {
		norm += params.K1 * params.B * float64(s.reader.TitleLength(s.all[i].document)) / s.p.title
	}
	for w := range s.p.words {
		if tf := float64(s.titles[i*len(s.p.words)+w]); tf > 0 {
			sum += s.p.words[w].weight * s.p.words[w].titleIDF * tf * (params.K1 + 1) / (tf + norm)
		}
	}
	return sum
}

// coverage returns what share of the query the title of candidate i covers, by idf, and for lookups how much of the title is
// covered. It multiplies the rest of the score, so that a title alone finds nothing.
func (s *second) coverage(i int) float64 {
	params := &s.r.s.params
	idf, covered := 0.0, 0.0
	for w := range s.p.words {
		if s.titles[i*len(s.p.words)+w] > 0 && s.p.words[w].mass > 0 {
			idf += s.p.words[w].idf
			covered++
		}
	}
	if idf == 0 || s.p.idf == 0 {
		return 0
	}
	exact := min(1, covered/float64(s.reader.TitleLength(s.all[i].document)))
	return (params.Coverage + params.LookupExact*s.p.lookup*exact) * min(1, idf/s.p.idf)
}
