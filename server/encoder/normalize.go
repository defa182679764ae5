package encoder

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"

	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/internal/text"
)

// Bounds of a normalization, so that a text grows with it no more than one that is meant to be read.
const (
	maxSteps       = 8
	maxReplacement = 64 // bytes; the longest of NFKC has 33
)

// normalizerFile is a normalizer of tokenizer.json.
type normalizerFile struct {
	Type               string `json:"type"`
	CleanText          bool   `json:"clean_text"`
	HandleChineseChars bool   `json:"handle_chinese_chars"`
	StripAccents       *bool  `json:"strip_accents"` // null: as lowercase
	Lowercase          bool   `json:"lowercase"`

	Charsmap []byte `json:"precompiled_charsmap,omitempty"`
	Left     bool   `json:"strip_left,omitempty"`
	Right    bool   `json:"strip_right,omitempty"`
	Pattern  struct {
		Regex string `json:"Regex"`
	} `json:"pattern,omitzero"`
	Content string           `json:"content,omitempty"`
	Steps   []normalizerFile `json:"normalizers,omitempty"`
}

// spaces is the expression that Replace is supported for.
const spaces = " {2,}"

var severalSpaces = pattern.Lazy(spaces)

// normalization is what Unigram tokenizers do to a text before they split it, in steps.
type normalization []func(string) string

// add appends the steps of a file; nil has none.
func (n *normalization) add(file *normalizerFile) {
	if file == nil {
		return
	}
	var step func(string) string
	form := slices.Index([]string{norm.NFC: "NFC", norm.NFD: "NFD", norm.NFKC: "NFKC", norm.NFKD: "NFKD"}, file.Type)
	switch {
	case file.Type == "Sequence":
		for i := range file.Steps {
			n.add(&file.Steps[i])
		}
		return
	case file.Type == "Precompiled":
		m, err := guard.Result(func() *charsmap { return parseCharsmap(file.Charsmap) })
		guard.While("its precompiled_charsmap is damaged", err)
		step = m.apply
	case form >= 0 && file.Type != "":
		step = norm.Form(form).String
	case file.Type == "Lowercase": // of one letter Rust makes two
		step = func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "İ", "i\u0307")) }
	case file.Type == "Strip" && file.Right && !file.Left:
		step = func(text string) string { return strings.TrimRightFunc(text, unicode.IsSpace) }
	case file.Type == "Replace" && file.Pattern.Regex == spaces && utf8.RuneCountInString(file.Content) == 1:
		step = func(text string) string { return severalSpaces().ReplaceAllLiteralString(text, file.Content) }
	default:
		require(false, "its normalizer is %q with settings that are not supported", file.Type)
	}
	require(len(*n) < maxSteps, "its normalizer has more than %d steps", maxSteps)
	*n = append(*n, step)
}

func (n normalization) apply(unread string) string {
	unread = text.Clip(unread, maxTextBytes)
	for _, step := range n {
		unread = text.Clip(step(unread), maxTextBytes)
	}
	return strings.ToValidUTF8(unread, "\ufffd")
}

// charsmap replaces characters as SentencePiece stores it: a trie as a double array (Aoe, 1989), as darts-clone writes
// it, of keys whose values are places in texts, which end with a zero byte.
type charsmap struct {
	units []uint32
	texts string
}

func parseCharsmap(data []byte) *charsmap {
	size, trie := int64(0), data
	if len(data) >= 4 {
		size, trie = int64(binary.LittleEndian.Uint32(data)), data[4:]
	}
	require(size%4 == 0 && size <= int64(len(trie)), "the length of its trie is wrong")
	m := &charsmap{make([]uint32, size/4), string(trie[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(trie[4*i:])
	}
	for text := range strings.SplitSeq(m.texts, "\x00") {
		require(len(text) <= maxReplacement, "a replacement has %d bytes", len(text))
	}
	return m
}

// Of a unit of the trie, offset leads to those of the next bytes, and label is the byte that led to it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
func label(unit uint32) uint32  { return unit & (1<<31 | 0xff) }

// find returns what replaces the shortest key with which a text begins.
func (m *charsmap) find(text string) (replacement string, ok bool) {
	if len(m.units) == 0 {
		return "", false
	}
	at, count := offset(m.units[0]), uint32(len(m.units))
	for i := range len(text) {
		at ^= uint32(text[i])
		if text[i] == 0 || at >= count || label(m.units[at]) != uint32(text[i]) {
			return "", false
		}
		isEnd := m.units[at]>>8&1 == 1
		if at ^= offset(m.units[at]); isEnd {
			if at >= count || m.units[at]&(1<<31-1) > uint32(len(m.texts)) {
				return "", false
			}
			replacement, _, _ = strings.Cut(m.texts[m.units[at]&(1<<31-1):], "\x00")
			return replacement, true
		}
	}
	return "", false
}

// apply replaces what it can, as models were trained with it (Hugging Face's Precompiled): a short cluster as a whole
// if it begins with a key, even if more follows, else each of its characters.
func (m *charsmap) apply(text string) string {
	const short = 6
	var out strings.Builder
	for clusters := graphemes.FromString(text); clusters.Next(); {
		cluster := clusters.Value()
		if len(cluster) < short {
			if replacement, ok := m.find(cluster); ok {
				out.WriteString(replacement)
				continue
			}
		}
		for len(cluster) > 0 {
			_, size := utf8.DecodeRuneInString(cluster)
			char := cluster[:size]
			cluster = cluster[size:]
			if replacement, ok := m.find(char); ok {
				char = replacement
			}
			out.WriteString(char)
		}
	}
	return out.String()
}
