package ingest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/index"
)

// memoryIndex is an index.Index that only stores. It fails the test on what an engine may reject.
type memoryIndex struct {
	t         testing.TB
	mu        sync.Mutex
	documents map[string]index.Document
	cursors   map[string]string
	hashes    map[string]uint32
	version   int
	batches   []index.Batch

	// beforeWrite may refuse a batch.
	beforeWrite func(index.Batch) error
}

func newMemoryIndex(t testing.TB) *memoryIndex {
	return &memoryIndex{t: t, documents: map[string]index.Document{}, cursors: map[string]string{}, hashes: map[string]uint32{}}
}

func (m *memoryIndex) Write(ctx context.Context, batch index.Batch) (w index.Written, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return w, err
	}
	if m.beforeWrite != nil {
		if err := m.beforeWrite(batch); err != nil {
			return w, err
		}
	}
	m.check(batch)
	if batch.DryRun {
		m = &memoryIndex{t: m.t, documents: maps.Clone(m.documents), cursors: maps.Clone(m.cursors), hashes: map[string]uint32{}}
	}
	owned := map[string]string{}
	for _, doc := range batch.Upsert {
		if old, ok := m.documents[doc.ID]; ok && batch.Owns != nil && !batch.Owns(old.Origin) {
			owned[doc.ID] = old.Origin
		}
	}
	if len(owned) > 0 {
		return w, &index.OwnedError{Origins: owned}
	}
	for _, id := range batch.Delete {
		if old, ok := m.documents[id]; ok && (batch.Owns == nil || batch.Owns(old.Origin)) {
			delete(m.documents, id)
			delete(m.hashes, id)
			w.Removed++
		}
	}
	for _, doc := range batch.Upsert {
		old, ok := m.documents[doc.ID]
		switch {
		case !ok:
			w.Added++
		case reflect.DeepEqual(old, doc):
			w.Unchanged++
		default:
			w.Updated++
		}
		m.documents[doc.ID] = doc
		if !ok && batch.Hash != nil {
			m.hashes[doc.ID] = batch.Hash(doc.ID)
		}
	}
	for key, value := range batch.Cursors {
		if value == "" {
			delete(m.cursors, key)
		} else {
			m.cursors[key] = value
		}
	}
	m.version++
	m.batches = append(m.batches, batch)
	return w, nil
}

func (m *memoryIndex) check(batch index.Batch) {
	m.t.Helper()
	if len(batch.Upsert)+len(batch.Delete) > batchDocuments {
		m.t.Errorf("a batch has %d changes", len(batch.Upsert)+len(batch.Delete))
	}
	seen := map[string]bool{}
	for i := range batch.Upsert {
		doc := &batch.Upsert[i]
		if seen[doc.ID] || slices.Contains(batch.Delete, doc.ID) {
			m.t.Errorf("document %s is twice in a batch", doc.ID)
		}
		seen[doc.ID] = true
		checkDocument(m.t, doc)
	}
}

func (m *memoryIndex) UpdateAccess(context.Context, []index.AccessPatch) (int, error) {
	return 0, errors.ErrUnsupported
}

func (m *memoryIndex) Embed(context.Context, index.Embedding) error {
	return errors.ErrUnsupported
}

func (m *memoryIndex) Snapshot(context.Context) (index.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &memorySnapshot{documents: maps.Clone(m.documents), version: strconv.Itoa(m.version)}, nil
}

func (m *memoryIndex) Version(context.Context) (string, error) { return strconv.Itoa(m.version), nil }

func (m *memoryIndex) Cursors(_ context.Context, prefix string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]string{}
	for key, value := range m.cursors {
		if strings.HasPrefix(key, prefix) {
			found[key] = value
		}
	}
	return found, nil
}

func (m *memoryIndex) Hashed(_ context.Context, hash uint32) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, stored := range m.hashes {
		if stored == hash {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (m *memoryIndex) Rehash(_ context.Context, hash func(id string) uint32) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.documents {
		m.hashes[id] = hash(id)
	}
	return len(m.hashes), nil
}

func (m *memoryIndex) Check(context.Context, index.CheckOptions, func(done, total int)) ([]index.Damage, error) {
	return nil, errors.ErrUnsupported
}

func (m *memoryIndex) Close() error { return nil }

type memorySnapshot struct {
	index.Snapshot // what ingest does not use
	documents      map[string]index.Document
	version        string
}

func (s *memorySnapshot) DocumentIDs(_ context.Context, by index.Selector) ([]string, error) {
	var ids []string
	for id, doc := range s.documents {
		if by != (index.Selector{}) && (by.Origin == "" || doc.Origin == by.Origin) &&
			(by.Source == "" || doc.Source == by.Source) && (by.Set == "" || slices.Contains(doc.Sets, by.Set)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (s *memorySnapshot) Origins(context.Context) (map[string]int, error) {
	origins := map[string]int{}
	for _, doc := range s.documents {
		if doc.Origin != "" {
			origins[doc.Origin]++
		}
	}
	return origins, nil
}

func (s *memorySnapshot) Documents(_ context.Context, ids []string, _ index.Access) ([]index.Stored, error) {
	var found []index.Stored
	for _, id := range ids {
		if doc, ok := s.documents[id]; ok {
			found = append(found, index.Stored{Document: doc, ChunkCount: len(doc.Chunks)})
		}
	}
	return found, nil
}

func (s *memorySnapshot) Texts(_ context.Context, ranges []index.Range, _ index.Access) (texts [][]index.Chunk, err error) {
	for _, r := range ranges {
		texts = append(texts, slices.Clone(s.documents[r.DocumentID].Chunks[r.From:r.To+1]))
	}
	return texts, nil
}

func (s *memorySnapshot) Facets(context.Context, index.Filter) (index.Counts, error) {
	var counts index.Counts
	for _, doc := range s.documents {
		counts.Values[field.Source] = append(counts.Values[field.Source], index.ValueCount{Value: doc.Source, Count: 1})
		for _, set := range doc.Sets {
			counts.Values[field.Set] = append(counts.Values[field.Set], index.ValueCount{Value: set, Count: 1})
		}
	}
	return counts, nil
}

func (s *memorySnapshot) Version() string { return s.version }
func (s *memorySnapshot) Close()          {}

// ids lists what is stored, without the folder that the test works in.
func (m *memoryIndex) ids(folder string) []string {
	var ids []string
	for id := range m.documents {
		ids = append(ids, strings.TrimPrefix(id, "file:"+folder+"/"))
	}
	slices.Sort(ids)
	return ids
}

// events records what is reported and checks its order.
type events struct {
	all []wire.LibraryEvent
}

func (e *events) report(event wire.LibraryEvent) { e.all = append(e.all, event) }

func (e *events) skipped() map[string]string {
	reasons := map[string]string{}
	for _, event := range e.all {
		if event.Type == wire.LibrarySkipped {
			reasons[event.Path] = event.Reason
		}
	}
	return reasons
}
