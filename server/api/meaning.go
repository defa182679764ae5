package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/llm"
)

// Meaning is how vectors are made: behind the words, by one process at a time. Whoever makes them holds the lock file
// in the tenant's folder, and writes beside it how far it is, for the status that other processes show.
type Meaning struct {
	// Folder returns the folder of a tenant's library; nil: it is in memory.
	Folder func(tenant string) string
	// Unbounded makes vectors in the background however long that takes; else at most for anHour.
	Unbounded bool
	// OnBattery makes them in the background without mains power, too.
	OnBattery bool
	// Power is where Linux says what the machine runs on; empty: the usual place.
	Power string
}

const (
	meaningLock  = "meaning.lock"
	meaningFile  = "meaning.json"
	anHour       = time.Hour
	addedWithin  = 3 * time.Second  // for the vectors of what was just added
	trialTime    = 5 * time.Second  // from which the time of the rest is estimated
	noteEvery    = time.Second      // between two notes of progress
	noteLasts    = 10 * time.Second // after which its writer must have been killed
	lockEvery    = 500 * time.Millisecond
	batteryEvery = 30 * time.Second
)

// errTooLong: the rest takes longer than the caller has.
var errTooLong = errors.New("making vectors takes too long")

// meaningNote is what meaning.json says. PerSecond outlives the work, so that the time of later work can be estimated.
type meaningNote struct {
	Model     string    `json:"model"`
	Done      int       `json:"done"`
	Total     int       `json:"total"`
	PerSecond float64   `json:"per_second"` // chunks
	Running   bool      `json:"running"`
	At        time.Time `json:"at"`
}

// left returns the time that the rest takes; 0 if that is not known.
func (n meaningNote) left() time.Duration {
	if n.PerSecond <= 0 || n.Done >= n.Total {
		return 0
	}
	return time.Duration(float64(n.Total-n.Done) / n.PerSecond * float64(time.Second))
}

func (n meaningNote) runs(now time.Time) bool {
	return n.Running && now.Sub(n.At) < noteLasts && n.Done < n.Total
}

// status is the note as /library/status has it.
func (n meaningNote) status(state string) wire.Meaning {
	return wire.Meaning{State: state, Model: n.Model, Done: n.Done, Total: n.Total,
		SecondsLeft: int(math.Ceil(n.left().Seconds()))}
}

// maxOpenings documents of a tenant are known to have been opened.
const maxOpenings = 1000

// openings is how often documents were read here, by tenant and id, since the process began.
type openings struct {
	mutex sync.Mutex
	times map[string]map[string]int
}

// add counts a document as opened. Where too many are known, those opened once are forgotten.
func (o *openings) add(tenant, id string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.times == nil {
		o.times = make(map[string]map[string]int)
	}
	times := o.times[tenant]
	if times == nil {
		times = make(map[string]int)
		o.times[tenant] = times
	}
	if _, known := times[id]; !known && len(times) >= maxOpenings {
		for other, n := range times {
			if times[other] = n - 1; n == 1 {
				delete(times, other)
			}
		}
	}
	times[id]++
}

// most returns the documents of a tenant that were opened, the most opened first.
func (o *openings) most(tenant string) []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	times := o.times[tenant]
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(times[b]-times[a], strings.Compare(a, b))
	})
}

// making is one pass over the chunks without a vector.
type making struct {
	s          *Server
	tenant     string
	folder     string
	limit      time.Duration // that the rest may take; 0: any
	background bool          // at low priority, and not on battery
	report     func(index.Embedded, time.Duration)
	cancel     context.CancelCauseFunc

	made  int           // texts that the model was asked for
	took  time.Duration // what it took for them
	ahead int           // those of them that are not in the note yet
	note  meaningNote
}

// Embed makes the missing vectors of a tenant's chunks in the background, with the configured model; without one it
// does nothing. Vectors stored before an error are kept, and the next call continues there. It returns fault.ErrBusy if
// another process makes them.
func (s *Server) Embed(ctx context.Context, tenant string, documents index.Index) error {
	m := &making{s: s, tenant: tenant, background: true, limit: anHour}
	if s.Meaning.Unbounded {
		m.limit = 0
	}
	_, err := m.run(ctx, documents, false)
	if errors.Is(err, errTooLong) {
		return nil // it is offered by the status
	}
	return err
}

// EmbedAll makes the missing vectors of a tenant's chunks, however long that takes. It waits for another process that
// makes some.
func (s *Server) EmbedAll(ctx context.Context, tenant string, documents index.Index,
	report func(index.Embedded)) error {
	m := &making{s: s, tenant: tenant}
	if report != nil {
		m.report = func(e index.Embedded, _ time.Duration) { report(e) }
	}
	_, err := m.run(ctx, documents, true)
	return err
}

// run makes the vectors, once no other process does. It also returns the model's error for a text that it refused.
func (m *making) run(ctx context.Context, documents index.Index, wait bool) (refusal error, err error) {
	s := m.s
	model, ok := s.Models.Embedder()
	if !ok {
		return nil, nil
	}
	m.folder = s.folder(m.tenant)
	release, err := m.lock(ctx, wait)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, m.cancel = context.WithCancelCause(ctx)
	defer m.cancel(nil)
	if m.background {
		defer m.s.spareProcessor()()
	}
	if m.note = s.meaningNote(m.folder); m.note.Model != model.Name() {
		m.note = meaningNote{Model: model.Name()}
	}
	v := &vectoriser{model: llm.CountedEmbedder(model, s.Budget.Meter(m.tenant), "embed")}
	err = s.lease(ctx, "embedding of "+m.tenant, func(ctx context.Context) error {
		return documents.Embed(ctx, index.Embedding{Model: model.Name(), Vectors: m.paced(v.vectors),
			Opened: func() []string { return s.openings.most(m.tenant) }, Report: m.progress})
	})
	if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
		err = cause
	}
	m.note.Running = false
	m.write()
	if v.refused > 0 {
		s.Log.WarnContext(ctx, "the embedding model refused some passages; they are found by words only",
			"tenant", m.tenant, "passages", v.refused, "error", v.why.Error())
	}
	return v.why, err
}

// lock gets the right to make the vectors of a library, and returns what gives it back.
func (m *making) lock(ctx context.Context, wait bool) (release func(), err error) {
	if m.folder == "" {
		return func() {}, nil
	}
	if _, err := os.Stat(m.folder); err != nil {
		return func() {}, nil // documents are on a database server, which has leases
	}
	lock := flock.New(filepath.Join(m.folder, meaningLock), flock.SetPermissions(0o600))
	ours, err := lock.TryLock()
	for err == nil && !ours && wait {
		if m.report != nil {
			note := m.s.meaningNote(m.folder)
			m.report(index.Embedded{Done: note.Done, Total: note.Total}, note.left())
		}
		if err = guard.Sleep(ctx, lockEvery); err == nil {
			ours, err = lock.TryLock()
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		err = errors.Join(fault.ErrReadOnly, err)
	case err == nil && !ours:
		err = fault.ErrBusy
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), context.Cause(ctx))
	}
	return func() { _ = lock.Close() }, nil
}

// stopIfLong stops where the rest takes longer than there is time, as far as that is known.
func (m *making) stopIfLong() {
	rest := m.note
	rest.Done += m.ahead
	if tried := m.made == 0 || m.took > min(trialTime, m.limit/4); m.limit > 0 && rest.left() > m.limit && tried {
		m.cancel(errTooLong)
	}
}

// measured notes what the model took for some texts. Many are sent between two reports.
func (m *making) measured(texts int, took time.Duration) {
	m.made, m.took, m.ahead = m.made+texts, m.took+took, m.ahead+texts
	m.note.PerSecond = float64(m.made) / max(m.took, time.Millisecond).Seconds()
	m.stopIfLong()
}

// progress notes how far it is.
func (m *making) progress(e index.Embedded) {
	now := time.Now()
	m.note.Done, m.note.Total, m.ahead = e.Done, e.Total-e.Refused, 0
	m.stopIfLong()
	if m.report != nil {
		m.report(e, m.note.left())
	}
	if m.note.Running = m.note.Done < m.note.Total; now.Sub(m.note.At) >= noteEvery {
		m.note.At = now
		m.write()
	}
}

// paced makes vectors, in the background while the machine has power to spare, and measures the time.
func (m *making) paced(make index.Vectorise) index.Vectorise {
	timed := func(ctx context.Context, texts []string) ([][]float32, error) {
		began := time.Now()
		// It is not waited for when ctx ends: the program must be able to end at once.
		vectors, err := guard.Within(ctx, math.MaxInt64, func(ctx context.Context) ([][]float32, error) {
			if m.background {
				yieldProcessor()
			}
			return make(ctx, texts)
		})
		m.measured(len(texts), time.Since(began))
		return vectors, err
	}
	if !m.background {
		return timed
	}
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		for !m.s.Meaning.OnBattery && onBattery(m.s.Meaning.Power) {
			m.note.Running = false
			m.write()
			if err := guard.Sleep(ctx, batteryEvery); err != nil {
				return nil, err
			}
		}
		return timed(ctx, texts)
	}
}

// write stores the note. Without it the work goes on, and other processes do not see it.
func (m *making) write() {
	if m.folder == "" {
		return
	}
	path := filepath.Join(m.folder, meaningFile)
	data, err := json.Marshal(m.note)
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		m.s.Log.Debug("cannot note the progress of vectors", guard.Attr(err))
	}
}

// maxNote bounds meaning.json, which has a hundred bytes.
const maxNote = 4 << 10

// folder returns the folder of a tenant's library; empty: it is in memory.
func (s *Server) folder(tenant string) string {
	if s.Meaning.Folder == nil {
		return ""
	}
	return s.Meaning.Folder(tenant)
}

// meaningNote reads the note in a folder; zero without one.
func (s *Server) meaningNote(folder string) (note meaningNote) {
	if folder == "" {
		return note
	}
	path := filepath.Join(folder, meaningFile)
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxNote {
		return note
	}
	data, err := os.ReadFile(path)
	if err != nil || wire.Unmarshal(data, &note) != nil {
		return meaningNote{}
	}
	return note
}

// running returns what another process, or this one, is doing about a tenant's vectors; a zero value if nobody does
// anything. It costs a small file, so that it can be asked each second.
func (s *Server) running(tenant string) (status wire.Meaning) {
	if _, ok := s.Models.Embedder(); !ok {
		return status
	}
	if note := s.meaningNote(s.folder(tenant)); note.runs(time.Now()) {
		return note.status(wire.MeaningRunning)
	}
	return status
}

// meaningStatus returns the state of a tenant's vectors.
func (s *Server) meaningStatus(tenant string, stats index.Stats) wire.Meaning {
	model, ok := s.Models.Embedder()
	if !ok {
		return wire.Meaning{State: wire.MeaningOff}
	}
	if now := s.running(tenant); now.State != "" {
		return now
	}
	note := meaningNote{Model: model.Name(), Total: stats.Chunks}
	if old := s.meaningNote(s.folder(tenant)); old.Model == note.Model {
		note.PerSecond = old.PerSecond
	}
	if stats.VectorModel == note.Model {
		note.Done, note.Total = stats.Vectors, max(stats.Vectors, stats.Chunks-stats.Refused)
	}
	if note.Done >= note.Total {
		return note.status(wire.MeaningComplete)
	}
	return note.status(wire.MeaningWaiting)
}

// embedAdded makes vectors of documents that were just added, where that takes a moment or the caller waits for it.
// They are stored and can be found by words already, so that a failure is only reported, and so is what is left.
func (w *work) embedAdded(limit time.Duration) {
	event := wire.LibraryEvent{Type: wire.LibraryEmbedding}
	m := &making{s: w.Server, tenant: w.who.Tenant, limit: limit}
	m.report = func(e index.Embedded, left time.Duration) {
		if reported := event.Total > 0; e.Done+e.Refused < e.Total || reported {
			event.Done, event.Total, event.Refused = e.Done, e.Total, e.Refused
			event.SecondsLeft = int(math.Ceil(left.Seconds()))
			w.report(event)
		}
	}
	within := w.ctx
	if limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeoutCause(w.ctx, limit, errTooLong)
		defer cancel()
	}
	refusal, err := m.run(within, w.documents, limit == 0)
	switch {
	case w.ctx.Err() != nil || err == nil && refusal == nil:
		return
	case errors.Is(err, fault.ErrBusy): // whoever has the library open goes on
		return
	case errors.Is(err, errTooLong), errors.Is(err, context.DeadlineExceeded): // likewise
		if event.Total == 0 {
			return
		}
		event.SecondsLeft = int(math.Ceil(m.note.left().Seconds()))
	case err == nil:
		event.Reason = refusal.Error()
	default:
		w.Log.WarnContext(w.ctx, "embedding failed", slog.String("tenant", w.who.Tenant),
			slog.String("error", err.Error()))
		event.Reason = strings.TrimPrefix(err.Error(), "embed: ")
	}
	w.report(event)
}

// onBattery reports whether the machine runs on a battery, as Linux says it: a battery is discharging and no mains
// supply is online. On other systems it is not known, and vectors are made.
func onBattery(folder string) bool {
	if folder == "" {
		folder = "/sys/class/power_supply"
	}
	supplies, _ := filepath.Glob(filepath.Join(folder, "*"))
	discharging := false
	for _, supply := range supplies {
		says := func(name string) string {
			data, _ := os.ReadFile(filepath.Join(supply, name))
			return strings.TrimSpace(string(data))
		}
		switch {
		case says("type") == "Mains" && says("online") == "1":
			return false
		case says("type") == "Battery" && says("status") == "Discharging" && says("scope") != "Device":
			discharging = true
		}
	}
	return discharging
}
