package passage

import (
	"testing"

	"quarry/client/wire"
)

func TestOutdatedDocumentsSaySo(t *testing.T) {
	t.Parallel()
	status := func(value string) wire.SearchResult {
		return wire.SearchResult{Metadata: map[string]wire.Metadata{"status": wire.One(value)}}
	}
	for name, test := range map[string]struct {
		result wire.SearchResult
		want   bool
	}{
		"status":                    {status("Superseded"), true},
		"another status":            {status("accepted; supersedes 12"), false},
		"title":                     {wire.SearchResult{Title: "[DEPRECATED] Postgres"}, true},
		"end of the title":          {wire.SearchResult{Title: "Postgres (archived)"}, true},
		"title with a colon":        {wire.SearchResult{Title: "Obsolete: Postgres"}, true},
		"title about it":            {wire.SearchResult{Title: "Deprecated endpoints of the interface"}, false},
		"notice":                    {wire.SearchResult{Content: "# T\n\nThis page is **DEPRECATED**, see elsewhere."}, true},
		"notice after another this": {wire.SearchResult{Content: "Is this it? Do this. This document has been superseded."}, true},
		"of something else":         {wire.SearchResult{Content: "This function is deprecated. This page is about outdated pages."}, false},
		"without \"this\"":          {wire.SearchResult{Content: "page is deprecated"}, false},
		"nothing":                   {wire.SearchResult{}, false},
	} {
		if got := Outdated(test.result); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
