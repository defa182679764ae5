package encoder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// packedMagic begins a packed model: a sentence encoder as it is in memory, in one piece. What follows it, with numbers
// in little endian:
//
//	header      u32 length, JSON
//	vocabulary  the pieces in the order of their numbers, a line each
//	weights     the arrays of bert.arrays, of the sizes that the header's settings give
//
// Integers of 8 bits are used where they lie, so a model in the binary takes memory for what is small only, and reading
// it costs the vocabulary.
const packedMagic = "QRYENC1\n"

type packedHeader struct {
	Name           string        `json:"name"`
	Settings       settings      `json:"settings"`
	First          bool          `json:"first"` // see bert.first
	QueryPrompt    string        `json:"query_prompt,omitempty"`
	DocumentPrompt string        `json:"document_prompt,omitempty"`
	Length         int           `json:"length"` // pieces that are read, without [CLS] and [SEP]
	Tokenizer      tokenizerFile `json:"tokenizer"`
	Pieces         int           `json:"pieces"`
	Vocabulary     int           `json:"vocabulary"` // bytes
}

var errPacked = errors.New("the packed model is cut off or damaged")

// intact aborts unless a packed model is as Pack makes it.
func intact(is bool) {
	if !is {
		guard.Abort(errPacked)
	}
}

// Pack returns the sentence encoder in a folder as a packed model.
func Pack(folder string) ([]byte, error) {
	return guard.Result(func() []byte { return pack(folder) })
}

func pack(folder string) []byte {
	m := guard.Must(Open(folder))
	b, ok := m.network.(*bert)
	require(ok, "%s: only sentence encoders are packed", folder)
	head := packedHeader{Name: m.name, Settings: b.settings, First: b.first, QueryPrompt: m.QueryPrompt,
		DocumentPrompt: m.DocumentPrompt, Length: m.pieces, Pieces: m.tokens.count}
	guard.Check(wire.Unmarshal(guard.Must(os.ReadFile(filepath.Join(folder, tokenizerName))), &head.Tokenizer))
	var pieces map[string]int
	guard.While(folder+": only WordPiece is packed", wire.Unmarshal(head.Tokenizer.Model.Vocabulary, &pieces))
	lines := make([]string, m.tokens.count)
	for piece, id := range pieces {
		require(!strings.Contains(piece, "\n"), "piece %q has more than one line", piece)
		lines[id] = piece
	}
	vocabulary := strings.Join(lines, "\n")
	head.Tokenizer.Model.Vocabulary, head.Vocabulary = nil, len(vocabulary)
	text := guard.Must(json.Marshal(head))
	out := binary.LittleEndian.AppendUint32([]byte(packedMagic), uint32(len(text)))
	out = append(append(out, text...), vocabulary...)
	for _, a := range b.arrays() {
		out = guard.Must(binary.Append(out, binary.LittleEndian, a.values))
	}
	return out
}

// PackedName returns the name of a packed model without reading the rest.
func PackedName(packed string) (string, error) {
	return guard.Result(func() string {
		head, _ := readPackedHeader(packed)
		return head.Name
	})
}

// OpenPacked returns a packed model, which is used in place. The sizes of all parts are checked, and not their content:
// such a model comes with the program.
func OpenPacked(packed string) (*Model, error) {
	return guard.Result(func() *Model {
		head, rest := readPackedHeader(packed)
		lines := strings.Split(rest[:head.Vocabulary], "\n")
		intact(len(lines) == head.Pieces)
		m := &Model{QueryPrompt: head.QueryPrompt, DocumentPrompt: head.DocumentPrompt, name: head.Name,
			pieces: head.Length}
		m.tokens = newTokenizer(&head.Tokenizer, len(lines), func(yield func(string, int) bool) {
			for id, piece := range lines {
				if !yield(piece, id) {
					return
				}
			}
		})
		b := &bert{settings: head.Settings, first: head.First, layers: make([]layer, head.Settings.Layers)}
		b.point(rest[head.Vocabulary:])
		m.use(b)
		return m
	})
}

func readPackedHeader(packed string) (head packedHeader, rest string) {
	rest, ok := strings.CutPrefix(packed, packedMagic)
	intact(ok && len(rest) >= 4)
	size := binary.LittleEndian.Uint32([]byte(rest[:4]))
	rest = rest[4:]
	intact(uint64(size) <= uint64(min(len(rest), maxHeader)))
	guard.While(errPacked.Error(), wire.Unmarshal([]byte(rest[:size]), &head))
	rest = rest[size:]
	intact(head.Vocabulary >= 0 && head.Vocabulary <= len(rest) && head.Length >= 1 && head.Length <= maxWordPieces)
	guard.Check(head.Settings.check())
	return head, rest
}

// array is a part of a packed model: a pointer to a slice of int8, int32 or float32, and its length.
type array struct {
	values any
	count  int
}

// arrays are the weights in the order of a packed model.
func (b *bert) arrays() []array {
	h := b.Hidden
	norm := func(n *layerNorm) []array { return []array{{&n.gain, h}, {&n.bias, h}} }
	all := []array{{&b.words.bytes, b.Pieces * h}, {&b.words.factors, b.Pieces}, {&b.positions, b.Positions * h},
		{&b.kind, h}}
	all = append(all, norm(&b.norm)...)
	for i := range b.layers {
		l := &b.layers[i]
		for _, m := range []struct {
			linear          *linear
			inputs, outputs int
		}{{&l.attention, h, 3 * h}, {&l.merged, h, h}, {&l.inner, h, b.Inner}, {&l.outer, b.Inner, h}} {
			m.linear.inputs, m.linear.outputs = m.inputs, m.outputs
			all = append(all, array{&m.linear.weights, m.inputs * m.outputs}, array{&m.linear.factors, m.outputs},
				array{&m.linear.bias, m.outputs}, array{&m.linear.offsets, m.outputs})
		}
		all = append(append(all, norm(&l.afterAttention)...), norm(&l.afterInner)...)
	}
	return all
}

// point lets the arrays of a model point into data, or copies them where their numbers have more than 8 bits.
func (b *bert) point(data string) {
	for _, a := range b.arrays() {
		width := 4
		if _, ok := a.values.(*[]int8); ok {
			width = 1
		}
		intact(len(data) >= width*a.count)
		part := data[:width*a.count]
		data = data[len(part):]
		switch values := a.values.(type) {
		case *[]int8:
			*values = unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(part))), len(part))
		case *[]int32:
			*values = make([]int32, a.count)
			_, _ = binary.Decode([]byte(part), binary.LittleEndian, *values) // which has as many bytes
		case *[]float32:
			*values = make([]float32, a.count)
			_, _ = binary.Decode([]byte(part), binary.LittleEndian, *values)
		}
	}
	intact(data == "")
}
