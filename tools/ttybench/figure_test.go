//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	samples := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 50: 3, 95: 5, 100: 5} {
		if got := percentile(samples, p); got != want {
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
		limits  []limit
		want    string
	}{
		{[]float64{1, 2, 30}, []limit{p50(2)}, "✓"},
		{[]float64{1, 2, 30}, []limit{p50(2), p95(10)}, "✗"},
		{[]float64{0, 0, 1}, []limit{all(0)}, "✗"},
		{[]float64{1, 1, 0}, []limit{every(1)}, "✗"},
		{[]float64{1, 1}, []limit{every(1)}, "✓"},
		{[]float64{1}, nil, ""},
		{nil, []limit{p50(2)}, ""},
	} {
		if got := (figure{samples: test.samples, limits: test.limits}).verdict(); got != test.want {
			t.Errorf("%v within %v: %q, want %q", test.samples, test.limits, got, test.want)
		}
	}
}

func TestTableHasTheBudgetBesideTheFigure(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	held, err := print(&out, "start", []figure{{"first paint", "ms", []float64{38.04}, []limit{p50(40)}}, {"idle", "B/s", nil, nil}})
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for _, want := range []string{"first paint", "38.0", "p50 ≤ 40", "✓"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range scenarios() {
		if seen[s.name] || s.name == "all" || s.name == "list" || strings.Contains(s.name, ",") {
			t.Errorf("the name %q", s.name)
		}
		seen[s.name] = true
	}
	b := &bench{}
	chosen, err := b.choose("all")
	if err != nil || len(chosen) == 0 || len(chosen) == len(scenarios()) {
		t.Errorf("without a library: %d of %d, %v", len(chosen), len(scenarios()), err)
	}
	for _, names := range []string{"nothing", "start,", "library-start"} {
		if _, err := b.choose(names); err == nil {
			t.Errorf("%q was taken", names)
		}
	}
}
