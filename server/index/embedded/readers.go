package embedded

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"

	"quarry/server/sqldb"
)

// idleReaders is how many connections wait for the next snapshot with what they have prepared.
const idleReaders = 4

// reader is a connection that reads one state at a time. Its statements are prepared once for all snapshots.
type reader struct {
	*statements
	conn *sql.Conn
}

// readers keeps idle connections.
type readers struct {
	mutex  sync.Mutex
	idle   []*reader
	closed bool
}

// begin begins a transaction that only reads, to be ended by end. The context may end before the transaction.
func (p *readers) begin(ctx context.Context, source *sql.DB, keep bool) (r *reader, end func(), err error) {
	ctx = context.WithoutCancel(ctx)
	if r = p.take(); r == nil || !keep {
		conn, err := source.Conn(ctx)
		if err != nil {
			return nil, nil, sqldb.Explain(fmt.Errorf("read the library: %w", err))
		}
		r = &reader{newStatements(conn), conn}
	}
	if _, err := r.ExecContext(ctx, "BEGIN"); err != nil {
		r.discard()
		return nil, nil, sqldb.Explain(fmt.Errorf("read the library: %w", err))
	}
	return r, func() {
		if _, err := r.ExecContext(ctx, "ROLLBACK"); err != nil || !keep || !p.put(r) {
			r.discard()
		}
	}, nil
}

func (p *readers) take() *reader {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	r := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return r
}

// put keeps a connection, if there is room.
func (p *readers) put(r *reader) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed || len(p.idle) >= idleReaders {
		return false
	}
	p.idle = append(p.idle, r)
	return true
}

// close closes the idle connections, and the others when they are put back.
func (p *readers) close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.closed = true
	for _, r := range p.idle {
		r.discard()
	}
	p.idle = nil
}

// discard closes the connection, and with it what it has not ended.
func (r *reader) discard() {
	r.close()
	_ = r.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = r.conn.Close()
}
