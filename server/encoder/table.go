package encoder

import "math"

// table has a vector for each piece.
type table struct {
	dimensions int
	vectors    []float32 // row after row
	rows       []int32   // of pieces; nil: a piece's number
	weights    []float32 // of pieces; nil: all 1
}

// readTable reads the vectors, and what newer versions of model2vec store beside them: mapping, the row of each piece,
// where pieces share vectors, and weights, a factor for each piece.
func readTable(all tensors, pieces int) *table {
	shape, m := all["embeddings"].Shape, &table{}
	require(len(shape) == 2 && shape[1] > 0 && shape[1] <= maxDimensions,
		"tensor embeddings: it is not a table of vectors")
	m.dimensions, m.vectors = shape[1], all.floats("embeddings", shape...)
	rows := shape[0]
	if _, ok := all["mapping"]; ok {
		all.read("mapping", func(t tensor) {
			outside := false
			t.numbers(t.Shape[:min(1, len(t.Shape))], func(_ int, value float64) {
				outside = outside || value < 0 || value >= float64(rows) || value != math.Trunc(value)
				m.rows = append(m.rows, int32(value))
			})
			require(!outside && len(m.rows) >= pieces, "it does not name a vector for each of %d pieces", pieces)
		})
	} else {
		require(rows >= pieces, "it has %d vectors for %d pieces", rows, pieces)
	}
	if t, ok := all["weights"]; ok {
		m.weights = all.floats("weights", t.Shape...)
		given := len(m.weights)
		require(len(t.Shape) == 1 && given >= pieces, "it has %d weights for %d pieces", given, pieces)
	}
	return m
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
