// Package measure is what the measuring tools share: figures beside their budgets, and what the system tells of a process.
package measure

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is one line of a result: samples of one measure, and what they may be.
type Figure struct {
	What    string
	Unit    string // ms, B, B/s, MB, ms/s, ×, %
	Samples []float64
	Limits  []Limit
}

// New makes a figure. Without limits it is only told.
func New(what, unit string, samples []float64, limits ...Limit) Figure {
	return Figure{What: what, Unit: unit, Samples: samples, Limits: limits}
}

// One makes a figure of a single sample.
func One(what, unit string, sample float64, limits ...Limit) Figure {
	return New(what, unit, []float64{sample}, limits...)
}

// Limit is one budget of a figure.
type Limit struct {
	percentile float64 // 50 or 95; 100 for every sample
	most       float64
	least      bool // the figure must not be below it, instead of above
}

// P50 bounds the median.
func P50(most float64) Limit { return Limit{percentile: 50, most: most} }

// P95 bounds the nineteen samples in twenty that are the least.
func P95(most float64) Limit { return Limit{percentile: 95, most: most} }

// Most bounds every sample.
func Most(most float64) Limit { return Limit{percentile: 100, most: most} }

// Least is what no sample may be below.
func Least(least float64) Limit { return Limit{percentile: 0, most: least, least: true} }

func (f Figure) missing() bool { return len(f.Samples) == 0 }

func (l Limit) holds(v float64) bool {
	if l.least {
		return v >= l.most
	}
	return v <= l.most
}

// String is the budget as a table shows it.
func (l Limit) String() string {
	switch {
	case l.least:
		return fmt.Sprintf("≥ %s", number(l.most))
	case l.percentile == 100:
		return fmt.Sprintf("≤ %s", number(l.most))
	}
	return fmt.Sprintf("p%.0f ≤ %s", l.percentile, number(l.most))
}

// Percentile of sorted or unsorted samples, by the nearest rank.
func Percentile(samples []float64, p float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(0, rank-1)]
}

// Verdict is ✓ or ✗ for a figure with a budget, and nothing for one that is only told.
func (f Figure) Verdict() string {
	if len(f.Limits) == 0 || f.missing() {
		return ""
	}
	for _, l := range f.Limits {
		if !l.holds(Percentile(f.Samples, l.percentile)) {
			return "✗"
		}
	}
	return "✓"
}

// number is short: three digits that mean something.
func number(v float64) string {
	switch magnitude := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case magnitude >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case magnitude >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Print writes figures as a table, and tells whether all budgets hold.
func Print(out io.Writer, title string, figures []Figure) (held bool, err error) {
	fmt.Fprintf(out, "\n%s\n", title)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tn\tp50\tp95\tmost\t\tbudget\t")
	held = true
	for _, f := range figures {
		var budget []string
		for _, l := range f.Limits {
			budget = append(budget, l.String())
		}
		verdict := f.Verdict()
		held = held && verdict != "✗"
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", f.What, len(f.Samples),
			number(Percentile(f.Samples, 50)), number(Percentile(f.Samples, 95)), number(Percentile(f.Samples, 100)),
			f.Unit, cmp.Or(strings.Join(budget, ", "), "-"), verdict)
	}
	return held, table.Flush()
}

// Milliseconds of a duration.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
