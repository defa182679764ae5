package passage

import (
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
)

// outdated are the words by which a document says that it holds no longer.
const outdated = `(?:archived|deprecated|obsolete|out of date|out-of-date|outdated|retired|superseded)`

var (
	outdatedStatus = pattern.Lazy(`(?i)^` + outdated + `$`)
	outdatedTitle  = pattern.Lazy(`(?i)^[\[(]?` + outdated + `(?:[\])]|: | [-–—] )|[\[(]` + outdated + `[\])]`)
	outdatedNotice = pattern.Lazy(`(?i)^(?:article|doc|document|guide|guideline|page|policy|process|runbook|version) ` +
		`(?:is|has been) (?:now )?[*_]*` + outdated + `\b`)
)

// Outdated reports whether a document says that it holds no longer: by its status, in its title, or by a sentence of
// its passage.
func Outdated(r wire.SearchResult) bool {
	for _, name := range []string{"status", "state"} {
		if slices.ContainsFunc(r.Metadata[name].Values, outdatedStatus().MatchString) {
			return true
		}
	}
	for _, rest, found := strings.Cut(r.Content, "his "); found; _, rest, found = strings.Cut(rest, "his ") {
		if outdatedNotice().MatchString(text.Clip(rest, 80)) { // there: an expression would look everywhere
			return true
		}
	}
	return outdatedTitle().MatchString(r.Title)
}
