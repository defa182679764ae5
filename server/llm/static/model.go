package static

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
)

// The files of a model.
const (
	tokenizerName = "tokenizer.json"
	tensorsName   = "model.safetensors"
)

// Bounds of a model.
const (
	maxTokenizerBytes = 64 << 20
	maxTensorBytes    = 2 << 30
	maxDimensions     = 8192
	maxWordPieces     = 512 // of a text; model2vec reads no more
)

// Model turns texts into vectors. It is safe for concurrent use.
type Model struct {
	name       string
	tokens     *tokenizer
	dimensions int
	vectors    []float32 // row after row
	rows       []int32   // of pieces; nil: a piece's number
	weights    []float32 // of pieces; nil: all 1
}

// Check reports whether a folder has the files of a model, without reading them.
func Check(folder string) error {
	for _, name := range []string{tokenizerName, tensorsName} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a file", filepath.Join(folder, name))
		}
		if err != nil {
			return fmt.Errorf("no model2vec model in %s: %w", folder, err)
		}
	}
	return nil
}

// Open reads a model. An error names the file.
func Open(folder string) (*Model, error) {
	m := &Model{}
	sums := ""
	for _, part := range []struct {
		name string
		most int64
		read func(data []byte) error
	}{
		{tokenizerName, maxTokenizerBytes, func(data []byte) (err error) {
			m.tokens, err = parseTokenizer(data)
			return err
		}},
		{tensorsName, maxTensorBytes, m.readTensors},
	} {
		path := filepath.Join(folder, part.name)
		data, err := readFile(path, part.most)
		if err == nil {
			err = part.read(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		sums += fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	}
	m.name = filepath.Base(folder) + "@" + sums
	return m, nil
}

func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("it is not a file of at most %d MB", most>>20)
	}
	return os.ReadFile(path)
}

// readTensors reads the vectors, and what newer versions of model2vec store beside them: mapping, the row of each
// piece, where pieces share vectors, and weights, a factor for each piece.
func (m *Model) readTensors(data []byte) error {
	tensors, err := parseTensors(data)
	if err != nil {
		return err
	}
	vectors, ok := tensors["embeddings"]
	if !ok {
		return errors.New("it has no tensor embeddings")
	}
	if len(vectors.Shape) != 2 || vectors.Shape[1] <= 0 || vectors.Shape[1] > maxDimensions {
		return errors.New("tensor embeddings: it is not a table of vectors")
	}
	m.dimensions = vectors.Shape[1]
	m.vectors = make([]float32, 0, len(vectors.data)/2)
	if err := vectors.numbers(2, func(_ int, value float64) { m.vectors = append(m.vectors, float32(value)) }); err != nil {
		return fmt.Errorf("tensor embeddings: %w", err)
	}
	rows, pieces := vectors.Shape[0], m.tokens.count
	if t, ok := tensors["mapping"]; ok {
		outside := false
		err := t.numbers(1, func(_ int, value float64) {
			outside = outside || value < 0 || value >= float64(rows) || value != math.Trunc(value)
			m.rows = append(m.rows, int32(value))
		})
		if err == nil && (outside || len(m.rows) < pieces) {
			err = fmt.Errorf("it does not name a vector for each of %d pieces", pieces)
		}
		if err != nil {
			return fmt.Errorf("tensor mapping: %w", err)
		}
	} else if rows < pieces {
		return fmt.Errorf("it has %d vectors for %d pieces", rows, pieces)
	}
	if t, ok := tensors["weights"]; ok {
		if err := t.numbers(1, func(_ int, value float64) { m.weights = append(m.weights, float32(value)) }); err != nil {
			return fmt.Errorf("tensor weights: %w", err)
		}
		if len(m.weights) < pieces {
			return fmt.Errorf("it has %d weights for %d pieces", len(m.weights), pieces)
		}
	}
	return nil
}

// Name is the name of the folder and a checksum of the model.
func (m *Model) Name() string { return m.name }

// Vector returns the vector of a text, of Euclidean length 1 whether or not the model's configuration asks for that:
// only directions are compared. It is nil for a text without a known word.
func (m *Model) Vector(text string) []float32 {
	sum := make([]float32, m.dimensions)
	for _, id := range m.tokens.pieces(text, maxWordPieces) {
		row, weight := int(id), float32(1)
		if m.rows != nil {
			row = int(m.rows[id])
		}
		if m.weights != nil {
			weight = m.weights[id]
		}
		for i, x := range m.vectors[row*m.dimensions:][:len(sum)] {
			sum[i] += weight * x
		}
	}
	square := 0.0
	for _, x := range sum {
		square += float64(x) * float64(x)
	}
	length := math.Sqrt(square)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return nil
	}
	for i := range sum {
		sum[i] = float32(float64(sum[i]) / length)
	}
	return sum
}
