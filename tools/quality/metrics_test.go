package main

import (
	"math"
	"testing"
)

func TestMetrics(t *testing.T) {
	judged := grades{"a": 2, "b": 1, "c": 0}
	cases := []struct {
		name         string
		ranking      []string
		ndcg, recall float64
	}{
		{"ideal", []string{"a", "b", "c"}, 1, 1},
		{"nothing found", nil, 0, 0},
		{"swapped", []string{"b", "a"}, (1 + 2/math.Log2(3)) / (2 + 1/math.Log2(3)), 1},
		{"half", []string{"x", "a"}, (2 / math.Log2(3)) / (2 + 1/math.Log2(3)), 0.5},
	}
	for _, c := range cases {
		if got := ndcg(c.ranking, judged); math.Abs(got-c.ndcg) > 1e-12 {
			t.Errorf("%s: nDCG %v, want %v", c.name, got, c.ndcg)
		}
		if got := recall(c.ranking, judged); math.Abs(got-c.recall) > 1e-12 {
			t.Errorf("%s: recall %v, want %v", c.name, got, c.recall)
		}
	}
}
