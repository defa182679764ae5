// Package encoder turns texts into vectors in this process, with a model in a folder: a sentence encoder of the BERT
// family, as sentence-transformers stores it (config.json, tokenizer.json, model.safetensors), or static word
// embeddings in the format of model2vec, of which no neural network is run. Tokenizers are WordPiece or Unigram.
package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// The files of a model. The first two are in every folder, the third in that of a sentence encoder; the others have
// what differs from the defaults of sentence-transformers.
const (
	tokenizerName = "tokenizer.json"
	tensorsName   = "model.safetensors"
	configName    = "config.json"
	poolingName   = "1_Pooling/config.json"
	lengthName    = "sentence_bert_config.json"
	promptsName   = "config_sentence_transformers.json"
)

// Bounds of a model.
const (
	maxTokenizerBytes = 64 << 20
	maxTensorBytes    = 2 << 30
	maxSettingsBytes  = 1 << 20
	maxDimensions     = 8192
	maxWordPieces     = 512 // of a text; models are trained with no more
	maxPrompt         = 1000
)

// network makes a vector of the word pieces of a text, of any length.
type network interface {
	vector(pieces []int32) []float32
}

// Model turns texts into vectors. It is safe for concurrent use.
type Model struct {
	// QueryPrompt and DocumentPrompt stand before each text, as the model was trained.
	QueryPrompt, DocumentPrompt string

	name    string
	tokens  *tokenizer
	network network
	pieces  int // of a text that are read
}

// Check reports whether a folder has the files of a model, without reading them.
func Check(folder string) error {
	for _, name := range []string{tokenizerName, tensorsName} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a file", filepath.Join(folder, name))
		}
		if err != nil {
			return fmt.Errorf("no model in %s: %w", folder, err)
		}
	}
	return nil
}

// Open reads a model. An error names the file.
func Open(folder string) (*Model, error) {
	return guard.Result(func() *Model {
		f, m := files{folder: folder}, &Model{pieces: maxWordPieces}
		f.read(tokenizerName, maxTokenizerBytes, func(data []byte) { m.tokens = parseTokenizer(data) })
		f.read(tensorsName, maxTensorBytes, func(data []byte) { m.readTensors(&f, data) })
		m.name = filepath.Base(folder) + "@" + f.sums
		return m
	})
}

// require aborts with what is wrong with a model, unless that holds. All functions that read a part of one abort so.
func require(holds bool, wrong string, values ...any) {
	if !holds {
		guard.Abort(fmt.Errorf(wrong, values...))
	}
}

// readTensors reads the model, of the kind that its tensors tell.
func (m *Model) readTensors(f *files, data []byte) {
	all := parseTensors(data)
	if _, isTable := all["embeddings"]; isTable {
		m.network = readTable(all, m.tokens.count)
		return
	}
	_, isEncoder := all.find(wordEmbeddings)
	require(isEncoder, "it has neither a tensor embeddings, as word embeddings have, nor %s, as sentence encoders "+
		"of the BERT family have", wordEmbeddings)
	m.readEncoder(f, all)
}

// readEncoder reads a sentence encoder with its settings.
func (m *Model) readEncoder(f *files, all tensors) {
	var (
		about  settings
		pool   = pooling{Mean: true}
		length struct {
			Most int `json:"max_seq_length"`
		}
		trained struct {
			Prompts map[string]string `json:"prompts"`
		}
	)
	for _, file := range []struct {
		name string
		into any
	}{{configName, &about}, {poolingName, &pool}, {lengthName, &length}, {promptsName, &trained}} {
		f.readJSON(file.name, file.name != configName, file.into)
	}
	n := newBERT(about, pool, all)
	if m.pieces = min(maxWordPieces, about.capacity()); length.Most > 2 {
		m.pieces = min(m.pieces, length.Most)
	}
	m.pieces -= 2 // before and behind the text
	m.use(n)
	m.QueryPrompt = trained.Prompts["query"]
	m.DocumentPrompt = cmp.Or(trained.Prompts["document"], trained.Prompts["passage"])
	require(len(m.QueryPrompt) <= maxPrompt && len(m.DocumentPrompt) <= maxPrompt,
		"%s: a prompt has more than %d bytes", promptsName, maxPrompt)
}

// use gives the model its network, if its tokenizer fits.
func (m *Model) use(n *bert) {
	m.network, m.tokens.keepsUnknown = n, true
	n.runBy(fastest())
	n.begin, n.end = m.tokens.ends[0], m.tokens.ends[1]
	require(min(n.begin, n.end, m.tokens.unknown) >= 0 && m.tokens.count <= n.Pieces && m.pieces <= n.capacity()-2,
		"its tokenizer lacks [CLS] and [SEP] or <s> and </s> around a text, or an unknown piece, "+
			"or has more pieces than vocab_size")
}

// Pieces returns the numbers of the word pieces of a text that are read.
func (m *Model) Pieces(text string) []int32 { return m.tokens.pieces(text, m.pieces) }

// IsTable reports whether the model has a vector for each word piece, and no network that reads them together.
func (m *Model) IsTable() bool {
	_, isTable := m.network.(*table)
	return isTable
}

// Kind says what the model is.
func (m *Model) Kind() string {
	if m.IsTable() {
		return "static model"
	}
	return "sentence encoder"
}

// Name is the name of the folder and a checksum of the model.
func (m *Model) Name() string { return m.name }

// Vector returns the vector of a text, of Euclidean length 1: only directions are compared. It is nil for a text
// without a known word, and for one to which the model gives no direction.
func (m *Model) Vector(text string) []float32 {
	pieces := m.Pieces(text)
	if len(pieces) == 0 {
		return nil
	}
	return Unit(m.network.vector(pieces))
}

// Unit returns the vector of length 1 in the direction of another, or nil if that has none.
func Unit(vector []float32) []float32 {
	square := 0.0
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	length := math.Sqrt(square)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return nil
	}
	unit := make([]float32, len(vector))
	for i, x := range vector {
		unit[i] = float32(float64(x) / length)
	}
	return unit
}

// files are those of a folder that were read.
type files struct {
	folder, sums string
}

// read reads a file of at most so many bytes.
func (f *files) read(name string, most int64, parse func(data []byte)) {
	path := filepath.Join(f.folder, filepath.FromSlash(name))
	guard.While(path, guard.Ended(func() {
		info := guard.Must(os.Stat(path))
		require(info.Mode().IsRegular() && info.Size() <= most, "it is not a file of at most %d MB", most>>20)
		data := guard.Must(os.ReadFile(path))
		parse(data)
		f.sums += fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	}))
}

// readJSON reads settings; where the file may be missing they stay as they are.
func (f *files) readJSON(name string, optional bool, into any) {
	err := guard.Ended(func() {
		f.read(name, maxSettingsBytes, func(data []byte) { guard.Check(wire.Unmarshal(data, into)) })
	})
	if !optional || !errors.Is(err, os.ErrNotExist) {
		guard.Check(err)
	}
}
