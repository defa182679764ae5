package reader

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"quarry/internal/memo"
	"quarry/theme"
)

// jobKey identifies one rendering: the text, the width, the theme and the numbers of the links.
type jobKey struct {
	id        contentID
	width     int
	theme     string
	firstLink int // number of the first link; 0: not known yet
}

func (r *Reader) jobKey(p *piece) jobKey {
	return jobKey{p.id, r.shape.width, r.shape.theme, p.firstLink}
}

// Job is text to render. It may be passed to another goroutine.
type Job struct {
	units    []unit
	keys     []jobKey
	theme    theme.Theme
	nextLink int // number of the first link that has none yet
}

// Rendered is the result of a Job.
type Rendered struct {
	keys       []jobKey
	firstLinks []int // of layouts
	layouts    []*layout
	// Failures are the reasons why parts of the text are shown as they are stored.
	Failures []string
}

// RenderJob returns the text to render next: the plain text on the screen, then that within one screen of it. Each job
// is returned once, until its result is passed to Apply. ok is false if there is nothing to render.
func (r *Reader) RenderJob() (job Job, ok bool) {
	r.update()
	if r.raw || !r.shown || r.shape.width == 0 {
		return Job{}, false
	}
	size := 0
	job.theme, job.nextLink = r.theme, r.links+1
	for _, p := range r.nearby() {
		key := r.jobKey(p)
		if p.layout.rendered || r.pending[key] {
			continue
		}
		if size += len(p.text); size > maxUnit && len(job.units) > 0 {
			break
		}
		if r.pending == nil {
			r.pending = map[jobKey]bool{}
		}
		r.pending[key] = true
		job.units = append(job.units, p.unit)
		job.keys = append(job.keys, key)
	}
	return job, len(job.units) > 0
}

// nearby returns the pieces on the screen, then those within one screen below and above.
func (r *Reader) nearby() []*piece {
	var on, below, above []*piece
	for _, p := range r.laidOut() {
		from, to := p.start, p.start+len(p.layout.lines)
		switch {
		case to > r.top && from < r.top+r.body:
			on = append(on, p)
		case from >= r.top+r.body && from < r.top+2*r.body:
			below = append(below, p)
		case to <= r.top && to > r.top-r.body:
			above = append(above, p)
		}
	}
	return append(append(on, below...), above...)
}

// Unrendered reports whether text in view is plain until it is rendered.
func (r *Reader) Unrendered() bool {
	return r.shown && !r.raw && slices.ContainsFunc(r.laidOut(), func(p *piece) bool {
		return !p.layout.rendered && p.start < r.top+r.body && p.start+len(p.layout.lines) > r.top
	})
}

// Render renders the job's text. It may run on any goroutine.
func (j Job) Render() Rendered {
	rendered := Rendered{keys: j.keys, firstLinks: make([]int, len(j.units)), layouts: make([]*layout, len(j.units))}
	next := j.nextLink
	for i, u := range j.units {
		var failure string
		first := cmp.Or(j.keys[i].firstLink, next)
		if rendered.layouts[i], failure = renderUnit(u, j.keys[i].width, j.theme, first); failure != "" {
			rendered.Failures = append(rendered.Failures, failure)
		}
		if rendered.firstLinks[i] = first; first == next {
			next += len(rendered.layouts[i].links)
		}
	}
	return rendered
}

// Apply caches the results of a job and replaces the plain text in the body by them, keeping the place.
func (r *Reader) Apply(rendered Rendered) {
	wanted := false
	for i, key := range rendered.keys {
		delete(r.pending, key)
		if p := r.waitingFor(key); p != nil {
			wanted = true
			r.number(p, rendered.firstLinks[i], rendered.layouts[i])
		}
		key.firstLink = rendered.firstLinks[i]
		r.rendered().Add(key, rendered.layouts[i])
	}
	if wanted {
		r.savePlaceBelowTop()
		r.changed()
		r.update()
	}
}

// waitingFor returns a piece of the body that has not been rendered for a key yet; nil if there is none.
func (r *Reader) waitingFor(key jobKey) *piece {
	for _, p := range r.laidOut() {
		if !p.layout.rendered && r.jobKey(p) == key {
			return p
		}
	}
	return nil
}

// savePlaceBelowTop saves the place, unless the body is at its top.
func (r *Reader) savePlaceBelowTop() {
	if r.top > 0 {
		r.savePlace()
	}
}

// maxCached is how many bytes of rendered text are kept by default.
const maxCached = 4 << 20

// cache keeps the rendered text that was used last. A rendering that is larger than all of it is kept until the next
// one comes: otherwise it would be made again and again.
type cache = memo.Cache[jobKey, *layout]

// KeepAtMost bounds the rendered text that is kept, in bytes; 0: 4 MB.
func (r *Reader) KeepAtMost(bytes int) {
	r.cache = memo.New[jobKey](cmp.Or(max(0, bytes), maxCached), math.MaxInt, func(l *layout) int { return l.size })
}

// Beside returns an empty reader with the same keys. Both keep their rendered text within one bound.
func (r *Reader) Beside() Reader {
	return Reader{ExpandKey: r.ExpandKey, WholeKey: r.WholeKey, now: r.now, cache: r.rendered()}
}

// rendered returns the rendered text that is kept.
func (r *Reader) rendered() *cache {
	if r.cache == nil {
		r.KeepAtMost(0)
	}
	return r.cache
}

const (
	maxDepth = 12 // levels of nested quotes and lists that are indented
	minText  = 16 // columns that indentation leaves for text
	indented = 2  // columns that Glamour indents a level by
)

// prepare rewrites the children of a block for Glamour. Every text begins with a note; tables and code become notes.
// room is the width in columns; gap puts a blank line before the first child.
func (r *renderer) prepare(parent ast.Node, depth, room int, gap bool) {
	flat := depth >= maxDepth || room-indented < minText
	for node := parent.FirstChild(); node != nil; {
		if node.PreviousSibling() != nil {
			gap = depth == 0 || node.HasBlankPreviousLines()
		}
		following := node.NextSibling()
		switch n := node.(type) {
		case *ast.Blockquote:
			if flat {
				following = cmp.Or(n.FirstChild(), following)
				dissolve(n) // nested too deeply
				break
			}
			r.prepare(n, depth+1, room-indented, gap)
		case *ast.List:
			if item, inItem := parent.(*ast.ListItem); inItem && flat {
				appendItems(item, n)
				break
			}
			r.prepare(n, depth+1, room-indented, gap)
		case *extast.DefinitionList:
			following = listOf(n)
			parent.ReplaceChild(parent, n, following)
		case *ast.ListItem:
			if !n.HasChildren() {
				n.AppendChild(n, ast.NewTextBlock())
			}
			r.prepare(n, depth, room, gap)
		default:
			if leaf := r.leaf(parent, node); leaf != nil {
				r.begin(leaf, gap)
			}
		}
		node = following
	}
}

// dissolve puts the children of a node in its place.
func dissolve(node ast.Node) {
	parent := node.Parent()
	for child := node.FirstChild(); child != nil; child = node.FirstChild() {
		parent.InsertBefore(parent, node, child)
	}
	parent.RemoveChild(parent, node)
}

// appendItems moves the items of a list that is nested too deeply behind the item that it belongs to.
func appendItems(item *ast.ListItem, list *ast.List) {
	outer := item.Parent()
	for child := list.LastChild(); child != nil; child = list.LastChild() {
		outer.InsertAfter(outer, item, child)
	}
	item.RemoveChild(item, list)
}

// listOf makes a list of a definition list, which Glamour does not indent: an item for each term, with its definitions.
func listOf(definitions *extast.DefinitionList) ast.Node {
	list := ast.NewList('-')
	list.SetBlankPreviousLines(definitions.HasBlankPreviousLines())
	for child := definitions.FirstChild(); child != nil; child = child.NextSibling() {
		if child.Kind() != extast.KindDefinitionTerm && list.HasChildren() {
			moveChildren(list.LastChild(), child)
			continue
		}
		item, term := ast.NewListItem(indented), ast.NewTextBlock()
		item.SetBlankPreviousLines(child.HasBlankPreviousLines())
		term.AppendChild(term, strong(child))
		item.AppendChild(item, term)
		list.AppendChild(list, item)
	}
	return list
}

// strong moves the children of a node into a bold one.
func strong(from ast.Node) ast.Node {
	bold := ast.NewEmphasis(2)
	moveChildren(bold, from)
	return bold
}

// leaf prepares the text of a block without blocks in it, and returns the block that takes its place; nil for none.
func (r *renderer) leaf(parent, node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		inline{renderer: r, breaks: breaksOf(node, r.source)}.children(node)
		if heading, isHeading := node.(*ast.Heading); isHeading && heading.Level <= underlined {
			heading.AppendChild(heading, r.made(note(underline, 0)))
		}
		return node
	case *ast.HTMLBlock:
		if shown := r.html(n); shown != "" {
			return r.replace(parent, node, shown)
		}
	case *ast.ThematicBreak:
		return r.replace(parent, node, r.theme.Border.Render(strings.Repeat("─", 24)))
	case *extast.Table:
		r.prepareCells(n)
		return r.later(parent, node)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return r.later(parent, node)
	}
	parent.RemoveChild(parent, node)
	return nil
}

// later puts a note in the place of a block that the typesetter renders by itself.
func (r *renderer) later(parent, block ast.Node) ast.Node {
	r.blocks = append(r.blocks, block)
	return r.replace(parent, block, note(placeBlock, len(r.blocks)-1))
}

// underlined is the last level of headings with a line below them.
const underlined = 2

// replace puts a paragraph in the place of a block.
func (r *renderer) replace(parent, node ast.Node, content string) ast.Node {
	paragraph := ast.NewParagraph()
	paragraph.AppendChild(paragraph, r.made(content))
	paragraph.SetBlankPreviousLines(node.HasBlankPreviousLines())
	parent.ReplaceChild(parent, node, paragraph)
	return paragraph
}

// begin notes the start of a block. Glamour runs the paragraphs of a list item together: all but the first begin a
// line.
func (r *renderer) begin(block ast.Node, gap bool) {
	kind := startBlock
	if block.Parent().Kind() == ast.KindListItem && block.PreviousSibling() != nil {
		kind = newLine
	}
	first := block.FirstChild()
	if first != nil && first.Kind() == extast.KindTaskCheckBox { // Glamour looks for it at the beginning
		first = first.NextSibling()
	}
	block.InsertBefore(block, first, r.made(note(kind, flag(gap))))
}
