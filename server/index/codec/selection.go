package codec

import (
	"strings"

	"quarry/server/index"
)

// Selection returns the condition on rows of documents that a selector stands for; empty when it names nothing.
func Selection(by index.Selector) (where string, args []any) {
	var conditions []string
	add := func(condition string, values ...any) {
		conditions = append(conditions, condition)
		args = append(args, values...)
	}
	if by.All {
		add("TRUE")
	}
	if by.Origin != "" {
		add("origin = ?", by.Origin)
	}
	if by.Posted { // those that begin with "cc_pair:"
		add("(origin = '' OR origin >= 'cc_pair:' AND origin < 'cc_pair;')")
	}
	if by.Source != "" {
		add("source = ?", by.Source)
	}
	if by.Link != "" {
		add("link = ?", by.Link)
	}
	if by.Set != "" {
		add("row IN (SELECT document FROM document_sets WHERE name = ?)", by.Set)
	}
	return strings.Join(conditions, " AND "), args
}
