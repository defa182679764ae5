package reader

import (
	"quarry/theme"
)

// jobKey names one rendering: a text, what it is rendered for.
type jobKey struct {
	id    contentID
	width int
	theme string
}

func (r *Reader) jobKey(p *piece) jobKey { return jobKey{p.id, r.shape.width, r.shape.theme} }

// Job is text to be rendered, by value: it can be taken to another goroutine.
type Job struct {
	units []unit
	keys  []jobKey
	theme theme.Theme
}

// Rendered is the answer to a Job.
type Rendered struct {
	keys    []jobKey
	layouts []*layout
}

// RenderJob gives what should be rendered next: the text on the screen and then what is a screen away from it, as far as
// it is shown as plain text still. Each job is handed out once and waits for its Apply; ok is false when there is none.
func (r *Reader) RenderJob() (job Job, ok bool) {
	r.settle()
	if r.raw || !r.shown || r.shape.width == 0 {
		return Job{}, false
	}
	size := 0
	job.theme = r.theme
	for _, p := range r.nearby() {
		key := r.jobKey(p)
		if p.layout.rendered || r.issued[key] {
			continue
		}
		if size += len(p.text); size > maxUnit && len(job.units) > 0 {
			break
		}
		if r.issued == nil {
			r.issued = map[jobKey]bool{}
		}
		r.issued[key] = true
		job.units = append(job.units, p.unit)
		job.keys = append(job.keys, key)
	}
	return job, len(job.units) > 0
}

// nearby lists the pieces on the screen, then those within a screen below and above.
func (r *Reader) nearby() []*piece {
	var on, below, above []*piece
	for i := range r.blocks {
		p := r.blocks[i].piece
		if p == nil || p.layout == nil {
			continue
		}
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

// Render does the work of a job. It is pure and may run on any goroutine.
func (j Job) Render() Rendered {
	rendered := Rendered{keys: j.keys, layouts: make([]*layout, len(j.units))}
	for i, u := range j.units {
		rendered.layouts[i] = renderUnit(u, j.keys[i].width, j.theme)
	}
	return rendered
}

// Apply takes a rendering in: it is kept for later, and what of it is on the screen takes the place of the plain text,
// with the place kept. It tells whether the screen changed.
func (r *Reader) Apply(rendered Rendered) bool {
	wanted := false
	for i, key := range rendered.keys {
		delete(r.issued, key)
		r.cache.put(key, rendered.layouts[i])
		wanted = wanted || r.awaits(key)
	}
	if wanted {
		r.holdPlaceBelowTop()
		r.changed()
		r.settle()
	}
	return wanted
}

// awaits tells whether a piece of the body is still to be rendered as a key says.
func (r *Reader) awaits(key jobKey) bool {
	for i := range r.blocks {
		p := r.blocks[i].piece
		if p != nil && p.layout != nil && !p.layout.rendered && r.jobKey(p) == key {
			return true
		}
	}
	return false
}

// holdPlaceBelowTop remembers the place, unless that is the beginning of everything, which needs no remembering.
func (r *Reader) holdPlaceBelowTop() {
	if r.top > 0 {
		r.holdPlace()
	}
}
