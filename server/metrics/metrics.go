// Package metrics counts what a server does, for Prometheus to read. No label takes more memory than it was given: what
// is counted under too many labels is counted together.
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

// Registry holds the metrics of one server. It is the server's own: two in one process, as in tests, do not mix, and no
// library adds to it unasked. It is safe for concurrent use; what is made twice under one name panics.
type Registry struct{ *prometheus.Registry }

// New makes a registry that tells of the process (memory, CPU time, open files) and of the Go runtime.
func New() *Registry {
	r := Empty()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	return r
}

// Empty makes a registry of nothing.
func Empty() *Registry { return &Registry{prometheus.NewRegistry()} }

// Serve answers with the metrics of the registries, in the format that the request asks for. What cannot be read is
// logged; the others are answered all the same.
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

// Counter makes a counter of at most three labels. Without labels it begins to show at 0, with labels at the first Add
// of each.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(vector)
	c := &Counter{newSeries(labels, vector.WithLabelValues)}
	if len(labels) == 0 {
		c.Add(0)
	}
	return c
}

// Add adds n, which is not negative, for the values of the labels. Values that are missing are empty.
func (c *Counter) Add(n float64, values ...string) { c.series.of(values).Add(n) }

// Histogram counts values by size.
type Histogram struct{ series *series[prometheus.Observer] }

// Histogram makes a histogram with ascending bounds and at most three labels.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	vector := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	r.MustRegister(vector)
	return &Histogram{newSeries(labels, vector.WithLabelValues)}
}

// Observe counts one value.
func (h *Histogram) Observe(value float64, values ...string) { h.series.of(values).Observe(value) }

// Gauge makes a metric that is read whenever metrics are.
func (r *Registry) Gauge(name, help string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// series are those of one metric: one for each combination of label values, as long as they are not too many.
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
		at[i] = strings.Clone(strings.ToValidUTF8(at[i], "\uFFFD")) // it may be a part of a large text
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
