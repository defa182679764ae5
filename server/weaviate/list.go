package weaviate

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/lexical"
)

const (
	// window is how many documents of a list are looked at where Weaviate cannot say which of them are in it.
	window = 1000
	// maxOffset is up to where Weaviate lists.
	maxOffset = 10_000
)

// listing says how Weaviate finds the documents of what is wanted that are counted or listed.
type listing struct {
	*lexical.Wanted
	filter []*pb.Filters // beside those of the query
	exact  bool          // it admits no others
}

// listing returns that of a query; without exact, its filter may be missing.
func (r *reach) listing(wanted *lexical.Wanted) listing {
	l := listing{wanted, phrased(wanted.Phrases), !r.behind}
	several := func(words []lexical.PhraseWord) bool { return len(words) > 1 }
	for _, words := range wanted.Exclude {
		if !several(words) {
			l.filter = append(l.filter, not(form(words[0])))
		}
	}
	l.exact = l.exact && !slices.ContainsFunc(slices.Concat(wanted.Phrases, wanted.Exclude), several)
	if r.floor != nil {
		l.filter = append(l.filter, r.floor)
	}
	match := matching(wanted)
	switch {
	case match != nil:
		l.filter = append(l.filter, match)
	case len(wanted.Words) > 0:
		return listing{Wanted: wanted}
	default:
		l.filter = append(l.filter, number(propPassages, pb.Filters_OPERATOR_GREATER_THAN, 0))
	}
	return l
}

// question is one search for what is wanted.
type question struct {
	*pb.SearchRequest
	variant int
	listing bool // it finds all documents that match, if they are not too many
	ids     []string
	full    bool
}

// page is the part of a list that Weaviate is asked for.
type page struct{ from, until int }

// pageOf leaves room for changed documents, which Weaviate does not list, before a page.
func (r *reach) pageOf(list *index.List) page {
	return page{min(maxOffset, max(0, list.Offset-len(r.changed))), min(maxOffset, list.Offset+list.Documents)}
}

// ask makes the request for a page, and for enough before it to see whether the list is short.
func (p page) ask(request *pb.SearchRequest) {
	request.Limit = candidates
	if p.from >= candidates {
		request.Offset, request.Limit = uint32(p.from), uint32(max(1, p.until-p.from))
		request.Offset = min(request.Offset, maxOffset-request.Limit)
	} else if p.until > candidates {
		request.Limit = uint32(p.until)
	}
}

// of returns the documents of the page in what a request found, and how many come before them. A short list is
// complete: all is returned.
func (p page) of(q *question) (ids []string, before int, complete bool) {
	if offset := int(q.Offset); offset > 0 || len(q.ids) >= candidates {
		from := min(len(q.ids), p.from-offset)
		return q.ids[from:max(from, min(len(q.ids), p.until-offset))], p.from, false
	}
	return q.ids, 0, true
}

// Fetch implements lexical.Elsewhere.
func (r *reach) Fetch(wanted lexical.Wanted) (parts []lexical.Part, before int) {
	return r.fetch(r.listing(&wanted))
}

func (r *reach) fetch(l listing) (parts []lexical.Part, before int) {
	questions := r.questions(&l)
	r.total = 0
	group, _ := guard.NewGroup(r.ctx)
	group.SetLimit(seesAtOnce)
	for i := range questions {
		group.Run(func() { questions[i].ids, questions[i].full = r.ask(questions[i].SearchRequest) })
	}
	if l.Count && l.List == nil && l.exact {
		group.Run(func() {
			r.total = r.count(
				all(slices.Concat([]*pb.Filters{whole()}, variants(&l.Filter, false)[0], l.filter, r.without())...))
		})
	}
	guard.Check(group.Wait())
	ids, before := r.needed(&l, questions)
	r.loadChanged()
	ids = slices.Compact(slices.Sorted(slices.Values(append(ids, r.changed...))))
	r.fetched = make(map[string]bool, len(ids))
	for _, id := range ids {
		r.fetched[id] = true
	}
	return r.parts(ids), before
}

// needed returns the documents that are read of those that were found, and how many of a list come before them.
func (r *reach) needed(l *listing, questions []question) (ids []string, before int) {
	if len(l.Words) > 0 || l.List != nil {
		r.listed, r.incomplete, r.rest = *l, false, false
	}
	all := map[int]bool{} // variants of which all documents were found
	for i := range questions {
		if q := &questions[i]; q.listing && !q.full {
			all[q.variant] = true
		}
	}
	for i := range questions {
		q := &questions[i]
		switch {
		case q.listing && q.variant == 0 && l.pages():
			some, n, complete := r.pageOf(l.List).of(q)
			if !complete {
				r.incomplete = true
				return some, n
			}
			ids = append(ids, some...)
			continue
		case q.listing && q.full && l.byScore():
			r.rest = r.rest || q.variant == 0 && l.exact
		default:
			ids = append(ids, q.ids...)
		}
		r.incomplete = r.incomplete || q.full && !all[q.variant]
	}
	return ids, 0
}

func (l *listing) byScore() bool {
	return l.List.Order == index.ByScore && len(l.Words) > 0
}

// pages reports whether Weaviate's order is that of the list, so that the documents before a page need not be read.
func (l *listing) pages() bool {
	return l.List != nil && l.exact && !l.byScore()
}

// questions are the searches for what is wanted.
func (r *reach) questions(l *listing) (list []question) {
	var terms []string
	for _, word := range l.Words {
		terms = append(terms, word.Terms...)
	}
	documents := func(variant int, limit int, parts ...*pb.Filters) *question {
		list = append(list, question{variant: variant,
			SearchRequest: &pb.SearchRequest{Filters: all(append([]*pb.Filters{whole()}, parts...)...),
				Limit: uint32(limit)}})
		return &list[len(list)-1]
	}
	limit := max(candidates, l.Limit)
	if len(l.Exclude) > 0 {
		limit = max(limit, window) // some of them do not qualify
	}
	filters := variants(&l.Filter, l.Count)
	switch {
	case len(l.Titled) > 0:
		documents(0, limit, append(filters[0], anyOf(propTitled, l.Titled))...).SortBy = []*pb.SortBy{{Ascending: true,
			Path: []string{propSize}}}
		return list
	case len(terms) == 0 && len(l.Phrases) > 0:
		documents(0, limit, append(filters[0], phrased(l.Phrases)...)...)
		return list
	}
	for variant, filter := range filters {
		listed := l.List != nil && l.filter != nil
		if len(terms) > 0 && (!listed || l.byScore()) {
			list = append(list, question{variant: variant, SearchRequest: bm25(terms, filter, limit)})
			if len(l.Phrases) > 0 {
				documents(variant, limit, slices.Concat(filter, phrased(l.Phrases))...)
			}
		}
		if !listed || len(terms) == 0 && !l.List.Browse {
			continue
		}
		q := documents(variant, candidates, slices.Concat(filter, l.filter, r.without())...)
		q.listing = true
		if !l.byScore() {
			q.SortBy = []*pb.SortBy{{Ascending: true, Path: []string{orderOf(l.List)}}}
			q.Limit = window
		}
		if variant > 0 {
			q.Limit = candidates
		} else if l.pages() {
			r.pageOf(l.List).ask(q.SearchRequest)
		}
	}
	return list
}

// without leaves out the documents that Weaviate does not have as they are, which are read.
func (r *reach) without() []*pb.Filters {
	if len(r.changed) == 0 {
		return nil
	}
	return []*pb.Filters{not(anyOf(propDocument, r.changed))}
}

// orderOf is the property that a list is sorted by, ascending.
func orderOf(list *index.List) string {
	if list.Order == index.Oldest {
		return propOldest
	}
	return propNewest
}

// places returns the place of a document among the newest and among the oldest first: whole numbers of 53 bits, no two
// alike, if possible, so that the nodes of a cluster list documents of the same second in one order. Undated ones come
// last.
func places(d *index.Document) (newest, oldest float64) {
	const second, latest = 19, 1<<33 - 1
	digest := fnv.New64a()
	_, _ = digest.Write([]byte(d.ID))
	hash := digest.Sum64() * 0x9e3779b97f4a7c15 // its upper bits differ where ids do at their end
	if d.UpdatedAt.IsZero() {
		undated := float64(1<<52 + hash>>12)
		return undated, undated
	}
	at := max(-latest, min(d.UpdatedAt.Unix(), latest)) << second
	tie := int64(hash >> (64 - second))
	return float64(-at + tie), float64(at + tie)
}

// listRest adds the documents of a list by score that were no candidates: the newest first.
func (s *snapshot) listRest(ctx context.Context, r *reach, query index.Query, result *index.Result) {
	list := &index.List{Documents: query.List.Documents - len(result.Hits), Order: index.Newest,
		Folds: map[string]string{}}
	if len(result.Hits) == 0 {
		list.Offset = max(0, query.List.Offset-result.Before)
	}
	begun := map[string]bool{"": true}
	for id, group := range query.List.Folds {
		begun[group] = begun[group] || r.fetched[id]
	}
	for id, group := range query.List.Folds {
		if begun[group] {
			group = ""
		}
		list.Folds[id] = group
	}
	query.List, query.Count = list, false
	query.Filter.NoDocuments = append(slices.Clip(query.Filter.NoDocuments), slices.Sorted(maps.Keys(r.fetched))...)
	further := s.reach(ctx, query.Filter.Access)
	further.loaded, further.changed, further.since, further.behind = r.loaded, r.changed, r.since, r.behind
	rest := guard.Must(further.searcher().Search(ctx, query))
	if len(result.Hits) == 0 {
		result.Before += rest.Before
	}
	result.Hits = append(result.Hits, rest.Hits...)
}
