package passage

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"quarry/client/wire"
	"quarry/internal/text"
)

// notice is how a document in one language says that it holds no longer: "this page is now deprecated". All but begins
// are expressions. Subjects are documents, neither parts of one nor what it is about.
type notice struct {
	begins   []string // the ends of words such as "this": expressions would look everywhere
	subjects string
	verb     string
	words    string // after the verb, or alone in a title or as a status
	negated  string // in place of verb and words
}

var notices = [...]notice{{
	[]string{"his "}, `article|doc|document|guide|guideline|page|policy|process|runbook|version`,
	`(?:is|has been)(?: now)?`,
	`archived|deprecated|obsolete|out of date|out-of-date|outdated|retired|superseded`,
	`is no longer (?:maintained|valid)`,
}, {
	[]string{"iese ", "ieser ", "ieses "},
	`anleitung|artikel|dokument|fassung|leitfaden|prozess|richtlinie|seite|version`,
	`(?:ist|wurde)(?: inzwischen| jetzt| nun)?`, `archiviert|obsolet|überholt|veraltet`,
	`ist nicht mehr (?:aktuell|gültig)`,
}, {
	[]string{"ette ", "Cet ", "cet ", "Ce ", "ce "},
	`article|document|guide|page|politique|procédure|processus|version`,
	`(?:est|a été)(?: désormais| maintenant)?`, `archivée?|caduc|caduque|dépassée?|obsolète|périmée?`,
	`n['’]est plus (?:à jour|en vigueur|valable|valide)`,
}, {
	[]string{"ste ", "sta "}, `artículo|documento|guía|página|política|proceso|versión`,
	`(?:está|es|ha quedado|ha sido)(?: ahora| ya)?`, `archivad[ao]|desactualizad[ao]|obsolet[ao]`,
	`ya no (?:es válid[ao]|está vigente)`,
}, {
	[]string{"тот ", "та ", "то ", "анный ", "анная ", "анное "},
	`версия|документ|инструкция|политика|процесс|регламент|руководство|статья|страница`,
	`(?:больше|уже)?`, `неактуал(?:ен|ьна|ьно)|устарел[ао]?`,
	`(?:больше )?не (?:актуал(?:ен|ьна|ьно)|действует)`,
}}

// forms are the expressions that notices make.
type forms struct {
	status, title *regexp.Regexp
	sentences     [len(notices)]*regexp.Regexp // behind what the notice begins with
}

var outdated = sync.OnceValue(func() (f forms) {
	var words []string
	for i, n := range notices {
		words = append(words, n.words)
		f.sentences[i] = regexp.MustCompile(`(?i)^(?:` + n.subjects + `) (?:` + n.verb + ` ?[*_]*(?:` + n.words +
			`)|[*_]*` + n.negated + `)(?:[^\pL]|$)`)
	}
	word := `(?:` + strings.Join(words, `|`) + `)`
	f.status = regexp.MustCompile(`(?i)^` + word + `$`)
	f.title = regexp.MustCompile(`(?i)^[\[(]?` + word + `(?:[\])]| ?: | [-–—] )|[\[(]` + word + `[\])]`)
	return f
})

// Outdated reports whether a document says that it holds no longer: by its status, in its title, or by a sentence of
// its passage.
func Outdated(r wire.SearchResult) bool {
	for _, name := range []string{"status", "state"} {
		if slices.ContainsFunc(r.Metadata[name].Values, outdated().status.MatchString) {
			return true
		}
	}
	return outdated().title.MatchString(r.Title) || hasNotice(r.Content)
}

func hasNotice(content string) bool {
	const longest = 160 // bytes of a sentence
	for i, n := range notices {
		for _, begin := range n.begins {
			for _, rest, found := strings.Cut(content, begin); found; _, rest, found = strings.Cut(rest, begin) {
				if outdated().sentences[i].MatchString(text.Clip(rest, longest)) {
					return true
				}
			}
		}
	}
	return false
}
