package text

import (
	"strings"
	"sync"
)

// Table returns a function that looks names up in rows such as "value: name name", which newlines or semicolons
// separate. They are parsed at the first look, since most runs need few tables, which panics if a row has no value.
func Table(rows string) func(name string) (value string, found bool) {
	parse := sync.OnceValue(func() map[string]string {
		table := map[string]string{}
		for row := range strings.FieldsFuncSeq(rows, func(r rune) bool { return r == '\n' || r == ';' }) {
			value, names, found := strings.Cut(row, ":")
			if !found && strings.TrimSpace(row) != "" {
				panic("the table has no value in the row " + row)
			}
			for name := range strings.FieldsSeq(names) {
				table[name] = strings.TrimSpace(value)
			}
		}
		return table
	})
	return func(name string) (string, bool) {
		value, found := parse()[name]
		return value, found
	}
}
