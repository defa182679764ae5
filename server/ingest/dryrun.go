package ingest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// dryIndex counts what would be written to an index, and writes nothing.
type dryIndex struct {
	index.Index
	stored  index.Snapshot
	written map[string]string // origins of the documents that would be stored, by id
	types   map[string]*wire.LibraryEvent
}

// of returns the counts of a document type.
func (d *dryIndex) of(kind string) *wire.LibraryEvent {
	if d.types[kind] == nil {
		d.types[kind] = &wire.LibraryEvent{Type: wire.LibraryFormat, Kind: kind}
	}
	return d.types[kind]
}

// Write counts a batch by document type.
func (d *dryIndex) Write(ctx context.Context, batch index.Batch) (total index.Written, err error) {
	defer guard.End(&err)
	owned := map[string]string{}
	batches := map[string]*index.Batch{}
	of := func(kind string) *index.Batch {
		if batches[kind] == nil {
			batches[kind] = &index.Batch{Owns: batch.Owns, DryRun: true}
		}
		return batches[kind]
	}
	counts := map[string]index.Written{}
	for _, doc := range batch.Upsert {
		origin, again := d.written[doc.ID]
		switch {
		case again && batch.Owns != nil && !batch.Owns(origin):
			owned[doc.ID] = origin
		case again:
			count := counts[doc.Type]
			count.Updated++
			counts[doc.Type] = count
		default:
			of(doc.Type).Upsert = append(of(doc.Type).Upsert, doc)
		}
	}
	d.deletes(ctx, batch.Delete, of)
	for kind, part := range batches {
		count, err := d.Index.Write(ctx, *part)
		if others, isOwned := errors.AsType[*index.OwnedError](err); isOwned {
			maps.Copy(owned, others.Origins)
		} else if err != nil {
			return total, err
		}
		count.Updated += counts[kind].Updated
		counts[kind] = count
	}
	if len(owned) > 0 {
		return total, &index.OwnedError{Origins: owned}
	}
	for _, doc := range batch.Upsert {
		d.written[doc.ID] = doc.Origin
	}
	for kind, count := range counts {
		addCounts(d.of(kind), count)
		total.Add(count)
	}
	return total, nil
}

// deletes adds documents to delete to the batches of their types. Those that would be stored again by now are kept.
func (d *dryIndex) deletes(ctx context.Context, ids []string, of func(kind string) *index.Batch) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, kept := d.written[id]; return kept })
	for _, doc := range guard.Must(d.stored.Documents(ctx, ids, index.Everything())) {
		of(doc.Type).Delete = append(of(doc.Type).Delete, doc.ID)
	}
}

// unchanged counts the stored documents of a file.
func (d *dryIndex) unchanged(ctx context.Context, file foundFile) {
	ids := idsIn(ctx, d.stored, index.Selector{Origin: originOf(file.path)})
	for _, doc := range guard.Must(d.stored.Documents(ctx, ids, index.Everything())) {
		d.of(doc.Type).Unchanged++
	}
}

// typeOfSkipped returns the type that documents of a file have, else its extension.
func typeOfSkipped(file string) string {
	f, _ := formatOf(path.Base(file))
	return cmp.Or(f.name, strings.TrimPrefix(oneLine(strings.ToLower(path.Ext(file)), 32), "."))
}

// report reports the counts of the types by name.
func (d *dryIndex) report(report Report) {
	for _, kind := range slices.Sorted(maps.Keys(d.types)) {
		report(*d.types[kind])
	}
}
