package ingest

import (
	"context"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// A document's short id is the beginning of the hash of its public id, so that it says nothing of this machine and is
// the same for everybody. The first bits of the hashes are stored with the documents: a search looks for the few that
// begin alike.
const (
	// hashPrefix begins the keys of hashes in libraries of earlier versions.
	hashPrefix = "ingest/hash/"
	// HashesKey has the fingerprint of the names as of which all documents have their hashes.
	HashesKey = "ingest/hashes"
	// citedPrefix begins the keys of what passages of a document are cited by, but not the document: addresses and ids
	// of messages. The hash of one follows, and that of the document's stored id, which is the value.
	citedPrefix = "ingest/cited/"
	// removedAtOnce is how many of the hashes of an earlier version are removed together.
	removedAtOnce = 2_000
)

// Hash returns the longest short id of a document.
func (n *Names) Hash(id string) string { return wire.HashID(n.Public(id)) }

// HashBits returns the first bits of the hash of a document, see index.Batch.Hash.
func (n *Names) HashBits(id string) uint32 { return bitsOf(n.Hash(id)) }

// bitsOf returns the first bits of a hash, of which there are 40 at least.
func bitsOf(hash string) uint32 {
	data, err := base32.StdEncoding.DecodeString(strings.ToUpper(hash[:wire.ShortestID]))
	if err != nil {
		return 0 // of no document: short ids were checked
	}
	return binary.BigEndian.Uint32(data) % (index.MaxHash + 1)
}

// AddHashes stores the hashes of documents together with them, and what else they are cited by.
func (n *Names) AddHashes(batch *index.Batch) {
	batch.Hash = n.HashBits
	if batch.Cursors == nil {
		batch.Cursors = map[string]string{}
	}
	for i := range batch.Upsert {
		id := batch.Upsert[i].ID
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

// storedIDs is idsIn of what is stored now.
func (l libraryIndex) storedIDs(by index.Selector) []string {
	snapshot := l.openSnapshot()
	defer snapshot.Close()
	return idsIn(l.ctx, snapshot, by)
}

// goneCited returns the keys of what passages of documents were cited by that are gone.
func (l libraryIndex) goneCited() []string {
	cited := guard.Must(l.idx.Cursors(l.ctx, citedPrefix))
	if len(cited) == 0 {
		return nil
	}
	ids := l.storedIDs(index.Selector{All: true})
	maps.DeleteFunc(cited, func(_, id string) bool {
		_, exists := slices.BinarySearch(ids, id)
		return exists
	})
	return slices.Sorted(maps.Keys(cited))
}

// Hashes returns the hashes that begin with a short id, by the stored ids of their documents.
func (n *Names) Hashes(ctx context.Context, idx index.Index, short string) (map[string]string, error) {
	ids, err := idx.Hashed(ctx, bitsOf(short))
	if err != nil {
		return nil, fmt.Errorf("read the hashes of documents: %w", err)
	}
	hashes := make(map[string]string, len(ids))
	for _, id := range ids {
		if hash := n.Hash(id); strings.HasPrefix(hash, short) {
			hashes[id] = hash
		}
	}
	return hashes, nil
}

// CompleteHashes stores the hashes of all documents if some may be missing: earlier versions stored none, or others,
// and the names of roots change. What was written before an error stays.
func CompleteHashes(ctx context.Context, idx index.Index) error {
	return guard.Ended(func() {
		names := guard.Must(LoadNames(ctx, idx))
		if guard.Must(idx.Cursors(ctx, HashesKey))[HashesKey] == names.fingerprint() {
			return
		}
		store := func(cursors map[string]string) {
			_, err := idx.Write(ctx, index.Batch{Cursors: cursors})
			guard.While("store the hashes of documents", err)
		}
		earlier := guard.Must(idx.Cursors(ctx, hashPrefix))
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(earlier)), removedAtOnce) {
			cursors := make(map[string]string, len(keys))
			for _, key := range keys {
				cursors[key] = ""
			}
			store(cursors)
		}
		documents, err := idx.Rehash(ctx, names.HashBits)
		guard.While("store the hashes of documents", err)
		complete := map[string]string{HashesKey: ""}
		if documents > 0 {
			complete[HashesKey] = names.fingerprint()
		}
		store(complete)
	})
}

// fingerprint identifies what the hashes depend on: Public, and their form.
func (n *Names) fingerprint() string { return wire.HashID(fmt.Sprint("bits", n.names)) }
