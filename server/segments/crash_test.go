package segments

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/longtest"
	"quarry/server/index"
)

// The test binary plays the processes that use one library at the same time, told by these variables.
const (
	roleVariable = "QUARRY_TEST_ROLE"
	dirVariable  = "QUARRY_TEST_DIR"
	cursorKey    = "step"
	crashSize    = 40 // documents
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "write":
		exit(writeForever(os.Getenv(dirVariable)))
	case "read":
		exit(readForever(os.Getenv(dirVariable)))
	case "repair":
		exit(repairOnce(os.Getenv(dirVariable)))
	default:
		exit(fmt.Errorf("unknown role %q", role))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// crashBatch is the step-th batch of a run: the writer and the test that judges it make the same one.
func crashBatch(step int) index.Batch {
	batch := randomBatch(rand.New(rand.NewPCG(uint64(step), 11)), crashSize)
	batch.Upsert = append(batch.Upsert, group(step)...)
	batch.Cursors = map[string]string{cursorKey: strconv.Itoa(step)}
	return batch
}

func lastStep(x *Index) (int, error) {
	cursors, err := x.Cursors(context.Background(), cursorKey)
	if err != nil || cursors[cursorKey] == "" {
		return 0, err
	}
	return strconv.Atoi(cursors[cursorKey])
}

// writeForever goes on where the library stands and tells each step that was acknowledged.
func writeForever(dir string) error {
	x, err := Open(context.Background(), Options{Dir: dir, policy: eager()})
	if err != nil {
		return err
	}
	step, err := lastStep(x)
	if err != nil {
		return err
	}
	means := newMeaning(8, "")
	for {
		step++
		if _, err := x.Write(context.Background(), crashBatch(step)); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		fmt.Println(step)
		if step%2 == 0 {
			if err := x.Embed(context.Background(), index.Embedding{Model: "m", Vectors: means.embed}); err != nil {
				return fmt.Errorf("embed after step %d: %w", step, err)
			}
		}
	}
}

// repairOnce says when it begins to repair.
func repairOnce(dir string) error {
	x, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = x.Check(context.Background(), index.CheckOptions{Full: true, Repair: true}, nil)
	return errors.Join(err, x.Close())
}

// readForever searches until its input ends, and fails at the first error or torn state.
func readForever(dir string) error {
	x, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	fmt.Println("ready")
	for searches := 0; ; searches++ {
		select {
		case <-ended:
			fmt.Println(searches)
			return x.Close()
		default:
			if err := lookForTorn(x); err != nil {
				return fmt.Errorf("search %d: %w", searches, err)
			}
		}
	}
}

func process(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Scanner, io.WriteCloser, *strings.Builder) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	complaints := new(strings.Builder)
	command.Stderr = complaints
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return command, bufio.NewScanner(output), input, complaints
}

// TestKilledWritersLoseNothing kills a writing process again and again, at any moment, while another one searches.
func TestKilledWritersLoseNothing(t *testing.T) {
	rounds := longtest.Rounds(5, 80)
	dir := filepath.Join(t.TempDir(), "library")
	first := open(t, Options{Dir: dir})
	m, known := make(model), 0
	advance := func(to int) {
		for ; known < to; known++ {
			m.apply(crashBatch(known + 1))
		}
	}
	write(t, first, crashBatch(1))
	advance(1)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	reader, readerOutput, readerInput, complaints := process(t, "read", dir)
	if !readerOutput.Scan() {
		t.Fatalf("the reader did not start: %s", complaints)
	}
	random, means := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)), newMeaning(8, "")
	for round := range rounds {
		acknowledged := killWriter(t, dir, random)
		x := open(t, Options{Dir: dir, policy: eager()})
		stored, err := lastStep(x)
		if err != nil {
			t.Fatal(err)
		}
		if stored < acknowledged {
			t.Fatalf("round %d: step %d was acknowledged, step %d is stored", round, acknowledged, stored)
		}
		advance(stored)
		m.compare(t, x)
		checkNearest(t, x, "m", means, m, random, false)
		if round%3 == 0 {
			means.embedAll(t, x, "m")
			checkNearest(t, x, "m", means, m, random, true)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := readerInput.Close(); err != nil {
		t.Fatal(err)
	}
	searches := ""
	for readerOutput.Scan() {
		searches = readerOutput.Text()
	}
	if err := reader.Wait(); err != nil {
		t.Fatalf("the reader failed: %v: %s", err, complaints)
	}
	t.Logf("%d steps survived %d kills; %s searches beside them", known, rounds, searches)
}

// killWriter lets a process write for a while, kills it, and returns the last step that it acknowledged.
func killWriter(t *testing.T, dir string, random *rand.Rand) int {
	t.Helper()
	writer, output, _, complaints := process(t, "write", dir)
	acknowledged, steps := 0, 1+random.IntN(12)
	for range steps {
		if !output.Scan() {
			break
		}
		acknowledged = lastNumber(output.Text(), acknowledged)
	}
	kill := time.AfterFunc(time.Duration(random.IntN(15_000))*time.Microsecond, func() { _ = writer.Process.Kill() })
	defer kill.Stop()
	for output.Scan() {
		acknowledged = lastNumber(output.Text(), acknowledged)
	}
	var exited *exec.ExitError
	if err := writer.Wait(); !errors.As(err, &exited) || exited.Exited() {
		t.Fatalf("the writer was not killed: %v: %s", err, complaints)
	}
	return acknowledged
}

// lastNumber reads a line; one that was cut off by the kill does not count.
func lastNumber(line string, before int) int {
	number, err := strconv.Atoi(line)
	if err != nil || number < before {
		return before
	}
	return number
}
