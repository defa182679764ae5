package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// maxConnections bounds the open connections of a listener. Each takes a file and about 10 KB.
const maxConnections = 2_000

// connections closes the connection that has waited longest for a request when there are too many, so that callers who
// never finish their headers do not block others.
type connections struct {
	most    int
	mutex   sync.Mutex
	waiting *list.List                 // of net.Conn, the longest first
	open    map[net.Conn]*list.Element // nil while a request is answered
}

func newConnections(most int) *connections {
	return &connections{most: most, waiting: list.New(), open: make(map[net.Conn]*list.Element)}
}

// changed is the ConnState hook of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if oldest := c.note(conn, state); oldest != nil {
		_ = oldest.Close()
	}
}

// note records a state, and returns the connection to close; nil for none.
func (c *connections) note(conn net.Conn, state http.ConnState) net.Conn {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if waits := c.open[conn]; waits != nil {
		c.waiting.Remove(waits)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
	if len(c.open) <= c.most || c.waiting.Len() == 0 {
		return nil
	}
	oldest := c.waiting.Remove(c.waiting.Front()).(net.Conn)
	delete(c.open, oldest)
	return oldest
}
