package segments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quarry/internal/guard"
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
func (s *states) openVectors(p *part) {
	if p.vectors == nil {
		return
	}
	if p.vectors.failed = s.excluded[p.vectors.name]; p.vectors.failed != nil {
		return
	}
	p.vectors.file, p.vectors.failed = s.vectors.acquire(p.vectors.name)
	if p.vectors.failed != nil && !isDamage(p.vectors.failed) {
		s.pool.drop(p.segment)
		p.segment = nil
		guard.Abort(p.vectors.failed)
	}
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

// collect collects the vectors that are stored for the documents of a segment.
func collect(m documents.Model, from sqldb.Source, reader *segment.Reader, each numbered) *vector.Builder {
	b := vector.NewBuilder(m.Dimensions, reader.Chunks())
	var chunks []uint32
	var texts []string
	add := func() {
		for i, values := range m.Vectors(from, texts) {
			if len(values) == m.Dimensions {
				b.Add(chunks[i], documents.KeyOf(texts[i]), values)
			} else {
				b.Missing++
			}
		}
		chunks, texts = chunks[:0], texts[:0]
		guard.Check(from.Err())
	}
	guard.Check(segment.Protect(reader.Name, func() {
		for ordinal, d := range each {
			first, _ := reader.DocumentChunks(ordinal)
			for i := range d.Chunks {
				if d.Chunks[i].Damaged {
					b.Missing++
					continue
				}
				chunks = append(chunks, uint32(first+i))
				if texts = append(texts, documents.EmbeddedText(d, i)); len(texts) == lookUpAtOnce {
					add()
				}
			}
		}
		add()
	}))
	return b
}

// createVectors stores what was built; nil when that is nothing.
func (x *Index) createVectors(b *vector.Builder, model documents.Model) *vectorFile {
	if b.Len() == 0 {
		return nil
	}
	data := b.Build()
	made := &vectorFile{name: guard.Must(x.files.Create(data)), model: model.Name, bytes: int64(len(data))}
	if x.source != nil {
		made.enters = model.Dimensions
	}
	return made
}

// buildVectors gives a new segment, which is data, the vectors that are known: of texts that were stored before, as
// when only the rights of a document change.
func (x *Index) buildVectors(tx sqldb.Source, made *part, data []byte, list []*index.Document) {
	from := x.vectorReader(tx)
	model := documents.CurrentModel(from)
	if model.Name == "" {
		return
	}
	reader := guard.Must(segment.Open(made.name, data))
	slices.SortFunc(list, func(a, b *index.Document) int { return strings.Compare(a.ID, b.ID) }) // as ordinals ascend
	made.vectors = x.createVectors(collect(model, from, reader, slices.All(list)), model)
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
func (x *Index) mergeVectors(ctx context.Context, result *merged, data []byte) {
	if !slices.ContainsFunc(result.parts, func(p *part) bool { return p.vectors != nil }) {
		return
	}
	model := documents.CurrentModel(x.vectorStore.Newest(ctx))
	if model.Name == "" {
		return
	}
	reader := guard.Must(segment.Open(result.made.name, data))
	var all []carried
	for input, p := range result.parts {
		guard.Check(ctx.Err())
		if p.vectors == nil || p.vectors.model != model.Name {
			continue
		}
		if err := guard.Ended(func() { all = append(all, result.carry(input, reader)...) }); err != nil {
			result.loseVectors(x, err)
		}
	}
	slices.SortFunc(all, func(a, b carried) int { return int(a.chunk) - int(b.chunk) })
	b := vector.NewBuilder(model.Dimensions, len(all))
	b.Missing = reader.Chunks() - len(all)
	if err := segment.Protect(reader.Name, func() {
		for _, c := range all {
			b.Copy(c.chunk, c.from, c.index)
		}
	}); err != nil {
		result.loseVectors(x, err)
		return
	}
	result.made.vectors = x.createVectors(b, model)
}

func (m *merged) loseVectors(x *Index, err error) {
	x.Log.Warn("vectors are damaged and will be restored", "error", err)
	m.lost = true
}

// carry lists the vectors of an input's live chunks with their place in the merged segment.
func (m *merged) carry(input int, to *segment.Reader) (all []carried) {
	p := m.parts[input]
	guard.Check(p.vectors.failed) // else there is the file
	file, from := p.vectors.file.reader, p.segment.reader
	p.eachVector(func(old, i int, chunk uint32) {
		if ordinal := int(m.remap[input][old]); ordinal >= 0 {
			first, _ := from.DocumentChunks(old)
			begin, _ := to.DocumentChunks(ordinal)
			all = append(all, carried{uint32(begin + int(chunk) - first), file, i})
		}
	})
	return all
}

// liveVectors counts the vectors of documents that are not deleted.
func (p *part) liveVectors() (n int) {
	if p.vectors == nil || p.vectors.file == nil {
		return 0
	}
	file := p.vectors.file.reader
	if p.deleted == nil {
		return file.Len()
	}
	p.eachVector(func(int, int, uint32) { n++ })
	return n
}

// eachVector yields the vectors of documents that are not deleted: the ordinal of the document, the number of the
// vector, and that of its chunk.
func (p *part) eachVector(yield func(document, i int, chunk uint32)) {
	file := p.vectors.file.reader
	guard.Check(segment.Protect(file.Name, func() {
		chunks, next := file.Chunks(), 0
		for document := range p.documents {
			_, end := p.segment.reader.DocumentChunks(document)
			for ; next < len(chunks) && int(chunks[next]) < end; next++ {
				if !p.isDeleted(document) {
					yield(document, next, chunks[next])
				}
			}
		}
	}))
}

// countVectors fills the statistics of vectors.
func (x *Index) countVectors(tx sqldb.Source, shown *view, stats *index.Stats) {
	from := x.vectorReader(tx)
	model := documents.CurrentModel(from)
	if model.Name == "" {
		return
	}
	stats.VectorModel = model.Name
	from.Get([]any{&stats.Refused}, "SELECT count(*) FROM refused_texts WHERE model = ?", model.Name)
	for _, p := range shown.state.parts {
		if p.vectors == nil {
			continue
		}
		if stats.Bytes += p.vectors.bytes; p.vectors.model == model.Name {
			_ = damageIn(func() { stats.Vectors += p.liveVectors() })
		}
	}
}

// repairVectors makes damaged files of vectors again from what is stored, and all others that turn out to be damaged:
// damage rarely comes alone, and a search is repeated only once.
func (x *Index) repairVectors(ctx context.Context, suspects *damagedError) (err error) {
	defer guard.End(&err)
	x.vectored.Lock()
	defer x.vectored.Unlock()
	for _, p := range readManifest(x.Newest(ctx)) {
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
func (x *Index) refreshVectors(ctx context.Context, name string) (err error) {
	defer guard.End(&err)
	from := x.vectorStore.Newest(ctx) // newer than the view: what was embedded since counts too
	model := documents.CurrentModel(from)
	if model.Name == "" {
		return nil
	}
	seen := guard.Must(x.openSound(ctx))
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		return documents.ErrOvertaken
	}
	var built *vector.Builder
	blaming([]*part{p}, func() {
		built = collect(model, from, p.segment.reader, seen.each(p, p.liveOrdinals()))
	})
	made := x.createVectors(built, model)
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
	p.stillNamed(tx.Source)
	tx.Exec("DELETE FROM vector_files WHERE segment = ?", p.id)
	if made != nil {
		made.insert(tx, p.id)
	}
	bumpManifest(tx)
}
