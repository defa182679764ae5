// Package modeltest makes small models that turn texts into vectors: static word embeddings, in the format of model2vec, and
// sentence encoders.
package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
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

// Encoder is the shape of a sentence encoder, and its weights by the names of their tensors.
type Encoder struct {
	Hidden, Inner, Heads, Layers, Positions int
	First                                   bool // the vector is that of the first token, else the mean
	Weights                                 map[string][]float64
}

// StoreEncoder writes a sentence encoder of the BERT family with random weights to a folder, as sentence-transformers
// does, with the prompts "find: " and "text: ".
func StoreEncoder(t testing.TB, folder string, e Encoder, pieces ...string) Encoder {
	t.Helper()
	random, tensors := rand.New(rand.NewPCG(uint64(e.Hidden), uint64(e.Layers))), map[string]Tensor{}
	e.Weights = map[string][]float64{}
	add := func(name string, mean, spread float64, shape ...int) {
		count := 1
		for _, n := range shape {
			count *= n
		}
		values := make([]float32, count)
		for i := range values {
			values[i] = float32(mean + spread*random.NormFloat64())
			e.Weights[name] = append(e.Weights[name], float64(values[i]))
		}
		tensors[name] = Floats(shape, values...)
	}
	norm := func(name string) {
		add(name+".weight", 1, .1, e.Hidden)
		add(name+".bias", 0, .1, e.Hidden)
	}
	linear := func(name string, inputs, outputs int) {
		add(name+".weight", 0, 1/math.Sqrt(float64(inputs)), outputs, inputs)
		add(name+".bias", 0, .1, outputs)
	}
	add("embeddings.word_embeddings.weight", 0, 1, len(pieces), e.Hidden)
	add("embeddings.position_embeddings.weight", 0, 1, e.Positions, e.Hidden)
	add("embeddings.token_type_embeddings.weight", 0, 1, 2, e.Hidden)
	norm("embeddings.LayerNorm")
	for i := range e.Layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			linear(at+"attention.self."+part, e.Hidden, e.Hidden)
		}
		linear(at+"attention.output.dense", e.Hidden, e.Hidden)
		linear(at+"intermediate.dense", e.Hidden, e.Inner)
		linear(at+"output.dense", e.Inner, e.Hidden)
		norm(at + "attention.output.LayerNorm")
		norm(at + "output.LayerNorm")
	}
	Store(t, folder, Tokenizer(pieces...), Tensors(tensors))
	files := map[string]string{
		"config.json": fmt.Sprintf(`{"model_type":"bert","hidden_act":"gelu","hidden_size":%d,"intermediate_size":%d,"num_attention_heads":%d,`+
			`"num_hidden_layers":%d,"max_position_embeddings":%d,"vocab_size":%d,"layer_norm_eps":1e-12}`, e.Hidden, e.Inner, e.Heads, e.Layers,
			e.Positions, len(pieces)),
		"1_Pooling/config.json": fmt.Sprintf(`{"pooling_mode_cls_token":%v,"pooling_mode_mean_tokens":%v,"pooling_mode_max_tokens":false}`,
			e.First, !e.First),
		"config_sentence_transformers.json": `{"prompts":{"query":"find: ","document":"text: "}}`,
	}
	if err := os.MkdirAll(filepath.Join(folder, "1_Pooling"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return e
}
