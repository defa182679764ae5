package encoder

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"quarry/internal/guard"
	"quarry/internal/testkit/modeltest"
)

func words() []string {
	return []string{"[UNK]", "roll", "back", "##ed", "un", "##aff", "##able", "don", "'", "t", "東", "cafe", "2", ".", "deploy"}
}

func store(t testing.TB, tokenizer string, tensors []byte) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "tiny")
	modeltest.Store(t, folder, tokenizer, tensors)
	return folder
}

func TestPieces(t *testing.T) {
	tok := parseTokenizer([]byte(modeltest.Tokenizer(words()...)))
	for text, want := range map[string]string{
		"Roll back":                     "roll back",
		"rolled\nBACKED":                "roll ##ed back ##ed",
		"unaffable":                     "un ##aff ##able",
		"don't roll.":                   "don ' t roll .",
		"Café CAFE\u0301":               "cafe cafe",
		"東京roll":                        "東 roll",         // 京 is unknown
		"backward roll":                 "roll",           // the rest is no piece, so the whole word is unknown
		"ro\u200bll\x00 back\u00a0back": "roll back back", // clean_text
		strings.Repeat("un", 11):        "",               // longer than max_input_chars_per_word
		"[UNK] roll":                    "roll",           // brackets and letters apart, none of them known
		"deploy2deploy":                 "",               // 2 is no piece within a word
		"":                              "",
	} {
		var got []string
		for _, id := range tok.pieces(text, 512) {
			got = append(got, words()[id])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := tok.pieces(strings.Repeat("roll back ", 50), 7); len(got) != 7 {
		t.Errorf("%d pieces, want at most 7", len(got))
	}
}

func TestVectors(t *testing.T) {
	pieces := []string{"[UNK]", "north", "east", "gust", "##y"}
	table := modeltest.Floats([]int{5, 2}, 9, 9, 0, 2, 3, 0, 4, 0, 0, 4)
	halves := modeltest.Tensor{Type: "F16", Shape: []int{5, 2}}
	for _, bits := range []uint16{0x4880, 0x4880, 0, 0x4000, 0x4200, 0, 0x4400, 0, 0, 0x4400} {
		halves.Data = binary.LittleEndian.AppendUint16(halves.Data, bits)
	}
	rows := modeltest.Tensor{Type: "I64", Shape: []int{5}}
	for _, row := range []uint64{0, 2, 1, 2, 1} {
		rows.Data = binary.LittleEndian.AppendUint64(rows.Data, row)
	}
	root := float32(math.Sqrt(0.5))
	tests := map[string]struct {
		tensors map[string]modeltest.Tensor
		text    string
		want    []float32
	}{
		"one word":         {map[string]modeltest.Tensor{"embeddings": table}, "North!", []float32{0, 1}},
		"a word in pieces": {map[string]modeltest.Tensor{"embeddings": table}, "gusty", []float32{root, root}},
		"half precision":   {map[string]modeltest.Tensor{"embeddings": halves}, "gusty", []float32{root, root}},
		"the mean":         {map[string]modeltest.Tensor{"embeddings": table}, "north north north east east", []float32{root, root}},
		"weights":          {map[string]modeltest.Tensor{"embeddings": table, "weights": modeltest.Floats([]int{5}, 0, 0, 1, 1, 1)}, "north east", []float32{1, 0}},
		"mapping":          {map[string]modeltest.Tensor{"embeddings": table, "mapping": rows}, "north", []float32{1, 0}},
		"no known word":    {map[string]modeltest.Tensor{"embeddings": table}, "south", nil},
		"opposites":        {map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{5, 2}, 0, 0, 0, 2, 0, -2, 0, 0, 0, 0)}, "north east", nil},
	}
	for name, test := range tests {
		m, err := Open(store(t, modeltest.Tokenizer(pieces...), modeltest.Tensors(test.tensors)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := m.Vector(test.text)
		if len(got) != len(test.want) || len(got) == 2 && (math.Abs(float64(got[0]-test.want[0])) > 1e-6 || math.Abs(float64(got[1]-test.want[1])) > 1e-6) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: math.Ldexp(1, -24), 0x8001: -math.Ldexp(1, -24),
		0x03ff: math.Ldexp(1023, -24), 0x0400: math.Ldexp(1, -14), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1)} {
		if got := half(bits); float64(got) != want {
			t.Errorf("%#x: %v, want %v", bits, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	table := modeltest.Floats([]int{2, 1}, 1, 2)
	one, err := Open(store(t, modeltest.Tokenizer("[UNK]", "a"), modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": table})))
	if err != nil {
		t.Fatal(err)
	}
	table.Data[0] ^= 1
	other, err := Open(store(t, modeltest.Tokenizer("[UNK]", "a"), modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": table})))
	if err != nil || one.Name() == other.Name() || !strings.HasPrefix(one.Name(), "tiny@") {
		t.Errorf("%q and %q, %v", one.Name(), other.Name(), err)
	}
}

func TestUnusableModels(t *testing.T) {
	good := modeltest.Tokenizer("[UNK]", "a")
	table := modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{2, 1}, 1, 2)})
	tests := map[string]struct {
		tokenizer string
		tensors   []byte
		want      string
	}{
		"another tokenizer":    {strings.Replace(good, `"WordPiece"`, `"BPE"`, 1), table, `tokenizer.json: its model is "BPE"`},
		"another normalizer":   {strings.Replace(good, `"BertNormalizer"`, `"NFC"`, 1), table, `tokenizer.json: its normalizer is "NFC"`},
		"another splitter":     {strings.Replace(good, `"BertPreTokenizer"`, `"Whitespace"`, 1), table, "tokenizer.json: its pre_tokenizer"},
		"no JSON":              {"{", table, "tokenizer.json: it is not a tokenizer"},
		"no pieces":            {modeltest.Tokenizer(), table, "its vocabulary has 0 pieces"},
		"numbers twice":        {strings.Replace(good, `"a":1`, `"a":0`, 1), table, "is taken or too large"},
		"a large number":       {strings.Replace(good, `"a":1`, `"a":7`, 1), table, "is taken or too large"},
		"unknown unk_token":    {strings.Replace(good, `"unk_token":"[UNK]"`, `"unk_token":"?"`, 1), table, "lacks unk_token"},
		"empty tensors":        {good, nil, "model.safetensors: it is too short"},
		"a long header":        {good, append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, table...), "the length of its header"},
		"cut off":              {good, table[:len(table)-1], "is outside of the file"},
		"no embeddings":        {good, modeltest.Tensors(map[string]modeltest.Tensor{"x": modeltest.Floats([]int{1}, 1)}), "neither a tensor embeddings"},
		"too few vectors":      {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{1, 1}, 1)}), "1 vectors for 2 pieces"},
		"another shape":        {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{2, 2}, 1, 2)}), "shape"},
		"a huge shape":         {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": {Type: "F32", Shape: []int{1 << 62, 4}, Data: make([]byte, 8)}}), "shape"},
		"another type":         {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": {Type: "I8", Shape: []int{2, 1}, Data: []byte{1, 2}}}), `type "I8"`},
		"infinity":             {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{2, 1}, 1, float32(math.Inf(1)))}), "not finite"},
		"few weights":          {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{2, 1}, 1, 2), "weights": modeltest.Floats([]int{1}, 1)}), "1 weights for 2"},
		"rows that are none":   {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{1, 1}, 1), "mapping": modeltest.Floats([]int{2}, 0, 3)}), "tensor mapping"},
		"rows with a fraction": {good, modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{2, 1}, 1, 1), "mapping": modeltest.Floats([]int{2}, 0, .5)}), "tensor mapping"},
	}
	for name, test := range tests {
		if _, err := Open(store(t, test.tokenizer, test.tensors)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if err := Check(t.TempDir()); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("an empty folder: %v", err)
	}
}

func FuzzTokenizer(f *testing.F) {
	f.Add(modeltest.Tokenizer(words()...), "Roll back the Café 東京, don't\u0301 deploy\x00 unaffable")
	f.Add(strings.Replace(modeltest.Tokenizer("a", "##", "##a"), "[UNK]", "a", 2), "aaa ##a")
	f.Add(strings.Replace(modeltest.Tokenizer("", "b"), `"##"`, `""`, 1), "b bb \xff")
	f.Add(`{"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","vocab":{"x":0}}}`, "x\tX")
	f.Fuzz(func(t *testing.T, file, text string) {
		tok, err := guard.Result(func() *tokenizer { return parseTokenizer([]byte(file)) })
		if err != nil {
			return
		}
		ids := tok.pieces(text, 64)
		if len(ids) > 64 {
			t.Errorf("%d pieces", len(ids))
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.count {
				t.Errorf("piece %d of %d", id, tok.count)
			}
		}
	})
}

func FuzzTensors(f *testing.F) {
	f.Add(modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{2, 2}, 1, 2, 3, 4), "weights": modeltest.Floats([]int{2}, 1, 2)}))
	f.Add(modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": {Type: "F16", Shape: []int{2, 1}, Data: []byte{0, 60, 0, 60}}, "mapping": modeltest.Floats([]int{2}, 1, 0)}))
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
	tokens := parseTokenizer([]byte(modeltest.Tokenizer("a", "[UNK]")))
	f.Fuzz(func(t *testing.T, file []byte) {
		m := &Model{tokens: tokens, pieces: maxWordPieces}
		if err := guard.Ended(func() { m.readTensors(&files{folder: t.TempDir()}, file) }); err != nil {
			return
		}
		square := 0.0
		vector := m.Vector("a a")
		for _, x := range vector {
			square += float64(x) * float64(x)
		}
		if vector != nil && math.Abs(square-1) > 1e-3 {
			t.Errorf("a vector of length² %v", square)
		}
	})
}

// BenchmarkVector measures a model of the usual size, 30,000 pieces and 256 dimensions, on words of its vocabulary and
// others, which are split.
func BenchmarkVector(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	pieces, values := []string{"[UNK]"}, []float32{}
	for c := 'a'; c <= 'z'; c++ {
		pieces = append(pieces, string(c), "##"+string(c))
	}
	for len(pieces) < 30_000 {
		pieces = append(pieces, fmt.Sprintf("w%x", len(pieces)))
	}
	for range len(pieces) * 256 {
		values = append(values, random.Float32()-.5)
	}
	m, err := Open(store(b, modeltest.Tokenizer(pieces...), modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{len(pieces), 256}, values...)})))
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for text.Len() < 2000 {
		text.WriteString(pieces[53+random.IntN(len(pieces)-53)])
		if random.IntN(20) == 0 {
			text.WriteString("ing,")
		}
		text.WriteByte(' ')
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		m.Vector(text.String())
	}
}
