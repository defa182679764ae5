package quality

import (
	"math"
	"slices"
	"testing"

	"quarry/internal/text"
)

func TestMetrics(t *testing.T) {
	judged := grades{"a": 2, "b": 1, "c": 0}
	cases := []struct {
		name         string
		ranking      []string
		ndcg, recall float64
		first, two   float64
	}{
		{"ideal", []string{"a", "b", "c"}, 1, 1, 1, 1},
		{"nothing found", nil, 0, 0, 0, 0},
		{"swapped", []string{"b", "a"}, (1 + 2/math.Log2(3)) / (2 + 1/math.Log2(3)), 1, 1, 1},
		{"half", []string{"x", "a"}, (2 / math.Log2(3)) / (2 + 1/math.Log2(3)), 0.5, 0, 1},
		{"not relevant", []string{"c", "x", "a"}, 1 / (2 + 1/math.Log2(3)), 0.5, 0, 0},
	}
	for _, c := range cases {
		if got := ndcg(c.ranking, judged); math.Abs(got-c.ndcg) > 1e-12 {
			t.Errorf("%s: nDCG %v, want %v", c.name, got, c.ndcg)
		}
		if got := recall(c.ranking, judged); math.Abs(got-c.recall) > 1e-12 {
			t.Errorf("%s: recall %v, want %v", c.name, got, c.recall)
		}
		if first, two := success(c.ranking, judged, 1), success(c.ranking, judged, 2); first != c.first || two != c.two {
			t.Errorf("%s: success %v and %v, want %v and %v", c.name, first, two, c.first, c.two)
		}
	}
}

func TestMisspell(t *testing.T) {
	queries := []Line{{Text: "how long is parental leave"}, {Text: "PROJ-123"}}
	misspelt := misspell(queries, 1)
	if misspelt[0].Text == queries[0].Text || misspelt[1].Text != queries[1].Text {
		t.Errorf("%+v", misspelt)
	}
	if n := text.EditDistance(queries[0].Text, misspelt[0].Text); n != 1 {
		t.Errorf("%q is %d typos away from %q", misspelt[0].Text, n, queries[0].Text)
	}
	if again := misspell(queries, 1); !slices.Equal(again, misspelt) {
		t.Errorf("%+v after %+v", again, misspelt)
	}
}
