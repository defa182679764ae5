package engine_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"syscall"
	"testing"

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
	var in, out bytes.Buffer
	bomb := filetest.PDFBomb(300 << 20)
	in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(bomb))))
	in.WriteByte('p')
	in.Write(bomb)
	command := exec.CommandContext(t.Context(), path, asEngine, os.Getenv("PDF_CACHE"))
	command.Stdin, command.Stdout = &in, &out
	err = command.Run()
	used, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || used.Maxrss > bound || used.Maxrss < 30<<10 {
		t.Errorf("%d MB, %v", used.Maxrss>>10, err)
	}
	t.Logf("%d MB, %v", used.Maxrss>>10, err)
	if !bytes.HasPrefix(out.Bytes(), []byte("\x00\x00\x00\x00r")) {
		t.Errorf("%q", out.Bytes()[:min(out.Len(), 20)])
	}
}
