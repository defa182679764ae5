package documents

import (
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

const (
	// replacedKept is the number of changes for which the words of what they replaced are kept. Who lacks more applies
	// them in parts, and cannot use the words.
	replacedKept = 1000
	// replacedAtOnce documents are analysed by a write. To read the words of more out of segments takes no longer, as
	// that is done once for all (60,000 passages: 200 ms, with one follower).
	replacedAtOnce = 256
	// replacedBytes bounds the words of a document, to 64 MB of all. Those of a longer one are read out of a segment,
	// which costs as much as analysing it.
	replacedBytes = 64 << 10
)

// wordsOf returns the statistics of a document as the table replaced has them; nil if they are too long.
func (s *Store) wordsOf(d *index.Document) []byte {
	data, err := segment.DeltaOf(*d).MarshalBinary()
	if err == nil {
		data, err = s.Packer.Pack(data)
	}
	if err != nil || len(data) > replacedBytes {
		return nil
	}
	return Seal(data, []byte(d.ID))
}

// replaced returns the statistics of documents as they were at a position, by id. Those that are not known are missing.
func replaced(from *Reader, position int64, ids []string) map[string]segment.Delta {
	found := make(map[string]segment.Delta)
	for id, words := range sqldb.MapOf[string, []byte](from.Source, `SELECT id, words FROM replaced WHERE changed > ?
		AND since <= ? AND analyser = ? AND id IN (SELECT value FROM json_each(?))`, position, position,
		analysis.Version, sqldb.JSON{V: ids}) {
		delta := segment.Delta{}
		data, err := Unseal(words, []byte(id))
		if err == nil {
			data, err = from.Packer.Unpack(data)
		}
		if err == nil && delta.UnmarshalBinary(data) == nil { // else a segment has them
			found[id] = delta
		}
	}
	return found
}
