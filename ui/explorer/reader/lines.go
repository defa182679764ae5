package reader

import (
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// Lines renders a whole text for a panel. It takes milliseconds per kilobyte: call it outside of the event loop.
func Lines(markdown string, width int, th theme.Theme) []string {
	if width <= 0 {
		return nil
	}
	var r Reader
	r.Show(Document{Content: markdown, ChunkCount: 1, CanExpand: true})
	r.seekPending = false
	r.shape, r.theme, r.dirty = shape{shapeWidth(width), th.Name, false}, th, true
	r.pens, r.pensFor = pensOf(th, false), pensKey{th.Name, false}
	r.update()
	r.body = r.lines + 1 // all of it counts as visible
	for range r.found {
		job, ok := r.RenderJob()
		if !ok {
			break
		}
		r.Apply(job.Render())
		r.update()
		r.body = r.lines + 1
	}
	lines := make([]string, 0, r.lines)
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.piece == nil {
			continue
		}
		for at := range b.piece.layout.lines {
			lines = append(lines, paint.Fit(r.bodyLine(b, b.start+at, width), width))
		}
	}
	return lines
}
