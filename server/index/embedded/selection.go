package embedded

import (
	"strings"

	"quarry/server/index"
)

// selection is the condition that a selector stands for; empty when it names nothing.
func selection(by index.Selector) (where string, args []any) {
	var conditions []string
	add := func(condition string, values ...any) {
		conditions = append(conditions, condition)
		args = append(args, values...)
	}
	if by.Origin != "" {
		add("origin = ?", by.Origin)
	}
	if by.OriginPrefix != "" {
		// "below a folder" as ranges, which the index of origins answers; both kinds of separators follow one another
		// in no platform's paths but their own.
		folder := strings.TrimRight(by.OriginPrefix, `/\`)
		add("(origin > ? AND origin < ? OR origin > ? AND origin < ?)",
			folder+"/", folder+"0", folder+`\`, folder+"]")
		conditions = append(conditions, "origin <> ''")
	}
	if by.Source != "" {
		add("source = ?", by.Source)
	}
	if by.Set != "" {
		add("row IN (SELECT document FROM document_sets WHERE name = ?)", by.Set)
	}
	return strings.Join(conditions, " AND "), args
}
