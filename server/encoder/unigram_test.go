package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/internal/testkit/modeltest"
)

// scored returns pieces with their scores.
func scored() (pieces []modeltest.Scored) {
	for entry := range strings.FieldsSeq("▁=-2 ▁roll=-4 ▁r=-3 oll=-3 ed=-4 ▁rolled=-7.5 back=-5 ▁back=-3 é=-6 東=-6 京=-6 東京=-7 1=-6 ,=-3") {
		piece, number, _ := strings.Cut(entry, "=")
		score, _ := strconv.ParseFloat(number, 64)
		pieces = append(pieces, modeltest.Scored{Piece: piece, Score: score})
	}
	return pieces
}

func replacements() map[string]string {
	return map[string]string{"e\u0301": "é", "Ｒ": "r", "ﬁ": "fi", "\n": " ", "\u200b": "", "①": "1", "1": "1"}
}

func replaceAll(from, to string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, from, to) }
}

func TestUnigramPieces(t *testing.T) {
	older := strings.NewReplacer(`"pre_tokenizer":{`, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{`,
		`"prepend_scheme":"always","split":true}`, `"add_prefix_space":true}]}`).Replace
	plain := func(text string) string { // no replacements
		from, to := strings.Index(text, `"normalizer":`), strings.Index(text, `"pre_tokenizer":`)
		return text[:from] + `"normalizer":null,` + text[to:]
	}
	for _, test := range []struct {
		change     func(string) string
		text, want string
	}{
		{nil, "roll back", "▁roll ▁back"},
		{nil, "rolled", "▁rolled"},                // -7.5 is more than -4 - 4
		{nil, "rollback", "▁roll back"},           // -9; "▁r oll" has -6 for what "▁roll" has -4 for
		{nil, "rolledback", "▁rolled back"},       // likewise
		{nil, "東京", "▁ 東京"},                       // -7 is more than twice -6
		{nil, "zebra roll", "▁ <unk> ▁roll"},      // neighbours are unknown together
		{nil, "rollzed", "▁roll <unk> ed"},        // a part
		{nil, " roll \n  back \n", "▁roll ▁back"}, // spaces at the end go, and several become one
		{nil, "Ｒoll①,e\u0301", "▁roll 1 , é"},
		{nil, "ro\u200bll", "▁roll"},
		{nil, "11\u0301", "▁ 1 1"}, // what follows the key in its cluster is lost: models were trained with that
		{nil, "</s>roll<unk>", "▁ <unk> roll <unk>"},
		{nil, "", ""},
		{nil, " \n\u200b", ""},
		{older, " roll\u00a0back \t roll", "▁roll ▁back ▁roll"},
		{older, "東京 ,", "▁ 東京 ▁ ,"},
		{plain, "roll  back ", "▁roll ▁ ▁back ▁"},
		{plain, "roll\nback", "▁roll <unk> back"},
		{replaceAll(`"prepend_scheme":"always"`, `"prepend_scheme":"never"`), "back roll", "back ▁roll"},
		{replaceAll(`"type":"Strip"`, `"type":"Lowercase"`), "ROLL BACK İ", "▁roll ▁back ▁ <unk>"},
		{replaceAll(`"type":"Strip"`, `"type":"NFKC"`), "roll\u2460", "▁roll 1"},
		{replaceAll(`{"type":"Strip","strip_left":false,"strip_right":true},`, ""), "  roll ", "▁roll ▁"},
		{replaceAll(`"unk_id":3,`, ""), "zebra roll", "▁ ▁roll"},
	} {
		file := modeltest.Unigram(replacements(), append(scored(), modeltest.Scored{Piece: "roll", Score: -9})...)
		if test.change != nil {
			changed := test.change(file)
			if changed == file {
				t.Fatalf("%q: nothing changed", test.text)
			}
			file = changed
		}
		tok := parseTokenizer([]byte(file))
		tok.keepsUnknown = true
		names := map[int32]string{}
		for name, id := range tok.begins {
			names[id] = name
		}
		var got []string
		for _, id := range tok.pieces(test.text, 512) {
			got = append(got, names[id])
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
		if got := tok.pieces(strings.Repeat("roll back ", 50), 7); len(got) != 7 {
			t.Errorf("%d pieces, want at most 7", len(got))
		}
	}
}

// TestUnigramFindsTheBestCut compares with all ways to cut words.
func TestUnigramFindsTheBestCut(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 5))
	letters := []string{"a", "b", "é", "東"}
	word := func(n int) (text string) {
		for range n {
			text += letters[random.IntN(len(letters))]
		}
		return text
	}
	for range 60 {
		scores := map[string]float64{}
		for range 12 {
			scores[word(1+random.IntN(3))] = -float64(1+random.IntN(1000)) / 64 // sums are exact
		}
		var pieces []modeltest.Scored
		for piece, score := range scores {
			pieces = append(pieces, modeltest.Scored{Piece: piece, Score: score})
		}
		tok := parseTokenizer([]byte(modeltest.Unigram(nil, pieces...)))
		text := word(1 + random.IntN(7))
		var best func(rest string) float64
		best = func(rest string) float64 {
			if rest == "" {
				return 0
			}
			_, size := utf8.DecodeRuneInString(rest)
			most := math.Inf(-1)
			if _, ok := scores[rest[:size]]; !ok {
				most = tok.unigram.worst + best(rest[size:])
			}
			for piece, score := range scores {
				if strings.HasPrefix(rest, piece) {
					most = max(most, score+best(rest[len(piece):]))
				}
			}
			return most
		}
		sum, unknown := 0.0, utf8.RuneCountInString(text)
		for _, id := range tok.likeliest(nil, text) {
			sum += tok.unigram.scores[id]
			unknown -= utf8.RuneCountInString(pieces[id-4].Piece)
		}
		sum += float64(unknown) * tok.unigram.worst
		if want := best(text); sum != want {
			t.Errorf("%q by %v: %v, want %v", text, scores, sum, want)
		}
	}
}

func TestUnusableUnigram(t *testing.T) {
	good := modeltest.Unigram(replacements(), scored()...)
	for want, change := range map[string]func(string) string{
		"its byte_fallback":                      replace(`"unk_id":3`, `"unk_id":3,"byte_fallback":true`),
		"lacks unk_id 99":                        replace(`"unk_id":3`, `"unk_id":99`),
		"its vocabulary is damaged":              replace(`["▁",-2]`, `["▁","x"]`),
		"its vocabulary has 0 pieces":            func(string) string { return `{"model":{"type":"Unigram","vocab":[]}}` },
		"its pre_tokenizer is not Metaspace":     replace(`"type":"Metaspace"`, `"type":"ByteLevel"`),
		"its pre_tokenizer is not Metaspace, or": replace(`"split":true`, `"split":false`),
		`its normalizer is "Nmt"`:                replace(`"type":"Strip"`, `"type":"Nmt"`),
		`its normalizer is "Replace"`:            replace(`" {2,}"`, `"a"`),
		"its normalizer has more than 8 steps":   replace(`{"type":"Strip"`, strings.Repeat(`{"type":"NFC"},`, 9)+`{"type":"Strip"`),
		"its precompiled_charsmap is damaged":    replace(`"precompiled_charsmap":"`, `"precompiled_charsmap":"////`),
		"a replacement has 70 bytes": func(string) string {
			return modeltest.Unigram(map[string]string{"a": strings.Repeat("x", 70)}, scored()...)
		},
		"a piece has 300 bytes":                    func(string) string { return modeltest.Unigram(nil, modeltest.Scored{Piece: strings.Repeat("x", 300)}) },
		`its model is "BPE"; only WordPiece and U`: replace(`"type":"Unigram"`, `"type":"BPE"`),
	} {
		changed := change(good)
		if changed == good {
			t.Fatalf("%s: nothing changed", want)
		}
		if _, err := guard.Result(func() *tokenizer { return parseTokenizer([]byte(changed)) }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestXLMEncodersAreFollowed: the vectors of models with Unigram pieces are those of the formulas, with positions that
// begin behind that of padding where the model is of XLM-RoBERTa's family.
func TestXLMEncodersAreFollowed(t *testing.T) {
	for family, first := range map[string]int{"bert": 0, "xlm-roberta": 2} {
		folder, words := filepath.Join(t.TempDir(), family), make([]string, 4+len(scored()))
		for i := range words {
			words[i] = fmt.Sprint("w", i)
		}
		e := modeltest.StoreEncoder(t, folder, modeltest.Encoder{Hidden: 32, Inner: 64, Heads: 2, Layers: 2, Positions: 20}, words...)
		config, err := os.ReadFile(filepath.Join(folder, configName))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{tokenizerName: modeltest.Unigram(nil, scored()...),
			configName: strings.Replace(string(config), `"bert"`, `"`+family+`"`, 1)} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		e.Weights["embeddings.position_embeddings.weight"] = e.Weights["embeddings.position_embeddings.weight"][first*e.Hidden:]
		for text, pieces := range map[string][]int{
			"roll back":                 {0, 5, 11, 2},
			"zebra":                     {0, 4, 3, 2},
			strings.Repeat("back ", 99): slices.Concat([]int{0}, slices.Repeat([]int{11}, 18-first), []int{2}), // cut at 20 positions
		} {
			if got := cosine(m.Vector(text), modeltest.Reference(e, pieces, false)); !(got > .99) {
				t.Errorf("%s: %q: cosine %v", family, text, got)
			}
		}
		if m.Vector(" ") != nil {
			t.Error("nothing has a vector")
		}
		if _, err := Pack(folder); err == nil || !strings.Contains(err.Error(), "only WordPiece") {
			t.Errorf("packed: %v", err)
		}
		without := strings.Replace(modeltest.Unigram(nil, scored()...), `"type":"TemplateProcessing"`, `"type":"Sequence"`, 1)
		if err := os.WriteFile(filepath.Join(folder, tokenizerName), []byte(without), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), "lacks [CLS] and [SEP] or <s> and </s>") {
			t.Errorf("without a template: %v", err)
		}
	}
}

func FuzzUnigram(f *testing.F) {
	f.Add(modeltest.Unigram(replacements(), scored()...), "Ｒolled back 東京 </s>, e\u0301\u200b\n11\u0301 zebra \xff")
	f.Add(modeltest.Unigram(nil, modeltest.Scored{Piece: "", Score: 5}, modeltest.Scored{Piece: "a", Score: 1e308}), "aaaa")
	f.Add(strings.Replace(modeltest.Unigram(nil, scored()...), `"▁"`, `" "`, 1), "  a  ")
	f.Add(`{"pre_tokenizer":{"type":"Metaspace","replacement":"_"},"model":{"type":"Unigram","vocab":[["x",-1]]}}`, "x_x y")
	f.Fuzz(func(t *testing.T, file, text string) {
		tok, err := guard.Result(func() *tokenizer { return parseTokenizer([]byte(file)) })
		if err != nil || tok.unigram == nil {
			return
		}
		for _, tok.keepsUnknown = range []bool{false, true} {
			ids := tok.pieces(text, 64)
			if len(ids) > 64 {
				t.Errorf("%d pieces", len(ids))
			}
			for _, id := range ids {
				if int(id) >= tok.count || id < 0 {
					t.Errorf("piece %d of %d", id, tok.count)
				}
			}
		}
	})
}
