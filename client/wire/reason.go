package wire

import (
	"fmt"
	"strings"
)

// Reason returns the reason that the JSON of an error says: a string, an object with one, or a list of them.
func Reason(raw []byte) string {
	var value any
	if Unmarshal(raw, &value) != nil {
		return ""
	}
	return reasonOf(value, 0)
}

func reasonOf(value any, depth int) string {
	const deepest, most = 4, 5
	if depth > deepest {
		return ""
	}
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, item := range v[:min(len(v), most)] {
			if part := reasonOf(item, depth+1); part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		for _, key := range []string{"msg", "message", "detail", "reason", "error"} {
			if text := reasonOf(v[key], depth+1); text != "" {
				return locationOf(v["loc"]) + text
			}
		}
	}
	return ""
}

// locationOf returns the field of a validation detail: ["body","sources",0] is "sources.0: ".
func locationOf(loc any) string {
	list, _ := loc.([]any)
	var parts []string
	for i, part := range list {
		text := fmt.Sprint(part)
		if i == 0 && (text == "body" || text == "query" || text == "path") {
			continue
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ".") + ": "
}
