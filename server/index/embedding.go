package index

import (
	"context"
	"fmt"
)

// Embedding is one pass that gives chunks vectors: those of documents that were opened first, then of those that
// changed last.
type Embedding struct {
	Model   string
	Vectors Vectorise
	// Opened returns the ids of documents that were opened, the most opened first. It is called again and again; nil:
	// none is known.
	Opened func() []string
	// Report is called with the progress; nil: nobody wants to know.
	Report func(Embedded)
}

// Fresh returns the documents that were opened and are not in known, and adds them to it.
func (e Embedding) Fresh(known map[string]bool) (ids []string) {
	if e.Opened == nil {
		return nil
	}
	for _, id := range e.Opened() {
		if !known[id] {
			known[id], ids = true, append(ids, id)
		}
	}
	return ids
}

// Vectorise turns texts into vectors of Euclidean length 1, one for each, all of one number of dimensions. The vector
// of a text that the model refuses is nil.
type Vectorise func(ctx context.Context, texts []string) ([][]float32, error)

// Unless returns a Vectorise that asks v only for texts of which known returns nil. It returns an empty vector of a
// text that the model is known to refuse.
func (v Vectorise) Unless(known Vectorise) Vectorise {
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, err := known(ctx, texts)
		var some []string
		var places []int
		for i, values := range vectors {
			if values == nil {
				some, places = append(some, texts[i]), append(places, i)
			} else if len(values) == 0 {
				vectors[i] = nil
			}
		}
		if err != nil || len(some) == 0 {
			return vectors, err
		}
		made, err := v(ctx, some)
		if err == nil && len(made) != len(some) {
			err = fmt.Errorf("embed: %d vectors for %d texts", len(made), len(some))
		}
		for i := range made[:min(len(made), len(some))] {
			vectors[places[i]] = made[i]
		}
		return vectors, err
	}
}

// Embedded is the progress of Embed.
type Embedded struct {
	Done, Total int // chunks
	Refused     int // chunks that the model refuses, as far as known
}

// Vector is where a query points to, in the space of one model.
type Vector struct {
	Model  string
	Values []float32 // of Euclidean length 1
}
