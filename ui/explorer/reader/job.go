package reader

import (
	"quarry/theme"
)

// jobKey identifies one rendering: the text, the width and the theme.
type jobKey struct {
	id    contentID
	width int
	theme string
}

func (r *Reader) jobKey(p *piece) jobKey { return jobKey{p.id, r.shape.width, r.shape.theme} }

// Job is text to render. It may be passed to another goroutine.
type Job struct {
	units []unit
	keys  []jobKey
	theme theme.Theme
}

// Rendered is the result of a Job.
type Rendered struct {
	keys    []jobKey
	layouts []*layout
}

// RenderJob returns the text to render next: the plain text on the screen, then that within one screen of it. Each job is
// returned once, until its result is passed to Apply. ok is false if there is nothing to render.
func (r *Reader) RenderJob() (job Job, ok bool) {
	r.update()
	if r.raw || !r.shown || r.shape.width == 0 {
		return Job{}, false
	}
	size := 0
	job.theme = r.theme
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

// Render renders the job's text. It may run on any goroutine.
func (j Job) Render() Rendered {
	rendered := Rendered{keys: j.keys, layouts: make([]*layout, len(j.units))}
	for i, u := range j.units {
		rendered.layouts[i] = renderUnit(u, j.keys[i].width, j.theme)
	}
	return rendered
}

// Apply caches the results of a job and replaces the plain text in the body by them, keeping the place. It reports
// whether the screen changed.
func (r *Reader) Apply(rendered Rendered) bool {
	wanted := false
	for i, key := range rendered.keys {
		delete(r.pending, key)
		r.cache.put(key, rendered.layouts[i])
		wanted = wanted || r.waitsFor(key)
	}
	if wanted {
		r.savePlaceBelowTop()
		r.changed()
		r.update()
	}
	return wanted
}

// waitsFor reports whether a piece of the body has not been rendered for a key yet.
func (r *Reader) waitsFor(key jobKey) bool {
	for i := range r.blocks {
		p := r.blocks[i].piece
		if p != nil && p.layout != nil && !p.layout.rendered && r.jobKey(p) == key {
			return true
		}
	}
	return false
}

// savePlaceBelowTop saves the place, unless the body is at its top.
func (r *Reader) savePlaceBelowTop() {
	if r.top > 0 {
		r.savePlace()
	}
}
