package metrics

import (
	"bufio"
	"log/slog"
	"math"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func text(t *testing.T, registries ...*Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	Serve(answer, httptest.NewRequest("GET", "/metrics", nil), slog.New(slog.DiscardHandler), registries...)
	if kind := answer.Header().Get("Content-Type"); answer.Code != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4;") {
		t.Fatalf("HTTP %d %s", answer.Code, kind)
	}
	return answer.Body.String()
}

func TestWhatIsCounted(t *testing.T) {
	r := Empty()
	r.Counter("a_plain_total", "Counts from nothing.")
	requests := r.Counter("b_requests_total", "Of a\nline.", "code", "route")
	requests.Add(1, "200", "/search")
	requests.Add(2, "200", "/search")
	requests.Add(1, "403", "/me")
	requests.Add(1, "\xff", "quote \" slash \\ line\nend")
	requests.Add(1, "\xfe", "quote \" slash \\ line\nend")
	requests.Add(1, "short")
	seconds := r.Histogram("c_seconds", "How long.", []float64{0.1, 1}, "stage")
	for _, value := range []float64{0.05, 0.1, 0.5, 7} {
		seconds.Observe(value, "fuse")
	}
	r.Histogram("d_bare", "Without labels.", []float64{1}).Observe(2)
	r.Gauge("e_alive", "Now.", func() float64 { return 12345678 })
	want := `# HELP a_plain_total Counts from nothing.
# TYPE a_plain_total counter
a_plain_total 0
# HELP b_requests_total Of a\nline.
# TYPE b_requests_total counter
b_requests_total{code="200",route="/search"} 3
b_requests_total{code="403",route="/me"} 1
b_requests_total{code="short",route=""} 1
b_requests_total{code="` + "\uFFFD" + `",route="quote \" slash \\ line\nend"} 2
# HELP c_seconds How long.
# TYPE c_seconds histogram
c_seconds_bucket{stage="fuse",le="0.1"} 2
c_seconds_bucket{stage="fuse",le="1"} 3
c_seconds_bucket{stage="fuse",le="+Inf"} 4
c_seconds_sum{stage="fuse"} 7.65
c_seconds_count{stage="fuse"} 4
# HELP d_bare Without labels.
# TYPE d_bare histogram
d_bare_bucket{le="1"} 0
d_bare_bucket{le="+Inf"} 1
d_bare_sum 2
d_bare_count 1
# HELP e_alive Now.
# TYPE e_alive gauge
e_alive 1.2345678e+07
`
	if got := text(t, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProcessIsTold(t *testing.T) {
	got := text(t, New())
	for _, want := range []string{"\ngo_goroutines ", "\ngo_memstats_heap_inuse_bytes ", "\nprocess_cpu_seconds_total "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestSeriesAreBounded(t *testing.T) {
	r := Empty()
	c, h := r.Counter("c_total", "x", "who", "what"), r.Histogram("h", "x", []float64{1}, "who")
	for i := range 10_000 {
		c.Add(1, strconv.Itoa(i), "\xff"+strconv.Itoa(i))
		h.Observe(1, strconv.Itoa(i))
	}
	for _, metric := range []string{"c_total{", "h_count{"} {
		if n := strings.Count(text(t, r), "\n"+metric); n != maxSeries {
			t.Errorf("%s has %d series", metric, n)
		}
	}
	want := `c_total{what="other",who="other"} ` + strconv.Itoa(10_000-(maxSeries-1)) + "\n"
	if got := text(t, r); !strings.Contains(got, want) {
		t.Errorf("what is too much is not counted together: no %s", want)
	}
	h.Observe(1, "0")
	if got := text(t, r); !strings.Contains(got, "h_count{who=\"0\"} 2\n") {
		t.Error("a known label is counted apart no more")
	}
}

func TestConcurrentCountsAreExact(t *testing.T) {
	r := Empty()
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

func TestRegistriesAreToldTogether(t *testing.T) {
	a, b, broken := Empty(), Empty(), Empty()
	a.Gauge("a", "x", func() float64 { return 1 })
	b.Gauge("b", "x", func() float64 { return 2 })
	broken.Gauge("a", "not x", func() float64 { return 3 })
	if got := text(t, a, broken, b); !strings.Contains(got, "\na 1\n") || !strings.Contains(got, "\nb 2\n") {
		t.Error(got)
	}
}

// FuzzLabels: whatever a label holds, each line of the text is a comment or one sample.
func FuzzLabels(f *testing.F) {
	f.Add("a", "b")
	f.Add("\n# TYPE x counter\n", `"} 7`)
	f.Add("\\", "\x00\xff")
	line := regexp.MustCompile(`^(# (HELP|TYPE) .*|[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? [-+0-9.eIinfNa]+)$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		r := Empty()
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
