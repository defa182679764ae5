package picker

import (
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/field"
	"quarry/client/wire"
)

// mostOpen is how many places are open at once: each is counted by itself.
const mostOpen = 20

// tree is how places stand below each other: those of the outermost level, and those in the open ones.
type tree struct {
	root    string            // the level of the outermost ones
	open    []string          // in the order of opening
	empty   map[string]bool   // have no places in them
	parents map[string]string // by place
}

// levels returns the levels that are shown, as requests name them.
func (t *tree) levels() []string {
	return append([]string{t.root}, exslices.CastFunc(t.open, field.LevelIn)...)
}

// counts returns the counts of all places that are shown. Those of the outermost level are summed up where the matches
// divide further below.
func (t *tree) counts(in Input, known []Value) (counts []wire.FacetValue) {
	if t.root == "" && len(known) > 0 {
		t.root = field.LevelOf(known[0].Name)
	}
	level, asked := in.Levels[t.root]
	if !asked {
		for _, inner := range in.Facets.Places {
			for _, outer := range known {
				if field.IsWithin(inner.Value, outer.Name) {
					inner.Value = outer.Name
				}
			}
			level = append(level, inner)
		}
	}
	put := func(parent string, level []wire.FacetValue) {
		for _, one := range level {
			t.parents[one.Value] = parent
		}
		counts = append(counts, level...)
	}
	put(t.root, level)
	for _, place := range t.open {
		if level, asked = in.Levels[field.LevelIn(place)]; asked && len(level) == 0 {
			t.empty[place] = true
		}
		put(place, level)
	}
	return counts
}

func (t *tree) isOpen(place string) bool { return slices.Contains(t.open, place) }

// mark is what stands before the name of a place.
func (t *tree) mark(place string) string {
	switch {
	case t.empty[place]:
		return "  "
	case t.isOpen(place):
		return "- "
	}
	return "+ "
}

// inOrder returns the indices of what is shown: each open place before those in it.
func (t *values) inOrder() (shown []int) {
	children := map[string][]int{}
	for i := range t.all {
		parent, known := t.tree.parents[t.all[i].Name]
		if !known {
			parent = t.tree.root
		}
		children[parent] = append(children[parent], i)
	}
	var add func(parent string, depth int)
	add = func(parent string, depth int) {
		for _, i := range children[parent] {
			t.all[i].depth = depth
			shown = append(shown, i)
			if t.tree.isOpen(t.all[i].Name) && depth < mostOpen {
				add(t.all[i].Name, depth+1)
			}
		}
	}
	add(t.tree.root, 0)
	return shown
}

// inTree reports whether the keys of the tree work: what is typed narrows all places that are known.
func (t *values) inTree() bool { return t.tree != nil && t.exact && t.text.Text() == "" }

// expand opens the place under the cursor. It reports whether it was closed, and has places in it as far as is known.
func (t *values) expand() bool {
	v := t.row()
	if v == nil || !t.inTree() || t.tree.empty[v.Name] || t.tree.isOpen(v.Name) || len(t.tree.open) == mostOpen {
		return false
	}
	t.tree.open = append(t.tree.open, v.Name)
	t.narrow()
	return true
}

// collapse closes the place under the cursor, or the one around it.
func (t *values) collapse() {
	v := t.row()
	if v == nil {
		return
	}
	place := v.Name
	if parent := t.tree.parents[place]; !t.tree.isOpen(place) && t.tree.isOpen(parent) {
		place = parent
	}
	t.tree.open = slices.DeleteFunc(t.tree.open, func(open string) bool { return field.IsWithin(open, place) })
	t.narrow()
	t.moveTo(place)
}

// written is the name of a value with its place in the tree.
func (t *values) written(v *value) string {
	if !t.inTree() {
		return v.Label
	}
	name := v.Label
	if _, inside := t.tree.parents[v.Name]; inside || field.LevelOf(v.Name) == t.tree.root {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	return strings.Repeat("  ", v.depth) + t.tree.mark(v.Name) + strings.ReplaceAll(name, "%2F", "/")
}
