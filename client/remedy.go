package client

import (
	"cmp"
	"embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// remedyRow is a hint, and the errors that it is for: those that agree with all of its other fields. The zero value of
// a field agrees with every error.
type remedyRow struct {
	kind   Kind
	status int
	code   string // or the end of one, after an underscore
	path   string // the beginning of the route
	says   string // a part of the reason
	// hint may contain {scope}, which token the route needs, {wait}, {kind}, what a code like USER_NOT_FOUND names, and
	// {page}, what to do about a web page.
	hint string
}

func (r remedyRow) isFor(e *Error) bool {
	agrees := r.code == e.Code || strings.HasPrefix(r.code, "_") && strings.HasSuffix(e.Code, r.code)
	return (r.kind == General || r.kind == e.Kind) && (r.status == 0 || r.status == e.Status) &&
		(r.code == "" || agrees) && strings.HasPrefix(e.Path, r.path) && strings.Contains(e.Reason, r.says)
}

// RemedyOf returns what to do about an error, if it or one that it wraps knows; else "".
func RemedyOf(err error) string {
	var known interface{ Remedy() string }
	if errors.As(err, &known) {
		return known.Remedy()
	}
	return ""
}

// Remedy returns a hint for the user in one line: what solves this very failure. It is empty where that is not known,
// and where the reason itself says what to change.
func (e *Error) Remedy() string {
	if e.remedy != "" && !e.Local {
		return e.remedy // of this very failure
	}
	rows := serverRemedies()
	if e.Local {
		rows = libraryRemedies()
	}
	for _, row := range rows {
		if row.isFor(e) {
			return e.complete(row.hint)
		}
	}
	return ""
}

// complete fills in what a hint says of the error.
func (e *Error) complete(hint string) string {
	wait := "later"
	if e.RetryAfter > 0 {
		wait = "in " + e.RetryAfter.String()
	}
	kind := strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(e.Code, "_NOT_FOUND"), "_", "-"))
	return strings.NewReplacer("{scope}", scopeOf(e.Path), "{wait}", wait, "{kind}", kind, "{page}",
		htmlRemedy).Replace(hint)
}

// scopeOf returns what a token needs for a route, in the words of a hint.
func scopeOf(path string) string {
	for _, s := range []struct{ path, scope string }{
		{"/chat/send", "write:chat"}, {"/chat/create", "write:chat"}, {"/chat/stop", "write:chat"},
		{"/chat/get", "read:chat"},
		{"/search", "read:search"}, {"/document/", "read:search"}, {"/query/", "read:search"},
		{"/persona/", "read:search"},
		{documentSetsPath, "read:search"}, {"/manage/indexed-sources", "read:search"},
		{"/manage/connector-status", "read:search"},
	} {
		if strings.HasPrefix(path, s.path) || path == strings.TrimSuffix(s.path, "/") {
			return "with the scope " + s.scope + ", or one without restricted scopes"
		}
	}
	return "without restricted scopes: no scope includes " + cmp.Or(path, "this")
}

// serverRemedies are the hints of errors of a server and of the way to it, libraryRemedies those of errors of a library
// in this process, which has no server to blame. The first row that is for an error counts.
var (
	serverRemedies  = sync.OnceValue(func() []remedyRow { return parseRemedies("server") })
	libraryRemedies = sync.OnceValue(func() []remedyRow { return parseRemedies("library") })
)

//go:embed remedies/*.txt
var remedyFiles embed.FS

// parseRemedies reads a file of rows "field value & field value | hint". A row without a hint has that of the next one.
func parseRemedies(name string) (rows []remedyRow) {
	written, _ := remedyFiles.ReadFile("remedies/" + name + ".txt") // an embedded folder can be read
	for line := range strings.Lines(string(written)) {
		row := remedyRow{}
		fields, hint, _ := strings.Cut(strings.TrimSpace(line), " | ")
		for field := range strings.SplitSeq(fields, " & ") {
			switch name, value, _ := strings.Cut(field, " "); name {
			case "kind":
				row.kind = Kind(slices.Index(kindNames[:], value))
			case "status":
				row.status, _ = strconv.Atoi(value)
			case "code":
				row.code = value
			case "path":
				row.path = value
			case "says":
				row.says = value
			}
		}
		row.hint = hint
		rows = append(rows, row)
	}
	for i := range slices.Backward(rows) {
		if rows[i].hint == "" {
			rows[i].hint = rows[i+1].hint
		}
	}
	return rows
}
