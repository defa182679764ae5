package reader

import (
	"fmt"
	"slices"

	"quarry/client/wire"
)

// block is a part of the body: a piece of text, or a single line between pieces.
type block struct {
	piece *piece
	seam  seam // where piece is nil
	start int  // its first line in the body
}

// seam is a line between pieces.
type seam uint8

const (
	gap         seam = iota // a blank line
	extent                  // how much of the document is not shown
	resultStart             // between fetched chunks and the search result below them
	resultEnd               // between the search result and fetched chunks below it
)

// rebuild assembles the body from the pieces and keeps the place.
func (r *Reader) rebuild() {
	r.blocks = r.blocks[:0]
	above, below := r.missingChunks()
	left := above != 0 || below != 0
	if left && above != 0 {
		r.addSeam(extent, gap)
	}
	r.addPieces(r.above)
	if len(r.above) > 0 {
		r.addSeam(gap, resultStart, gap)
	}
	r.addPieces(r.found)
	if len(r.below) > 0 {
		r.addSeam(gap, resultEnd, gap)
	}
	r.addPieces(r.below)
	if left || !r.document.CanExpand && r.document.WhyNot != "" && r.document.ChunkCount == 0 {
		r.addSeam(gap, extent)
	}
	r.changed()
}

func (r *Reader) addSeam(seams ...seam) {
	for _, s := range seams {
		r.blocks = append(r.blocks, block{seam: s})
	}
}

func (r *Reader) addPieces(pieces []*piece) {
	for i, p := range pieces {
		if i > 0 {
			r.addSeam(gap)
		}
		r.blocks = append(r.blocks, block{piece: p})
	}
}

// shownChunks returns the numbers of the first and the last chunk in the body.
func (r *Reader) shownChunks() (first, last int) {
	first, last = r.document.ChunkStart, r.document.ChunkEnd
	if len(r.above) > 0 {
		first = min(first, r.above[0].first)
	}
	if len(r.below) > 0 {
		last = max(last, r.below[len(r.below)-1].last)
	}
	return first, last
}

// missingChunks counts the chunks of the document that are not shown. below is -1 if it is unknown.
func (r *Reader) missingChunks() (above, below int) {
	if !r.shown {
		return 0, 0
	}
	first, last := r.shownChunks()
	if !r.endAbove {
		above = max(0, first)
	}
	switch {
	case r.endBelow:
	case r.document.ChunkCount > 0:
		below = max(0, r.document.ChunkCount-1-last)
	case r.document.CanExpand:
		below = -1
	}
	return above, below
}

// step is how many chunks one expansion adds on each side.
const step = 2

// Want returns the range of chunks that the next expansion needs, both ends included; chunks that are shown already may
// be left out. ok is false if there are none or the server cannot send them.
func (r *Reader) Want() (from, to int, ok bool) {
	above, below := r.missingChunks()
	if !r.document.CanExpand || above == 0 && below == 0 {
		return 0, 0, false
	}
	first, last := r.shownChunks()
	from, to = first-min(above, step), last
	if below != 0 {
		to += step
	}
	if below > 0 {
		to = last + min(below, step)
	}
	return from, to, true
}

// Add shows the fetched chunks that come before and after the shown ones. If there are none on a side, the document has
// no more there. The text on the screen keeps its position.
func (r *Reader) Add(chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.savePlace()
	first, last := r.shownChunks()
	var above, below []*piece
	for _, chunk := range inOrder(chunks) {
		switch {
		case chunk.ChunkInd < first:
			above = append(above, r.piecesOfChunk(chunk)...)
		case chunk.ChunkInd > last:
			below = append(below, r.piecesOfChunk(chunk)...)
		}
	}
	r.endAbove = r.endAbove || len(above) == 0
	r.endBelow = r.endBelow || len(below) == 0
	r.above, r.below = append(above, r.above...), append(r.below, below...)
	r.rebuild()
}

// SetWhole shows the whole document around the search result. The text on the screen keeps its position.
func (r *Reader) SetWhole(info wire.DocumentInfo, chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.savePlace()
	if info.ChunkCount > 0 {
		r.document.ChunkCount = info.ChunkCount
	}
	had := map[int][]*piece{}
	for _, p := range slices.Concat(r.above, r.below) {
		had[p.first] = append(had[p.first], p)
	}
	r.above, r.below = nil, nil
	for _, chunk := range inOrder(chunks) {
		made := had[chunk.ChunkInd]
		if made == nil {
			made = r.piecesOfChunk(chunk)
		}
		switch {
		case chunk.ChunkInd < r.document.ChunkStart:
			r.above = append(r.above, made...)
		case chunk.ChunkInd > r.document.ChunkEnd:
			r.below = append(r.below, made...)
		}
	}
	r.endAbove, r.endBelow = true, true
	r.rebuild()
}

// inOrder returns the chunks sorted by number, without duplicates.
func inOrder(chunks []wire.Chunk) []wire.Chunk {
	sorted := slices.Clone(chunks)
	slices.SortStableFunc(sorted, func(x, y wire.Chunk) int { return x.ChunkInd - y.ChunkInd })
	return slices.CompactFunc(sorted, func(x, y wire.Chunk) bool { return x.ChunkInd == y.ChunkInd })
}

// position returns the part of the document at the top of the view, like "chunk 3 of 11"; empty if unknown.
func (r *Reader) position() string {
	if r.document.ChunkCount <= 0 {
		return ""
	}
	r.update()
	first, last := r.document.ChunkStart, r.document.ChunkEnd
	if p := r.topPiece(); p != nil {
		first, last = p.first, p.last
	}
	if first == last {
		return fmt.Sprintf("chunk %d of %d", first+1, r.document.ChunkCount)
	}
	return fmt.Sprintf("chunks %d–%d of %d", first+1, last+1, r.document.ChunkCount)
}
