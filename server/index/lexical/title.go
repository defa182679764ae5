package lexical

// title returns BM25 (Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, Okapi at TREC-3, 1994) over the title
// alone for candidate i, with the average length of all titles.
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
