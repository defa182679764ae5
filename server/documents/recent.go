package documents

import (
	"quarry/internal/memo"
	"quarry/server/index"
)

// recent is what snapshots read last, as answers to one typed word after another show the same passages. Nothing in it
// ever changes: a row is that of a version, and a chunk that of its place and the hash of its document's chunks, as its
// seal is. What cannot be read is not kept, as it may be repaired.
type recent = memo.Cache[string, recentEntry]

// recentEntry is a row or a chunk.
type recentEntry struct {
	row   *Row
	chunk *index.Chunk
	bytes int // of memory, about
}

const (
	// recentBytes bounds what is kept of a library: the rows and half of the passages of a handbook of 6 MB.
	recentBytes = 4 << 20
	// recentRun chunks that are read together are a passage and what surrounds it; more are a whole document.
	recentRun = 8
	// rowBytes, chunkBytes and itemBytes are what a row, a chunk and an item of a list take beside their texts.
	rowBytes, chunkBytes, itemBytes = 1 << 10, 256, 64
)

func newRecent() *recent {
	const share = 64 // that no row or chunk has more than
	return memo.New[string](recentBytes, recentBytes/share, func(e recentEntry) int { return e.bytes })
}

// kept returns what snapshots have read; nothing if it is not kept, or the reader is not that of a snapshot.
func (r *Reader) kept(key string) (entry recentEntry) {
	if r.version != "" {
		entry, _ = r.Packer.recent.Get(key)
	}
	return entry
}

// keep keeps what a snapshot has read, and nobody changes from then on.
func (r *Reader) keep(key string, entry recentEntry) {
	if r.version != "" {
		r.Packer.recent.Add(key, entry)
	}
}

// rowKey is the key of a row. It is longer than those of chunks.
func (r *Reader) rowKey(id string) string { return r.version + " " + id }

// recentKey is the key of a chunk: that of the seal of a group that begins with it.
func recentKey(of *Row, number int) string {
	return string(groupKey(chunkKey(of.Number, number), of.Hash))
}

// keepRow keeps a row that is complete.
func (r *Reader) keepRow(row *Row) {
	if !row.Damaged {
		bytes := rowBytes + row.size + len(row.ID) + len(row.Title) + len(row.Link)
		r.keep(r.rowKey(row.ID), recentEntry{row: row, bytes: bytes})
	}
}

// fillRecent fills a range whose chunks are all kept.
func (r *Reader) fillRecent(c chunkRange) bool {
	for i := range c.chunks {
		chunk := r.kept(recentKey(c.of, c.first+i)).chunk
		if chunk == nil {
			return false
		}
		c.chunks[i] = *chunk
	}
	return true
}

// keepChunks keeps chunks of a range that were sealed, the first of which has a number.
func (r *Reader) keepChunks(c chunkRange, number int, chunks []index.Chunk) {
	for i := 0; i < len(chunks) && len(c.chunks) <= recentRun; i++ {
		entry := recentEntry{chunk: &chunks[i], bytes: chunkBytes + len(chunks[i].Text) + len(chunks[i].Link)}
		for _, heading := range chunks[i].Headings {
			entry.bytes += itemBytes + len(heading)
		}
		r.keep(recentKey(c.of, number+i), entry)
	}
}
