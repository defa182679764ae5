package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quarry/tools/measure"
)

// generator asks a server.
type generator struct {
	server *measure.Server
	client *http.Client
	bodies [][]byte
	next   atomic.Int64
}

func newGenerator(s *measure.Server, queries []string, clients int) *generator {
	g := &generator{server: s, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: clients * 4, MaxConnsPerHost: 0}, Timeout: time.Minute,
	}}
	for _, query := range queries {
		body, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			panic(err) // a string can be written
		}
		g.bodies = append(g.bodies, body)
	}
	return g
}

// result is what one measurement found.
type result struct {
	took              []time.Duration // of those that were answered, ascending
	errors            int
	reason            string // of the first error
	span              time.Duration
	serverCPU, ownCPU float64 // in CPUs
	othersCPU         float64 // of everything else on the machine
}

func (r result) throughput() float64 { return float64(len(r.took)) / r.span.Seconds() }

func (r result) percentile(p int) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(len(r.took)-1, len(r.took)*p/100)]
}

// tally collects a result from many goroutines.
type tally struct {
	mutex sync.Mutex
	result
}

func (t *tally) add(took time.Duration, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if err == nil {
		t.took = append(t.took, took)
		return
	}
	if t.errors++; t.errors == 1 {
		t.reason = err.Error()
	}
}

// measure runs a load and waits until all of it is answered.
func (g *generator) measure(load func(t *tally)) result {
	t := new(tally)
	allCPU, serverCPU, ownCPU := measure.Busy(), measure.CPUOf(g.server.PID()), measure.CPUOf(os.Getpid())
	began := time.Now()
	load(t)
	t.span = time.Since(began)
	t.serverCPU = (measure.CPUOf(g.server.PID()) - serverCPU).Seconds() / t.span.Seconds()
	t.ownCPU = (measure.CPUOf(os.Getpid()) - ownCPU).Seconds() / t.span.Seconds()
	t.othersCPU = max(0, (measure.Busy()-allCPU).Seconds()/t.span.Seconds()-t.serverCPU-t.ownCPU)
	slices.Sort(t.took)
	return t.result
}

// closed has a number of clients ask one search after the other.
func (g *generator) closed(clients int, span time.Duration) result {
	return g.measure(func(t *tally) {
		until := time.Now().Add(span)
		var group sync.WaitGroup
		for range clients {
			group.Go(func() {
				for time.Now().Before(until) {
					asked := time.Now()
					err := g.search()
					t.add(time.Since(asked), err)
				}
			})
		}
		group.Wait()
	})
}

// open asks rate searches a second at random moments.
func (g *generator) open(rate float64, span time.Duration) result {
	return g.measure(func(t *tally) {
		random := rand.New(rand.NewPCG(1, 2))
		due := time.Now()
		until := due.Add(span)
		var group sync.WaitGroup
		for {
			due = due.Add(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
			if due.After(until) {
				break
			}
			moment := due
			time.Sleep(time.Until(moment))
			group.Go(func() {
				err := g.search()
				t.add(time.Since(moment), err)
			})
		}
		group.Wait()
	})
}

// search asks the next query, and reads the answer whole.
func (g *generator) search() error {
	n := int(g.next.Add(1))
	r, err := http.NewRequest(http.MethodPost, g.server.Address+"/search", bytes.NewReader(g.bodies[n%len(g.bodies)]))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+g.server.Tokens[n%len(g.server.Tokens)])
	answer, err := g.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP %d %s", answer.StatusCode, text)
	case !json.Valid(text):
		return fmt.Errorf("no JSON: %.100s", text)
	}
	return nil
}
