package target

import (
	"sync/atomic"
	"time"

	"quarry/server/metrics"
)

// VisitMeter adds SSH visitors to the metrics of the library that they search.
type VisitMeter struct {
	now     atomic.Int64
	began   *metrics.Counter
	took    *metrics.Histogram
	refused *metrics.Counter
}

// VisitMeter registers the metrics; nil for a server elsewhere, which has its own. Call it once.
func (s *Served) VisitMeter() *VisitMeter {
	if s.library == nil {
		return nil
	}
	registry := s.library.Metrics()
	m := &VisitMeter{
		began: registry.Counter("quarry_ssh_sessions_total", "SSH sessions started.", "kind"),
		took: registry.Histogram("quarry_ssh_session_seconds", "Duration of SSH sessions.",
			[]float64{.1, 1, 10, 60, 600, 3600, 6 * 3600}, "kind"),
		refused: registry.Counter("quarry_ssh_refused_total", "SSH visitors refused.", "reason"),
	}
	registry.Gauge("quarry_ssh_sessions", "Open SSH sessions.", func() float64 { return float64(m.now.Load()) })
	return m
}

// SessionBegan counts a session that is open until SessionEnded.
func (m *VisitMeter) SessionBegan(kind string) {
	m.now.Add(1)
	m.began.Add(1, kind)
}

// SessionEnded records the duration of a session.
func (m *VisitMeter) SessionEnded(kind string, took time.Duration) {
	m.now.Add(-1)
	m.took.Observe(took.Seconds(), kind)
}

// Refused counts a refused visitor.
func (m *VisitMeter) Refused(reason string) { m.refused.Add(1, reason) }
