package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/ingest"
	"quarry/server/llm"
)

// newBudget returns the configured budget.
func (s *Server) newBudget() *llm.Budget {
	return llm.NewBudget(s.options.Models.DailyTokens(), &ledger{server: s, unstored: map[[2]string]int{}},
		s.options.Now, func(err error) {
			s.options.Log.Error("counting the use of models failed", slog.String("error", err.Error()))
		})
}

// ledger stores the use of models in the directory. If the directory is read-only, it adds the use of this process in
// memory.
type ledger struct {
	server   *Server
	mutex    sync.Mutex
	unstored map[[2]string]int // by tenant and day
}

// postponed is a file with the use that a process could not store before it ended.
type postponed struct {
	Tenant string `json:"tenant"`
	Day    string `json:"day"`
	Tokens int    `json:"tokens"`
}

const postponedPrefix = "model-tokens-"

// AddTokens implements llm.Ledger. Adding 0 tokens does not create a directory.
func (l *ledger) AddTokens(ctx context.Context, tenant, day string, tokens int) (int, error) {
	people := l.server.people
	if err := l.addPostponed(ctx); err != nil {
		return 0, err
	}
	stored, err := people.AddModelTokens(ctx, tenant, day, tokens)
	kept := 0
	if errors.Is(err, fault.ErrReadOnly) {
		kept = tokens
		stored, err = people.AddModelTokens(ctx, tenant, day, 0)
	}
	if err != nil {
		return 0, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.unstored[[2]string{tenant, day}] += kept
	return stored + l.unstored[[2]string{tenant, day}], nil
}

// Postpone implements llm.Ledger.
func (l *ledger) Postpone(tenant, day string, tokens int) (err error) {
	defer guard.End(&err)
	text := guard.Must(json.Marshal(postponed{tenant, day, tokens}))
	// With a database server there may be no files yet.
	guard.Check(os.MkdirAll(l.server.options.Home, 0o700))
	path := filepath.Join(l.server.options.Home, postponedPrefix+uuid.NewString())
	guard.Check(os.WriteFile(path+".tmp", text, 0o600))
	return os.Rename(path+".tmp", path+".json")
}

// addPostponed stores the postponed use of other processes. It renames a file first, so that only one process counts
// it.
func (l *ledger) addPostponed(ctx context.Context) error {
	if l.server.options.ReadOnly || l.server.options.Home == "" {
		return nil
	}
	entries, err := os.ReadDir(l.server.options.Home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), postponedPrefix) || !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		path := filepath.Join(l.server.options.Home, entry.Name())
		taken := path + ".taken"
		if os.Rename(path, taken) != nil {
			continue // another process was faster
		}
		if err := l.addFile(ctx, taken); err != nil {
			return errors.Join(err, os.Rename(taken, path))
		}
		if err := os.Remove(taken); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) addFile(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var p postponed
	if err := wire.Unmarshal(text, &p); err != nil || p.Tokens <= 0 {
		return nil // incomplete after a power failure
	}
	_, err = l.server.people.AddModelTokens(ctx, p.Tenant, p.Day, p.Tokens)
	return err
}

// embedRetry is the pause after an embedding model failed.
const embedRetry = time.Minute

// embedding makes the vectors of documents that requests have stored, in one goroutine per tenant, until it is stopped.
// Missing vectors are made after the next change, or by the next sync.
type embedding struct {
	server *Server
	embed  func(ctx context.Context, tenant string) error // embedTenant; replaced in tests
	ctx    context.Context                                // of the server, not of a request
	cancel context.CancelFunc

	mutex   sync.Mutex
	stopped bool
	loops   map[string]*guard.Loop // by tenant
}

func (s *Server) newEmbedding() *embedding {
	ctx, cancel := context.WithCancel(context.Background())
	return &embedding{server: s, embed: s.embedTenant, ctx: ctx, cancel: cancel, loops: map[string]*guard.Loop{}}
}

// changed starts making the vectors of a tenant.
func (e *embedding) changed(tenant string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.stopped {
		return
	}
	if e.loops[tenant] == nil {
		e.loops[tenant] = new(guard.Loop)
	}
	e.loops[tenant].Kick(func() { e.work(tenant) }, func(err error) { e.log(tenant, err) })
}

// backgroundAfter is how long the first work waits, so that it does not compete with the start of the program.
const backgroundAfter = time.Second

// begin starts making the vectors of a tenant, a moment later.
func (e *embedding) begin(tenant string) {
	guard.Go(func() {
		if guard.Sleep(e.ctx, backgroundAfter) == nil {
			e.changed(tenant)
		}
	}, func(err error) { e.log(tenant, err) })
}

// work makes vectors, again after a pause if that fails.
func (e *embedding) work(tenant string) {
	for e.ctx.Err() == nil {
		err := guard.Call(func() error { return e.embed(e.ctx, tenant) })
		if errors.Is(err, fault.ErrBusy) { // another process makes them, and may end before it is done
			_ = guard.Sleep(e.ctx, embedRetry)
			continue
		}
		if err == nil || e.ctx.Err() != nil || errors.Is(err, fault.ErrReadOnly) || errors.Is(err, fault.ErrReplaced) {
			return
		}
		e.log(tenant, err)
		_ = guard.Sleep(e.ctx, embedRetry)
	}
}

// stop cancels the work and waits for it. Stored vectors are kept.
func (e *embedding) stop() {
	e.mutex.Lock()
	e.stopped = true
	e.mutex.Unlock()
	e.cancel()
	for _, loop := range e.loops { // no others begin
		loop.Wait()
	}
}

// embedTenant makes the vectors of a tenant. Without an embedding model it only completes the hashes of the default
// tenant's documents, if an earlier version stored them.
func (s *Server) embedTenant(ctx context.Context, tenant string) error {
	_, embeds := s.options.Models.Embedder()
	if s.options.ReadOnly || s.options.Sample || !embeds && tenant != directory.DefaultTenant { // which may be many
		return nil
	}
	documents, err := s.library(ctx, tenant, false)
	if err == nil {
		err = ingest.CompleteHashes(ctx, documents)
	}
	if err != nil {
		return err
	}
	return s.api.Embed(ctx, tenant, documents)
}

func (e *embedding) log(tenant string, err error) {
	e.server.options.Log.Warn("background work failed; until it succeeds, documents may lack vectors and short refs",
		"tenant", tenant, guard.Attr(err))
}
