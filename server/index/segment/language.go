package segment

import (
	"strings"

	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/language"
)

// chunkLanguages returns the language of each chunk of a document.
func chunkLanguages(document *index.Document) []string {
	languages := make([]string, len(document.Chunks))
	for i := range languages {
		languages[i] = language.OfChunk(document.Chunks[i].Text, document.Language, len(languages))
	}
	return languages
}

// setLanguage prepares the workspace for words of a language.
func (b *Builder) setLanguage(code string) {
	w := &b.work
	if w.language, w.second = analysis.LanguageOf(code), nil; w.language == nil {
		return
	}
	if w.second = b.inLanguage[w.language]; w.second == nil {
		w.second = make(map[string]uint32)
		b.inLanguage[w.language] = w.second
	}
}

// secondTerm returns the number of the second term of a word and one more; 0: it has none. Such a term has no surface:
// it is not completed, nor near to words with typos.
func (b *Builder) secondTerm(entry *surfaceEntry, word string) uint32 {
	if entry.language == b.work.language && entry.written == word {
		return entry.second
	}
	next, known := b.work.second[word]
	if known {
		return next
	}
	if term := b.work.language.Term(word); term != "" {
		next = b.term(term) + 1
	}
	word = strings.Clone(word) // the text may be large
	if entry.language == nil {
		entry.language, entry.written, entry.second = b.work.language, word, next
	} else {
		b.work.second[word] = next
	}
	b.surfaceNames.bytes += len(word) + 48
	return next
}
