package ingest

import (
	"bytes"
	"strings"

	"quarry/server/index"
)

// locate completes the positions of chunks in the text of a file: those in the file itself, whose lines may end with a
// carriage return, too, and their lines. It drops them if the text differs from the file in more than that.
func locate(d *index.Document, data []byte, text string) {
	if d.Positions == nil {
		return
	}
	const byteOrderMark = "\uFEFF"
	bare := bytes.TrimPrefix(data, []byte(byteOrderMark))
	shift, perLine := len(data)-len(bare), 0
	switch raw := string(bare); {
	case raw == text:
	case strings.Count(raw, "\n") == strings.Count(raw, "\r\n") && strings.ReplaceAll(raw, "\r\n", "\n") == text:
		perLine = 1
	default:
		d.Positions = nil
		return
	}
	line, at := 1, 0
	for i := range d.Positions {
		p := &d.Positions[i]
		line += strings.Count(text[at:p.Start], "\n")
		last := line + strings.Count(text[p.Start:p.End], "\n")
		at = p.End
		*p = index.Position{Start: p.Start + shift + perLine*(line-1), End: p.End + shift + perLine*(last-1),
			FirstLine: line, LastLine: last}
		line = last
	}
}

// endOf returns what was read of the end of a text.
func endOf(text, body string, blocks []block, m meta) extracted {
	return extracted{meta: m, body: body, blocks: blocks, finish: func(d *index.Document) {
		for i := range d.Positions {
			d.Positions[i].Start += len(text) - len(body)
			d.Positions[i].End += len(text) - len(body)
		}
	}}
}
