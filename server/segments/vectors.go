package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

// vectorFile is a file of vectors that the manifest names beside a segment.
type vectorFile struct {
	name, model string
	bytes       int64
	enters      int                     // dimensions of the model of a new file, if models are stored elsewhere
	file        *openFile[*vector.File] // nil: it cannot be read
	failed      error                   // why
}

func (v *vectorFile) fileName() string {
	if v == nil {
		return ""
	}
	return v.name
}

// openVectors opens the vectors of a part. Without damaged ones words can still be searched.
func (s *states) openVectors(p *part) error {
	if p.vectors == nil {
		return nil
	}
	if p.vectors.failed = s.excluded[p.vectors.name]; p.vectors.failed != nil {
		return nil
	}
	p.vectors.file, p.vectors.failed = s.vectors.acquire(p.vectors.name)
	if p.vectors.failed != nil && !isDamage(p.vectors.failed) {
		s.pool.drop(p.segment)
		p.segment = nil
		return p.vectors.failed
	}
	return nil
}

// vectorReader returns what reads vectors: a transaction, or the store that the index follows.
func (x *Index) vectorReader(tx sqldb.Source) sqldb.Source {
	if x.source == nil {
		return tx
	}
	return x.vectorStore.Newest(tx)
}

// lookUpAtOnce vectors are read together.
const lookUpAtOnce = 200

// collect collects the vectors that are stored for the documents of a segment that each yields by their ordinals.
func collect(m documents.Model, from sqldb.Source, reader *segment.Reader,
	each func(yieldDocument) error) (*vector.Builder, error) {
	b := vector.NewBuilder(m.Dimensions, reader.Chunks())
	var chunks []uint32
	var texts []string
	add := func() error {
		found, err := m.Vectors(from, texts)
		for i, values := range found {
			if len(values) == m.Dimensions {
				b.Add(chunks[i], documents.KeyOf(texts[i]), values)
			} else {
				b.Missing++
			}
		}
		chunks, texts = chunks[:0], texts[:0]
		return cmp.Or(err, from.Err())
	}
	err := segment.Protect(reader.Name, func() error {
		err := each(func(ordinal int, d *index.Document) error {
			first, _ := reader.DocumentChunks(ordinal)
			for i := range d.Chunks {
				if d.Chunks[i].Damaged {
					b.Missing++
					continue
				}
				chunks = append(chunks, uint32(first+i))
				if texts = append(texts, documents.EmbeddedText(d, i)); len(texts) == lookUpAtOnce {
					if err := add(); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err == nil {
			err = add()
		}
		return err
	})
	return b, err
}

// createVectors stores what was built; nil when that is nothing.
func (x *Index) createVectors(b *vector.Builder, model documents.Model) (*vectorFile, error) {
	if b.Len() == 0 {
		return nil, nil
	}
	data := b.Build()
	name, err := x.files.Create(data)
	if err != nil {
		return nil, err
	}
	made := &vectorFile{name: name, model: model.Name, bytes: int64(len(data))}
	if x.source != nil {
		made.enters = model.Dimensions
	}
	return made, nil
}

// buildVectors gives a new segment, which is data, the vectors that are known: of texts that were stored before, as
// when only the rights of a document change.
func (x *Index) buildVectors(tx sqldb.Source, made *part, data []byte,
	list []*index.Document) error {
	from := x.vectorReader(tx)
	model, err := documents.CurrentModel(from)
	if err != nil || model.Name == "" {
		return err
	}
	reader, err := segment.Open(made.name, data)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b *index.Document) int { return strings.Compare(a.ID, b.ID) })
	b, err := collect(model, from, reader, func(yield yieldDocument) (err error) {
		for ordinal := 0; ordinal < len(list) && err == nil; ordinal++ { // they ascend with ids
			err = yield(ordinal, list[ordinal])
		}
		return err
	})
	if err != nil {
		return err
	}
	made.vectors, err = x.createVectors(b, model)
	return err
}

// insert names the file in the manifest beside its segment. It fails with documents.ErrOvertaken when the model was
// dropped meanwhile.
func (v *vectorFile) insert(tx *sqldb.Tx, segment int64) {
	if v.enters > 0 {
		documents.EnterModel(tx, v.model, v.enters)
	}
	tx.Change(documents.ErrOvertaken, `INSERT INTO vector_files (segment, name, model, bytes)
		SELECT ?, ?, id, ? FROM embedding_models WHERE name = ?`, segment, v.name, v.bytes, v.model)
}

// carried is a vector on its way from an input of a merge into the merged file.
type carried struct {
	chunk uint32
	from  *vector.File
	index int
}

// mergeVectors makes the vectors of a merged segment from those of its inputs; data is the segment.
func (x *Index) mergeVectors(ctx context.Context, result *merged, data []byte) error {
	if !slices.ContainsFunc(result.parts, func(p *part) bool { return p.vectors != nil }) {
		return nil
	}
	model, err := documents.CurrentModel(x.vectorStore.Newest(ctx))
	if err != nil || model.Name == "" {
		return err
	}
	reader, err := segment.Open(result.made.name, data)
	if err != nil {
		return err
	}
	var all []carried
	for input, p := range result.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.vectors == nil || p.vectors.model != model.Name {
			continue
		}
		some, err := result.carry(input, reader)
		if err != nil {
			result.loseVectors(x, err)
			continue
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b carried) int { return int(a.chunk) - int(b.chunk) })
	b := vector.NewBuilder(model.Dimensions, len(all))
	b.Missing = reader.Chunks() - len(all)
	err = segment.Protect(reader.Name, func() error {
		for _, c := range all {
			b.Copy(c.chunk, c.from, c.index)
		}
		return nil
	})
	if err != nil {
		result.loseVectors(x, err)
		return nil
	}
	result.made.vectors, err = x.createVectors(b, model)
	return err
}

func (m *merged) loseVectors(x *Index, err error) {
	x.Log.Warn("vectors are damaged and will be restored", "error", err)
	m.lost = true
}

// carry lists the vectors of an input's live chunks with their place in the merged segment.
func (m *merged) carry(input int, to *segment.Reader) (all []carried, err error) {
	p := m.parts[input]
	if p.vectors.file == nil {
		return nil, p.vectors.failed
	}
	file, from := p.vectors.file.reader, p.segment.reader
	err = p.eachVector(func(old, i int, chunk uint32) {
		if ordinal := int(m.remap[input][old]); ordinal >= 0 {
			first, _ := from.DocumentChunks(old)
			begin, _ := to.DocumentChunks(ordinal)
			all = append(all, carried{uint32(begin + int(chunk) - first), file, i})
		}
	})
	return all, err
}

// liveVectors counts the vectors of documents that are not deleted.
func (p *part) liveVectors() (n int, err error) {
	if p.vectors == nil || p.vectors.file == nil {
		return 0, nil
	}
	file := p.vectors.file.reader
	if p.deleted == nil {
		return file.Len(), nil
	}
	err = p.eachVector(func(int, int, uint32) { n++ })
	return n, err
}

// eachVector yields the vectors of documents that are not deleted: the ordinal of the document, the number of the
// vector, and that of its chunk.
func (p *part) eachVector(yield func(document, i int, chunk uint32)) error {
	file := p.vectors.file.reader
	return segment.Protect(file.Name, func() error {
		chunks, next := file.Chunks(), 0
		for document := range p.documents {
			_, end := p.segment.reader.DocumentChunks(document)
			for ; next < len(chunks) && int(chunks[next]) < end; next++ {
				if !p.isDeleted(document) {
					yield(document, next, chunks[next])
				}
			}
		}
		return nil
	})
}

// countVectors fills the statistics of vectors.
func (x *Index) countVectors(tx sqldb.Source, shown *view, stats *index.Stats) error {
	from := x.vectorReader(tx)
	model, err := documents.CurrentModel(from)
	if err != nil || model.Name == "" {
		return err
	}
	stats.VectorModel = model.Name
	if err := from.Get([]any{&stats.Refused}, "SELECT count(*) FROM refused_texts WHERE model = ?",
		model.Name); err != nil {
		return err
	}
	for _, p := range shown.state.parts {
		if p.vectors == nil {
			continue
		}
		stats.Bytes += p.vectors.bytes
		if p.vectors.model != model.Name {
			continue
		}
		n, err := p.liveVectors()
		if err != nil && !isDamage(err) {
			return err
		}
		stats.Vectors += n
	}
	return nil
}

// repairVectors makes damaged files of vectors again from what is stored, and all others that turn out to be damaged:
// damage rarely comes alone, and a search is repeated only once.
func (x *Index) repairVectors(ctx context.Context, suspects *damagedError) error {
	x.vectored.Lock()
	defer x.vectored.Unlock()
	parts, err := readManifest(x.Newest(ctx))
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.vectors == nil ||
			!slices.Contains(suspects.files, p.vectors.name) && x.states.vectors.verify(p.vectors.name) == nil {
			continue
		}
		if err := x.refreshVectors(ctx, p.name); err != nil && !errors.Is(err, documents.ErrOvertaken) {
			return fmt.Errorf("restore vectors: %w", err)
		}
	}
	return nil
}

// restoreVectors gives a new segment the vectors that are stored. Without them words are still searched, and the next
// Embed tries again.
func (x *Index) restoreVectors(ctx context.Context, name string) {
	if err := x.refreshVectors(ctx, name); err != nil && !errors.Is(err, documents.ErrOvertaken) {
		x.Log.Warn("cannot restore vectors yet", "segment", name, "error", err)
	}
}

// refreshVectors writes the file of a segment's vectors again, with all that are stored by the current model. The
// library's version stays: results that are shown stay with it. documents.ErrOvertaken: the segment or its vectors were
// replaced meanwhile.
func (x *Index) refreshVectors(ctx context.Context, name string) error {
	from := x.vectorStore.Newest(ctx) // newer than the view: what was embedded since counts too
	model, err := documents.CurrentModel(from)
	if err != nil || model.Name == "" {
		return err
	}
	seen, err := x.openSound(ctx)
	if err != nil {
		return err
	}
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		return documents.ErrOvertaken
	}
	built, err := collect(model, from, p.segment.reader, func(yield yieldDocument) error {
		return seen.each(p, p.liveOrdinals(), yield)
	})
	if err != nil {
		return blame([]*part{p}, err)
	}
	made, err := x.createVectors(built, model)
	if err != nil {
		return err
	}
	unused := p.vectors
	err = x.Change(ctx, func(tx *sqldb.Tx) { replaceVectors(tx, p, made) })
	if err != nil {
		unused = made
	}
	x.remove(unused.fileName())
	return err
}

// replaceVectors names made, which may be nil, in the place of a part's vectors.
func replaceVectors(tx *sqldb.Tx, p *part, made *vectorFile) {
	deletes := int64(0)
	tx.Fail(p.stillNamed(tx.Source(), &deletes))
	tx.Exec("DELETE FROM vector_files WHERE segment = ?", p.id)
	if made != nil {
		made.insert(tx, p.id)
	}
	bumpManifest(tx)
}
