package weaviate

import (
	"math/bits"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/client/field"
	"quarry/server/index"
	"quarry/server/index/lexical"
)

func on(property string) *pb.FilterTarget {
	return &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}}
}

// anyOf admits objects that have one of the values; without values none.
func anyOf(property string, list []string) *pb.Filters {
	if list = fields(list); len(list) == 0 {
		return never()
	}
	return &pb.Filters{Operator: pb.Filters_OPERATOR_CONTAINS_ANY, Target: on(property),
		TestValue: &pb.Filters_ValueTextArray{ValueTextArray: &pb.TextArray{Values: list}}}
}

// never admits nothing.
func never() *pb.Filters { return number(propOrdinal, pb.Filters_OPERATOR_LESS_THAN, wholeDocument) }

func number(property string, operator pb.Filters_Operator, value int64) *pb.Filters {
	return &pb.Filters{Operator: operator, Target: on(property), TestValue: &pb.Filters_ValueInt{ValueInt: value}}
}

func all(parts ...*pb.Filters) *pb.Filters { return combine(pb.Filters_OPERATOR_AND, parts) }

func either(parts ...*pb.Filters) *pb.Filters { return combine(pb.Filters_OPERATOR_OR, parts) }

func combine(operator pb.Filters_Operator, parts []*pb.Filters) *pb.Filters {
	if len(parts) == 1 {
		return parts[0]
	}
	return &pb.Filters{Operator: operator, Filters: parts}
}

func not(part *pb.Filters) *pb.Filters {
	return &pb.Filters{Operator: pb.Filters_OPERATOR_NOT, Filters: []*pb.Filters{part}}
}

// fieldTime is the field of a filter behind those of the table. The values of a field are counted under every field but
// their own.
const (
	fieldTime  = field.N
	fieldCount = field.N + 1
)

// rights admits what access may see.
func rights(access index.Access) *pb.Filters {
	shown := &pb.Filters{Operator: pb.Filters_OPERATOR_EQUAL, Target: on(propHidden), TestValue: &pb.Filters_ValueBoolean{}}
	if access.All {
		return shown
	}
	return all(anyOf(propAccess, access.Terms), shown)
}

// filterOf returns what a filter requires of all documents, and what it requires by field; nil where it does not bound it.
func filterOf(f *index.Filter) (required []*pb.Filters, byField [fieldCount]*pb.Filters) {
	required = []*pb.Filters{rights(f.Access)}
	if f.Among != nil {
		required = append(required, anyOf(propDocument, f.Among))
	}
	for id, values := range f.None {
		if len(values) > 0 {
			required = append(required, not(hasAny(field.ID(id), values)))
		}
	}
	if len(f.NoDocuments) > 0 {
		required = append(required, not(anyOf(propDocument, f.NoDocuments)))
	}
	for id, values := range f.Any {
		if len(values) > 0 {
			byField[id] = hasAny(field.ID(id), values)
		}
	}
	if len(f.Documents) > 0 {
		byField[field.Set] = either(hasAny(field.Set, f.Any[field.Set]), anyOf(propDocument, f.Documents))
	}
	byField[fieldTime] = times(f)
	return required, byField
}

// hasAny admits objects that a filter's values of a field mean.
func hasAny(id field.ID, values []string) *pb.Filters {
	keys := make([]string, len(values))
	for i, value := range values {
		keys[i] = propertyValue(id, index.KeyOf(id, value))
	}
	return anyOf(index.ColumnOf(id).Property, keys)
}

// times bounds the time; nil without bounds. Times are whole microseconds.
func times(f *index.Filter) *pb.Filters {
	if f.Since.IsZero() && f.Until.IsZero() {
		return nil
	}
	dated := []*pb.Filters{number(propUpdated, pb.Filters_OPERATOR_GREATER_THAN, undated)}
	if !f.Since.IsZero() {
		dated = append(dated, number(propUpdated, pb.Filters_OPERATOR_GREATER_THAN_EQUAL,
			f.Since.Add(time.Microsecond-1).UnixMicro()))
	}
	if !f.Until.IsZero() {
		dated = append(dated, number(propUpdated, pb.Filters_OPERATOR_LESS_THAN_EQUAL, f.Until.UnixMicro()))
	}
	passes, fails := f.DayEdges()
	if !fails.IsZero() {
		dated = append(dated, number(propUpdated, pb.Filters_OPERATOR_NOT_EQUAL, fails.UnixMicro()))
	}
	if !passes.IsZero() && (f.Until.IsZero() || !passes.After(f.Until)) {
		dated = []*pb.Filters{either(all(dated...), number(propUpdated, pb.Filters_OPERATOR_EQUAL, passes.UnixMicro()))}
	}
	if f.KeepUndated {
		return either(all(dated...), number(propUpdated, pb.Filters_OPERATOR_EQUAL, undated))
	}
	return all(dated...)
}

// variants returns the whole filter, and with counted the same without each of its fields: what must be found to count the
// values of that field.
func variants(f *index.Filter, counted bool) [][]*pb.Filters {
	required, byField := filterOf(f)
	without := func(left int) []*pb.Filters {
		parts := append([]*pb.Filters(nil), required...)
		for field, part := range byField {
			if part != nil && field != left {
				parts = append(parts, part)
			}
		}
		return parts
	}
	list := [][]*pb.Filters{without(-1)}
	for field, part := range byField {
		if part != nil && counted {
			list = append(list, without(field))
		}
	}
	return list
}

// whole admits documents only, not their passages.
func whole() *pb.Filters { return number(propOrdinal, pb.Filters_OPERATOR_EQUAL, wholeDocument) }

// terms are filter values of terms; an object that has one of them passes.
func termsOf(property string, list []string) *pb.Filters { return anyOf(property, list) }

// phrased admits documents with the words of all phrases, in any order.
func phrased(phrases [][][]string) (parts []*pb.Filters) {
	for _, phrase := range phrases {
		for _, terms := range phrase {
			parts = append(parts, termsOf(propTerms, terms))
		}
	}
	return parts
}

// maxThreshold bounds the words whose combinations are written as a filter.
const maxThreshold = 10

// matching admits the documents that count as matched: those with enough of the mass. ok is false if there are too many words.
func matching(wanted *lexical.Wanted) (filter *pb.Filters, ok bool) {
	var words []lexical.WantedWord
	for _, word := range wanted.Words {
		if word.Mass > 0 {
			words = append(words, word)
		}
	}
	if len(words) == 0 || len(words) > maxThreshold || wanted.Need == 0 {
		return nil, false
	}
	mass := func(set uint) (sum uint32) {
		for i, word := range words {
			sum += word.Mass * uint32(set>>i&1)
		}
		return sum
	}
	var ways []*pb.Filters
	for set := uint(1); set < 1<<len(words); set++ {
		least := mass(set) >= wanted.Need
		for i := range words {
			least = least && (set>>i&1 == 0 || mass(set&^(1<<i)) < wanted.Need) // none of them is dispensable
		}
		if !least {
			continue
		}
		way := make([]*pb.Filters, 0, bits.OnesCount(set))
		for i, word := range words {
			if set>>i&1 == 1 {
				way = append(way, termsOf(propTerms, word.Terms))
			}
		}
		ways = append(ways, all(way...))
	}
	return either(ways...), len(ways) > 0
}
