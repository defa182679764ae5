package terminal

import (
	"io"
	"sync"
)

// keyQueue holds what was typed until the program reads it. Typing never blocks, as with a keyboard.
type keyQueue struct {
	mu     sync.Mutex
	filled *sync.Cond
	data   []byte
	closed bool
}

func newKeyQueue() *keyQueue {
	q := &keyQueue{}
	q.filled = sync.NewCond(&q.mu)
	return q
}

func (q *keyQueue) push(data []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.data = append(q.data, data...)
	q.filled.Signal()
}

func (q *keyQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

// Read waits for something typed. What was typed before the end is still read after it.
func (q *keyQueue) Read(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.data) == 0 && !q.closed {
		q.filled.Wait()
	}
	if len(q.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, q.data)
	q.data = q.data[n:]
	return n, nil
}
