package lexical

// Params are the constants of the ranking formula
//
//	score = (body + identifier + (Title + LookupTitle·lookup)·titleBM25 + Near·proximity)
//	        × (1 + (Coverage + LookupExact·lookup·exact)·share) × (1 + LookupMatch·lookup·match)
//	        × (1 + Language·same)
//
// where body is BM25F over text, headings and title in one length-normalised frequency, times the word's frequency in
// the query, identifier is given for every identifier of the query that a passage contains exactly, titleBM25 is BM25
// over the title alone, proximity rewards neighbours of the query that occur near each other, share is the part of the
// query's idf found in the title, and exact the part of the title that the query's words are: 1 if the title alone, or
// the name of the file or folder, is just these words. lookup is 1 - length/LookupWords for queries of fewer words than
// LookupWords, otherwise 0: short queries mostly name a page. same is 1 for documents in the language of the query, if
// that is known and not English, otherwise 0.
//
// The constants were chosen on SciFact (claims), CACM (questions) and a company's handbook (link texts), and checked on
// Cranfield, NPL and two other handbooks, so that no collection loses much.
type Params struct {
	// K1 and B are BM25's: how fast repetition saturates, how much length counts.
	K1, B float64
	// TitleWeight and HeadingWeight are how many occurrences in the text one in the title or in a heading is worth.
	TitleWeight, HeadingWeight float64
	// Title, Near and Coverage weigh the second stage.
	Title, Near, Coverage float64
	// NearUnordered is what a pair is worth that is near but not in order, against 1.
	NearUnordered float64
	// Identifier times the idf of an identifier is what a passage that contains it exactly gets.
	Identifier float64
	// Part is the weight of an identifier's parts where the identifier itself occurs in the index.
	Part float64
	// Pair is the weight of a pair of characters that overlaps another one, Spelling that of another spelling of a
	// word, Acronym that of what documents define as its acronym or long form.
	Pair, Spelling, Acronym float64
	// LookupWords is the number of words from which a query is no lookup; LookupTitle and LookupExact weigh titles more
	// in shorter ones.
	LookupWords, LookupTitle, LookupExact float64
	// LookupMatch weighs documents that match more in shorter queries.
	LookupMatch float64
	// Language weighs documents in the language of the query. It was chosen on the German and Russian questions of
	// XQuAD in a library that has the same texts in four languages, where names alone find the others.
	Language float64
	// Enough is the share of the documents of a query's scope of which a level asks, beyond strictWords words: what has
	// most of many words is as often not what was meant.
	Enough float64
}

// DefaultParams are the constants in use.
func DefaultParams() Params {
	return Params{
		K1: 1.2, B: 0.75, TitleWeight: 1.5, HeadingWeight: 2.5, Title: 0.2, Near: 0.6, Coverage: 0.15,
		NearUnordered: 0.25, Identifier: 1, Part: 0.3, Pair: 0.5, Spelling: 0.5, Acronym: 0.4,
		LookupWords: 6, LookupTitle: 0.4, LookupExact: 0.8, LookupMatch: 0.2, Language: 0.4, Enough: 0.01,
	}
}

const (
	// candidates is how many passages the second stage sees at least.
	candidates = 200
	// candidatesPerDocument is how many of them one document can be when the query spreads its passages.
	candidatesPerDocument = 32
	// maxLimit bounds how many passages one query can ask for.
	maxLimit = 10_000
	// maxWords bounds the words of a query; later ones are ignored.
	maxWords = 128
	// maxExpansions bounds what a prefix stands for.
	maxExpansions = 64
	// maxCounted bounds the words that decide whether a document matches: as many as half of a number has bits. The
	// other half, from inTitle on, are the words that its title has.
	maxCounted, inTitle = 32, 32
	// strictWords is up to how many of them a query asks for all.
	strictWords = 3
	// maxEnough is how many documents suffice for a level, a page of them, however many there are.
	maxEnough = 10
	// orderedWindow and nearWindow are the distances at which a pair counts in order and in any order.
	orderedWindow = 2
	nearWindow    = 8
)
