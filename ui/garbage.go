package ui

import (
	"runtime/debug"
	"sync"
)

// garbage decides how much of it may gather, in percent of what is in use, by how many visitors are in. What is in use by
// hundreds is mostly what their screens show; a small part of that is still room enough to work in, and much to save. With
// few of them it would be no room: a server that also answers searches over HTTP would be busy with nothing but collecting.
type garbage struct {
	mutex      sync.Mutex
	usual, now int // percent
}

func newGarbage() *garbage {
	usual := debug.SetGCPercent(100) // which is how it is asked for
	debug.SetGCPercent(usual)
	return &garbage{usual: usual, now: usual}
}

// percent that may gather among so many visitors.
func (g *garbage) percent(visitors int) int {
	most := g.usual
	switch {
	case visitors >= 100:
		most = 15
	case visitors >= 30:
		most = 50
	}
	return min(g.usual, most) // also where collecting is off, which is less than 0: who runs the server chose it
}

// among is told how many visitors there are. Setting it stops the program for a moment, so that it is only set anew.
func (g *garbage) among(visitors int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if wanted := g.percent(visitors); wanted != g.now {
		debug.SetGCPercent(wanted)
		g.now = wanted
	}
}
