package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/internal/testkit/filetest"
)

// TestPDF adds PDF files, which the program reads in a process of its own: the link of a result names its page, and a bad
// file is skipped with its reason.
func TestPDF(t *testing.T) {
	h := newHome(t)
	engine := h.pdfEngine()
	folder := filepath.Join(h.dir, "papers")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("Some other words of this page.\n", 60)
	for name, data := range map[string][]byte{
		"plan.pdf": filetest.PDF("Rollback plan", filler, filler+"The zebra is released."), "broken.pdf": []byte("%PDF-1.7\nnothing"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.must("add", folder)
	found := h.must("search", "zebra", "--json")
	for _, want := range []string{"plan.pdf#page=2", "Rollback plan", "Ada Lovelace", "zebra is released"} {
		if !strings.Contains(found, want) {
			t.Errorf("no %q in\n%s", want, found)
		}
	}
	if status := h.must("status", "--json"); !strings.Contains(status, "it is not a valid PDF file") {
		t.Error(status)
	}
	if o := h.process("", "__read", engine); o.code != 0 || o.stdout != "\x01" { // it is ready, and reads nothing
		t.Errorf("without files: %+v", o)
	}
}
