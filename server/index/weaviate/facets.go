package weaviate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"golang.org/x/sync/errgroup"

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
	without := func(left int) *pb.Filters {
		parts := slices.Concat([]*pb.Filters{whole()}, required, more)
		for field, part := range byField {
			if part != nil && field != left {
				parts = append(parts, part)
			}
		}
		return all(parts...)
	}
	var tags, months []index.ValueCount
	group, _ := errgroup.WithContext(r.ctx)
	group.Go(guard.Err(func() error {
		n, err := r.count(without(-1))
		counts.Documents = int(n)
		return err
	}))
	for property, into := range map[string]struct {
		field int
		list  *[]index.ValueCount
	}{
		propSource: {fieldSource, &counts.Sources}, propNames: {fieldAuthor, &counts.Authors}, propType: {fieldType, &counts.Types},
		propSets: {fieldScope, &counts.Sets}, propTags: {fieldTag, &tags}, propMonth: {fieldTime, &months},
	} {
		group.Go(guard.Err(func() (err error) {
			*into.list, err = r.groups(property, without(into.field))
			return err
		}))
	}
	if err := group.Wait(); err != nil {
		return index.Counts{}, err
	}
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag.Value, tagSeparator)
		counts.Tags = append(counts.Tags, index.TagCount{Tag: index.Tag{Key: key, Value: value}, Count: tag.Count})
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
	values := func(a, b []index.ValueCount) []index.ValueCount {
		return summed(a, b, func(v *index.ValueCount) (string, *int) { return v.Value, &v.Count }, cmp.Compare[string])
	}
	tags := summed(a.Tags, b.Tags, func(t *index.TagCount) (index.Tag, *int) { return t.Tag, &t.Count }, func(a, b index.Tag) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	months := values(a.Months, b.Months)
	slices.SortFunc(months, func(a, b index.ValueCount) int { return cmp.Compare(a.Value, b.Value) })
	return index.Counts{Documents: a.Documents + b.Documents, Sources: values(a.Sources, b.Sources), Authors: values(a.Authors, b.Authors),
		Types: values(a.Types, b.Types), Sets: values(a.Sets, b.Sets), Tags: tags, Months: months, Undated: a.Undated + b.Undated}
}

// summed adds the counts of equal values; the most frequent come first, then the order of values.
func summed[C any, V comparable](a, b []C, of func(*C) (V, *int), order func(V, V) int) []C {
	list, at := slices.Clone(a), map[V]int{}
	for i := range list {
		value, _ := of(&list[i])
		at[value] = i
	}
	for i := range b {
		value, n := of(&b[i])
		if known, ok := at[value]; ok {
			_, count := of(&list[known])
			*count += *n
		} else {
			list = append(list, b[i])
		}
	}
	slices.SortFunc(list, func(a, b C) int {
		value, n := of(&a)
		other, m := of(&b)
		return cmp.Or(cmp.Compare(*m, *n), order(value, other))
	})
	return list
}

// groups counts the values of a property.
func (r *reach) groups(property string, filter *pb.Filters) (list []index.ValueCount, err error) {
	limit := uint32(maxGroups)
	err = r.s.index.client.read(r.ctx, r.s.index.client.searches.Add(1), func(ctx context.Context, host pb.WeaviateClient) error {
		reply, err := host.Aggregate(ctx, &pb.AggregateRequest{Collection: r.s.class, Tenant: r.s.index.tenant,
			ObjectsCount: true, Filters: filter, Limit: &limit,
			GroupBy: &pb.AggregateRequest_GroupBy{Collection: r.s.class, Property: property}})
		for _, g := range reply.GetGroupedResults().GetGroups() {
			value := unfield(g.GetGroupedBy().GetText())
			if value != "" || property == propMonth {
				list = append(list, index.ValueCount{Value: value, Count: int(g.GetObjectsCount())})
			}
		}
		return err
	})
	slices.SortFunc(list, func(a, b index.ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	return list, explain(r.ctx, "count in Weaviate", err)
}
