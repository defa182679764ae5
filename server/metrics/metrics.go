// Package metrics counts what a server does, and writes the counts in the text format that Prometheus reads. No name or
// label takes more memory than it was given: what is counted under too many labels is counted together.
package metrics

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is the media type of what Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// maxSeries bounds the combinations of label values of one metric. Further ones are counted under the value Other.
const maxSeries = 250

// Other is the value of every label of what is counted together.
const Other = "other"

// Registry holds metrics. Its zero value is empty. It is safe for concurrent use.
type Registry struct {
	mutex   sync.Mutex
	metrics []metric
}

type metric interface{ write(w *bufio.Writer) }

func (r *Registry) add(m metric) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.metrics = append(r.metrics, m)
}

// Write writes all metrics, in the order in which they were made.
func (r *Registry) Write(w io.Writer) error {
	r.mutex.Lock()
	metrics := slices.Clone(r.metrics)
	r.mutex.Unlock()
	buffered := bufio.NewWriter(w)
	for _, m := range metrics {
		m.write(buffered)
	}
	return buffered.Flush()
}

// family is what the metrics of one name have in common: their labels, and a series for each combination of values.
type family[T any] struct {
	name, help string
	labels     []string

	mutex  sync.Mutex
	series map[string]*T // by the labels as they are written
}

func newFamily[T any](name, help string, labels []string) family[T] {
	return family[T]{name: name, help: help, labels: labels, series: map[string]*T{}}
}

// find returns the series of some values, which begins as fresh makes it. The caller holds the mutex.
func (f *family[T]) find(values []string, fresh func() *T) *T {
	key := f.key(values)
	if known, ok := f.series[key]; ok {
		return known
	}
	if len(f.series) >= maxSeries-1 {
		together := make([]string, len(f.labels))
		for i := range together {
			together[i] = Other
		}
		key = f.key(together)
		if known, ok := f.series[key]; ok {
			return known
		}
	}
	s := fresh()
	f.series[key] = s
	return s
}

// key writes labels with their values: `a="b",c="d"`. Values that are missing are empty.
func (f *family[T]) key(values []string) string {
	var text strings.Builder
	for i, label := range f.labels {
		if i > 0 {
			text.WriteByte(',')
		}
		value := ""
		if i < len(values) {
			value = values[i]
		}
		text.WriteString(label + `="` + escaped(value) + `"`)
	}
	return text.String()
}

// escaped makes a label's value safe within quotes.
func escaped(value string) string {
	value = strings.ToValidUTF8(value, "\uFFFD")
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}

func (f *family[T]) head(w *bufio.Writer, kind string) {
	help := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.help)
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.name, help, f.name, kind)
}

// each visits the series in the order of their labels. The caller holds the mutex.
func (f *family[T]) each(visit func(key string, series *T)) {
	keys := make([]string, 0, len(f.series))
	for key := range f.series {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		visit(key, f.series[key])
	}
}

func sample(w *bufio.Writer, name, labels string, value float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(w, "%s%s %s\n", name, labels, number(value))
}

func number(value float64) string {
	if math.IsInf(value, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// Counter is a sum that only grows.
type Counter struct{ family[float64] }

// Counter makes a counter. Without labels it begins to show at 0, with labels at the first Add of each.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	c := &Counter{newFamily[float64](name, help, labels)}
	if len(labels) == 0 {
		c.Add(0)
	}
	r.add(c)
	return c
}

// Add adds n, which is not negative, for the values of the labels.
func (c *Counter) Add(n float64, values ...string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	*c.find(values, func() *float64 { return new(float64) }) += n
}

func (c *Counter) write(w *bufio.Writer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.head(w, "counter")
	c.each(func(key string, value *float64) { sample(w, c.name, key, *value) })
}

// Histogram counts values by size.
type Histogram struct {
	family[distribution]
	bounds []float64
}

// distribution is one series of a histogram.
type distribution struct {
	counts []uint64 // of the values up to each bound and above the one before; the last: above all
	sum    float64
}

// Histogram makes a histogram with ascending bounds.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	h := &Histogram{newFamily[distribution](name, help, labels), bounds}
	r.add(h)
	return h
}

// Observe counts one value.
func (h *Histogram) Observe(value float64, values ...string) {
	at, _ := slices.BinarySearch(h.bounds, value)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	d := h.find(values, func() *distribution { return &distribution{counts: make([]uint64, len(h.bounds)+1)} })
	d.counts[at]++
	d.sum += value
}

func (h *Histogram) write(w *bufio.Writer) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.head(w, "histogram")
	h.each(func(key string, d *distribution) {
		labels, all := key, uint64(0)
		if labels != "" {
			labels += ","
		}
		for i, count := range d.counts {
			bound := math.Inf(1)
			if i < len(h.bounds) {
				bound = h.bounds[i]
			}
			all += count
			sample(w, h.name+"_bucket", labels+`le="`+number(bound)+`"`, float64(all))
		}
		sample(w, h.name+"_sum", key, d.sum)
		sample(w, h.name+"_count", key, float64(all))
	})
}

// gauge is read when it is written.
type gauge struct {
	family[float64]
	read func() float64
}

// Gauge makes a metric that is read whenever metrics are written.
func (r *Registry) Gauge(name, help string, read func() float64) {
	r.add(&gauge{newFamily[float64](name, help, nil), read})
}

func (g *gauge) write(w *bufio.Writer) {
	g.head(w, "gauge")
	sample(w, g.name, "", g.read())
}
