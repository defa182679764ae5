package indextest

import (
	"context"
	"fmt"
	"slices"

	"quarry/client/field"
	"quarry/server/index"
)

// CheckPromises chooses and excludes up to most values of each field that the counts of a query name. Choosing one alone
// in its field must find as many documents as it promised, excluding it must leave the rest where the field had no
// filter, and without a filter of time the months and the undated documents add up. Counts that an engine estimates
// promise nothing.
func CheckPromises(ctx context.Context, e Engine, q index.Query, most int) error {
	q.Count = true
	whole, err := countsOf(ctx, e, q)
	if err != nil || whole.Estimated {
		return err
	}
	if q.Filter.Since.IsZero() && q.Filter.Until.IsZero() && (q.Scope == nil || q.Scope.Since.IsZero()) {
		sum := whole.Undated
		for _, month := range whole.Months {
			sum += month.Count
		}
		if sum != whole.Documents {
			return fmt.Errorf("months and undated are %d of %d", sum, whole.Documents)
		}
	}
	for id, values := range whole.Values {
		free := len(q.Filter.Any[id]) == 0 && (field.ID(id) != field.Set || len(q.Filter.Documents) == 0)
		for _, v := range values[:min(len(values), most)] {
			chosen, without := q, q
			chosen.Filter.Any[id] = []string{v.Value}
			without.Filter.None[id] = append(slices.Clip(without.Filter.None[id]), v.Value)
			counts, err := countsOf(ctx, e, chosen)
			if err != nil || !counts.Estimated && counts.Documents != v.Count {
				return fmt.Errorf("%s %q promises %d, and gives %d: %w", field.Of(field.ID(id)).Name, v.Value, v.Count, counts.Documents, err)
			}
			if !free {
				continue
			}
			counts, err = countsOf(ctx, e, without)
			if err != nil || !counts.Estimated && counts.Documents != whole.Documents-v.Count {
				return fmt.Errorf("without %s %q, which %d of %d have, are %d: %w", field.Of(field.ID(id)).Name, v.Value, v.Count,
					whole.Documents, counts.Documents, err)
			}
		}
	}
	return nil
}

func countsOf(ctx context.Context, e Engine, q index.Query) (counts index.Counts, err error) {
	result, err := e.Search(ctx, q)
	if err != nil {
		return counts, err
	}
	return result.Matched.Count(ctx)
}
