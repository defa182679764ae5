package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/internal/testkit/longtest"
)

// TestHostileFiles adds broken and malicious files, some of which change while they are read. The program must end by
// itself, within the memory that docs/library.md states, read the sound files, give a reason for each of the others,
// and leave no file behind.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	const mostMemory = 2 << 20 // KB; a third of it on a machine that has nothing else to do
	copies, size, bomb, changes := 1, 64<<10, 80<<20, 1_000
	if longtest.Enabled() {
		copies, size, bomb, changes = 8, 4<<20, 256<<20, math.MaxInt
	}
	h := newHome(t)
	h.pdfEngine()
	folder := filepath.Join(h.dir, "documents")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	files := 0
	amplified := filetest.Amplified(1)
	for name, data := range filetest.Hostile(seed, copies, size, bomb) {
		if _, ok := amplified[name]; ok && !longtest.Enabled() {
			continue // package ingest reads them in its own tests
		}
		writeIn(t, folder, name, data)
		files++
	}
	for extension, data := range filetest.Samples() {
		writeIn(t, folder, "sound/plan."+extension, data)
		files++
	}
	specialFiles(t, folder)
	stop := changeMeanwhile(t, filepath.Join(folder, "changing"), changes)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // a hang fails here, with what was read last
	defer cancel()
	var stdout, stderr bytes.Buffer
	used, err := h.memory(ctx, &stdout, &stderr, "add", "--json", folder)
	stop()
	last, reasons, done := "", map[string]string{}, false
	for lines := bufio.NewScanner(&stdout); lines.Scan(); {
		var event struct{ Type, Path, Reason string }
		decode(t, lines.Text(), &event)
		done = event.Type == "done"
		switch event.Type {
		case "skipped":
			reasons[below(folder, event.Path)] = event.Reason
		case "progress":
			last = event.Path
		}
	}
	if err != nil || !done {
		t.Fatalf("add: %v after %s\n%s", err, last, stderr.String())
	}
	if t.Logf("%d files, %d skipped, %d KB of memory", files, len(reasons), used); used == 0 || used > mostMemory {
		t.Errorf("it took %d KB of memory, want at most %d", used, mostMemory)
	}
	for _, name := range []string{"bomb.docx", "bomb.pdf", "encrypted.docx", "encrypted.pdf", "empty.pdf", "zeros.txt", "pipe", "socket", "broken-link", "device"} {
		if reasons[name] == "" {
			t.Errorf("no reason is given for %s", name)
		}
	}
	for name, reason := range reasons {
		if strings.TrimSpace(reason) == "" || strings.HasPrefix(name, "sound/") || strings.Contains(reason, "failed:") {
			t.Errorf("%s: %q", name, reason)
		}
	}
	if found := matches(t, h, "zebraquagga"); found < len(filetest.Samples()) {
		t.Errorf("%d sound files are found, want %d", found, len(filetest.Samples()))
	}
	h.must("status", "--check", "--json")
	checkNoTemporaryFiles(t, h)
}

// specialFiles makes links in a circle, links to nowhere and outside, a pipe that nobody writes, a socket and a device.
func specialFiles(t *testing.T, folder string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(folder, name) }
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, err := range []error{
		os.Symlink(".", at("circle")), os.Symlink("circle-b.md", at("circle-a.md")), os.Symlink("circle-a.md", at("circle-b.md")),
		os.Symlink("nowhere.md", at("broken-link")), os.Symlink("/etc/passwd", at("outside.txt")), os.Symlink("/dev/zero", at("device")),
		syscall.Mkfifo(at("pipe"), 0o644), os.Link(listener.Addr().String(), at("socket")),
		os.WriteFile(at("unreadable.md"), []byte("text"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// changeMeanwhile rewrites, cuts off, removes and replaces files until that many changes were made or the returned function is called.
func changeMeanwhile(t *testing.T, folder string, changes int) (stop func()) {
	t.Helper()
	for i := range 200 {
		writeIn(t, folder, fmt.Sprintf("%d.md", i), bytes.Repeat([]byte("# Changing\n\ntext\n"), 100))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; i < changes && ctx.Err() == nil; i++ {
			path := filepath.Join(folder, fmt.Sprintf("%d.md", i%200))
			switch i % 5 { // each may fail after another one
			case 0:
				_ = os.Truncate(path, int64(i%100))
			case 1:
				_ = os.Remove(path)
			case 2:
				_ = os.WriteFile(path, bytes.Repeat([]byte("other text\n"), i%1000), 0o644)
			case 3:
				_ = os.Remove(path)
				_ = syscall.Mkfifo(path, 0o644)
			default:
				_ = os.RemoveAll(path)
				_ = os.Symlink("/etc/passwd", path)
			}
		}
	})
	return func() { cancel(); running.Wait() }
}
