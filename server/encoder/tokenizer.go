package encoder

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// Bounds of a tokenizer: far above those of published models.
const (
	maxPieces    = 1 << 20
	maxPieceSize = 256 // bytes
	maxWordRunes = 200 // longer words are unknown, whatever the file says: pieces are tried from each of their bytes
)

// tokenizer splits texts into pieces of words: by Unigram where that is set, else as BERT does (Schuster and Nakajima,
// Japanese and Korean Voice Search, 2012), by the rules of Hugging Face's BertNormalizer, BertPreTokenizer and
// WordPiece. Special tokens, such as [CLS], are words like others.
type tokenizer struct {
	begins, continues map[string]int32 // pieces by their place in a word, without their prefix; in Unigram all begin
	count             int              // of pieces
	unknown           int32            // -1: none
	ends              [2]int32         // the pieces before and behind a text; -1: none
	longest           int              // bytes of a piece
	unigram           *unigram
	wordRunes         int
	keepsUnknown      bool // what is unknown is the piece for that, instead of none
	clean             bool // white space and control characters
	apart             bool // ideographs are words
	bare              bool // without accents
	lower             bool
}

// tokenizerFile is the part of tokenizer.json that is understood.
type tokenizerFile struct {
	Normalizer   *normalizerFile `json:"normalizer"`
	PreTokenizer *splitterFile   `json:"pre_tokenizer"`
	Template     *templateFile   `json:"post_processor,omitempty"`
	Added        []struct {
		ID      int  `json:"id"`
		Special bool `json:"special"`
	} `json:"added_tokens,omitempty"`
	Model struct {
		Type         string          `json:"type"`
		Unknown      *string         `json:"unk_token"`
		UnknownID    *int            `json:"unk_id,omitempty"`
		ByteFallback bool            `json:"byte_fallback,omitempty"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		MaxRunes     int             `json:"max_input_chars_per_word"`
		Vocabulary   json.RawMessage `json:"vocab,omitempty"` // numbers of pieces, or in Unigram scores
	} `json:"model"`
}

// parseTokenizer reads tokenizer.json, and refuses tokenizers of other kinds.
func parseTokenizer(data []byte) *tokenizer {
	var file tokenizerFile
	guard.While("it is not a tokenizer", wire.Unmarshal(data, &file))
	if file.Model.Type == "Unigram" {
		return newUnigram(&file)
	}
	var pieces map[string]int
	if file.Model.Type == "WordPiece" {
		guard.While("its vocabulary is damaged", wire.Unmarshal(file.Model.Vocabulary, &pieces))
	}
	return newTokenizer(&file, len(pieces), maps.All(pieces))
}

// newTokenizer returns the tokenizer of a file, whose pieces and their numbers are passed apart.
func newTokenizer(file *tokenizerFile, count int, pieces iter.Seq2[string, int]) *tokenizer {
	m := file.Model
	require(m.Type == "WordPiece", "its model is %q; only WordPiece and Unigram are supported", m.Type)
	require(file.PreTokenizer != nil && file.PreTokenizer.Type == "BertPreTokenizer",
		"its pre_tokenizer is not BertPreTokenizer")
	require(count > 0 && count <= maxPieces, "its vocabulary has %d pieces", count)
	require(m.MaxRunes >= 0, "its max_input_chars_per_word is negative")
	t := &tokenizer{count: count, begins: make(map[string]int32, count), continues: make(map[string]int32, count/4),
		unknown: -1, wordRunes: min(m.MaxRunes, maxWordRunes)}
	if m.MaxRunes == 0 {
		t.wordRunes = 100
	}
	if n := file.Normalizer; n != nil {
		require(n.Type == "BertNormalizer", "its normalizer is %q; only BertNormalizer is supported", n.Type)
		t.clean, t.apart, t.lower, t.bare = n.CleanText, n.HandleChineseChars, n.Lowercase, n.Lowercase
		if n.StripAccents != nil {
			t.bare = *n.StripAccents
		}
	}
	prefix := "##"
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	t.add(pieces, prefix)
	t.ends = [2]int32{t.special("[CLS]"), t.special("[SEP]")}
	if m.Unknown != nil {
		t.unknown = t.special(*m.Unknown)
		require(t.unknown >= 0, "its vocabulary lacks unk_token %q", *m.Unknown)
	}
	return t
}

func (t *tokenizer) add(pieces iter.Seq2[string, int], prefix string) {
	seen := make([]bool, t.count)
	for piece, id := range pieces {
		switch {
		case id < 0 || id >= len(seen) || seen[id]:
			guard.Abort(fmt.Errorf("the number %d of piece %q is taken or too large", id, piece))
		case len(piece) > maxPieceSize:
			guard.Abort(fmt.Errorf("a piece has %d bytes", len(piece)))
		}
		seen[id] = true
		t.longest = max(t.longest, len(piece))
		rest, continues := strings.CutPrefix(piece, prefix)
		if continues && rest != "" {
			t.continues[rest] = int32(id)
		}
		if !continues || prefix == "" {
			t.begins[piece] = int32(id)
		}
	}
}

// special returns the number of a piece that stands for no text; -1: none.
func (t *tokenizer) special(name string) int32 {
	if id, ok := t.begins[name]; ok {
		return id
	}
	return -1
}

// pieces returns the numbers of at most limit pieces of a text. Words that are unknown are one piece or none.
func (t *tokenizer) pieces(text string, limit int) (ids []int32) {
	if t.unigram != nil {
		return t.unigramPieces(text, limit)
	}
	word := make([]byte, 0, 64)
	for _, r := range t.normalize(text) {
		switch {
		case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
			word = append(word, byte(r))
			continue
		case r >= 'A' && r <= 'Z':
			if t.lower {
				r += 'a' - 'A'
			}
			word = append(word, byte(r))
			continue
		}
		space, alone := unicode.IsSpace(r), isPunctuation(r)
		if !space && !alone {
			word = utf8.AppendRune(word, r)
			continue
		}
		ids, word = t.word(ids, word), word[:0]
		if alone {
			ids, word = t.word(ids, utf8.AppendRune(word, r)), word[:0]
		}
		if len(ids) >= limit {
			return ids[:limit]
		}
	}
	ids = t.word(ids, word)
	return ids[:min(len(ids), limit)]
}

// word appends the pieces of a word, each the longest that fits. If the rest is no piece, the whole word is unknown.
func (t *tokenizer) word(ids []int32, word []byte) []int32 {
	known, first := t.begins, len(ids)
	if len(word) > t.wordRunes && utf8.RuneCount(word) > t.wordRunes {
		return t.unknownWord(ids)
	}
	for from := 0; from < len(word); {
		to := min(len(word), from+t.longest)
		id, ok := int32(0), false
		for ; to > from; to-- {
			if id, ok = known[string(word[from:to])]; ok {
				break
			}
		}
		if !ok {
			return t.unknownWord(ids[:first])
		}
		if id != t.unknown || t.keepsUnknown {
			ids = append(ids, id)
		}
		from, known = to, t.continues
	}
	return ids
}

func (t *tokenizer) unknownWord(ids []int32) []int32 {
	if t.keepsUnknown {
		return append(ids, t.unknown)
	}
	return ids
}

// normalize applies what changes a text beyond ASCII. Capital letters of ASCII are left to pieces.
func (t *tokenizer) normalize(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	if t.bare {
		text = norm.NFD.String(text)
	}
	var out strings.Builder
	out.Grow(len(text))
	for _, r := range text {
		switch {
		case t.clean && (r == '\t' || r == '\n' || r == '\r'):
			r = ' '
		case t.clean && (r == 0 || r == utf8.RuneError || unicode.Is(unicode.C, r)),
			t.bare && unicode.Is(unicode.Mn, r):
			continue
		case t.apart && isIdeograph(r):
			out.WriteByte(' ')
			out.WriteRune(r)
			r = ' '
		case t.lower:
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// isPunctuation reports whether BERT makes a character a word of its own.
func isPunctuation(r rune) bool {
	return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~' ||
		unicode.IsPunct(r)
}

// isIdeograph reports whether a character is in the blocks that BERT takes for Chinese.
func isIdeograph(r rune) bool {
	for _, block := range [...][2]rune{{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
		{0x2b740, 0x2b81f},
		{0x2b820, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f}} {
		if r >= block[0] && r <= block[1] {
			return true
		}
	}
	return false
}
