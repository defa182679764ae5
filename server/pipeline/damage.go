package pipeline

import (
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/index"
)

// recenter moves the center of a section to the nearest readable chunk; readable is false if there is none.
func recenter(s section, chunks []index.Chunk) (_ section, readable bool) {
	best := -1
	distance := func(i int) int { return max(s.start+i-s.center.chunk, s.center.chunk-s.start-i) }
	for i := range chunks {
		if !chunks[i].Damaged && (best < 0 || distance(i) < distance(best)) {
			best = i
		}
	}
	if best < 0 {
		return s, false
	}
	s.center.chunk = s.start + best
	return s, true
}

// noteDamage adds a note about what cannot be read.
func (r *run) noteDamage() {
	damage := r.snapshot.Damage()
	if len(damage) == 0 {
		return
	}
	var passages, documents int
	var parts []string
	files := false
	for _, d := range damage {
		switch d.Kind {
		case index.DamagedText:
			passages += len(d.Chunks)
		case index.DamagedDocument:
			documents++
		default:
			files = true
		}
	}
	if passages > 0 {
		parts = append(parts, text.Count(passages, "passage"))
	}
	if documents > 0 {
		parts = append(parts, text.Count(documents, "document"))
	}
	if files {
		parts = append(parts, "a part of the index")
	}
	remedy := ""
	if r.Trusted {
		remedy = "; repair it with: quarry sync --check"
	}
	r.note(wire.NoteDamaged, "the library is damaged: %s cannot be read%s", strings.Join(parts, " and "), remedy)
}
