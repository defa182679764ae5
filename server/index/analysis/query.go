package analysis

// QueryWord is one word of a query as the searcher looks it up. Its position is its place in the query, for phrases and
// for the nearness of neighbours.
type QueryWord struct {
	Token
	// Prefix: every word that begins with Surface matches.
	Prefix bool
	// Parts are the words that a Whole was made of; nil for other kinds.
	Parts []QueryWord
}

// Identifier reports whether w is an identifier that no plain word can equal: it contains digits or signs.
func (w QueryWord) Identifier() bool {
	if w.Kind != Whole {
		return false
	}
	for i := range len(w.Surface) {
		if c := w.Surface[i]; c < 'a' || c > 'z' {
			return true
		}
	}
	return false
}

// Words returns the words of a query in order. With prefix, the last one stands for all that begin with it.
func (a *Analyser) Words(text string, prefix bool) []QueryWord {
	words := group(a.Tokens(text))
	if n := len(words); prefix && n > 0 {
		words[n-1].Prefix = true
	}
	return words
}

// Content leaves stop words out, as long as a content word remains.
func Content(words []QueryWord) []QueryWord {
	content := make([]QueryWord, 0, len(words))
	for _, w := range words {
		if w.Prefix || w.Kind != Word || !IsStopWord(w.Surface) {
			content = append(content, w)
		}
	}
	if len(content) == 0 {
		return words
	}
	return content
}

// group makes query words of tokens: parts go below their whole; a character that the pair before it contains
// is dropped, and a lone one means every pair that begins with it.
func group(tokens []Token) []QueryWord {
	var words []QueryWord
	for i := 0; i < len(tokens); {
		token := tokens[i]
		w := QueryWord{Token: token}
		i++
		switch token.Kind {
		case Whole:
			for ; i < len(tokens) && tokens[i].Kind == Word && tokens[i].End <= token.End; i++ {
				w.Parts = append(w.Parts, QueryWord{Token: tokens[i]})
			}
		case Ideograph:
			last := i == len(tokens) || tokens[i].Kind != Ideograph || tokens[i].Start >= token.End
			if last {
				if i > 1 && tokens[i-2].Kind == Ideograph && tokens[i-2].End == token.End {
					continue
				}
				w.Prefix = true
			}
		}
		words = append(words, w)
	}
	return words
}

// Phrase returns the words of a phrase, which must occur at the distances of their positions; that of the first is 0.
// Identifiers count by their parts, however they are joined. Only a lone character of an unspaced script has Prefix: every
// pair that begins with it matches. A phrase without words is empty.
func (a *Analyser) Phrase(text string) []QueryWord {
	var phrase []QueryWord
	for _, w := range group(a.Tokens(text)) {
		if w.Kind == Whole {
			phrase = append(phrase, w.Parts...)
		} else {
			phrase = append(phrase, w)
		}
	}
	for i := len(phrase) - 1; i >= 0; i-- {
		phrase[i].Position -= phrase[0].Position
	}
	return phrase
}

// IsStopWord reports whether a surface is an English word that says too little to search for when there are others:
// articles, pronouns, auxiliaries, prepositions that nearly every passage contains, and what questions begin with.
func IsStopWord(surface string) bool {
	switch surface {
	case "a", "an", "the", "and", "or", "but", "nor", "if", "then", "than", "as", "so", "that", "this", "these", "those",
		"there", "here", "such", "no", "not", "of", "in", "on", "at", "by", "to", "for", "from", "with", "into", "about",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "doing", "have", "has", "had",
		"having", "can", "could", "should", "would", "will", "shall", "may", "might", "must",
		"i", "me", "my", "we", "us", "our", "ours", "you", "your", "yours", "he", "him", "his", "she", "her", "hers", "it",
		"its", "they", "them", "their", "theirs", "who", "whom", "whose", "what", "which", "when", "where", "why", "how",
		"isn't", "aren't", "don't", "doesn't", "didn't", "can't", "won't", "i'm", "we're", "you're", "what's", "how's":
		return true
	}
	return false
}
