package documents

import (
	"slices"

	"quarry/internal/guard"
	"quarry/server/index"
)

// Item is what a write does to one document.
type Item struct {
	Change
	Old      *Row // nil: not stored yet
	Hash     []byte
	Keep     bool // nothing changes
	SameText bool // the stored chunks stay
	Unread   bool // Old is damaged: it is not known what the document said

	Groups []Group // the chunks of Put once they are packed
	// Once the item is stored: the numbers of the row and of the change.
	Row, Number int64
}

// Plan is what changes do to the documents that are stored.
type Plan struct {
	Items   []*Item
	Written index.Written
}

// Nothing reports whether the plan changes nothing.
func (p *Plan) Nothing() bool {
	return !slices.ContainsFunc(p.Items, func(i *Item) bool { return !i.Keep })
}

// plannedAtOnce bounds the documents that Plan has in memory beside those of the changes.
const plannedAtOnce = 256

// replacing is called with a document that is replaced or removed, as far as it can be read, by its number among the
// changes.
type replacing = func(n int, old index.Document)

// Plan compares changes with what is stored. With a nil replaced it reads no texts: a patched document has no chunks
// then. Errors: an *index.OwnedError if documents of others would be replaced.
func (r *Reader) Plan(changes []Change, replaced replacing) *Plan {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].ID
	}
	found := r.Find(ids)
	p := &Plan{Items: make([]*Item, len(changes))}
	owned := map[string]string{}
	var examined, compared []int
	for n, c := range changes {
		i := &Item{Change: c, Old: found[c.ID]}
		p.Items[n] = i
		if c.Put != nil {
			i.Hash = Hash(c.Put)
		}
		switch {
		case i.Old == nil:
			i.Keep = c.Put == nil
		case c.excludes(i.Old.Owner()):
			i.Keep = true
			if c.Put != nil {
				owned[c.ID] = i.Old.Owner()
			}
		case c.Put != nil && !i.Old.Damaged && sameChunks(i.Hash, i.Old.Hash):
			examined = append(examined, n)
		default:
			compared = append(compared, n)
		}
	}
	if len(owned) > 0 {
		guard.While("write to the library", &index.OwnedError{Origins: owned})
	}
	for some := range slices.Chunk(examined, plannedAtOnce) {
		compared = append(compared, p.keepSound(r, some)...)
	}
	for some := range slices.Chunk(compared, plannedAtOnce) {
		p.compare(r, some, replaced)
	}
	p.count()
	return p
}

// rows returns what is stored of some items.
func (p *Plan) rows(numbers []int) []*Row {
	rows := make([]*Row, len(numbers))
	for i, n := range numbers {
		rows[i] = p.Items[n].Old
	}
	return rows
}

// keepSound keeps items that are stored as they are, and returns those that are damaged or differ beside their chunks.
func (p *Plan) keepSound(r *Reader, numbers []int) (changed []int) {
	damaged := map[string]bool{}
	r.Examine(p.rows(numbers), func(damage index.Damage) { damaged[damage.ID] = true })
	for _, n := range numbers {
		i := p.Items[n]
		i.Unread = damaged[i.ID]
		if i.Keep = !i.Unread && sameHead(i.Hash, i.Old.Hash); !i.Keep {
			changed = append(changed, n)
		}
	}
	return changed
}

// compare compares items with the stored documents. A patch keeps the chunks as they are: those that cannot be read
// stay known as damaged.
func (p *Plan) compare(r *Reader, numbers []int, replaced replacing) {
	read := r.Whole
	if replaced == nil {
		read = r.textless
	}
	documents := read(p.rows(numbers)...)
	for at, n := range numbers {
		i, old := p.Items[n], documents[at]
		i.Unread = i.Unread || i.Old.Damaged || Damaged(old.Chunks, 0) != nil
		switch {
		case i.Patches != nil && i.Old.Damaged:
			i.Keep = true // nothing is known of it that could be kept
		case i.Patches != nil:
			document := patched(old, i.Patches)
			i.Put, i.SameText = &document, true
			i.Hash = Hash(&document) // of its chunks only where they were read
			i.Keep = sameHead(i.Hash, i.Old.Hash)
		case i.Put != nil:
			i.SameText = !i.Unread && sameChunks(i.Old.Hash, i.Hash) && i.Old.Link == i.Put.Link // see shortLinks
		}
		if !i.Keep && replaced != nil {
			replaced(n, old)
		}
	}
}

func (p *Plan) count() {
	for _, i := range p.Items {
		switch {
		case i.Keep && i.Put != nil:
			p.Written.Unchanged++
		case i.Keep:
		case i.Put == nil:
			p.Written.Removed++
		case i.Old != nil:
			p.Written.Updated++
		default:
			p.Written.Added++
		}
	}
}
