package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
)

// A document's short id is the beginning of the hash of its public id, so that it says nothing of this machine and is
// the same for everybody. The hashes are stored with the documents, in the bookkeeping: a search looks for the few that
// begin alike.
const (
	// hashPrefix begins the keys of hashes, whose values are the stored ids. A hash of an id that is the same for everybody
	// ends in hashSame: so a posted document whose id is also the public one of a file leaves the hash of the file alone.
	hashPrefix = "ingest/hash/"
	hashSame   = "="
	// hashesKey has the fingerprint of the names as of which all documents have their hashes. It sorts behind those.
	hashesKey = "ingest/hashes"
	// citedPrefix begins the keys of what passages of a document are cited by, but not the document: addresses and ids
	// of messages. The hash of one follows, and that of the document's stored id, which is the value.
	citedPrefix = "ingest/cited/"
	// hashesAtOnce is how many of the missing hashes are written together.
	hashesAtOnce = 2_000
)

// Hash returns the longest short id of a document.
func (n *Names) Hash(id string) string { return wire.HashID(n.Public(id)) }

// AddHashes stores the hashes of documents together with them. Those of deleted ones go; of one that is kept because it
// belongs to others, too, until CompleteHashes is called for other names.
func (n *Names) AddHashes(batch *index.Batch) {
	if batch.Cursors == nil {
		batch.Cursors = map[string]string{}
	}
	for _, id := range batch.Delete {
		batch.Cursors[n.hashKey(id)] = ""
	}
	for i := range batch.Upsert {
		id := batch.Upsert[i].ID
		batch.Cursors[n.hashKey(id)] = id
		for _, link := range citedBy(&batch.Upsert[i]) {
			batch.Cursors[citedKey(link)+wire.HashID(id)] = id
		}
	}
}

// citedBy returns what passages of a document are cited by that does not name the document itself.
func citedBy(d *index.Document) (links []string) {
	if strings.HasPrefix(d.Permalink, wire.MessageScheme) {
		links = append(links, d.Permalink)
	}
	for _, chunk := range d.Chunks {
		links = append(links, chunk.Link)
	}
	for _, heading := range d.Outline {
		links = append(links, heading.Link)
	}
	return slices.DeleteFunc(links, func(link string) bool {
		return link == "" || link == d.Link || strings.HasPrefix(link, d.Link+"#")
	})
}

func citedKey(link string) string { return citedPrefix + wire.HashID(link) + "/" }

// CitedIn returns the stored ids of documents with a passage that is cited by a link. They need not exist.
func CitedIn(ctx context.Context, idx index.Index, link string) ([]string, error) {
	cited, err := idx.Cursors(ctx, citedKey(link))
	return slices.Sorted(maps.Values(cited)), err
}

// storedIDs returns the ids of all documents.
func storedIDs(ctx context.Context, idx index.Index) ([]string, error) {
	snapshot, err := idx.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	return snapshot.DocumentIDs(ctx, index.Selector{All: true})
}

// goneCited returns the keys of what passages of documents were cited by that are gone.
func goneCited(ctx context.Context, idx index.Index) ([]string, error) {
	cited, err := idx.Cursors(ctx, citedPrefix)
	if err != nil || len(cited) == 0 {
		return nil, err
	}
	ids, err := storedIDs(ctx, idx)
	maps.DeleteFunc(cited, func(_, id string) bool {
		_, exists := slices.BinarySearch(ids, id)
		return exists
	})
	return slices.Sorted(maps.Keys(cited)), err
}

func (n *Names) hashKey(id string) string {
	public := n.Public(id)
	key := hashPrefix + wire.HashID(public)
	if public == id {
		key += hashSame
	}
	return key
}

// Hashes returns the hashes that begin with a short id, by the stored ids of their documents, which need not exist.
func Hashes(ctx context.Context, idx index.Index, short string) (map[string]string, error) {
	ids, err := load(ctx, idx, hashPrefix, short, "the hashes of documents", func(id string) string { return id })
	hashes := make(map[string]string, len(ids))
	for hash, id := range ids {
		hashes[id] = strings.TrimSuffix(hash, hashSame)
	}
	return hashes, err
}

// CompleteHashes stores the hashes of all documents if some may be missing: earlier versions stored none, and the names
// of roots change. What was written before an error stays.
func CompleteHashes(ctx context.Context, idx index.Index) error {
	names, err := LoadNames(ctx, idx)
	if err != nil {
		return err
	}
	known, err := idx.Cursors(ctx, hashesKey)
	if err != nil || known[hashesKey] == names.fingerprint() {
		return err
	}
	changes, err := names.missingHashes(ctx, idx)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(changes)), hashesAtOnce) {
		cursors := make(map[string]string, len(some))
		for _, key := range some {
			cursors[key] = changes[key]
		}
		if _, err := idx.Write(ctx, index.Batch{Cursors: cursors}); err != nil {
			return fmt.Errorf("store the hashes of documents: %w", err)
		}
	}
	return err
}

// missingHashes returns the cursors that the documents lack, and empty ones for those that are of no document.
func (n *Names) missingHashes(ctx context.Context, idx index.Index) (map[string]string, error) {
	stored, err := idx.Cursors(ctx, hashPrefix) // first: documents that are stored meanwhile keep theirs
	if err != nil {
		return nil, err
	}
	ids, err := storedIDs(ctx, idx)
	changes := map[string]string{}
	if changes[hashesKey] = ""; len(ids) > 0 {
		changes[hashesKey] = n.fingerprint()
	}
	for _, id := range ids {
		key := n.hashKey(id)
		if stored[key] != id {
			changes[key] = id
		}
		delete(stored, key)
	}
	for key := range stored {
		changes[key] = ""
	}
	if err != nil {
		return nil, fmt.Errorf("list the documents: %w", err)
	}
	return changes, nil
}

// fingerprint identifies what the keys of hashes depend on: Public, and their form.
func (n *Names) fingerprint() string { return wire.HashID(fmt.Sprint(hashSame, n.names)) }
