//go:build unix

package worker

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limitDescriptors leaves this process some free descriptors.
func limitDescriptors(t *testing.T, free int) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for limit.Cur = 0; free > 0; limit.Cur++ {
		if _, err := unix.FcntlInt(uintptr(limit.Cur), unix.F_GETFD, 0); err != nil {
			free--
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

// TestFewDescriptors reads with descriptors for the start of one process, and not of a second: all documents are read.
// With fewer none is, and none is lost.
func TestFewDescriptors(t *testing.T) {
	const size, documents = 3, 30
	p := newPool(t, size, "serve")
	read := func() error {
		_, err := p.Read(t.Context(), []byte("x"), time.Minute, none)
		return err
	}
	if err := read(); err != nil { // opens what the runtime keeps
		t.Fatal(err)
	}
	p.expire(p.idle[0])
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }()
	const forOne = forFirst + 1
	limitDescriptors(t, forOne)
	var readers sync.WaitGroup
	for range size {
		readers.Go(func() {
			for range documents / size {
				if err := read(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	if len(p.idle) != 1 {
		t.Errorf("%d processes", len(p.idle))
	}
	p.expire(p.idle[0])
	for free := range forOne {
		limitDescriptors(t, free)
		if err := read(); err == nil {
			p.expire(p.idle[0])
		} else if !errors.Is(err, syscall.EMFILE) || !errors.Is(err, ErrNoWorker) {
			t.Fatalf("with %d descriptors: %v", free, err)
		}
	}
	limitDescriptors(t, forOne)
	if err := read(); err != nil {
		t.Error(err)
	}
	p.expire(p.idle[0])

	limitDescriptors(t, 0) // for a moment: the document waits
	readers.Go(func() {
		if err := read(); err != nil {
			t.Error(err)
		}
	})
	for isRefused := false; !isRefused; runtime.Gosched() {
		p.mutex.Lock()
		isRefused = p.refused > 0
		p.mutex.Unlock()
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
}

// TestApartFromStarts opens a file again and again while processes start with the descriptors that they need, one after the
// other: there is always one for the file. An idle process makes room.
func TestApartFromStarts(t *testing.T) {
	p := newPool(t, 1, "serve")
	read := func() {
		if _, err := p.Read(t.Context(), []byte("x"), time.Minute, none); err != nil {
			t.Error(err)
		}
	}
	read() // opens what the runtime keeps
	p.Shrink()
	if p.Shrink(); len(p.idle) != 0 || p.running != 0 {
		t.Errorf("%d processes, %d idle", p.running, len(p.idle))
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }()
	limitDescriptors(t, forFirst)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			read()
			p.Shrink()
		}
	}()
	for opened := 0; ; opened++ {
		select {
		case <-done:
			t.Logf("opened %d times", opened)
			return
		default:
			p.Apart(func() {
				if err := findFree(1); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
