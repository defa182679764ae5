package e2e

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk adds more than fits on a small file system: the command says so, what it reported as done is there,
// searches work, and when there is room again the next run completes the work.
func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	h := newHome(t)
	folder := filepath.Join(h.dir, "documents")
	writeRound(t, folder, 0)
	library := filepath.Join(small, "library")
	full := h.run("", "add", "--json", "--library", library, folder)
	if full.code != 1 {
		t.Errorf("exit %d, want 1", full.code)
	}
	if full.code == 0 {
		t.Fatal("everything fits: the file system is too large for this test")
	}
	if !strings.Contains(full.stderr, "disk is full") || !strings.Contains(full.stderr, "Free some disk space") {
		t.Errorf("the error does not tell: %s", full.stderr)
	}
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
	if err := syscall.Mount("", small, "", syscall.MS_REMOUNT, "size=100m"); err != nil {
		t.Fatal(err)
	}
	h.must("add", "--json", "--library", library, folder)
	decode(t, h.must("search", "--library", library, roundWord(0)), &answer)
	if answer.Total != crashFiles {
		t.Errorf("%d files are found when there is room, want %d", answer.Total, crashFiles)
	}
}
