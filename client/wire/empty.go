package wire

// FillEmpty puts an empty list or map where the answer has none, so that every field is written as the contract says:
// always present, and never null where a list or an object belongs.
func (r *SearchResponse) FillEmpty() {
	fillSlice(&r.Results)
	for i := range r.Results {
		r.Results[i].FillEmpty()
	}
	fillMap(&r.CitationMapping)
	fillSlice(&r.QueryExpansion.SemanticQueries)
	fillSlice(&r.QueryExpansion.KeywordQueries)
	fillSlice(&r.Queries)
	fillSlice(&r.AppliedFilters)
	r.Facets.FillEmpty()
	fillSlice(&r.Stages)
	fillSlice(&r.Notes)
	fillSlice(&r.Searched)
}

// FillEmpty does for one result what it does for a whole answer. Ranks stays absent unless it was asked for.
func (r *SearchResult) FillEmpty() {
	fillSlice(&r.Highlights)
	fillSlice(&r.HeadingPath)
	fillMap(&r.Metadata)
	fillSlice(&r.Authors)
}

// FillEmpty does for facets what it does for a whole answer.
func (f *Facets) FillEmpty() {
	fillSlice(&f.Sources)
	fillSlice(&f.Authors)
	fillSlice(&f.Types)
	fillSlice(&f.DocumentSets)
	fillSlice(&f.Tags)
	fillSlice(&f.Months)
}

func fillSlice[T any](s *[]T) {
	if *s == nil {
		*s = []T{}
	}
}

func fillMap[K comparable, V any](m *map[K]V) {
	if *m == nil {
		*m = map[K]V{}
	}
}
