package encoder

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"quarry/internal/guard"
)

// wordEmbeddings is the tensor that tells a sentence encoder.
const wordEmbeddings = "embeddings.word_embeddings.weight"

// familyXLM is BERT with other pieces and positions (Conneau et al., XLM-R, 2020).
const familyXLM = "xlm-roberta"

// Bounds of a sentence encoder, above those of published ones that answer while one waits.
const (
	maxHidden = 1024
	maxInner  = 4096
	maxLayers = 48
	maxVocab  = 1 << 18
)

// settings are the part of config.json that is understood.
type settings struct {
	Family    string  `json:"model_type"`
	Hidden    int     `json:"hidden_size"`
	Inner     int     `json:"intermediate_size"`
	Layers    int     `json:"num_hidden_layers"`
	Heads     int     `json:"num_attention_heads"`
	Positions int     `json:"max_position_embeddings"`
	Pieces    int     `json:"vocab_size"`
	Epsilon   float64 `json:"layer_norm_eps"`
	Act       string  `json:"hidden_act"`
	Position  string  `json:"position_embedding_type"`
	Pad       int     `json:"pad_token_id,omitempty"`
}

// firstPosition is the position of the first piece: XLM-RoBERTa counts from behind that of padding.
func (s settings) firstPosition() int {
	if s.Family == familyXLM {
		return cmp.Or(s.Pad, 1) + 1
	}
	return 0
}

// capacity returns how many pieces a text may have, with those before and behind it.
func (s settings) capacity() int { return s.Positions - s.firstPosition() }

// check returns why a model cannot be run.
func (s settings) check() error {
	head := 0
	if s.Heads > 0 && s.Hidden%s.Heads == 0 {
		head = s.Hidden / s.Heads
	}
	switch {
	case s.Family != "bert" && s.Family != familyXLM:
		return fmt.Errorf("its model_type is %q; only bert and %s are supported", s.Family, familyXLM)
	case !strings.HasPrefix(s.Act, "gelu"):
		return fmt.Errorf("its hidden_act is %q; only gelu is supported", s.Act)
	case s.Position != "" && s.Position != "absolute":
		return fmt.Errorf("its position_embedding_type is %q; only absolute is supported", s.Position)
	case s.Hidden <= 0 || s.Hidden > maxHidden || s.Hidden%tileOutputs != 0:
		return fmt.Errorf("its hidden_size is %d, not a multiple of %d up to %d", s.Hidden, tileOutputs, maxHidden)
	case s.Inner <= 0 || s.Inner > maxInner || s.Inner%tileOutputs != 0:
		return fmt.Errorf("its intermediate_size is %d, not a multiple of %d up to %d", s.Inner, tileOutputs, maxInner)
	case head == 0 || head%panel != 0:
		return fmt.Errorf("its %d heads do not share %d numbers by multiples of %d", s.Heads, s.Hidden, panel)
	case s.Layers <= 0 || s.Layers > maxLayers || s.Pieces <= 0 || s.Pieces > maxVocab ||
		s.Pad < 0 || s.Pad > s.Positions || s.capacity() < 3:
		return fmt.Errorf("%d layers, %d positions or %d pieces are out of bounds", s.Layers, s.Positions, s.Pieces)
	case !(s.Epsilon > 0 && s.Epsilon < 1):
		return fmt.Errorf("its layer_norm_eps is %v", s.Epsilon)
	}
	return nil
}

// pooling is how the vector of a text is made of those of its pieces.
type pooling struct {
	First   bool `json:"pooling_mode_cls_token"`
	Mean    bool `json:"pooling_mode_mean_tokens"`
	Max     bool `json:"pooling_mode_max_tokens"`
	MeanSqr bool `json:"pooling_mode_mean_sqrt_len_tokens"`
	Last    bool `json:"pooling_mode_lasttoken"`
}

// bert is the encoder of Devlin et al., BERT (2019): a text passes through layers of attention and of two linear maps,
// each of which is added to what it was made of and normalized. Weights and activations are 8-bit integers in the
// linear maps (linear.go), 32-bit floats elsewhere.
type bert struct {
	settings
	first      bool // the vector is that of [CLS], else the mean
	begin, end int32

	words           rows
	positions, kind []float32
	norm            layerNorm
	layers          []layer
	kernels         kernels
	scratches       sync.Pool
}

// rows are vectors of one length as 8-bit integers with a factor for each.
type rows struct {
	bytes   []int8
	factors []float32
}

type layer struct {
	attention, merged, inner, outer linear // attention makes queries, keys and values
	afterAttention, afterInner      layerNorm
}

// layerNorm is layer normalization (Ba, Kiros and Hinton, 2016): to mean 0 and variance 1, then by gain and bias.
type layerNorm struct{ gain, bias []float32 }

// newBERT makes an encoder of its tensors, none of which it keeps.
func newBERT(about settings, pool pooling, all tensors) *bert {
	guard.While(configName, about.check())
	require(!pool.Max && !pool.MeanSqr && !pool.Last && pool.First != pool.Mean,
		"%s: only the mean or the first token are supported", poolingName)
	b := &bert{settings: about, first: pool.First}
	b.words = all.rows(wordEmbeddings, about.Pieces, about.Hidden)
	b.positions = all.floats("embeddings.position_embeddings.weight", about.Positions, about.Hidden)
	if kinds, ok := all.find("embeddings.token_type_embeddings.weight"); ok && len(kinds.Shape) == 2 {
		b.kind = all.floats("embeddings.token_type_embeddings.weight", kinds.Shape[0], about.Hidden)
		b.kind = b.kind[:min(len(b.kind), about.Hidden)] // that of the first text of two
	}
	b.norm = all.norm("embeddings.LayerNorm", about.Hidden)
	for i := range about.Layers {
		at, h := fmt.Sprintf("encoder.layer.%d.", i), about.Hidden
		b.layers = append(b.layers, layer{
			attention: all.linear(h, h, at+"attention.self.query", at+"attention.self.key", at+"attention.self.value"),
			merged:    all.linear(h, h, at+"attention.output.dense"),
			inner:     all.linear(h, about.Inner, at+"intermediate.dense"),
			outer:     all.linear(about.Inner, h, at+"output.dense"),

			afterAttention: all.norm(at+"attention.output.LayerNorm", h),
			afterInner:     all.norm(at+"output.LayerNorm", h),
		})
	}
	require(len(b.kind) == about.Hidden, "it has no tensor embeddings.token_type_embeddings.weight")
	return b
}

// runBy makes the encoder use kernels from now on.
func (b *bert) runBy(k kernels) {
	b.kernels = k
	for i := range b.layers {
		l := &b.layers[i]
		for _, m := range []*linear{&l.attention, &l.merged, &l.inner, &l.outer} {
			m.pairs = nil
			for tile := range slices.Chunk(m.weights, tileOutputs*m.inputs) {
				m.pairs = append(m.pairs, k.pair(tile))
			}
		}
	}
}

// scratch is the room that a text takes, for as many rows as tiles of it have.
type scratch struct {
	x, y, wide, scales, keys, shares []float32
	quantized                        []uint8
	zeros                            []int32
	sums                             tileSums
}

// room returns room for a text of so many pieces.
func (b *bert) room(pieces int) *scratch {
	s, _ := b.scratches.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	rows, widest := ceil(pieces, tileRows), max(3*b.Hidden, b.Inner)
	if len(s.scales) < rows {
		across := ceil(rows, panel)
		*s = scratch{
			x: make([]float32, rows*b.Hidden), y: make([]float32, rows*b.Hidden), wide: make([]float32, rows*widest),
			quantized: make([]uint8, rows*widest), scales: make([]float32, rows), zeros: make([]int32, rows),
			keys: make([]float32, b.Hidden/b.Heads*across), shares: make([]float32, attentionRows*across),
		}
	}
	return s
}

// vector implements network.
func (b *bert) vector(pieces []int32) []float32 {
	count, h := len(pieces)+2, b.Hidden
	s := b.room(count)
	defer b.scratches.Put(s)
	x := s.x[:count*h]
	for i := range count {
		piece := b.begin
		switch {
		case i == count-1:
			piece = b.end
		case i > 0:
			piece = pieces[i-1]
		}
		row, word, position := x[i*h:][:h], b.words.bytes[int(piece)*h:][:h], b.positions[(b.firstPosition()+i)*h:][:h]
		factor := b.words.factors[piece]
		for j := range row {
			row[j] = float32(word[j])*factor + position[j] + b.kind[j]
		}
	}
	b.norm.apply(b, x)
	wanted := count
	for i := range b.layers {
		if b.first && i == len(b.layers)-1 {
			wanted = 1
		}
		b.layers[i].run(b, s, count, wanted)
	}
	sum := make([]float32, h)
	for i := range wanted {
		add(sum, x[i*h:][:h])
	}
	return sum
}

// run passes the rows of s.x through a layer, which all of them enter and the first ones leave, as many as wanted.
func (l *layer) run(b *bert, s *scratch, count, wanted int) {
	h := b.Hidden
	x, y, inner := s.x[:wanted*h], s.y[:wanted*h], s.wide[:wanted*b.Inner]
	l.attention.run(&b.kernels, s, s.x, count, s.wide)
	b.attend(s, count, wanted)
	l.merged.run(&b.kernels, s, s.y, wanted, s.wide)
	add(x, s.wide[:wanted*h])
	l.afterAttention.apply(b, x)
	l.inner.run(&b.kernels, s, s.x, wanted, s.wide)
	b.kernels.gelu(inner)
	l.outer.run(&b.kernels, s, s.wide, wanted, s.y)
	add(x, y)
	l.afterInner.apply(b, x)
}

// attend mixes the values of s.wide, rows of queries, keys and values, into the wanted rows of s.y: each head by the
// softmax of the products of queries and keys.
func (b *bert) attend(s *scratch, count, wanted int) {
	h, head, across := b.Hidden, b.Hidden/b.Heads, ceil(count, panel)
	stride, factor, sums := 3*h, float32(1/math.Sqrt(float64(head))), [attentionRows]float32{}
	for from := 0; from < h; from += head {
		for i := range count {
			for d, key := range s.wide[i*stride+h+from:][:head] {
				s.keys[d*across+i] = key
			}
		}
		for d := range head {
			clear(s.keys[d*across+count : (d+1)*across])
		}
		for i := 0; i < wanted; i += attentionRows {
			for j := 0; j < across; j += panel {
				b.kernels.products(s.wide[i*stride+from:], stride, s.keys[j:], across, head, s.shares[j:], across)
			}
			for r := 0; r < attentionRows && i+r < wanted; r++ {
				shares := s.shares[r*across:][:across]
				for i := count; i < across; i++ {
					shares[i] = -math.MaxFloat32 // no key, whose share is nothing
				}
				sums[r] = b.kernels.exp(shares, factor)
			}
			for d := from; d < from+head; d += panel {
				b.kernels.products(s.shares, across, s.wide[2*h+d:], stride, count, s.y[i*h+d:], h)
			}
			for r := 0; r < attentionRows && i+r < wanted; r++ {
				for d, by := from, 1/sums[r]; d < from+head; d++ {
					s.y[(i+r)*h+d] *= by
				}
			}
		}
	}
}

// apply normalizes each row.
func (n layerNorm) apply(b *bert, x []float32) {
	for ; len(x) > 0; x = x[len(n.gain):] {
		b.kernels.normalize(x[:len(n.gain)], n.gain, n.bias, float32(b.Epsilon))
	}
}

func add(to, x []float32) {
	x = x[:len(to)]
	for i := range to {
		to[i] += x[i]
	}
}

// ceil rounds up to a multiple.
func ceil(n, of int) int { return (n + of - 1) / of * of }
