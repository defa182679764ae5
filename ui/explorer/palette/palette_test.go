package palette

import (
	"slices"
	"testing"

	"quarry/ui/explorer/line"
)

func TestWhatIsTypedNarrowsTheList(t *testing.T) {
	t.Parallel()
	var p Palette
	p.Open([]Entry{
		{Action: "search", Group: "Search", Text: "Run the whole search", Keys: "↵"},
		{Action: "whole", Group: "Reader", Text: "Bring in the whole document", Keys: "E"},
		{Action: "expand", Group: "Reader", Text: "Bring in the passages around", Keys: "e"},
		{Action: "research", Group: "Search", Text: "Ask anew", Keys: "r ctrl+r"},
		{Action: "theme", Group: "Screen", Text: "Next theme", Keys: "T"},
	})
	for typed, want := range map[string][]string{
		"":         {"search", "whole", "expand", "research", "theme"},
		"E":        {"whole", "expand", "search", "research", "theme"},
		"e":        {"expand", "whole", "search", "research", "theme"},
		"ctrl+r":   {"research"},
		"the":      {"search", "whole", "expand", "theme"},
		"new ask":  {"research"},
		"reader":   {"whole", "expand"},
		"SEARCH":   {"search", "research"},
		"nonsense": nil,
	} {
		p.Edit(func(e *line.Editor) bool { e.SetText(typed); return true })
		var got []string
		for _, i := range p.shown {
			got = append(got, p.entries[i].Action)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", typed, got, want)
		}
	}
}
