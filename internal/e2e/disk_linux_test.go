package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of a size, and returns its folder and what gives it more room.
func smallDisk(t *testing.T, size string) (folder string, enlarge func()) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder, func() {
		if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT, "size=100m"); err != nil {
			t.Fatal(err)
		}
	}
}

// mustBeFull checks how a command ends that does not fit.
func mustBeFull(t *testing.T, full outcome) {
	t.Helper()
	if full.code == 0 {
		t.Fatal("everything fits: the file system is too large for this test")
	}
	if full.code != 1 {
		t.Errorf("exit %d, want 1", full.code)
	}
	if !strings.Contains(full.stderr, "disk is full") || !strings.Contains(full.stderr, "Free some disk space") {
		t.Errorf("the error does not tell: %s", full.stderr)
	}
}

// TestFullDisk adds a folder that fits on a small file system, and one that does not: the command says so, what was added
// before is found, and when there is room again the next run completes the work.
func TestFullDisk(t *testing.T) {
	small, enlarge := smallDisk(t, "2m")
	h := newHome(t)
	library, fits, large := filepath.Join(small, "library"), filepath.Join(h.dir, "fits"), filepath.Join(h.dir, "large")
	writeNotes(t, fits, 20, 0)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 10 {
		text := fmt.Appendf(nil, "# Note %d\n\n%s\n", i, roundWord(1))
		for range 10_000 { // words that cannot be packed
			text = fmt.Appendf(text, "%016x\n", random.Uint64())
		}
		writeIn(t, large, fmt.Sprintf("%d.md", i), text)
	}
	found := func(word string) (total int) {
		var answer struct {
			Total int `json:"total_matches"`
		}
		decode(t, h.must("search", "--library", library, word), &answer)
		return answer.Total
	}
	h.must("add", "--library", library, fits)
	mustBeFull(t, h.run("", "add", "--library", library, large))
	if n := found(roundWord(0)); n != 20 {
		t.Errorf("of 20 files that fit, %d are found", n)
	}
	enlarge()
	h.must("add", "--library", library, large)
	if n := found(roundWord(1)); n != 10 {
		t.Errorf("of 10 files %d are found when there is room", n)
	}
}

// TestFullDiskInBatches adds more than fits in one run: what it reported as done is there.
func TestFullDiskInBatches(t *testing.T) {
	onlySlow(t, "TestFullDisk")
	const files = 4000 // fewer are one batch, which fits or does not
	small, enlarge := smallDisk(t, "3m")
	h := newHome(t)
	folder := filepath.Join(h.dir, "documents")
	writeRound(t, folder, files, 0)
	library := filepath.Join(small, "library")
	full := h.process("", "add", "--json", "--library", library, folder)
	mustBeFull(t, full)
	acknowledged := 0
	for lines := bufio.NewScanner(strings.NewReader(full.stdout)); lines.Scan(); {
		var event struct {
			Type string
			Done int
		}
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Type == "progress" {
			acknowledged = event.Done
		}
	}
	if acknowledged == 0 {
		t.Fatal("nothing fits: the file system is too small for this test")
	}
	var answer struct {
		Total int `json:"total_matches"`
	}
	decode(t, h.must("search", "--library", library, roundWord(0)), &answer)
	if answer.Total < acknowledged {
		t.Errorf("%d files were acknowledged, %d are found", acknowledged, answer.Total)
	}
	enlarge()
	h.must("add", "--json", "--library", library, folder)
	decode(t, h.must("search", "--library", library, roundWord(0)), &answer)
	if answer.Total != files {
		t.Errorf("%d files are found when there is room, want %d", answer.Total, files)
	}
}
