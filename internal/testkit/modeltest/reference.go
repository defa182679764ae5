package modeltest

import (
	"fmt"
	"math"
	"slices"
)

// Golden is a text with its pieces, those that begin and end it among them, and the vector by the weights that a model was
// made of.
type Golden struct {
	Text   string    `json:"text"`
	Pieces []int     `json:"pieces"`
	Vector []float64 `json:"vector"`
}

// Reference is the vector of pieces as the paper (Devlin et al., BERT) has it, in 64-bit floats.
func Reference(e Encoder, pieces []int, first bool) []float64 {
	var x [][]float64
	for i, piece := range pieces {
		row := make([]float64, e.Hidden)
		for j := range row {
			row[j] = e.Weights["embeddings.word_embeddings.weight"][piece*e.Hidden+j] +
				e.Weights["embeddings.position_embeddings.weight"][i*e.Hidden+j] +
				e.Weights["embeddings.token_type_embeddings.weight"][j]
		}
		x = append(x, row)
	}
	e.norm(x, "embeddings.LayerNorm")
	for l := range e.Layers {
		at := fmt.Sprintf("encoder.layer.%d.", l)
		plus(x, e.apply(e.attend(x, at+"attention.self."), at+"attention.output.dense"))
		e.norm(x, at+"attention.output.LayerNorm")
		inner := e.apply(x, at+"intermediate.dense")
		for _, row := range inner {
			for i, v := range row {
				row[i] = v * (1 + math.Erf(v/math.Sqrt2)) / 2
			}
		}
		plus(x, e.apply(inner, at+"output.dense"))
		e.norm(x, at+"output.LayerNorm")
	}
	sum := make([]float64, e.Hidden)
	for i := range x {
		for j := range sum {
			if i == 0 || !first {
				sum[j] += x[i][j]
			}
		}
	}
	return sum
}

// apply is a linear map.
func (e Encoder) apply(x [][]float64, name string) (out [][]float64) {
	w, bias := e.Weights[name+".weight"], e.Weights[name+".bias"]
	for _, row := range x {
		y := slices.Clone(bias)
		for o := range y {
			for i, v := range row {
				y[o] += v * w[o*len(row)+i]
			}
		}
		out = append(out, y)
	}
	return out
}

// attend mixes the values of all rows for each row, head by head.
func (e Encoder) attend(x [][]float64, at string) [][]float64 {
	q, k, v := e.apply(x, at+"query"), e.apply(x, at+"key"), e.apply(x, at+"value")
	head, mixed := e.Hidden/e.Heads, make([][]float64, len(x))
	for i := range x {
		mixed[i] = make([]float64, e.Hidden)
		for from := 0; from < e.Hidden; from += head {
			shares, sum := make([]float64, len(x)), 0.0
			for j := range x {
				for d := from; d < from+head; d++ {
					shares[j] += q[i][d] * k[j][d] / math.Sqrt(float64(head))
				}
				shares[j] = math.Exp(shares[j])
				sum += shares[j]
			}
			for j := range x {
				for d := from; d < from+head; d++ {
					mixed[i][d] += shares[j] / sum * v[j][d]
				}
			}
		}
	}
	return mixed
}

func (e Encoder) norm(x [][]float64, name string) {
	for _, row := range x {
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		for i := range row {
			row[i] = (row[i]-mean)/math.Sqrt(variance+1e-12)*e.Weights[name+".weight"][i] + e.Weights[name+".bias"][i]
		}
	}
}

func plus(x, y [][]float64) {
	for i := range x {
		for j := range x[i] {
			x[i][j] += y[i][j]
		}
	}
}
