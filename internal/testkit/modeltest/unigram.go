package modeltest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
)

// Scored is a piece of a Unigram tokenizer with the logarithm of its probability.
type Scored struct {
	Piece string
	Score float64
}

// MarshalJSON implements json.Marshaler.
func (s Scored) MarshalJSON() ([]byte, error) { return json.Marshal([]any{s.Piece, s.Score}) }

// Unigram returns a tokenizer.json like that of XLM-RoBERTa, with the pieces <s>, <pad>, </s> and <unk> before the others
// and the replacements of charsmap.
func Unigram(charsmap map[string]string, pieces ...Scored) string {
	pieces = slices.Concat([]Scored{{"<s>", 0}, {"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}}, pieces)
	vocabulary, _ := json.Marshal(pieces)
	return `{"version":"1.0","added_tokens":[{"id":0,"content":"<s>","special":true},{"id":1,"content":"<pad>","special":true},` +
		`{"id":2,"content":"</s>","special":true},{"id":3,"content":"<unk>","special":true}],"normalizer":{"type":"Sequence",` +
		`"normalizers":[{"type":"Precompiled","precompiled_charsmap":"` + base64.StdEncoding.EncodeToString(Charsmap(charsmap)) +
		`"},{"type":"Strip","strip_left":false,"strip_right":true},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"}]},` +
		`"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},"post_processor":{` +
		`"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},` +
		`{"SpecialToken":{"id":"</s>","type_id":0}}]},"model":{"type":"Unigram","unk_id":3,"vocab":` + string(vocabulary) + `}}`
}

// Charsmap returns replacements of texts as SentencePiece stores them: the size of a trie, the trie as a double array in
// the form of darts-clone, and the replacements.
func Charsmap(replacements map[string]string) []byte {
	units, used, texts := make([]uint32, 1), map[uint32]bool{0: true}, []byte{}
	set := func(at, unit uint32) {
		for uint32(len(units)) <= at {
			units = append(units, 0)
		}
		units[at] |= unit
	}
	// add places the bytes that follow the first depth ones of keys, which begin alike, and notes where in the unit at.
	var add func(at uint32, keys []string, depth int)
	add = func(at uint32, keys []string, depth int) {
		groups := map[byte][]string{} // by the next byte; 0 ends a key
		for _, key := range keys {
			next := byte(0)
			if len(key) > depth {
				next = key[depth]
			}
			groups[next] = append(groups[next], key)
		}
		offset := uint32(1)
		for slices.ContainsFunc(slices.Collect(maps.Keys(groups)), func(b byte) bool { return used[at^offset^uint32(b)] }) {
			offset++
		}
		set(at, offset<<10)
		children := slices.Sorted(maps.Keys(groups))
		for _, b := range children {
			used[at^offset^uint32(b)] = true
		}
		for _, b := range children {
			child := at ^ offset ^ uint32(b)
			if b != 0 {
				set(child, uint32(b))
				add(child, groups[b], depth+1)
				continue
			}
			set(at, 1<<8)
			set(child, 1<<31|uint32(len(texts)))
			texts = append(texts, replacements[groups[b][0]]+"\x00"...)
		}
	}
	if len(replacements) > 0 {
		add(0, slices.Sorted(maps.Keys(replacements)), 0)
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, unit := range units {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return append(data, texts...)
}
