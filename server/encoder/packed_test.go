package encoder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/modeltest"
	"quarry/server/encoder/builtin"
)

// TestPacked: a packed model gives the vectors of the folder that it was made of, and one that is cut off is refused.
func TestPacked(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "small")
	modeltest.StoreEncoder(t, folder, modeltest.Encoder{Hidden: 64, Inner: 96, Heads: 2, Layers: 2, Positions: 40, First: true},
		"[UNK]", "[CLS]", "[SEP]", "roll", "back", "##ed")
	m, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	same, err := OpenPacked(string(packed))
	if err != nil {
		t.Fatal(err)
	}
	if name, err := PackedName(string(packed)); err != nil || name != m.Name() || same.Name() != name {
		t.Errorf("named %q and %q, want %q; %v", name, same.Name(), m.Name(), err)
	}
	if same.QueryPrompt != m.QueryPrompt || same.DocumentPrompt != m.DocumentPrompt {
		t.Errorf("prompts %q and %q", same.QueryPrompt, same.DocumentPrompt)
	}
	for _, text := range []string{"roll back", "Rolled, back", strings.Repeat("back rolled ", 40)} {
		if got, want := same.Vector(text), m.Vector(text); !slices.Equal(got, want) {
			t.Errorf("%q: another vector", text)
		}
	}
	for end := 0; end < len(packed); end += 1 + end/3 {
		if _, err := OpenPacked(string(packed[:end])); err == nil {
			t.Fatalf("%d of %d bytes were taken for a model", end, len(packed))
		}
	}
	if _, err := OpenPacked(string(packed) + "x"); err == nil {
		t.Error("a longer file was taken for a model")
	}
	if _, err := Pack(store(t, modeltest.Tokenizer("[UNK]"), modeltest.Tensors(map[string]modeltest.Tensor{
		"embeddings": modeltest.Floats([]int{1, 1}, 1)}))); err == nil {
		t.Error("word embeddings were packed")
	}
}

// TestBuiltin: with each kind of kernels, the model in the binary gives the vectors of the 32-bit weights that it was
// made of.
func TestBuiltin(t *testing.T) {
	m, err := OpenPacked(builtin.Model())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/bge-small-en-v1.5.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []modeltest.Golden
	if err := json.Unmarshal(text, &golden); err != nil || len(golden) != 20 {
		t.Fatalf("%d sentences, %v", len(golden), err)
	}
	for _, k := range available() {
		m.network.(*bert).runBy(k)
		for _, g := range golden {
			pieces := []int{101}
			for _, piece := range m.Pieces(g.Text) {
				pieces = append(pieces, int(piece))
			}
			if pieces = append(pieces, 102); !slices.Equal(pieces, g.Pieces) {
				t.Errorf("%q: pieces %v, want %v", g.Text, pieces, g.Pieces)
			}
			if k.name == plain().name && len(pieces) > 12 {
				continue // a second each
			}
			if got := cosine(m.Vector(g.Text), g.Vector); !(got >= .99) {
				t.Errorf("%s: %q: cosine %v", k.name, g.Text, got)
			}
		}
	}
}

// FuzzPacked reads packed models with other bytes: they are refused, or sizes are as they say.
func FuzzPacked(f *testing.F) {
	folder := f.TempDir()
	modeltest.StoreEncoder(f, folder, modeltest.Encoder{Hidden: 32, Inner: 32, Heads: 2, Layers: 1, Positions: 5},
		"[UNK]", "[CLS]", "[SEP]", "a")
	packed, err := Pack(folder)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(packed[:40])
	f.Add([]byte(strings.Replace(string(packed), `"hidden_size":32`, `"hidden_size":64`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := OpenPacked(string(data)); err == nil {
			m.Vector("a b a")
		}
	})
}
