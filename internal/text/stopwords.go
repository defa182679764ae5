package text

import (
	"strings"
	"sync"
)

// IsStopWord reports whether a surface is an English word that says too little to search for when there are others:
// articles, pronouns, auxiliaries, prepositions that nearly every passage contains, and what questions begin with.
func IsStopWord(surface string) bool { return stopWords()[surface] }

var stopWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(`a an the and or but nor if then than as so that this these those
		there here such no not of in on at by to for from with into about
		is are was were be been being am do does did doing have has had
		having can could should would will shall may might must
		i me my we us our ours you your yours he him his she her hers it
		its they them their theirs who whom whose what which when where why how
		much many isn't aren't don't doesn't didn't can't won't i'm we're you're what's how's`) {
		words[word] = true
	}
	return words
})
