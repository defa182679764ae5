package api

import (
	"context"
	"fmt"
	"slices"

	"quarry/client/field"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

func setName(set directory.DocumentSet) string { return set.Name }

// ensureSet creates a set before its first document is stored: documents of an unknown set cannot be found by its name.
func (s *Server) ensureSet(ctx context.Context, who directory.Principal, name string) error {
	_, err := s.Directory.EnsureDocumentSet(ctx, who.Tenant, name, "")
	return err
}

// matchSets creates and removes sets to match the documents. It removes a set without documents, unless an added folder
// still puts documents in it and the set is not the removed one: an empty folder must not turn searches of its set into
// errors. It creates a set again when it has documents.
func (s *Server) matchSets(ctx context.Context, who directory.Principal, documents index.Index, removed string) error {
	used, err := ingest.Sets(ctx, documents)
	if err != nil {
		return err
	}
	sets, err := s.Directory.DocumentSets(ctx, who)
	if err != nil {
		return err
	}
	names := mapped(sets, setName)
	empty, err := emptySets(ctx, documents, slices.Concat(names, used))
	if err != nil {
		return err
	}
	for _, name := range used {
		if !slices.Contains(names, name) && !slices.Contains(empty, name) {
			if err := s.ensureSet(ctx, who, name); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if slices.Contains(empty, name) && (name == removed || !slices.Contains(used, name)) {
			if err := s.Directory.ForgetDocumentSet(ctx, who.Tenant, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptySets returns those of the named sets that have no documents.
func emptySets(ctx context.Context, documents index.Index, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	snapshot, err := documents.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	counts, err := snapshot.Facets(ctx, index.Filter{Access: index.Access{All: true}})
	if err != nil {
		return nil, fmt.Errorf("count the documents of sets: %w", err)
	}
	nonempty := map[string]bool{}
	for _, set := range counts.Values[field.Set] {
		nonempty[set.Value] = set.Count > 0
	}
	var empty []string
	for _, name := range names {
		if nonempty[name] {
			continue
		}
		ids, err := snapshot.DocumentIDs(ctx, index.Selector{Set: name}) // hidden ones are not counted
		if err != nil {
			return nil, fmt.Errorf("list the documents of set %q: %w", name, err)
		}
		if len(ids) == 0 {
			empty = append(empty, name)
		}
	}
	return empty, nil
}
