// Keys writes the reference of the explorer's keys from its table of bindings:
//
//	keys > docs/keys.md
package main

import (
	"fmt"
	"strings"

	"quarry/ui/explorer"
)

func main() {
	fmt.Print(`# Keys of the explorer

Made by ` + "`make docs`" + ` from the table of bindings; edit ui/explorer/bindings.go, not this file.

The same list is in the explorer: F1 anywhere, ` + "`?`" + ` outside the query. What can be done where you are stands in the last
line. A key can be changed in the configuration file, by the name of its action:

    keys:
      open-source: [O]
      filters: [f, ctrl+g]

Where text is typed, a key that types a character types it; an action then needs another key to be reached from there.
`)
	group := ""
	for _, b := range explorer.Bindings() {
		if b.Group != group {
			group = b.Group
			fmt.Printf("\n## %s\n\n| key | where | does | action |\n|---|---|---|---|\n", group)
		}
		for _, row := range rows(b) {
			fmt.Printf("| %s | %s | %s | `%s` |\n", row.keys, row.where, escape(b.Long), b.Action)
		}
	}
}

// row is an action with the keys that it has in some places.
type row struct{ keys, where string }

// rows puts the places together in which an action has the same keys.
func rows(b explorer.Binding) []row {
	var all []row
	for _, place := range b.In.Places() {
		keys := written(b.KeysText(place))
		if last := len(all) - 1; last >= 0 && all[last].keys == keys {
			all[last].where += ", " + short(place)
			continue
		}
		all = append(all, row{keys, short(place)})
	}
	return all
}

func short(place explorer.Place) string {
	return strings.TrimPrefix(place.Name(), "the ")
}

// written puts each key of a list into code marks.
func written(keys string) string {
	var marked []string
	for _, key := range strings.Fields(keys) {
		marked = append(marked, "`"+escape(key)+"`")
	}
	if len(marked) == 0 {
		return "in the list of actions"
	}
	return strings.Join(marked, " ")
}

func escape(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
