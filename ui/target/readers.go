package target

import (
	"context"
	"io"
	"path/filepath"
	"sync"
	"time"

	"quarry/server/ingest"
	"quarry/server/ingest/pdf/engine"
	"quarry/server/ingest/worker"
)

// ReadersCommand is the argument with which this program runs itself to read documents, followed by the folder for the
// compiled PDF engine. It is not a command for users.
const ReadersCommand = "__read"

// Readers are the processes of this program that read documents, started when the first one comes. All hosts of a
// process share them. The zero value is ready.
type Readers struct {
	once    sync.Once
	readers *ingest.Readers
}

// Close ends the idle processes.
func (r *Readers) Close() {
	r.once.Do(func() {}) // none starts later
	if r.readers != nil {
		r.readers.Close()
	}
}

// of returns the readers with the limits of the first host that needs them. Without the path of this program they read
// nothing, and name the reason.
func (r *Readers) of(h *Host) *ingest.Readers {
	r.once.Do(func() {
		program := worker.Program{}
		if h.Executable != "" {
			program = worker.Program{Path: h.Executable,
				Arguments: []string{ReadersCommand, filepath.Join(h.Paths.Cache, "pdf")}}
		}
		r.readers = ingest.NewReaders(program, time.Duration(h.Config.ReadSeconds)*time.Second)
	})
	return r.readers
}

// ServeReaders reads documents from in and writes what they contain to out, until in ends. The compiled PDF engine is
// kept in the folder cache.
func ServeReaders(ctx context.Context, in io.Reader, out io.Writer, cache string) error {
	return ingest.ServeReaders(ctx, in, out, engine.New(cache))
}
