package lexical

import (
	"time"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// fields are those of a filter: the table's, of which sets have the named documents, too, and the time. The values of a
// field are counted under every field but its own.
const (
	fieldTime = field.N
	fields    = field.N + 1
)

// partFilter is a filter applied to one part.
type partFilter struct {
	// required contains the documents that are live, that the caller may see and that the query does not rule out.
	required segment.Bits
	// byField contains the documents that pass one field; nil where the filter does not bound it.
	byField [fields]segment.Bits
	// bounded: some field is.
	bounded bool
	// pass contains the documents that pass everything.
	pass segment.Bits
	// scope contains those that decide the level of the query; nil: required does.
	scope segment.Bits
}

// fails returns the fields that a document does not pass, one bit each.
func (f *partFilter) fails(ordinal int) (mask uint8) {
	for i, passing := range f.byField {
		if passing != nil && !passing.Has(ordinal) {
			mask |= 1 << i
		}
	}
	return mask
}

// rightsIn returns the live documents of a part that access admits.
func (r *run) rightsIn(part int, access index.Access) segment.Bits {
	reader := r.reader(part)
	admitted := r.documents(part)
	if access.All {
		admitted.AddRange(0, reader.Documents())
	} else {
		for _, term := range access.Terms {
			if documents, ok := reader.Filter(segment.FilterAccess, term); ok {
				documents.Union(admitted)
			}
		}
	}
	if hidden, ok := reader.Filter(segment.FilterHidden, ""); ok {
		bits := r.documents(part)
		hidden.Union(bits)
		admitted.AndNot(bits)
	}
	if deleted := r.s.parts[part].Deleted; deleted != nil {
		for it := deleted.Iterator(); it.HasNext(); {
			if i := int(it.Next()); i < reader.Documents() {
				admitted.Remove(i)
			}
		}
	}
	return admitted
}

// rights returns the live documents of each part that the caller may see. They are looked up when they are first asked
// for.
func (r *run) rights() []segment.Bits {
	if r.seen == nil {
		r.seen = make([]segment.Bits, len(r.s.parts))
		for part := range r.seen {
			r.seen[part] = r.rightsIn(part, r.access)
		}
	}
	return r.seen
}

// admitted is the number of documents in rights.
func (r *run) admitted() (n int64) {
	for _, documents := range r.rights() {
		n += int64(documents.Count())
	}
	return n
}

// union adds the documents that have one of the values of a field.
func (r *run) union(part int, bitmap segment.Bits, id field.ID, values []string) {
	reader := r.reader(part)
	for _, value := range values {
		if documents, ok := reader.FieldFilter(id, value); ok {
			documents.Union(bitmap)
		}
	}
}

// filter applies a filter to a part. It ends the run if segments lack one of its fields.
func (r *run) filter(part int, f *index.Filter) *partFilter {
	guard.Check(f.Check(segment.Knows))
	out := &partFilter{required: r.rightsIn(part, f.Access)}
	r.exclude(part, out.required, f)
	if f.Among != nil {
		among := r.documents(part)
		r.addNamed(part, among, f.Among)
		out.required.And(among)
	}
	for id, values := range f.Any {
		if len(values) > 0 {
			out.byField[id] = r.documents(part)
			r.union(part, out.byField[id], field.ID(id), values)
		}
	}
	if len(f.Documents) > 0 {
		if out.byField[field.Set] == nil {
			out.byField[field.Set] = r.documents(part)
		}
		r.addNamed(part, out.byField[field.Set], f.Documents)
	}
	if !f.Since.IsZero() || !f.Until.IsZero() {
		out.byField[fieldTime] = r.times(part, f)
	}
	out.narrow(r, part)
	return out
}

// narrow computes pass.
func (f *partFilter) narrow(r *run, part int) {
	f.pass = r.documents(part)
	copy(f.pass, f.required)
	for _, passing := range f.byField {
		if passing != nil {
			f.bounded = true
			f.pass.And(passing)
		}
	}
}

// exclude removes documents that have an excluded value.
func (r *run) exclude(part int, from segment.Bits, f *index.Filter) {
	for id, values := range f.None {
		if len(values) > 0 {
			excluded := r.documents(part)
			r.union(part, excluded, field.ID(id), values)
			from.AndNot(excluded)
		}
	}
	if len(f.NoDocuments) > 0 {
		excluded := r.documents(part)
		r.addNamed(part, excluded, f.NoDocuments)
		from.AndNot(excluded)
	}
}

// addNamed adds documents by id.
func (r *run) addNamed(part int, bits segment.Bits, documents []string) {
	for _, id := range documents {
		if ordinal, ok := r.reader(part).Lookup(id); ok {
			bits.Add(ordinal)
		}
	}
}

// times returns the documents inside of the bounds.
func (r *run) times(part int, f *index.Filter) segment.Bits {
	reader, found := r.reader(part), r.documents(part)
	since, until := uint64(1), ^uint64(0)
	if !f.Since.IsZero() {
		since = segment.SecondsOf(f.Since)
	}
	if !f.Until.IsZero() {
		until = segment.SecondsOf(f.Until)
	}
	column := reader.Seconds()
	column.Between(since, until, found)
	if f.KeepUndated {
		column.Between(0, 0, found)
	}
	passes, fails := f.DayEdges()
	edges := []time.Time{passes, fails} // at which seconds alone do not decide
	if !reader.WholeSeconds() || f.Since.Nanosecond() > 0 {
		edges = append(edges, f.Since, f.Until)
	}
	near := r.documents(part)
	for _, edge := range edges {
		if !edge.IsZero() {
			column.Between(segment.SecondsOf(edge), segment.SecondsOf(edge), near)
		}
	}
	for i := range near.Each {
		at := reader.Updated(i)
		if at.Equal(passes) && within(at, time.Time{}, f.Until) || within(at, f.Since, f.Until) && !at.Equal(fails) {
			found.Add(i)
		} else {
			found.Remove(i)
		}
	}
	return found
}

func within(t, since, until time.Time) bool {
	return (since.IsZero() || !t.Before(since)) && (until.IsZero() || !t.After(until))
}
