package metrics

import (
	"bufio"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func text(t *testing.T, r *Registry) string {
	t.Helper()
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextFormat(t *testing.T) {
	r := new(Registry)
	r.Counter("plain_total", "Counts from nothing.")
	requests := r.Counter("requests_total", `Of a \ and a`+"\nline.", "route", "code")
	requests.Add(1, "/search", "200")
	requests.Add(2, "/search", "200")
	requests.Add(1, "/me", "403")
	requests.Add(1, "quote \" slash \\ line\nend", "\xff")
	requests.Add(1, "short")
	seconds := r.Histogram("seconds", "How long.", []float64{0.1, 1}, "stage")
	for _, value := range []float64{0.05, 0.1, 0.5, 7} {
		seconds.Observe(value, "fuse")
	}
	bare := r.Histogram("bare", "Without labels.", []float64{1})
	bare.Observe(2)
	r.Gauge("alive", "Now.", func() float64 { return 12345678 })
	want := `# HELP plain_total Counts from nothing.
# TYPE plain_total counter
plain_total 0
# HELP requests_total Of a \\ and a\nline.
# TYPE requests_total counter
requests_total{route="/me",code="403"} 1
requests_total{route="/search",code="200"} 3
requests_total{route="quote \" slash \\ line\nend",code="` + "\uFFFD" + `"} 1
requests_total{route="short",code=""} 1
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{stage="fuse",le="0.1"} 2
seconds_bucket{stage="fuse",le="1"} 3
seconds_bucket{stage="fuse",le="+Inf"} 4
seconds_sum{stage="fuse"} 7.65
seconds_count{stage="fuse"} 4
# HELP bare Without labels.
# TYPE bare histogram
bare_bucket{le="1"} 0
bare_bucket{le="+Inf"} 1
bare_sum 2
bare_count 1
# HELP alive Now.
# TYPE alive gauge
alive 1.2345678e+07
`
	if got := text(t, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSeriesAreBounded(t *testing.T) {
	r := new(Registry)
	c, h := r.Counter("c_total", "x", "who"), r.Histogram("h", "x", []float64{1}, "who")
	for i := range 10_000 {
		c.Add(1, strconv.Itoa(i))
		h.Observe(1, strconv.Itoa(i))
	}
	if len(c.series) != maxSeries || len(h.series) != maxSeries {
		t.Errorf("%d and %d series", len(c.series), len(h.series))
	}
	got := text(t, r)
	if !strings.Contains(got, fmt.Sprintf("c_total{who=\"other\"} %d\n", 10_000-(maxSeries-1))) {
		t.Errorf("what is too much is not counted together")
	}
	before := got
	c.Add(1, "0")
	if got := text(t, r); got == before || !strings.Contains(got, "c_total{who=\"0\"} 2\n") {
		t.Error("a known label is counted apart no more")
	}
}

func TestConcurrentCountsAreExact(t *testing.T) {
	r := new(Registry)
	c, h := r.Counter("c_total", "x", "who"), r.Histogram("h", "x", []float64{1})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 1000 {
				c.Add(1, strconv.Itoa(i%2))
				h.Observe(0.5)
				if i == 0 {
					text(t, r)
				}
			}
		})
	}
	group.Wait()
	got := text(t, r)
	for _, want := range []string{`c_total{who="0"} 4000`, `c_total{who="1"} 4000`, "h_count 8000", "h_sum 4000"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// FuzzLabels: whatever a label holds, each line of the text is a comment or one sample.
func FuzzLabels(f *testing.F) {
	f.Add("a", "b")
	f.Add("\n# TYPE x counter\n", `"} 7`)
	f.Add("\\", "\x00\xff")
	line := regexp.MustCompile(`^(# (HELP|TYPE) .*|[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? [-+0-9.eIinfNa]+)$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		r := new(Registry)
		r.Counter("c_total", "x", "a", "b").Add(1, a, b)
		r.Histogram("h", "x", []float64{0.5, math.Pi}, "a").Observe(1, b)
		scanner := bufio.NewScanner(strings.NewReader(text(t, r)))
		scanner.Buffer(nil, 1<<24)
		n := 0
		for scanner.Scan() {
			n++
			if !line.MatchString(scanner.Text()) {
				t.Fatalf("line %q", scanner.Text())
			}
		}
		if n != 2+1+2+5 {
			t.Errorf("%d lines", n)
		}
	})
}
