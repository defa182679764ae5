package quality

import (
	"math/rand/v2"
	"slices"
	"strings"

	"quarry/internal/text"
)

const (
	// typoRuns is how many times each query is misspelt.
	typoRuns = 3
	// fewestLetters is the length from which a word is misspelt.
	fewestLetters = 4
)

// misspell puts one typo into one word of each query, the same ones for the same seed: a letter replaced, left out, added,
// or swapped with its neighbour.
func misspell(queries []Line, seed uint64) []Line {
	queries = slices.Clone(queries)
	for i := range queries {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		words := strings.Fields(queries[i].Text)
		var candidates []int
		for at, word := range words {
			if len(word) >= fewestLetters && letters(word) && !text.IsStopWord(strings.ToLower(word)) {
				candidates = append(candidates, at)
			}
		}
		if len(candidates) == 0 {
			continue
		}
		at := candidates[random.IntN(len(candidates))]
		words[at] = typo(words[at], random)
		queries[i].Text = strings.Join(words, " ")
	}
	return queries
}

func letters(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// typo returns a word with one typo.
func typo(word string, random *rand.Rand) string {
	letters := []byte(word)
	at := 1 + random.IntN(len(letters)-1)
	other := byte('a' + random.IntN(26))
	switch random.IntN(4) {
	case 0:
		letters[at] = other
	case 1:
		letters = slices.Delete(letters, at, at+1)
	case 2:
		letters = slices.Insert(letters, at, other)
	default:
		letters[at-1], letters[at] = letters[at], letters[at-1]
	}
	return string(letters)
}
