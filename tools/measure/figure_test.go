package measure

import (
	"strings"
	"testing"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	samples := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 50: 3, 95: 5, 100: 5} {
		if got := Percentile(samples, p); got != want {
			t.Errorf("p%.0f is %v, want %v", p, got, want)
		}
	}
	if samples[0] != 5 {
		t.Error("the samples were sorted in place")
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		samples []float64
		limits  []Limit
		want    string
	}{
		{[]float64{1, 2, 30}, []Limit{P50(2)}, "✓"},
		{[]float64{1, 2, 30}, []Limit{P50(2), P95(10)}, "✗"},
		{[]float64{0, 0, 1}, []Limit{Most(0)}, "✗"},
		{[]float64{1, 1, 0}, []Limit{Least(1)}, "✗"},
		{[]float64{1, 1}, []Limit{Least(1)}, "✓"},
		{[]float64{1}, nil, ""},
		{nil, []Limit{P50(2)}, ""},
	} {
		if got := (Figure{Samples: test.samples, Limits: test.limits}).Verdict(); got != test.want {
			t.Errorf("%v within %v: %q, want %q", test.samples, test.limits, got, test.want)
		}
	}
}

func TestTableHasTheBudgetBesideTheFigure(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	held, err := Print(&out, "start", []Figure{One("first paint", "ms", 38.04, P50(40)), New("idle", "B/s", nil)})
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for _, want := range []string{"first paint", "38.0", "p50 ≤ 40", "✓"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
