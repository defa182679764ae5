package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"quarry/internal/text"
	"quarry/server/index"
)

// A document belongs to the outermost root around the file in its origin, or to the connector or API that posted it.
// Only the origin decides: it is written in the transaction that writes the document.

// isFileOrigin reports whether an origin is a file.
func isFileOrigin(origin string) bool {
	return path.IsAbs(origin) || len(origin) > 2 && origin[1] == ':' && origin[2] == '/' // a drive letter
}

// ofConnector reports whether an origin is a connector. Documents posted without one have no origin.
func ofConnector(origin string) bool { return origin != "" && !isFileOrigin(origin) }

func connectorName(origin string) string {
	_, number, _ := strings.Cut(origin, ":")
	return "connector " + number
}

// ErrOwned is returned by Remove for a document of a connector.
var ErrOwned = errors.New("`quarry admin connector remove` removes the documents of a connector")

// outermost returns the outermost root around path, or "".
func outermost(roots map[string]rootState, path string) string {
	best := ""
	for root := range roots {
		if within(root, path) && (best == "" || len(root) < len(best)) {
			best = root
		}
	}
	return best
}

// ownsBelow returns the test for documents of files at or below folder.
func ownsBelow(folder string) func(origin string) bool {
	escaped := escapePath(folder) // for file names that are not UTF-8
	return func(origin string) bool { return within(folder, origin) || within(escaped, origin) }
}

// ownedReason says who owns the document that a file would replace. line is set for one of several documents of the
// file.
func ownedReason(id, origin string, line bool, roots map[string]rootState) string {
	document := "its document"
	if line {
		document = fmt.Sprintf("document %q", text.Clip(id, longestValue))
	}
	switch {
	case isFileOrigin(origin):
		return fmt.Sprintf("%s belongs to %s, which was also added", document, cmp.Or(outermost(roots, origin), origin))
	case ofConnector(origin):
		return fmt.Sprintf("%s belongs to %s", document, connectorName(origin))
	}
	return document + " was stored through the ingestion API"
}

// owns returns the test for documents that the target's files may replace and delete.
func (t *target) owns(roots map[string]rootState) func(origin string) bool {
	if t.refill {
		file := originOf(path.Join(t.path, t.start))
		return func(origin string) bool { return origin == file }
	}
	owned := ownsBelow(outermost(roots, t.path))
	if t.again {
		return func(origin string) bool { return origin == index.LostOrigin || owned(origin) }
	}
	return owned
}
