package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"quarry/internal/testkit/longtest"
)

// writePages writes pages that only the processes for reading can read.
func writePages(t *testing.T, folder string, pages int) {
	t.Helper()
	for i := range pages {
		writeIn(t, folder, fmt.Sprintf("%d.html", i), []byte("<p>zebraquagga"+strings.Repeat("<p>Some words of a page.", 1_000)))
	}
}

// workersOf returns the processes that a process started.
func workersOf(pid int) (workers []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, name := range lists {
		list, _ := os.ReadFile(name) // it may have ended
		for _, field := range strings.Fields(string(list)) {
			if worker, err := strconv.Atoi(field); err == nil {
				workers = append(workers, worker)
			}
		}
	}
	return workers
}

// peaks are the most memory that a program had resident, and that one of its workers had, in KB.
type peaks struct{ own, worker int64 }

// runWatched runs a program and samples its memory until it ends. The maximum that the system reports of a child begins
// with what the process that forks has, here the test.
func runWatched(c *exec.Cmd) (most peaks, err error) {
	if err := c.Start(); err != nil {
		return most, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case err := <-ended:
			return most, err
		case <-tick.C:
			most.own = max(most.own, residentPeak(c.Process.Pid))
			for _, worker := range workersOf(c.Process.Pid) {
				most.worker = max(most.worker, residentPeak(worker))
			}
		}
	}
}

// residentPeak returns the peak of a process's resident memory in KB; 0 if it has ended.
func residentPeak(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, _ := strconv.ParseInt(value, 10, 64)
	return kilobytes
}

// mostWorkerMemory returns what docs/library.md allows a process for reading a file: 64 MB when it starts, 256 MB beyond that,
// and 256 MB for the engine of PDF files, in KB.
func mostWorkerMemory(name string) int64 {
	if filepath.Ext(name) == ".pdf" {
		return (64 + 256 + 256) << 10
	}
	return (64 + 256) << 10
}

// TestKilledWorkers kills the processes that read files at random moments, while others read: each costs at most the file
// that it reads, and the command ends as usual.
func TestKilledWorkers(t *testing.T) {
	pages := longtest.Rounds(30, 1_000)
	h := newHome(t)
	folder := filepath.Join(h.dir, "documents")
	writePages(t, folder, pages)
	c := h.command(t.Context(), "add", "--json", folder)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	kills := 0
	for err := error(nil); ; {
		select {
		case err = <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
		case <-time.After(rand.N(100 * time.Millisecond)): // the moment is what is tried
			for _, worker := range workersOf(c.Process.Pid) {
				if kills < pages/3 && syscall.Kill(worker, syscall.SIGKILL) == nil {
					kills++
				}
			}
			continue
		}
		break
	}
	lost := strings.Count(stdout.String(), `"type":"skipped"`)
	t.Logf("%d of %d pages lost by %d kills", lost, pages, kills)
	if found := libraryStatus(t, h).Documents; kills == 0 || lost > kills || found != pages-lost {
		t.Errorf("%d documents of %d, %d lost", found, pages, lost)
	}
	h.must("status", "--check", "--json")
}

// TestWithoutDescriptors adds files with too few descriptors for a process that reads: plain formats are read, the others are
// named, and read by the next sync, which has descriptors for one process, but not for one on each processor.
func TestWithoutDescriptors(t *testing.T) {
	const pages = 8
	folder := t.TempDir()
	writePages(t, folder, pages)
	writeIn(t, folder, "plain.md", []byte("# Plain\n\nzebraquagga\n"))
	skipped := func(h home, descriptors int, args ...string) int {
		c := h.command(t.Context(), append(args, "--json")...)
		c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, descriptors), "sh"}, c.Args...)
		out, err := c.Output()
		if err != nil || strings.Contains(string(out), `plain.md","reason"`) {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.Count(string(out), `"type":"skipped"`)
	}
	// What the process needs besides depends on the moment: a worker may be started with 20, and never with 18.
	h, missing := home{}, 0
	for descriptors := 19; missing == 0 && descriptors >= 18; descriptors-- {
		h = newHome(t)
		missing = skipped(h, descriptors, "add", folder)
		if found := libraryStatus(t, h).Documents; found != pages+1-missing {
			t.Errorf("%d descriptors: %d documents, %d missing", descriptors, found, missing)
		}
	}
	if missing == 0 {
		t.Error("a process was started with no descriptor left for it")
	}
	if missing := skipped(h, 21, "sync"); missing > 0 || libraryStatus(t, h).Documents != pages+1 {
		t.Errorf("%d are still missing", missing)
	}
}

// TestWithoutMemory adds a file whose reader needs more memory than it may, among others: it is skipped for that reason.
func TestWithoutMemory(t *testing.T) {
	h := newHome(t)
	folder := filepath.Join(h.dir, "documents")
	writePages(t, folder, 3)
	writeIn(t, folder, "cells.ipynb", []byte(`{"cells":[`+strings.Repeat("1,", 12<<20)+"1]}"))
	if out := h.must("add", "--json", folder); !strings.Contains(out, "it needs more than 256 MB of memory") {
		t.Error(out)
	}
	if found := libraryStatus(t, h).Documents; found != 3 {
		t.Errorf("%d documents", found)
	}
}

// TestMemoryOfExpressions runs expressions of --jq that need ever more memory, in many steps and in few large ones.
func TestMemoryOfExpressions(t *testing.T) {
	onlySlow(t, "TestExpressionsHaveABoundOfMemory")
	const most = 1_500 << 10 // KB: a value may double once more before it is seen
	for _, expression := range []string{"def f: [f]; f", "[.] | until(false; . + .)", "[range(1e9)]"} {
		c := newHome(t).command(t.Context(), "search", "--sample", "rollback", "--jq", expression)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		if got, _ := runWatched(c); c.ProcessState.ExitCode() != 2 || got.own > most || !strings.Contains(stderr.String(), "of memory") {
			t.Errorf("%s: %v, %d MB\n%s", expression, c.ProcessState, got.own>>10, &stderr)
		} else {
			t.Logf("%s: %d MB", expression, got.own>>10)
		}
	}
}
