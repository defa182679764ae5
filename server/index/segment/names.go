package segment

import (
	"cmp"
	"slices"
	"strings"
)

// names numbers strings in the order in which they come.
type names struct {
	numbers map[string]uint32
	list    []string
	bytes   int // of memory in use
}

func newNames() names { return names{numbers: make(map[string]uint32)} }

// number returns the number of a name; one that is new gets the next.
func (n *names) number(name string) uint32 {
	number, known := n.numbers[name]
	if !known {
		number = uint32(len(n.list))
		n.numbers[name] = number
		n.list = append(n.list, name)
		n.bytes += len(name) + 64
	}
	return number
}

// sorted returns the numbers in the order of the names, without those that are not used.
func (n *names) sorted(used func(number int) bool) []uint32 {
	type key struct {
		start  uint64 // of the name: most comparisons need no more
		number uint32
	}
	keys := make([]key, 0, len(n.list))
	for number, name := range n.list {
		if used(number) {
			keys = append(keys, key{keyStart(name), uint32(number)})
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return strings.Compare(n.list[a.number], n.list[b.number])
	})
	numbers := make([]uint32, len(keys))
	for at, key := range keys {
		numbers[at] = key.number
	}
	return numbers
}
