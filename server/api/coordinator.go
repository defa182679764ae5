package api

import (
	"context"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest"
)

// Coordinator is what the servers of one library share. It is safe for concurrent use.
type Coordinator interface {
	// Lease runs do while no other server runs what has that name, which it waits for.
	Lease(ctx context.Context, name string, do func(ctx context.Context) error) error
	// Take counts a request of a key if there were fewer than most per period, as a token bucket does: most at once,
	// then one each time a part of the period has passed. Otherwise wait is the time until there are.
	Take(ctx context.Context, key string, most int, per time.Duration) (wait time.Duration, err error)
}

// lease runs work that only one server does at a time.
func (s *Server) lease(ctx context.Context, name string, do func(ctx context.Context) error) error {
	if s.Coordinator == nil {
		return do(ctx)
	}
	return s.Coordinator.Lease(ctx, name, do)
}

// syncFiles synchronises what was added. Of several servers that see the same files, one does it at a time, and the
// next one finds them unchanged.
func (s *Server) syncFiles(ctx context.Context, tenant string, documents index.Index, paths []string, local ingest.Local,
	report progress) (done wire.LibraryEvent, err error) {
	err = s.lease(ctx, "sync of "+tenant, func(ctx context.Context) (err error) {
		done, err = ingest.Sync(ctx, documents, paths, local, report)
		return err
	})
	return done, err
}
