package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is also the program that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	documents := 0
	read := func(s *Session[[]byte], document []byte) ([]byte, error) {
		documents++
		switch command, rest, _ := strings.Cut(string(document), " "); command {
		case "crash":
			os.Exit(2)
		case "spoilt": // by another document
			if documents > 1 {
				os.Exit(2)
			}
		case "panic":
			panic("damaged")
		case "busy":
			for {
				documents++
			}
		case "hang":
			select {}
		case "memory":
			var kept [][]byte
			for range 4 << 10 {
				kept = append(kept, bytes.Repeat([]byte("x"), 1<<20))
			}
			return kept[0], nil
		case "parts":
			for i := range 3 {
				if err := s.Send(fmt.Append(nil, i)); err != nil {
					return nil, err
				}
			}
		case "drip": // a part now and then, without an end
			for range time.Tick(time.Millisecond) {
				if err := s.Send([]byte("x")); err != nil {
					return nil, err
				}
			}
		case "engine":
			kept := make([]byte, 0)
			if err := s.Prepare(context.Background(), func(context.Context) error {
				kept = bytes.Repeat([]byte("x"), MaxMemory+64<<20)
				return nil
			}); err != nil {
				return nil, err
			}
			return kept[:1], nil
		case "environment":
			return []byte(strings.Join(os.Environ(), " ")), nil
		case "error":
			return nil, errors.New(rest)
		}
		return append([]byte("read "), document...), nil
	}
	if os.Args[1] == "nonsense" {
		_, _ = os.Stdout.WriteString("\xff\xff\xff\xffnonsense")
		return
	}
	if err := Serve(os.Stdin, os.Stdout, read); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newPool(t *testing.T, size int, argument string) *Pool[[]byte, []byte] {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool[[]byte, []byte](Program{Path: path, Arguments: []string{argument}}, size)
	t.Cleanup(p.Close)
	return p
}

func none([]byte) error { return nil }

// TestOneDocumentIsLost: what a document does to its process costs that document only, and the reason says what it was.
func TestOneDocumentIsLost(t *testing.T) {
	t.Setenv("SECRET", "token")
	p := newPool(t, 1, "serve")
	for _, test := range []struct {
		document string
		limit    time.Duration
		want     string
		err      error
	}{
		{"one", time.Minute, "read one", nil},
		{"crash", time.Minute, "", ErrCrashed},
		{"spoilt", time.Minute, "read spoilt", nil},
		{"spoilt", time.Minute, "read spoilt", nil}, // by a process that was used, then by a new one
		{"panic", time.Minute, "", ErrCrashed},
		{"error damaged engine", time.Minute, "", ErrCrashed},
		{"memory", time.Minute, "", ErrMemory},
		{"engine", time.Minute, "x", nil},
		{"hang", 30 * time.Millisecond, "", &SlowError{30 * time.Millisecond}},
		{"busy", 50 * time.Millisecond, "", &SlowError{50 * time.Millisecond}},
		{"drip", 30 * time.Millisecond, "", &SlowError{30 * time.Millisecond}},
		{"environment", time.Minute, "", nil},
	} {
		if errors.Is(test.err, ErrMemory) && testing.Short() {
			continue // with the race detector, which ends the process in words of its own
		}
		for range 2 {
			got, err := p.Read(t.Context(), []byte(test.document), test.limit, none)
			if string(got) != test.want || fmt.Sprint(err) != fmt.Sprint(test.err) {
				t.Errorf("%s: %q %v, want %q %v", test.document, got, err, test.want, test.err)
			}
		}
		if got, err := p.Read(t.Context(), []byte("next"), time.Minute, none); string(got) != "read next" || err != nil {
			t.Fatalf("after %s: %q %v", test.document, got, err)
		}
	}
	var parts []string
	if _, err := p.Read(t.Context(), []byte("parts"), time.Minute, func(part []byte) error {
		parts = append(parts, string(part))
		return nil
	}); err != nil || !slices.Equal(parts, []string{"0", "1", "2"}) {
		t.Errorf("%q %v", parts, err)
	}
	enough := errors.New("enough")
	if _, err := p.Read(t.Context(), []byte("parts"), time.Minute, func([]byte) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	if got, err := p.Read(t.Context(), []byte("next"), time.Minute, none); string(got) != "read next" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestNoWorker(t *testing.T) {
	for _, p := range []*Pool[[]byte, []byte]{newPool(t, 1, "nonsense"), NewPool[[]byte, []byte](Program{}, 1), NewPool[[]byte, []byte](Program{Path: "/no/such/program"}, 1)} {
		for range 2 {
			if _, err := p.Read(t.Context(), []byte("x"), time.Minute, none); !errors.Is(err, ErrNoWorker) {
				t.Error(err)
			}
		}
	}
}

// TestReadingEndsWithItsContext: also while it waits for another document, and the pool stays usable.
func TestReadingEndsWithItsContext(t *testing.T) {
	p := newPool(t, 1, "serve")
	ctx, end := context.WithCancel(t.Context())
	started := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		if _, err := p.Read(ctx, []byte("drip"), time.Hour, func([]byte) error {
			select {
			case <-started:
			default:
				close(started)
			}
			return nil
		}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-started
	waiting, stop := context.WithCancel(t.Context())
	readers.Go(func() {
		if _, err := p.Read(waiting, []byte("x"), time.Hour, none); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	stop()
	end()
	readers.Wait()
	if got, err := p.Read(t.Context(), []byte("next"), time.Minute, none); string(got) != "read next" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// TestKilledProcesses kills processes at any moment while many documents are read: each costs one document at most.
func TestKilledProcesses(t *testing.T) {
	const documents, size = 60, 3
	p := newPool(t, size, "serve")
	var readers sync.WaitGroup
	var mutex sync.Mutex
	lost, kills := 0, 0
	for reader := range size {
		readers.Go(func() {
			for i := range documents / size {
				document := fmt.Appendf(nil, "document %d of %d", i, reader)
				if i%5 == 0 {
					p.mutex.Lock()
					for _, idle := range p.idle {
						idle.kill()
						mutex.Lock()
						kills++
						mutex.Unlock()
					}
					p.mutex.Unlock()
				}
				got, err := p.Read(t.Context(), document, time.Minute, none)
				if err != nil {
					mutex.Lock()
					lost++
					mutex.Unlock()
				} else if string(got) != "read "+string(document) {
					t.Errorf("%q", got)
				}
			}
		})
	}
	readers.Wait()
	if lost > kills {
		t.Errorf("%d documents lost by %d kills", lost, kills)
	}
	p.mutex.Lock()
	running := len(p.idle)
	p.mutex.Unlock()
	if running == 0 || running > size {
		t.Errorf("%d processes", running)
	}
}

func TestIdleProcessesEnd(t *testing.T) {
	p := newPool(t, 1, "serve")
	if _, err := p.Read(t.Context(), []byte("x"), time.Minute, none); err != nil {
		t.Fatal(err)
	}
	old := p.idle[0]
	p.expire(old)
	if old.command.ProcessState == nil || len(p.idle) != 0 {
		t.Error("it still runs")
	}
	p.expire(old) // does nothing
}

func TestLimit(t *testing.T) {
	for size, want := range map[int]time.Duration{0: 10 * time.Second, 5 << 20: 15 * time.Second, 1 << 30: 2 * time.Minute} {
		if got := Limit(10*time.Second, size); got != want {
			t.Errorf("%d: %s", size, got)
		}
	}
}

// FuzzReceive: what is no kind stays in the pipe, for the reason of a process's end.
func FuzzReceive(f *testing.F) {
	var out bytes.Buffer
	if err := send(bufio.NewWriter(&out), kindLast, []byte("{}")); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte("fatal error: out of memory"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		kind, value, err := receive[[]byte](in)
		if rest, _ := io.ReadAll(in); err != nil && kind >= ' ' && !bytes.Equal(rest, data) {
			t.Errorf("%q of %q", rest, data)
		}
		if len(value) > len(data) {
			t.Errorf("%d bytes of %d", len(value), len(data))
		}
	})
}
