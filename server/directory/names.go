package directory

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"

	"quarry/server/sqldb"
)

// skeleton is the skeleton of a name by Unicode's UTS 39, in which look-alike letters are the same, regardless of case.
// It is taken after folding case, and before: by the first "Info" looks like "info", by the second like "lnfo".
type skeleton [2]string

func skeletonOf(name string) skeleton {
	visible := strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(name))
	visible = strings.Join(strings.Fields(visible), " ")
	return skeleton{confusable.Skeleton(fold(visible)), fold(confusable.Skeleton(visible))}
}

// looksLike reports whether two names can be confused.
func (s skeleton) looksLike(other skeleton) bool { return s[0] == other[0] || s[1] == other[1] }

// fold folds case. Some letters are the same only in upper case.
func fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// invisible reports whether a character is not visible by itself.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// refuseLookalike fails with an ExistsError if a name looks like one of the names that a query returns.
func refuseLookalike(tx *sqldb.Tx, kind Kind, name, query string, args ...any) {
	wanted := skeletonOf(name)
	for _, known := range tx.Texts(query, args...) {
		if known == name {
			tx.Fail(exists(kind, name))
		}
		if wanted.looksLike(skeletonOf(known)) {
			tx.Fail(ExistsError{Reason: fmt.Sprintf("%s looks like the %s %s that exists already", quote(name), kind,
				quote(known))})
		}
	}
}

// shownNames returns the shown names of agents whose names look like another one, by id. Only the first agent keeps its
// name: those of administrators come first, then the oldest.
func (d *Directory) shownNames(ctx context.Context, p Principal) (map[int]string, error) {
	return cachedFor(ctx, d, "names", p, func() (map[int]string, error) {
		shown, seen := map[int]string{}, [2]map[string]bool{{}, {}}
		show := func(id int, name string) {
			look := skeletonOf(name)
			if seen[0][look[0]] || seen[1][look[1]] {
				shown[id] = fmt.Sprintf("%s (agent %d)", name, id)
				return
			}
			seen[0][look[0]], seen[1][look[1]] = true, true
		}
		show(0, DefaultAgent().Name)
		agents, err := sqldb.List(ctx, d.open, "read the names of agents", func(a *Agent) []any { return []any{&a.ID, &a.Name} }, "SELECT a.id, a.name "+fromVisibleAgents()+" ORDER BY coalesce(u.role = ?4, FALSE) DESC, a.id",
			p.Tenant, p.Admin, p.UserID, string(RoleAdmin))
		for _, a := range agents {
			show(a.ID, a.Name)
		}
		return shown, err
	})
}
