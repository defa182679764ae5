package lexical

// coverage returns what share of the query the title of candidate i covers, by idf, and for lookups how much of the
// title is covered. It multiplies the rest of the score, so that a title alone finds nothing. The formula is our own,
// chosen by make bench-quality.
func (s *second) coverage(i int) float64 {
	params := &s.r.s.params
	idf, covered := 0.0, 0.0
	for w := range s.p.words {
		if s.titles[i*len(s.p.words)+w] > 0 && s.p.words[w].bits > 0 {
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
