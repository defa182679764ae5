package reader

import (
	"fmt"
	"slices"

	"quarry/client/wire"
)

// block is what the body is made of: pieces of text and single lines between them.
type block struct {
	piece *piece
	seam  seam // where piece is nil
	start int  // its first line in the body
}

// seam is a line between pieces.
type seam uint8

const (
	gap        seam = iota // a blank line
	ends                   // more of the document is to be had
	foundBegin             // above stand fetched chunks, below the passage that was found
	foundEnd               // and the other way round
)

// rebuild makes the body of the pieces in hand. The place is kept.
func (r *Reader) rebuild() {
	r.blocks = r.blocks[:0]
	above, below := r.left()
	left := above != 0 || below != 0
	if left && above != 0 {
		r.addSeam(ends, gap)
	}
	r.addPieces(r.above)
	if len(r.above) > 0 {
		r.addSeam(gap, foundBegin, gap)
	}
	r.addPieces(r.found)
	if len(r.below) > 0 {
		r.addSeam(gap, foundEnd, gap)
	}
	r.addPieces(r.below)
	if left || !r.document.CanExpand && r.document.WhyNot != "" && r.document.ChunkCount == 0 {
		r.addSeam(gap, ends)
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

// inHand are the first and the last chunk that are shown.
func (r *Reader) inHand() (first, last int) {
	first, last = r.document.ChunkStart, r.document.ChunkEnd
	if len(r.above) > 0 {
		first = min(first, r.above[0].first)
	}
	if len(r.below) > 0 {
		last = max(last, r.below[len(r.below)-1].last)
	}
	return first, last
}

// left counts the chunks of the document that are not shown; below is -1 where nobody knows.
func (r *Reader) left() (above, below int) {
	if !r.shown {
		return 0, 0
	}
	first, last := r.inHand()
	if !r.noneAbove {
		above = max(0, first)
	}
	switch {
	case r.noneBelow:
	case r.document.ChunkCount > 0:
		below = max(0, r.document.ChunkCount-1-last)
	case r.document.CanExpand:
		below = -1
	}
	return above, below
}

// step is how many chunks on each side one expansion brings.
const step = 2

// Want tells which chunks an expansion would fetch next, from and to inclusive; those in hand between them may be left
// out. ok is false when there are none, or the server cannot give them.
func (r *Reader) Want() (from, to int, ok bool) {
	above, below := r.left()
	if !r.document.CanExpand || above == 0 && below == 0 {
		return 0, 0, false
	}
	first, last := r.inHand()
	from, to = first-min(above, step), last
	if below != 0 {
		to += step
	}
	if below > 0 {
		to = last + min(below, step)
	}
	return from, to, true
}

// AddAbove shows chunks that were fetched, as far as they stand before those in hand. None of them means that there is
// nothing more above. What is on the screen stays where it is.
func (r *Reader) AddAbove(chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.holdPlace()
	first, _ := r.inHand()
	var added []*piece
	for _, chunk := range inOrder(chunks) {
		if chunk.ChunkInd < first {
			added = append(added, r.piecesOfChunk(chunk)...)
		}
	}
	r.noneAbove = r.noneAbove || len(added) == 0
	r.above = append(added, r.above...)
	r.rebuild()
}

// AddBelow is AddAbove for the chunks after those in hand.
func (r *Reader) AddBelow(chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.holdPlace()
	_, last := r.inHand()
	added := false
	for _, chunk := range inOrder(chunks) {
		if chunk.ChunkInd > last {
			r.below, added = append(r.below, r.piecesOfChunk(chunk)...), true
		}
	}
	r.noneBelow = r.noneBelow || !added
	r.rebuild()
}

// SetWhole shows a whole document around the passage that was found. What is on the screen stays where it is.
func (r *Reader) SetWhole(info wire.DocumentInfo, chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.holdPlace()
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
	r.noneAbove, r.noneBelow = true, true
	r.rebuild()
}

// inOrder sorts chunks by their number and drops doubles.
func inOrder(chunks []wire.Chunk) []wire.Chunk {
	sorted := slices.Clone(chunks)
	slices.SortStableFunc(sorted, func(x, y wire.Chunk) int { return x.ChunkInd - y.ChunkInd })
	return slices.CompactFunc(sorted, func(x, y wire.Chunk) bool { return x.ChunkInd == y.ChunkInd })
}

// position says which part of the document is at the top of the view: "chunk 3 of 11"; empty where nobody knows.
func (r *Reader) position() string {
	if r.document.ChunkCount <= 0 {
		return ""
	}
	r.settle()
	first, last := r.document.ChunkStart, r.document.ChunkEnd
	if p := r.topPiece(); p != nil {
		first, last = p.first, p.last
	}
	if first == last {
		return fmt.Sprintf("chunk %d of %d", first+1, r.document.ChunkCount)
	}
	return fmt.Sprintf("chunks %d–%d of %d", first+1, last+1, r.document.ChunkCount)
}
