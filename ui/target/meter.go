package target

import (
	"sync/atomic"
	"time"

	"quarry/server/metrics"
)

// VisitMeter counts visitors over SSH, among the metrics of the library that they visit.
type VisitMeter struct {
	now     atomic.Int64
	began   *metrics.Counter
	took    *metrics.Histogram
	refused *metrics.Counter
}

// VisitMeter makes the meter of what is served; nil for a server elsewhere, whose metrics are its own. Call it once.
func (s *Served) VisitMeter() *VisitMeter {
	if s.library == nil {
		return nil
	}
	registry := s.library.Metrics()
	m := &VisitMeter{
		began: registry.Counter("quarry_ssh_sessions_total", "Sessions over SSH that began.", "kind"),
		took: registry.Histogram("quarry_ssh_session_seconds", "How long sessions over SSH took.",
			[]float64{.1, 1, 10, 60, 600, 3600, 6 * 3600}, "kind"),
		refused: registry.Counter("quarry_ssh_refused_total", "Visitors over SSH who were turned away.", "reason"),
	}
	registry.Gauge("quarry_ssh_sessions", "Sessions over SSH that are open.", func() float64 { return float64(m.now.Load()) })
	return m
}

// SessionBegan counts a session that is open until SessionEnded.
func (m *VisitMeter) SessionBegan(kind string) {
	m.now.Add(1)
	m.began.Add(1, kind)
}

// SessionEnded tells how long one took.
func (m *VisitMeter) SessionEnded(kind string, took time.Duration) {
	m.now.Add(-1)
	m.took.Observe(took.Seconds(), kind)
}

// Refused counts who was turned away, by the reason.
func (m *VisitMeter) Refused(reason string) { m.refused.Add(1, reason) }
