// Package metrics has the server's Prometheus metrics, with a bound on the number of label values.
package metrics

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// maxSeries bounds the combinations of label values of one metric. Further ones are counted under the value Other.
	maxSeries = 250
	maxLabels = 3 // of one metric
)

// Other is the value of every label of what is counted together.
const Other = "other"

// Registry has the metrics of one server. It is safe for concurrent use. Creating two metrics of the same name panics.
type Registry struct{ *prometheus.Registry }

// New returns a registry with metrics of the process (memory, CPU time, open files) and the Go runtime.
func New() *Registry {
	r := Empty()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	return r
}

// Empty returns a registry without metrics.
func Empty() *Registry { return &Registry{prometheus.NewRegistry()} }

// Serve answers with the metrics of the registries, in the format that the request asks for. Metrics that
// cannot be read are logged and left out.
func Serve(w http.ResponseWriter, request *http.Request, log *slog.Logger, registries ...*Registry) {
	var all prometheus.Gatherers
	for _, r := range registries {
		all = append(all, r)
	}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	}).ServeHTTP(w, request)
}

// Counter is a sum that only grows.
type Counter struct {
	vector *prometheus.CounterVec
	series series
}

// Counter creates a counter with at most three labels. With labels, a series is served after its first Add.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	c := &Counter{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels), newSeries(labels)}
	r.MustRegister(c.vector)
	if len(labels) == 0 {
		c.Add(0)
	}
	return c
}

// Add adds n, which must not be negative, to the series of label values. Missing values are empty.
func (c *Counter) Add(n float64, values ...string) {
	c.vector.WithLabelValues(c.series.of(values)...).Add(n)
}

// Histogram counts values by size.
type Histogram struct {
	vector *prometheus.HistogramVec
	series series
}

// Histogram creates a histogram with ascending bounds and at most three labels.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	h := &Histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds},
		labels),
		newSeries(labels)}
	r.MustRegister(h.vector)
	return h
}

// Observe counts one value.
func (h *Histogram) Observe(value float64, values ...string) {
	h.vector.WithLabelValues(h.series.of(values)...).Observe(value)
}

// Gauge creates a metric whose value is read on every request.
func (r *Registry) Gauge(name, help string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// series has the label values of the series of one metric, up to maxSeries.
type series struct {
	labels int
	mutex  sync.Mutex
	known  map[values]bool
}

type values [maxLabels]string

func newSeries(labels []string) series {
	if len(labels) > maxLabels {
		panic("a metric has at most three labels")
	}
	return series{labels: len(labels), known: map[values]bool{}}
}

// of returns the label values under which labels are counted.
func (s *series) of(labels []string) []string {
	var at values
	for i, label := range labels[:min(len(labels), s.labels)] {
		at[i] = strings.ToValidUTF8(label, "\uFFFD")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.known[at]:
	case len(s.known) >= maxSeries-1:
		at = values{Other, Other, Other}
	default:
		for i := range at {
			at[i] = strings.Clone(at[i]) // a substring would keep a large text in memory
		}
		s.known[at] = true
	}
	return at[:s.labels]
}
