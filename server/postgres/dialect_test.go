package postgres

import (
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":              "SELECT 1",
		"SELECT ?, ?":           "SELECT $1, $2",
		"SELECT ?2, ?1, ?12":    "SELECT $2, $1, $12",
		"SELECT '?', \"a?\", ?": "SELECT '?', \"a?\", $1",
		"SELECT 'it''s ?', ?":   "SELECT 'it''s ?', $1",
		"SELECT ? -- why?\n, ?": "SELECT $1 -- why?\n, $2",
		"SELECT /* ? */ ? /* ?": "SELECT /* ? */ $1 /* ?",
		"SELECT CAST(value AS BIGINT) FROM json_each(?)": "SELECT CAST(value AS BIGINT) FROM json_array_elements_text($1)",
		"SELECT 'open ?":                         "SELECT 'open ?",
		"SELECT version_id FROM m WHERE id = $1": "SELECT version_id FROM m WHERE id = $1",
	} {
		if got := translate(query); got != want {
			t.Errorf("%s:\n%s, want\n%s", query, got, want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{"SELECT ?1", "'?", "/*?*/?", "--?\n?", "\"?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.Contains(query, "json_each(") {
			return
		}
		if got := translate(query); strings.Count(got, "'") != strings.Count(query, "'") || !strings.ContainsRune(query, '?') && got != query {
			t.Errorf("%q became %q", query, got)
		}
	})
}
