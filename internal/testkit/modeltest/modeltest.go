// Package modeltest makes small models of static word embeddings, in the format of model2vec.
package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Tokenizer returns a tokenizer.json like that of a BERT model without capitals. The first piece stands for unknown words.
func Tokenizer(pieces ...string) string {
	vocabulary := map[string]int{}
	for i, piece := range pieces {
		vocabulary[piece] = i
	}
	text, _ := json.Marshal(vocabulary)
	return `{"version":"1.0","added_tokens":[{"id":0,"content":"[UNK]","special":true}],"normalizer":{"type":"BertNormalizer","clean_text":true,` +
		`"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece",` +
		`"unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":20,"vocab":` + string(text) + `}}`
}

// Tensor is an array of numbers.
type Tensor struct {
	Type  string
	Shape []int
	Data  []byte
}

// Floats returns a tensor of 32-bit floats.
func Floats(shape []int, values ...float32) Tensor {
	t := Tensor{Type: "F32", Shape: shape}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}

// Tensors returns a file of safetensors.
func Tensors(tensors map[string]Tensor) []byte {
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for name, t := range tensors {
		header[name] = map[string]any{"dtype": t.Type, "shape": t.Shape, "data_offsets": []int{len(data), len(data) + len(t.Data)}}
		data = append(data, t.Data...)
	}
	text, _ := json.Marshal(header)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

// Store writes a model to a folder.
func Store(t testing.TB, folder, tokenizer string, tensors []byte) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tokenizer.json": []byte(tokenizer), "model.safetensors": tensors,
		"config.json": []byte(`{"model_type":"model2vec","normalize":true}`)} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
