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
type Counter struct{ series *series[prometheus.Counter] }

// Counter creates a counter with at most three labels. With labels, a series is served after its first Add.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(vector)
	c := &Counter{newSeries(labels, vector.WithLabelValues)}
	if len(labels) == 0 {
		c.Add(0)
	}
	return c
}

// Add adds n, which must not be negative, to the series of label values. Missing values are empty.
func (c *Counter) Add(n float64, values ...string) { c.series.of(values).Add(n) }

// Histogram counts values by size.
type Histogram struct{ series *series[prometheus.Observer] }

// Histogram creates a histogram with ascending bounds and at most three labels.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	vector := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	r.MustRegister(vector)
	return &Histogram{newSeries(labels, vector.WithLabelValues)}
}

// Observe counts one value.
func (h *Histogram) Observe(value float64, values ...string) { h.series.of(values).Observe(value) }

// Gauge creates a metric whose value is read on every request.
func (r *Registry) Gauge(name, help string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// series has the series of one metric by label values, up to maxSeries.
type series[T any] struct {
	labels int
	fresh  func(values ...string) T

	mutex sync.RWMutex
	known map[values]T
}

type values [maxLabels]string

func newSeries[T any](labels []string, fresh func(values ...string) T) *series[T] {
	if len(labels) > maxLabels {
		panic("a metric has at most three labels")
	}
	return &series[T]{labels: len(labels), fresh: fresh, known: map[values]T{}}
}

func (s *series[T]) of(labels []string) T {
	var at values
	copy(at[:s.labels], labels)
	s.mutex.RLock()
	known, ok := s.known[at]
	s.mutex.RUnlock()
	if ok {
		return known
	}
	return s.add(at)
}

func (s *series[T]) add(at values) T {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i := range s.labels {
		at[i] = strings.Clone(strings.ToValidUTF8(at[i], "\uFFFD")) // a substring would keep a large text in memory
	}
	if known, ok := s.known[at]; ok {
		return known
	}
	if len(s.known) >= maxSeries-1 {
		for i := range s.labels {
			at[i] = Other
		}
	}
	if known, ok := s.known[at]; ok {
		return known
	}
	made := s.fresh(at[:s.labels]...)
	s.known[at] = made
	return made
}
