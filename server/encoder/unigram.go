package encoder

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

// Bounds of a text in Unigram. Of scripts without spaces a whole passage can be a word: it is cut where it is longer
// than any that 512 pieces are made of, and so is a text.
const (
	maxWordBytes = 4 << 10
	maxTextBytes = 64 << 10
)

// unknownPenalty is how much worse a character that is no piece is than the worst piece.
const unknownPenalty = 10

// unigram splits texts into the likeliest pieces (Kudo, Subword Regularization, 2018), by the rules of Hugging Face's
// WhitespaceSplit, Metaspace and Unigram:
//
//  1. The text is normalized (normalize.go).
//  2. It is split at white space, or only at the mark that spaces become, which begins each word.
//  3. Of all ways to cut a word into pieces, the one whose scores have the greatest sum is taken.
type unigram struct {
	normalize normalization
	atSpace   bool // splits at any white space first
	mark      string
	prepends  bool      // the mark before what does not begin with it
	scores    []float64 // of pieces; −∞: the piece stands for no text
	worst     float64   // the score of a character that is no piece
}

// scoredPiece is an entry of the vocabulary: a text and the logarithm of its probability.
type scoredPiece struct {
	text  string
	score float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *scoredPiece) UnmarshalJSON(data []byte) error {
	return wire.Unmarshal(data, &[2]any{&p.text, &p.score})
}

// splitterFile is a pre_tokenizer.
type splitterFile struct {
	Type    string         `json:"type"`
	Mark    string         `json:"replacement,omitempty"`
	Prepend string         `json:"prepend_scheme,omitempty"`
	Adds    *bool          `json:"add_prefix_space,omitempty"` // older files have it instead
	Splits  *bool          `json:"split,omitempty"`
	Parts   []splitterFile `json:"pretokenizers,omitempty"`
}

// templateFile is a post_processor: what is put around a text.
type templateFile struct {
	Type   string `json:"type"`
	Single []struct {
		Special *struct {
			Piece string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
}

// newUnigram returns the tokenizer of a file whose model is Unigram.
func newUnigram(file *tokenizerFile) *tokenizer {
	var pieces []scoredPiece
	guard.While("its vocabulary is damaged", wire.Unmarshal(file.Model.Vocabulary, &pieces))
	count, u := len(pieces), &unigram{scores: make([]float64, len(pieces))}
	t := &tokenizer{count: count, begins: make(map[string]int32, count), unknown: -1, unigram: u}
	require(count > 0 && count <= maxPieces, "its vocabulary has %d pieces", count)
	require(!file.Model.ByteFallback, "its byte_fallback is not supported")
	u.split(file.PreTokenizer)
	u.normalize.add(file.Normalizer)
	t.add(func(yield func(string, int) bool) {
		for id, p := range pieces {
			u.scores[id], u.worst = p.score, min(u.worst, p.score-unknownPenalty)
			if !yield(p.text, id) {
				return
			}
		}
	}, "\x00")
	if id := file.Model.UnknownID; id != nil {
		require(*id >= 0 && *id < count, "its vocabulary lacks unk_id %d", *id)
		t.unknown = int32(*id)
		u.scores[*id] = math.Inf(-1)
	}
	for _, special := range file.Added {
		if special.Special && special.ID >= 0 && special.ID < count {
			u.scores[special.ID] = math.Inf(-1) // a text must not contain what ends a text
		}
	}
	t.ends = [2]int32{t.special("<s>"), t.special("</s>")}
	if around := file.Template; around != nil {
		if t.ends = [2]int32{-1, -1}; around.Type == "TemplateProcessing" && len(around.Single) == 3 {
			for i, at := range [2]int{0, 2} {
				if special := around.Single[at].Special; special != nil {
					t.ends[i] = t.special(special.Piece)
				}
			}
		}
	}
	return t
}

// split reads a pre_tokenizer: Metaspace, or WhitespaceSplit and Metaspace.
func (u *unigram) split(file *splitterFile) {
	if file != nil && file.Type == "Sequence" && len(file.Parts) == 2 && file.Parts[0].Type == "WhitespaceSplit" {
		u.atSpace, file = true, &file.Parts[1]
	}
	require(file != nil && file.Type == "Metaspace" && (file.Splits == nil || *file.Splits) && file.Mark != "",
		"its pre_tokenizer is not Metaspace, or WhitespaceSplit and Metaspace, with split")
	u.mark = file.Mark
	u.prepends = file.Prepend != "never" && (file.Adds == nil || *file.Adds)
}

// unigramPieces does the work of pieces.
func (t *tokenizer) unigramPieces(unread string, limit int) (ids []int32) {
	u := t.unigram
	unread = u.normalize.apply(unread)
	if u.atSpace {
		unread = strings.ReplaceAll(text.OneLine(unread), " "+u.mark, u.mark)
	}
	if strings.TrimSpace(unread) == "" {
		return nil
	}
	unread = strings.ReplaceAll(unread, " ", u.mark)
	if u.prepends && !strings.HasPrefix(unread, u.mark) {
		unread = u.mark + unread
	}
	for unread != "" && len(ids) < limit {
		word := text.Clip(unread, maxWordBytes)
		if next := strings.Index(strings.TrimPrefix(word, u.mark), u.mark); next >= 0 {
			word = word[:len(word)-len(strings.TrimPrefix(word, u.mark))+next]
		}
		ids, unread = t.likeliest(ids, word), unread[len(word):]
	}
	return ids[:min(len(ids), limit)]
}

// cut is the best way to a place in a word: the last piece on it and where that begins.
type cut struct {
	score   float64
	piece   int32
	from    int
	reached bool
}

func (c *cut) offer(way cut) {
	if !c.reached || way.score > c.score {
		*c = way
	}
}

// likeliest appends the pieces of a word, found by dynamic programming (Viterbi). Neighbouring characters that are no
// pieces are unknown together.
func (t *tokenizer) likeliest(ids []int32, word string) []int32 {
	best := make([]cut, len(word)+1)
	for from := 0; from < len(word); {
		_, size := utf8.DecodeRuneInString(word[from:])
		so, isPiece := best[from].score, false
		for to := from + size; to <= len(word) && to-from <= t.longest; {
			id, ok := t.begins[word[from:to]]
			if ok && !math.IsInf(t.unigram.scores[id], -1) {
				best[to].offer(cut{so + t.unigram.scores[id], id, from, true})
				isPiece = isPiece || to == from+size
			}
			if to == len(word) {
				break
			}
			_, more := utf8.DecodeRuneInString(word[to:])
			to += more
		}
		if !isPiece {
			best[from+size].offer(cut{so + t.unigram.worst, t.unknown, from, true})
		}
		from += size
	}
	first, last := len(ids), int32(-1)
	for to := len(word); to > 0; to = best[to].from {
		id := best[to].piece
		if id != t.unknown || id >= 0 && t.keepsUnknown && last != id {
			ids = append(ids, id)
		}
		last = id
	}
	slices.Reverse(ids[first:])
	return ids
}
