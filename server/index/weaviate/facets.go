package weaviate

import (
	"cmp"
	"context"
	"slices"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"golang.org/x/sync/errgroup"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/server/index"
)

const (
	// maxGroups bounds the values of a field that are counted.
	maxGroups = 10_000
	// maxCounted documents that a search matches are read to be counted, beside its candidates.
	maxCounted = 500
)

// aggregate counts the documents that a filter admits in Weaviate, where they are too many to be read. Those that it does not
// have as they are count for nothing: what it has of them may be what the caller may see no more.
func (r *reach) aggregate(filter *index.Filter, more ...*pb.Filters) (counts index.Counts, err error) {
	more = append(slices.Clip(more), r.without()...)
	required, byField := filterOf(filter)
	without := func(left field.ID) *pb.Filters {
		parts := slices.Concat([]*pb.Filters{whole()}, required, more)
		for id, part := range byField {
			if part != nil && field.ID(id) != left {
				parts = append(parts, part)
			}
		}
		return all(parts...)
	}
	var months []index.ValueCount
	group, _ := errgroup.WithContext(r.ctx)
	group.Go(guard.Err(func() error {
		n, err := r.count(without(-1))
		counts.Documents = int(n)
		return err
	}))
	countInto := func(id field.ID, property string, list *[]index.ValueCount) {
		group.Go(guard.Err(func() (err error) {
			*list, err = r.groups(property, without(id))
			return err
		}))
	}
	for id := range field.N {
		column := index.ColumnOf(id)
		countInto(id, cmp.Or(column.Counted, column.Property), &counts.Values[id])
	}
	countInto(fieldTime, propMonth, &months)
	if err := group.Wait(); err != nil {
		return index.Counts{}, err
	}
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
	counts.Estimated = len(r.changed) > 0
	return counts, nil
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
func (r *reach) groups(property string, filter *pb.Filters) (list []index.ValueCount, err error) {
	limit := uint32(maxGroups)
	err = r.s.index.client.read(r.ctx, r.s.index.client.searches.Add(1), func(ctx context.Context, host pb.WeaviateClient) error {
		reply, err := host.Aggregate(ctx, &pb.AggregateRequest{Collection: r.s.class, Tenant: r.s.index.tenant,
			ObjectsCount: true, Filters: filter, Limit: &limit,
			GroupBy: &pb.AggregateRequest_GroupBy{Collection: r.s.class, Property: property}})
		for _, g := range reply.GetGroupedResults().GetGroups() {
			value := unmark(g.GetGroupedBy().GetText())
			if value != "" || property == propMonth {
				list = append(list, index.ValueCount{Value: value, Count: int(g.GetObjectsCount())})
			}
		}
		return err
	})
	slices.SortFunc(list, mostFirst)
	return list, explain(r.ctx, "count in Weaviate", err)
}
