package encoder

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quarry/internal/guard"
	"quarry/internal/testkit/modeltest"
)

// TestIntegersAgree: from inputs and weights of many sizes, also the greatest, all kernels make the same integers.
func TestIntegersAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 2))
	const most = math.MaxInt8
	weightsOf := map[string]func(i int) float64{
		"any":            func(int) float64 { return float64(random.IntN(2*most+1) - most) },
		"greatest":       func(int) float64 { return most },
		"least":          func(int) float64 { return -most },
		"by turns":       func(i int) float64 { return float64(most * (1 - i%2*2)) },
		"few pairs fit":  func(int) float64 { return random.NormFloat64() * 50 },
		"most pairs fit": func(int) float64 { return random.NormFloat64() * 30 },
	}
	for round := range 48 {
		inputs := tileOutputs * (1 + random.IntN(8))
		for name, weight := range weightsOf {
			weights := make([]int8, tileOutputs*inputs)
			for i := range weights {
				weights[i] = int8(max(-most, min(weight(i), most)))
			}
			for _, k := range available()[1:] {
				bytes := make([]uint8, tileRows*inputs)
				for i := range bytes {
					bytes[i] = uint8([]int32{random.Int32N(k.top + 1), k.top, k.top * random.Int32N(2)}[round%3])
				}
				var got, want tileSums
				k.dot(bytes, weights, k.pair(weights), &got)
				dot(bytes, weights, nil, &want)
				if got != want {
					t.Fatalf("%s: %d inputs, weights %s: other integers", k.name, inputs, name)
				}
			}
		}
	}
}

// TestPairsFit: pairs of inputs are added up where four products fit into 16 bits, and there alone.
func TestPairsFit(t *testing.T) {
	for _, k := range available() {
		for _, test := range []struct {
			name    string
			weights [4]int8
			fits    bool
		}{
			{"small", [4]int8{1, 2, 3, 4}, true},
			{"the most", [4]int8{127, 127, 4, 0}, true},
			{"one more", [4]int8{127, 127, 4, 1}, false},
			{"the least", [4]int8{-127, -4, -127, 0}, true},
			{"one less", [4]int8{-127, -4, -127, -1}, false},
			{"of both signs", [4]int8{127, -127, 127, -127}, true},
		} {
			weights := make([]int8, 4*tileInputs*tileOutputs) // two pairs of four inputs
			for i, w := range test.weights {
				weights[2*tileInputs*tileOutputs+i/2*tileInputs*tileOutputs+tileInputs*30+2+i%2] = w
			}
			pairs := k.pair(weights)
			want := map[bool][]uint16{true: {2, 0, 1}, false: {1, 0, 1}}[test.fits]
			if pairs != nil && !slices.Equal(pairs, want) {
				t.Errorf("%s: %s: %d, want %d", k.name, test.name, pairs, want)
			}
		}
	}
}

// TestKernelsAgree: on rows of many sizes all kernels give the same bytes, and floats within rounding.
func TestKernelsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 1))
	floats := func(n int, by float64) (list []float32) {
		for range n {
			list = append(list, float32(random.NormFloat64()*by))
		}
		return list
	}
	all := available()
	t.Logf("%d kinds, the fastest %s", len(all), all[len(all)-1].name)
	for round := range 40 {
		inputs := tileOutputs * (1 + random.IntN(8))
		row, steps := floats(inputs, math.Exp(float64(round%9-4))), 1+random.IntN(70)
		if round == 0 {
			clear(row)
		}
		sums, offsets := make([]int32, tileOutputs), make([]int32, tileOutputs)
		factors, bias := floats(tileOutputs, .01), floats(tileOutputs, 1)
		for i := range sums {
			sums[i], offsets[i] = random.Int32N(1e6)-5e5, packedZero*(random.Int32N(1e4)-5e3)
		}
		aStride, bStride := steps+random.IntN(5), panel+random.IntN(40)
		a, b := floats(attentionRows*aStride, 1), floats(steps*bStride, 1)
		gain := floats(inputs+1, 1)
		var want [][]float32
		for i, k := range all {
			bytes, wantBytes := make([]uint8, inputs), make([]uint8, inputs)
			scale, zero := k.quantize(row, k.top, bytes)
			wantScale, wantZero := quantize(row, k.top, wantBytes)
			if !slices.Equal(bytes, wantBytes) || scale != wantScale || zero != wantZero || slices.Max(bytes) > uint8(k.top) {
				t.Fatalf("%s: %d inputs: other bytes", k.name, inputs)
			}
			out := make([]float32, tileOutputs)
			k.finish(sums, offsets, 100, factors, bias, .01, out)
			c := make([]float32, attentionRows*bStride)
			k.products(a, aStride, b, bStride, steps, c, bStride)
			shares, bent := slices.Clone(row), slices.Clone(row)
			shares = append(shares, k.exp(shares, .25))
			k.gelu(bent)
			even := slices.Clone(row)
			k.normalize(even, gain, gain[1:], 1e-12)
			got := [][]float32{out, c, shares, bent, even}
			if i == 0 {
				want = got
			}
			for n := range want {
				if at := differ(got[n], want[n]); at >= 0 {
					t.Fatalf("%s: %d inputs, %d steps: %v at %d, want %v", k.name, inputs, steps, got[n][at], at, want[n][at])
				}
			}
		}
	}
}

// differ is where two lists differ by more than rounding; -1 if nowhere.
func differ(got, want []float32) int {
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-5*math.Max(1, math.Abs(float64(want[i])))) {
			return i
		}
	}
	return -1
}

func cosine(a []float32, b []float64) float64 {
	dot, square := 0.0, 0.0
	for i, v := range b {
		dot += float64(a[i]) * v
		square += v * v
	}
	return dot / math.Sqrt(square)
}

// TestEncodersAreFollowed: the vectors of small models of several shapes are those of the formulas.
func TestEncodersAreFollowed(t *testing.T) {
	words := []string{"[UNK]", "[CLS]", "[SEP]", "roll", "back", "##ed", "deploy", "east", "."}
	texts := map[string][]int{
		"roll back":              {1, 3, 4, 2},
		"Rolled back, EAST.":     {1, 3, 5, 4, 0, 7, 8, 2}, // the comma is unknown
		"deploy":                 {1, 6, 2},
		strings.Repeat("e ", 99): slices.Concat([]int{1}, slices.Repeat([]int{0}, 28), []int{2}), // cut at 30 positions
	}
	for _, shape := range []modeltest.Encoder{
		{Hidden: 32, Inner: 64, Heads: 2, Layers: 1, Positions: 30},
		{Hidden: 64, Inner: 32, Heads: 1, Layers: 3, Positions: 30},
		{Hidden: 96, Inner: 128, Heads: 3, Layers: 2, Positions: 30, First: true},
	} {
		folder := filepath.Join(t.TempDir(), "small")
		e := modeltest.StoreEncoder(t, folder, shape, words...)
		m, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind() != "sentence encoder" || m.QueryPrompt != "find: " || m.DocumentPrompt != "text: " || !strings.HasPrefix(m.Name(), "small@") {
			t.Errorf("%s %s %+v", m.Kind(), m.Name(), m)
		}
		for _, k := range available() {
			m.network.(*bert).runBy(k)
			for text, pieces := range texts {
				if got := cosine(m.Vector(text), modeltest.Reference(e, pieces, shape.First)); !(got > .99) {
					t.Errorf("%s: %+v: %q: cosine %v", k.name, shape, text, got)
				}
			}
		}
		if m.Vector("") != nil || m.Vector(" \n") != nil {
			t.Error("nothing has a vector")
		}
	}
}

// TestAtTheSameTime: vectors do not depend on what else is encoded.
func TestAtTheSameTime(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "small")
	modeltest.StoreEncoder(t, folder, modeltest.Encoder{Hidden: 32, Inner: 64, Heads: 2, Layers: 2, Positions: 40}, "[UNK]", "[CLS]", "[SEP]", "a", "b")
	m, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	var want [][]float32
	for n := range 30 {
		texts = append(texts, strings.Repeat("a b ", 1+n%19))
		want = append(want, m.Vector(texts[n]))
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, text := range texts {
				if got := m.Vector(text); !slices.Equal(got, want[i]) {
					t.Errorf("%q: another vector", text)
				}
			}
		})
	}
	group.Wait()
}

func TestUnusableEncoders(t *testing.T) {
	good := modeltest.Encoder{Hidden: 32, Inner: 64, Heads: 2, Layers: 1, Positions: 30}
	words := []string{"[UNK]", "[CLS]", "[SEP]", "a"}
	for name, test := range map[string]struct {
		file    string
		change  func(string) string
		words   []string
		problem string
	}{
		"another family":    {configName, replace(`"bert"`, `"roberta"`), words, `model_type is "roberta"`},
		"another function":  {configName, replace(`"gelu"`, `"relu"`), words, `hidden_act is "relu"`},
		"other positions":   {configName, replace(`"layer_norm_eps"`, `"position_embedding_type":"rotary","layer_norm_eps"`), words, "rotary"},
		"odd heads":         {configName, replace(`"num_attention_heads":2`, `"num_attention_heads":4`), words, "4 heads do not share 32"},
		"no heads":          {configName, replace(`"num_attention_heads":2`, `"num_attention_heads":0`), words, "0 heads"},
		"a wide row":        {configName, replace(`"hidden_size":32`, `"hidden_size":1000000`), words, "hidden_size is 1000000"},
		"another width":     {configName, replace(`"hidden_size":32`, `"hidden_size":64`), words, "its shape is [4 32], not [4 64]"},
		"more layers":       {configName, replace(`"num_hidden_layers":1`, `"num_hidden_layers":2`), words, "no tensor encoder.layer.1."},
		"too many layers":   {configName, replace(`"num_hidden_layers":1`, `"num_hidden_layers":99999`), words, "99999 layers"},
		"no epsilon":        {configName, replace(`"layer_norm_eps":1e-12`, `"layer_norm_eps":0`), words, "layer_norm_eps is 0"},
		"no JSON":           {configName, func(string) string { return "{" }, words, "config.json"},
		"another pooling":   {poolingName, replace(`"pooling_mode_max_tokens":false`, `"pooling_mode_max_tokens":true`), words, "only the mean"},
		"a long prompt":     {promptsName, replace("find: ", strings.Repeat("x", 2000)), words, "a prompt has more than 1000 bytes"},
		"no special pieces": {"", nil, []string{"[UNK]", "a", "b", "c"}, "lacks [CLS]"},
	} {
		folder := t.TempDir()
		modeltest.StoreEncoder(t, folder, good, test.words...)
		if path := filepath.Join(folder, test.file); test.change != nil {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := test.change(string(data))
			if changed == string(data) {
				t.Fatalf("%s: nothing changed", name)
			}
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v, want %q", name, err, test.problem)
		}
	}
	folder := t.TempDir()
	modeltest.StoreEncoder(t, folder, good, words...)
	if err := os.Remove(filepath.Join(folder, configName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), configName) {
		t.Errorf("without settings: %v", err)
	}
}

func replace(from, to string) func(string) string {
	return func(text string) string { return strings.Replace(text, from, to, 1) }
}

// FuzzEncoder reads settings and tensors that do not belong together.
func FuzzEncoder(f *testing.F) {
	folder := f.TempDir()
	modeltest.StoreEncoder(f, folder, modeltest.Encoder{Hidden: 32, Inner: 32, Heads: 2, Layers: 1, Positions: 5}, "[UNK]", "[CLS]", "[SEP]", "a")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	tokens := parseTokenizer(read(tokenizerName))
	f.Add(read(configName), read(poolingName), read(tensorsName))
	f.Add([]byte(strings.Replace(string(read(configName)), "32", "64", 1)), []byte("{}"), read(tensorsName))
	f.Fuzz(func(t *testing.T, config, pool, tensors []byte) {
		folder := t.TempDir()
		if err := os.Mkdir(filepath.Join(folder, "1_Pooling"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{configName: config, poolingName: pool} {
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m := &Model{tokens: tokens, pieces: maxWordPieces}
		if err := guard.Ended(func() { m.readTensors(&files{folder: folder}, tensors) }); err == nil {
			m.Vector("a b a")
			m.Vector(strings.Repeat("a ", 600))
		}
	})
}
