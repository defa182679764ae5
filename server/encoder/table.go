package encoder

import (
	"errors"
	"fmt"
	"math"
)

// table has a vector for each piece.
type table struct {
	dimensions int
	vectors    []float32 // row after row
	rows       []int32   // of pieces; nil: a piece's number
	weights    []float32 // of pieces; nil: all 1
}

// readTable reads the vectors, and what newer versions of model2vec store beside them: mapping, the row of each piece,
// where pieces share vectors, and weights, a factor for each piece.
func readTable(tensors map[string]tensor, pieces int) (*table, error) {
	vectors, m := tensors["embeddings"], &table{}
	if len(vectors.Shape) != 2 || vectors.Shape[1] <= 0 || vectors.Shape[1] > maxDimensions {
		return nil, errors.New("tensor embeddings: it is not a table of vectors")
	}
	m.dimensions = vectors.Shape[1]
	var err error
	if m.vectors, err = vectors.floats(vectors.Shape...); err != nil {
		return nil, fmt.Errorf("tensor embeddings: %w", err)
	}
	rows := vectors.Shape[0]
	if t, ok := tensors["mapping"]; ok {
		outside := false
		err := t.numbers(t.Shape[:min(1, len(t.Shape))], func(_ int, value float64) {
			outside = outside || value < 0 || value >= float64(rows) || value != math.Trunc(value)
			m.rows = append(m.rows, int32(value))
		})
		if err == nil && (outside || len(m.rows) < pieces) {
			err = fmt.Errorf("it does not name a vector for each of %d pieces", pieces)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor mapping: %w", err)
		}
	} else if rows < pieces {
		return nil, fmt.Errorf("it has %d vectors for %d pieces", rows, pieces)
	}
	if t, ok := tensors["weights"]; ok {
		if m.weights, err = t.floats(t.Shape...); err != nil {
			return nil, fmt.Errorf("tensor weights: %w", err)
		}
		if len(t.Shape) != 1 || len(m.weights) < pieces {
			return nil, fmt.Errorf("it has %d weights for %d pieces", len(m.weights), pieces)
		}
	}
	return m, nil
}

// vector is the sum of the vectors of the pieces.
func (m *table) vector(pieces []int32) []float32 {
	sum := make([]float32, m.dimensions)
	for _, id := range pieces {
		row, weight := int(id), float32(1)
		if m.rows != nil {
			row = int(m.rows[id])
		}
		if m.weights != nil {
			weight = m.weights[id]
		}
		for i, x := range m.vectors[row*m.dimensions:][:len(sum)] {
			sum[i] += weight * x
		}
	}
	return sum
}
