//go:build unix

package main

import "testing"

func TestFirstRows(t *testing.T) {
	const screen = `╭ sample ─────────╮
│ › the question   │
╰──────────────────╯
╭ Results ─ 7 documents ╮╭ Title ─╮
│▌ 1  One     2 mo ││ reader │
│▌    ◆ first of   ││ more   │
│▌    its lines    ││        │
│  2  Two          ││        │
│  3  Three        ││        │
│  4  Four         ││        │
│ 10  Five         ││        │
│     the last     ││        │
│ 11  Six          ││        │
│     not counted  ││        │
╰───────── 1 of 7 ─╯╰────────╯
`
	const want = "1  One     2 mo ◆ first of its lines 2  Two 3  Three 4  Four 10  Five the last "
	if got := firstRows(screen); got != want {
		t.Errorf("%q", got)
	}
}
