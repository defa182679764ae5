package reader

import (
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// Lines renders a whole text, for panels that show one that is no passage. It takes milliseconds for each kilobyte and
// belongs beside the event loop.
func Lines(markdown string, width int, th theme.Theme) []string {
	if width <= 0 {
		return nil
	}
	var r Reader
	r.Show(Document{Content: markdown, ChunkCount: 1, CanExpand: true})
	r.seek = false
	r.shape, r.theme, r.dirty = shape{shapeWidth(width), th.Name, false}, th, true
	r.pens, r.pensFor = pensOf(th, false), pensKey{th.Name, false}
	r.settle()
	r.body = r.lines + 1 // all of it is on the screen
	for range r.found {
		job, ok := r.RenderJob()
		if !ok {
			break
		}
		r.Apply(job.Render())
		r.settle()
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
