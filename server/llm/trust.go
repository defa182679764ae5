package llm

import "quarry/internal/text"

// How much a difference of cosines counts beside the best score by words, by kind of model, as the judged sets decide
// (docs/models.md): a table of words that ranks badly by itself must not cost a thing, and an encoder that ranks well
// shall find what the words of the question miss.
const (
	trustPacked  = 6.0
	trustEncoder = 2.0 // another one, in a folder or behind a server
	trustTable   = 0.5
)

// unrelatedPacked is above the cosines of a query with an unknown word and other words alone (.36 to .59), and of half
// of the pairs of queries and passages drawn at random from SciFact and CACM; of those that belong together, one in
// sixteen and one in ten have less.
const unrelatedPacked = 0.6

// inEnglish returns the share that remains of the trust in an English model for another language, by the code that
// documents have. On the questions of XQuAD it gains a little in German and in Russian with less than half, and loses
// with all of it. What was not measured, or is written in signs that the model has no pieces for, gets none.
func inEnglish(language string) float64 {
	switch {
	case language == "" || text.IsAmong(language, "und en"):
		return 1
	case text.IsAmong(language,
		"be bg mk ru sr uk ca cs da de es et fi fr hr hu it lt lv nb nl no pl pt ro sk sl sv tr"):
		return 0.4
	}
	return 0
}
