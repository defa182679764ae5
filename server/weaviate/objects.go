package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
	"quarry/server/language"
)

// space is the namespace of our UUIDs.
func space() uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, []byte("quarry/passage")) }

// metadata are the properties that all objects of a document have.
func metadata(d *index.Document, version int64) map[string]any {
	v := map[string]any{propAccess: fields(d.Access), propDocument: mark(d.ID), propVersion: version,
		propHidden: d.Hidden, propUpdated: int64(undated), propMonth: mark(segment.Month(d))}
	if !d.UpdatedAt.IsZero() {
		v[propUpdated] = d.UpdatedAt.UnixMicro()
	}
	for id := range field.N {
		c := index.ColumnOf(id)
		if c.Single {
			v[c.Property] = mark(index.KeysOf(id, d)[0])
			continue
		}
		v[c.Property] = propertyValues(id, index.KeysOf(id, d))
		if c.Counted != "" {
			v[c.Counted] = propertyValues(id, index.ValuesOf(id, d))
		}
	}
	return v
}

// knows reports whether objects have a field.
func knows(id field.ID) bool { return index.ColumnOf(id).Property != "" }

// propertyValue returns a field's key as objects have it.
func propertyValue(id field.ID, key string) string {
	if field.Of(id).Pairs {
		name, value := field.CutPair(key)
		return name + tagSeparator + value
	}
	return key
}

func propertyValues(id field.ID, keys []string) []string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = propertyValue(id, key)
	}
	return fields(all)
}

// tagSeparator stands between the key and the value of a tag.
const tagSeparator = "==="

// pairOf returns the tag of a stored one.
func pairOf(stored string) string {
	key, value, _ := strings.Cut(stored, tagSeparator)
	return field.Pair(key, value)
}

// mark returns a value as a field's filter sees it. Weaviate trims and cannot store everything: what differs is marked,
// so that no value equals another one's.
func mark(value string) string {
	if value != "" && strings.TrimSpace(value) == value && !strings.ContainsRune(value, 0) && value[0] != '=' {
		return value
	}
	if value == "" {
		return "="
	}
	return "=" + strings.ReplaceAll(value, "\x00", "\uFFFD") + "="
}

// unmark returns the value that mark was given.
func unmark(value string) string {
	if len(value) < 2 || value[0] != '=' {
		return strings.TrimPrefix(value, "=")
	}
	return value[1 : len(value)-1]
}

// fields are values for a filter, each once.
func fields(list []string) []string {
	out := make([]string, 0, len(list))
	for _, value := range list {
		out = append(out, mark(value))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// object makes the object of a passage, or of a whole document, of its properties: lists of texts, and others. Storing
// it again replaces it.
func (f *filling) object(document string, ordinal int, values map[string]any) *pb.BatchObject {
	scalars, made := map[string]any{propOrdinal: ordinal}, &pb.BatchObject_Properties{}
	for name, value := range values {
		switch list, isList := value.([]string); {
		case !isList:
			scalars[name] = value
		case len(list) == 0:
			made.EmptyListProps = append(made.EmptyListProps, name)
		default:
			made.TextArrayProperties = append(made.TextArrayProperties,
				&pb.TextArrayProperties{PropName: name, Values: list})
		}
	}
	var err error
	made.NonRefProperties, err = structpb.NewStruct(scalars)
	guard.While("write to Weaviate", err)
	id := uuid.NewSHA1(space(), fmt.Appendf(nil, "%s|%s|%d", f.tenant, document, ordinal))
	return &pb.BatchObject{Uuid: id.String(), Collection: f.class, Tenant: f.tenant, Properties: made}
}

// objects makes the objects of a document: itself and its passages, of which each has a vector; empty: it has none.
func (f *filling) objects(put *documents.Put, analyser *analysis.Analyser,
	vectors [][]float32) []*pb.BatchObject {
	d := &put.Document
	words := segment.DeltaOf(*d)
	var terms, titled, surfaces []string
	for term, n := range words.Terms {
		terms = append(terms, term)
		if n.Titles > 0 {
			titled = append(titled, term)
		}
	}
	for surface := range words.Surfaces {
		surfaces = append(surfaces, surface)
	}
	whole := metadata(d, put.Changed)
	whole[propSize], whole[propPassages] = len(d.Title), len(d.Chunks)
	whole[propNewest], whole[propOldest] = places(d)
	whole[propTerms], whole[propTitled], whole[propSurfaces] = fields(terms), fields(titled), fields(surfaces)
	all := []*pb.BatchObject{f.object(d.ID, wholeDocument, whole)}
	title := searchText(analyser, analysis.LanguageOf(d.Language), d.TitleField())
	for i := range d.Chunks {
		l := analysis.LanguageOf(language.OfChunk(d.Chunks[i].Text, d.Language, len(d.Chunks)))
		v := metadata(d, put.Changed)
		v[propText] = strings.Join([]string{strings.Repeat(title+" ", titleCopies),
			searchText(analyser, l, d.HeadingsField(i)), searchText(analyser, l, []string{d.Chunks[i].Text})}, " ")
		o := f.object(d.ID, i, v)
		if len(vectors[i]) > 0 {
			o.VectorBytes = documents.AppendVector(nil, vectors[i])
		}
		all = append(all, o)
	}
	return all
}

// searchText returns the terms of texts in a language, which Weaviate splits at white space.
func searchText(analyser *analysis.Analyser, l *analysis.Language, texts []string) string {
	var out strings.Builder
	for _, text := range texts {
		for _, token := range analyser.Tokens(text) {
			out.WriteString(token.Term)
			out.WriteByte(' ')
			if l != nil && token.Kind == analysis.Word {
				out.WriteString(analyser.TermIn(l, token.Written))
				out.WriteByte(' ')
			}
		}
	}
	return out.String()
}

const (
	// batchObjects objects are sent at once, of about batchBytes at most.
	batchObjects = 200
	batchBytes   = 8 << 20
	// sendAttempts is how often an object is sent that Weaviate does not take while it takes another one.
	sendAttempts = 3
	maxReason    = 300
)

// batch sends objects, some at a time.
type batch struct {
	*writer
	queued  []queued
	bytes   int
	refused []index.Unindexed
}

// queued is an object of a document.
type queued struct {
	*pb.BatchObject
	document string
}

func (b *batch) add(document string, o *pb.BatchObject) {
	b.queued = append(b.queued, queued{o, document})
	b.bytes += len(o.VectorBytes) + len(o.Properties.NonRefProperties.Fields[propText].GetStringValue())
	for _, list := range o.Properties.TextArrayProperties {
		for _, value := range list.Values {
			b.bytes += len(value) + 2
		}
	}
	if len(b.queued) >= batchObjects || b.bytes >= batchBytes {
		b.flush()
	}
}

func (b *batch) flush() {
	list := b.queued
	b.queued, b.bytes = nil, 0
	b.send(list)
}

// send stores objects; storing one twice changes nothing. An object that Weaviate does not take, while it takes another
// one, is refused: its document is set aside, so that those behind it are indexed.
func (b *batch) send(list []queued) {
	for attempt := 1; len(list) > 0; attempt++ {
		failed, err := b.store(list)
		if b.ctx.Err() != nil || err == nil && len(failed) == 0 {
			guard.Check(err)
			return
		}
		patience := b.patience
		if err != nil { // that was patient
			patience = 0
		}
		switch away := b.probe(patience); {
		case away != nil:
			guard.Abort(cmp.Or(err, away))
		case err != nil && len(list) > 1:
			half := len(list) / 2
			b.send(list[:half])
			b.send(list[half:])
			return
		case err != nil:
			failed = map[int]string{0: err.Error()}
			fallthrough
		case attempt == sendAttempts:
			for i, reason := range failed {
				b.refuse(list[i].document, reason)
			}
			return
		}
		var again []queued
		for _, i := range slices.Sorted(maps.Keys(failed)) {
			again = append(again, list[i])
		}
		list = again
	}
}

// refuse sets a document aside.
func (b *batch) refuse(document, reason string) {
	if !slices.ContainsFunc(b.refused, func(r index.Unindexed) bool { return r.ID == document }) {
		reason = text.Shorten(strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", ""), "\uFFFD"), maxReason)
		b.refused = append(b.refused, index.Unindexed{ID: document, Reason: reason})
	}
}

// probe stores an object of no document, which searches do not find. It fails if nothing can be stored.
func (b *batch) probe(patience time.Duration) error {
	o := b.object("", probeObject, map[string]any{propDocument: mark(""), propHidden: true})
	return b.try(patience, func(ctx context.Context) error {
		failed, err := b.put(ctx, []*pb.BatchObject{o})
		if err == nil && len(failed) > 0 {
			return &httpError{http.StatusServiceUnavailable, failed[0]}
		}
		return err
	})
}

// store sends objects, and returns the places of those that Weaviate does not take, with its reasons.
func (b *batch) store(list []queued) (failed map[int]string, err error) {
	sent := make([]*pb.BatchObject, len(list))
	for i, o := range list {
		sent[i] = o.BatchObject
	}
	err = b.try(b.patience, func(ctx context.Context) (err error) {
		failed, err = b.put(ctx, sent)
		return err
	})
	for i := len(sent) - 1; i >= 0 && err == nil; i-- {
		if _, refused := failed[i]; !refused {
			b.written = append(b.written,
				stored{sent[i].Uuid, int64(sent[i].Properties.NonRefProperties.Fields[propVersion].GetNumberValue())})
			break
		}
	}
	return failed, err
}

// put sends objects once.
func (w *writer) put(ctx context.Context, list []*pb.BatchObject) (map[int]string, error) {
	failed := map[int]string{}
	var reply *pb.BatchObjectsReply
	err := w.client.onLast(func(host int64) (err error) {
		reply, err = w.client.grpc(host).BatchObjects(ctx,
			&pb.BatchObjectsRequest{Objects: list, ConsistencyLevel: &w.level})
		return err
	})
	for _, e := range reply.GetErrors() {
		if at := int(e.GetIndex()); at >= 0 && at < len(list) {
			failed[at] = e.GetError()
		}
	}
	return failed, err
}
