package engine_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
)

// TestMemoryOfTheProcess: whatever a file unpacks to, the process that reads it stays below 400 MB.
func TestMemoryOfTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("measures another process")
	}
	if _, err := newReader(t).Read(t.Context(), filetest.PDF("x", "y")); err != nil { // compiling needs more than reading
		t.Fatal(err)
	}
	const bound = 400 << 10 // KB
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var in, out, status bytes.Buffer
	bomb := filetest.PDFBomb(300 << 20)
	const last, ready = 4, 1 // kinds
	in.WriteByte(last)
	if err := gob.NewEncoder(&in).Encode(struct {
		Document []byte
		Limit    time.Duration
	}{bomb, time.Minute}); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, asEngine, os.Getenv("PDF_CACHE"))
	command.Env = append(os.Environ(), "GOGC=100") // as in the program; `make test` collects less often
	command.Stdin, command.Stdout, command.Stderr = &in, &out, &status
	// With all of its memory in use the engine may give up, which ends the process.
	if err := command.Run(); err != nil && command.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, status.String())
	}
	// What the system counts for a process that has ended begins with the memory of the one that started it.
	_, peak, _ := strings.Cut(status.String(), "VmHWM:")
	var used int
	if _, err := fmt.Sscan(peak, &used); err != nil || used > bound || used < 30<<10 {
		t.Errorf("%d KB, %v", used, err)
	}
	t.Logf("%d KB", used)
	if !bytes.HasPrefix(out.Bytes(), []byte{ready}) {
		t.Errorf("%q", out.Bytes()[:min(out.Len(), 20)])
	}
}
