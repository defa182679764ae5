package picker

import (
	"slices"
	"testing"
	"time"

	"quarry/client/wire"
)

// Documents at known moments are the oracle: what the months tell about a span must hold for them.
func TestMonthsNeverTellWhatIsNotSo(t *testing.T) {
	t.Parallel()
	now := clock()
	for seed := range uint64(300) {
		r := random(seed)
		var documents []time.Time
		counts := map[string]int{}
		for range 1 + r.IntN(80) {
			at := now.Add(-time.Duration(r.IntN(1200*24)) * time.Hour)
			documents = append(documents, at)
			counts[at.Format("2006-01")]++
		}
		facets := wire.Facets{Undated: r.IntN(3)}
		for month, count := range counts {
			facets.Months = append(facets.Months, wire.FacetMonth{Month: month, Count: count})
		}
		slices.SortFunc(facets.Months, func(a, b wire.FacetMonth) int { return -1 })
		read := monthsOf(facets)
		if read.total() != len(documents)+facets.Undated {
			t.Fatalf("seed %d: %d in all, want %d", seed, read.total(), len(documents)+facets.Undated)
		}
		for _, s := range []span{
			{}, {within: "30d"}, {within: "1y"}, {within: "7d"},
			{since: now.AddDate(0, 0, -r.IntN(900))}, {until: now.AddDate(0, 0, -r.IntN(900))},
			days(dayOf(now.AddDate(0, 0, -900+r.IntN(400))), dayOf(now.AddDate(0, 0, -r.IntN(500)))),
		} {
			since, until := s.bounds(now)
			actual := 0
			for _, at := range documents {
				if !at.Before(since) && (until.IsZero() || !at.After(until)) {
					actual++
				}
			}
			if s.any() || until.IsZero() && now.Sub(since) > 90*24*time.Hour { // as Onyx does
				actual += facets.Undated
			}
			if least, most := read.inside(s, now); actual < least || actual > most {
				t.Fatalf("seed %d: %v holds %d, told were %d to %d", seed, s, actual, least, most)
			}
		}
	}
}

func TestUndatedDocumentsAreInLongSpansWithoutAnEnd(t *testing.T) {
	t.Parallel()
	facets := facetsOf(nil, "2020-03=5")
	facets.Undated = 3
	read := monthsOf(facets)
	for text, want := range map[string]int{"30d": 0, "1y": 3, "2019-01..2021-01": 5, "..2021-01": 5} {
		s := readDates(text, clock()).span
		if least, most := read.inside(s, clock()); least != want || most != want {
			t.Errorf("%s: %d to %d, want %d", text, least, most, want)
		}
	}
}

func TestWholeMonthsAreCountedExactly(t *testing.T) {
	t.Parallel()
	read := monthsOf(facetsOf(nil, "2026-03=5", "2026-05=20", "2026-06=1", "2026-06=2", "nonsense=9", "2026-13=4", "0000-05=3", "2026-07=-3"))
	if least, most := read.inside(readDates("2026-05..2026-06", clock()).span, clock()); least != 23 || most != 23 {
		t.Errorf("%d to %d, want 23", least, most)
	}
	if least, most := read.inside(readDates("2026-05-02..2026-06", clock()).span, clock()); least != 3 || most != 23 {
		t.Errorf("%d to %d, want 3 to 23", least, most)
	}
	if len(read.counts) != 3 {
		t.Errorf("%v", read.counts)
	}
}

func TestChartsHoldEveryMonthOnceAndFit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(600) {
		r := random(seed)
		var read months
		month := 12 + r.IntN(12*9000)
		for range 1 + r.IntN(40) {
			read.counts = append(read.counts, monthCount{month, 1 + r.IntN(50)})
			month = min(month+1+r.IntN([...]int{2, 20, 900}[r.IntN(3)]), 9999*12+11)
			if month == 9999*12+11 {
				break
			}
		}
		columns := 1 + r.IntN(200)
		c := read.chart(columns)
		if len(c.bars) > columns {
			t.Fatalf("seed %d: %d bars in %d columns", seed, len(c.bars), columns)
		}
		sum := 0
		for i, count := range c.bars {
			sum += count
			if least, most := read.inside(c.span(i, i), clock()); least != count || most != count {
				t.Fatalf("seed %d: bar %d is %d, its span %v holds %d to %d", seed, i, count, c.span(i, i), least, most)
			}
			next := c.span(i, i).until.Add(time.Microsecond)
			if i+1 < len(c.bars) && !c.span(i+1, i+1).since.Equal(next) {
				t.Fatalf("seed %d: between bars %d and %d time is lost", seed, i, i+1)
			}
		}
		if sum != read.total() {
			t.Fatalf("seed %d: the bars hold %d of %d", seed, sum, read.total())
		}
		if c.unit > 1 {
			if finer := (read.counts[len(read.counts)-1].month - read.counts[0].month) + 1; finer <= columns {
				t.Fatalf("seed %d: %d months fit into %d columns, drawn are units of %d", seed, finer, columns, c.unit)
			}
		}
	}
}
