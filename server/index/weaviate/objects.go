package weaviate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"quarry/client/field"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/codec"
	"quarry/server/index/segment"
	"quarry/server/index/shared"
)

// space is the namespace of our UUIDs.
func space() uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, []byte("quarry/passage")) }

// objectID is that of a passage, or of a whole document: storing it again replaces it.
func objectID(tenant, document string, ordinal int) string {
	return uuid.NewSHA1(space(), fmt.Appendf(nil, "%s|%s|%d", tenant, document, ordinal)).String()
}

// values are the properties of an object by type.
type values struct {
	scalars map[string]any
	lists   map[string][]string
}

// metadata are the properties that all objects of a document have.
func metadata(d *index.Document, version int64) values {
	v := values{lists: map[string][]string{propAccess: fields(d.Access)}, scalars: map[string]any{
		propDocument: mark(d.ID), propVersion: float64(version), propHidden: d.Hidden, propUpdated: float64(undated),
		propMonth: mark(segment.Month(d))}}
	if !d.UpdatedAt.IsZero() {
		v.scalars[propUpdated] = float64(d.UpdatedAt.UnixMicro())
	}
	for id := range field.N {
		c := index.ColumnOf(id)
		if c.Single {
			v.scalars[c.Property] = mark(index.KeysOf(id, d)[0])
			continue
		}
		v.lists[c.Property] = propertyValues(id, index.KeysOf(id, d))
		if c.Counted != "" {
			v.lists[c.Counted] = propertyValues(id, index.ValuesOf(id, d))
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

// changeable are the properties that an access patch changes.
func changeable(d *index.Document, version int64) map[string]any {
	all := metadata(d, version)
	sets := index.ColumnOf(field.Set).Property
	return map[string]any{propHidden: d.Hidden, propVersion: version, propAccess: all.lists[propAccess],
		sets: all.lists[sets]}
}

// tagSeparator stands between the key and the value of a tag.
const tagSeparator = "==="

// pairOf returns the tag of a stored one.
func pairOf(stored string) string {
	key, value, _ := strings.Cut(stored, tagSeparator)
	return field.Pair(key, value)
}

// mark returns a value as a field's filter sees it. Weaviate trims and cannot store everything: what differs is marked, so that no
// value equals another one's.
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

// object makes an object of its properties.
func object(class, tenant, id string, v values) (*pb.BatchObject, error) {
	scalars, err := structpb.NewStruct(v.scalars)
	if err != nil {
		return nil, fmt.Errorf("write to Weaviate: %w", err)
	}
	properties := &pb.BatchObject_Properties{NonRefProperties: scalars}
	for name, list := range v.lists {
		if len(list) == 0 {
			properties.EmptyListProps = append(properties.EmptyListProps, name)
			continue
		}
		properties.TextArrayProperties = append(properties.TextArrayProperties, &pb.TextArrayProperties{PropName: name, Values: list})
	}
	return &pb.BatchObject{Uuid: id, Collection: class, Tenant: tenant, Properties: properties}, nil
}

// objects makes the objects of a document: itself and its passages. vector returns the vector of a passage; nil: it has none.
func objects(class, tenant string, put *shared.Put, analyser *analysis.Analyser, vector func(chunk int) []float32) ([]*pb.BatchObject, error) {
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
	whole.scalars[propOrdinal], whole.scalars[propSize] = float64(wholeDocument), float64(len(d.Title))
	whole.scalars[propPassages] = float64(len(d.Chunks))
	whole.scalars[propNewest], whole.scalars[propOldest] = places(d)
	whole.lists[propTerms], whole.lists[propTitled], whole.lists[propSurfaces] = fields(terms), fields(titled), fields(surfaces)
	first, err := object(class, tenant, objectID(tenant, d.ID, wholeDocument), whole)
	if err != nil {
		return nil, err
	}
	all := []*pb.BatchObject{first}
	title := searchText(analyser, d.TitleField())
	for i := range d.Chunks {
		v := metadata(d, put.Changed)
		v.scalars[propOrdinal] = float64(i)
		v.scalars[propText] = strings.Join([]string{strings.Repeat(title+" ", titleCopies), searchText(analyser, d.HeadingsField(i)),
			searchText(analyser, []string{d.Chunks[i].Text})}, " ")
		o, err := object(class, tenant, objectID(tenant, d.ID, i), v)
		if err != nil {
			return nil, err
		}
		if values := vector(i); values != nil {
			o.VectorBytes = codec.AppendVector(nil, values)
		}
		all = append(all, o)
	}
	return all, nil
}

// searchText returns the terms of texts, which Weaviate splits at white space.
func searchText(analyser *analysis.Analyser, texts []string) string {
	var out strings.Builder
	for _, text := range texts {
		for _, token := range analyser.Tokens(text) {
			out.WriteString(token.Term)
			out.WriteByte(' ')
		}
	}
	return out.String()
}
