package weaviate

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/lexical"
)

func on(property string) *pb.FilterTarget {
	return &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}}
}

// anyOf admits objects that have one of the values; without values none.
func anyOf(property string, list []string) *pb.Filters {
	if list = fields(list); len(list) == 0 {
		return never()
	}
	return &pb.Filters{Operator: pb.Filters_OPERATOR_CONTAINS_ANY, Target: on(property),
		TestValue: &pb.Filters_ValueTextArray{ValueTextArray: &pb.TextArray{Values: list}}}
}

// never admits nothing.
func never() *pb.Filters { return number(propOrdinal, pb.Filters_OPERATOR_LESS_THAN, wholeDocument) }

func number(property string, operator pb.Filters_Operator, value int64) *pb.Filters {
	return &pb.Filters{Operator: operator, Target: on(property), TestValue: &pb.Filters_ValueInt{ValueInt: value}}
}

func all(parts ...*pb.Filters) *pb.Filters { return combine(pb.Filters_OPERATOR_AND, parts) }

func either(parts ...*pb.Filters) *pb.Filters { return combine(pb.Filters_OPERATOR_OR, parts) }

func combine(operator pb.Filters_Operator, parts []*pb.Filters) *pb.Filters {
	if len(parts) == 1 {
		return parts[0]
	}
	return &pb.Filters{Operator: operator, Filters: parts}
}

func not(part *pb.Filters) *pb.Filters {
	return &pb.Filters{Operator: pb.Filters_OPERATOR_NOT, Filters: []*pb.Filters{part}}
}

// fieldTime is the field of a filter behind those of the table. The values of a field are counted under every field but
// their own.
const (
	fieldTime  = field.N
	fieldCount = field.N + 1
)

// rights admits what access may see.
func rights(access index.Access) *pb.Filters {
	shown := &pb.Filters{Operator: pb.Filters_OPERATOR_EQUAL, Target: on(propHidden),
		TestValue: &pb.Filters_ValueBoolean{}}
	if access.All {
		return shown
	}
	return all(anyOf(propAccess, access.Terms), shown)
}

// filterParts are what a filter requires of all documents, and by field; nil where it does not bound it.
type filterParts struct {
	required []*pb.Filters
	byField  [fieldCount]*pb.Filters
}

// without returns all parts but that of a field; -1: all.
func (p *filterParts) without(left int) []*pb.Filters {
	parts := slices.Clone(p.required)
	for field, part := range p.byField {
		if part != nil && field != left {
			parts = append(parts, part)
		}
	}
	return parts
}

func filterOf(f *index.Filter) filterParts {
	byField, required := [fieldCount]*pb.Filters{}, []*pb.Filters{rights(f.Access)}
	if f.Among != nil {
		required = append(required, anyOf(propDocument, f.Among))
	}
	for id, values := range f.None {
		if len(values) > 0 {
			required = append(required, not(hasAny(field.ID(id), values)))
		}
	}
	if len(f.NoDocuments) > 0 {
		required = append(required, not(anyOf(propDocument, f.NoDocuments)))
	}
	for id, values := range f.Any {
		if len(values) > 0 {
			byField[id] = hasAny(field.ID(id), values)
		}
	}
	if len(f.Documents) > 0 {
		byField[field.Set] = either(hasAny(field.Set, f.Any[field.Set]), anyOf(propDocument, f.Documents))
	}
	byField[fieldTime] = times(f)
	return filterParts{required, byField}
}

// hasAny admits objects that a filter's values of a field mean.
func hasAny(id field.ID, values []string) *pb.Filters {
	keys := make([]string, len(values))
	for i, value := range values {
		keys[i] = propertyValue(id, index.KeyOf(id, value))
	}
	return anyOf(index.ColumnOf(id).Property, keys)
}

// times bounds the time; nil without bounds. Times are whole microseconds.
func times(f *index.Filter) *pb.Filters {
	if f.Since.IsZero() && f.Until.IsZero() {
		return nil
	}
	dated := []*pb.Filters{number(propUpdated, pb.Filters_OPERATOR_GREATER_THAN, undated)}
	if !f.Since.IsZero() {
		dated = append(dated, number(propUpdated, pb.Filters_OPERATOR_GREATER_THAN_EQUAL,
			f.Since.Add(time.Microsecond-1).UnixMicro()))
	}
	if !f.Until.IsZero() {
		dated = append(dated, number(propUpdated, pb.Filters_OPERATOR_LESS_THAN_EQUAL, f.Until.UnixMicro()))
	}
	passes, fails := f.DayEdges()
	if !fails.IsZero() {
		dated = append(dated, number(propUpdated, pb.Filters_OPERATOR_NOT_EQUAL, fails.UnixMicro()))
	}
	if !passes.IsZero() && (f.Until.IsZero() || !passes.After(f.Until)) {
		dated = []*pb.Filters{either(all(dated...), number(propUpdated, pb.Filters_OPERATOR_EQUAL, passes.UnixMicro()))}
	}
	if f.KeepUndated {
		return either(all(dated...), number(propUpdated, pb.Filters_OPERATOR_EQUAL, undated))
	}
	return all(dated...)
}

// variants returns the whole filter, and with counted the same without each of its fields: what must be found to count
// the values of that field.
func variants(f *index.Filter, counted bool) [][]*pb.Filters {
	parts := filterOf(f)
	list := [][]*pb.Filters{parts.without(-1)}
	for field, part := range parts.byField {
		if part != nil && counted {
			list = append(list, parts.without(field))
		}
	}
	return list
}

// whole admits documents only, not their passages.
func whole() *pb.Filters { return number(propOrdinal, pb.Filters_OPERATOR_EQUAL, wholeDocument) }

// longestPhrase bounds the words of a phrase that are asked for; what is read is held against all of them.
const longestPhrase = 64

// phrased admits documents with the words of all phrases, in any order.
func phrased(phrases [][]lexical.PhraseWord) (parts []*pb.Filters) {
	for _, phrase := range phrases {
		for _, word := range phrase[:min(len(phrase), longestPhrase)] {
			parts = append(parts, form(word))
		}
	}
	return parts
}

// form admits documents with a word of a phrase.
func form(word lexical.PhraseWord) *pb.Filters {
	if len(word.Surfaces) > 0 {
		return anyOf(propSurfaces, word.Surfaces)
	}
	return anyOf(propTerms, word.Terms)
}

// maxThreshold bounds the words whose combinations are written as a filter.
const maxThreshold = 10

// matching admits the documents that match: those with enough of the words that count; nil if there are too many
// words.
func matching(wanted *lexical.Wanted) *pb.Filters {
	properties, counted := []string{propTerms, propTitled}, []countedWord(nil)
	for _, word := range wanted.Words {
		for i := range bits.Len64(word.Bits) {
			if len(counted) <= i {
				counted = append(counted, countedWord{properties: properties[:1+wanted.Titles>>i&1]})
			}
			if word.Bits>>i&1 == 1 {
				counted[i].terms = append(counted[i].terms, word.Terms...)
			}
		}
	}
	if len(counted) == 0 || len(counted) > maxThreshold || wanted.Need == 0 {
		return nil
	}
	return atLeast(counted, wanted.Need)
}

// countedWord is a word that counts once for each property that has one of its terms.
type countedWord struct{ terms, properties []string }

// most is what words count where all properties have them.
func most(words []countedWord) (n int) {
	for _, word := range words {
		n += len(word.properties)
	}
	return n
}

// atLeast admits documents for which some words count as much as need.
func atLeast(words []countedWord, need int) *pb.Filters {
	if need > most(words) {
		return never()
	}
	if len(words) == 1 {
		return anyOf(words[0].properties[need-1], words[0].terms) // what is in a later property is in those before
	}
	left, right := words[:len(words)/2], words[len(words)/2:]
	var ways []*pb.Filters
	for n := max(0, need-most(right)); n <= min(need, most(left)); n++ {
		var both []*pb.Filters
		if n > 0 {
			both = append(both, atLeast(left, n))
		}
		if n < need {
			both = append(both, atLeast(right, need-n))
		}
		ways = append(ways, all(both...))
	}
	return either(ways...)
}

const (
	// maxGroups bounds the values of a field that are counted.
	maxGroups = 10_000
	// maxCounted documents that a search matches are read to be counted, beside its candidates.
	maxCounted = 500
)

// aggregate counts the documents that a filter admits in Weaviate, where they are too many to be read. Those that
// changed since are left to the caller: the people who may see them may have changed, too.
func (r *reach) aggregate(filter *index.Filter, more ...*pb.Filters) (counts index.Counts) {
	more = append(slices.Clip(more), r.without()...)
	parts := filterOf(filter)
	without := func(left field.ID) *pb.Filters {
		return all(slices.Concat([]*pb.Filters{whole()}, parts.without(int(left)), more)...)
	}
	var months []index.ValueCount
	group, _ := guard.NewGroup(r.ctx)
	group.Run(func() { counts.Documents = int(r.count(without(-1))) })
	countInto := func(id field.ID, property string, list *[]index.ValueCount) {
		group.Run(func() { *list = r.groups(property, without(id)) })
	}
	for id := range field.N {
		column := index.ColumnOf(id)
		countInto(id, cmp.Or(column.Counted, column.Property), &counts.Values[id])
	}
	countInto(fieldTime, propMonth, &months)
	guard.Check(group.Wait())
	for i, tag := range counts.Values[field.Tag] {
		counts.Values[field.Tag][i].Value = pairOf(tag.Value)
	}
	for _, month := range months {
		if month.Value == "" {
			counts.Undated = month.Count
		} else {
			counts.Months = append(counts.Months, month)
		}
	}
	slices.SortFunc(counts.Months, func(a, b index.ValueCount) int { return cmp.Compare(a.Value, b.Value) })
	return counts
}

// sum returns the counts of two sets of documents that have none in common.
func sum(a, b index.Counts) index.Counts {
	for id := range a.Values {
		a.Values[id] = summed(a.Values[id], b.Values[id])
	}
	a.Months = summed(a.Months, b.Months)
	slices.SortFunc(a.Months, func(a, b index.ValueCount) int { return cmp.Compare(a.Value, b.Value) })
	a.Documents, a.Undated = a.Documents+b.Documents, a.Undated+b.Undated
	return a
}

// summed adds the counts of equal values; the most frequent come first, then the order of values.
func summed(a, b []index.ValueCount) []index.ValueCount {
	counts := map[string]int{}
	for _, v := range slices.Concat(a, b) {
		counts[v.Value] += v.Count
	}
	var list []index.ValueCount
	for value, count := range counts {
		list = append(list, index.ValueCount{Value: value, Count: count})
	}
	slices.SortFunc(list, mostFirst)
	return list
}

// mostFirst orders by count, then by value.
func mostFirst(a, b index.ValueCount) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
}

// groups counts the values of a property.
func (r *reach) groups(property string, filter *pb.Filters) (list []index.ValueCount) {
	limit := uint32(maxGroups)
	reply := r.countObjects(&pb.AggregateRequest{Filters: filter, Limit: &limit,
		GroupBy: &pb.AggregateRequest_GroupBy{Collection: r.s.class, Property: property}})
	for _, g := range reply.GetGroupedResults().GetGroups() {
		value := unmark(g.GetGroupedBy().GetText())
		if value != "" || property == propMonth {
			list = append(list, index.ValueCount{Value: value, Count: int(g.GetObjectsCount())})
		}
	}
	slices.SortFunc(list, mostFirst)
	return list
}

func (r *reach) countObjects(request *pb.AggregateRequest) (reply *pb.AggregateReply) {
	request.Collection, request.Tenant, request.ObjectsCount = r.s.class, r.s.index.tenant, true
	client := r.s.index.client
	err := client.read(r.ctx, client.searches.Add(1), func(ctx context.Context, host pb.WeaviateClient) (err error) {
		reply, err = host.Aggregate(ctx, request)
		return err
	})
	guard.Check(explain(r.ctx, "count in Weaviate", err))
	return reply
}
