//go:build unix

package main

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

// figure is one line of the result: samples of one measure, and what they may be.
type figure struct {
	what    string
	unit    string // ms, B, B/s, MB, ms/s, ×, %
	samples []float64
	limits  []limit
}

// limit is one budget of a figure.
type limit struct {
	percentile float64 // 50 or 95; 100 for every sample
	most       float64
	least      bool // the figure must not be below it, instead of above
}

func p50(most float64) limit    { return limit{percentile: 50, most: most} }
func p95(most float64) limit    { return limit{percentile: 95, most: most} }
func all(most float64) limit    { return limit{percentile: 100, most: most} }
func every(least float64) limit { return limit{percentile: 0, most: least, least: true} }
func (f figure) missing() bool  { return len(f.samples) == 0 }
func (l limit) holds(v float64) bool {
	if l.least {
		return v >= l.most
	}
	return v <= l.most
}

func (l limit) String() string {
	switch {
	case l.least:
		return fmt.Sprintf("≥ %s", number(l.most))
	case l.percentile == 100:
		return fmt.Sprintf("≤ %s", number(l.most))
	}
	return fmt.Sprintf("p%.0f ≤ %s", l.percentile, number(l.most))
}

// percentile of sorted or unsorted samples, by the nearest rank.
func percentile(samples []float64, p float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(0, rank-1)]
}

// verdict is ✓ or ✗ for a figure with a budget, and nothing for one that is only told.
func (f figure) verdict() string {
	if len(f.limits) == 0 || f.missing() {
		return ""
	}
	for _, l := range f.limits {
		if !l.holds(percentile(f.samples, l.percentile)) {
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

// print writes the figures of a scenario as a table, and tells whether all budgets hold.
func print(out io.Writer, title string, figures []figure) (held bool, err error) {
	fmt.Fprintf(out, "\n%s\n", title)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tn\tp50\tp95\tmost\t\tbudget\t")
	held = true
	for _, f := range figures {
		var budget []string
		for _, l := range f.limits {
			budget = append(budget, l.String())
		}
		verdict := f.verdict()
		held = held && verdict != "✗"
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", f.what, len(f.samples),
			number(percentile(f.samples, 50)), number(percentile(f.samples, 95)), number(percentile(f.samples, 100)),
			f.unit, cmp.Or(strings.Join(budget, ", "), "-"), verdict)
	}
	return held, table.Flush()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// collect makes samples of strokes.
func collect(strokes []stroke, value func(stroke) float64) []float64 {
	samples := make([]float64, 0, len(strokes))
	for _, s := range strokes {
		samples = append(samples, value(s))
	}
	return samples
}

func firstByte(s stroke) float64 { return milliseconds(s.first) }
func lastByte(s stroke) float64  { return milliseconds(s.last) }
func byteCount(s stroke) float64 { return float64(s.bytes) }
