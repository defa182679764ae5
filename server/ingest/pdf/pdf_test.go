package pdf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program that the tests start: one that gets ready and answers nothing, ends, or writes nonsense.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	_ = WriteFrame(os.Stdout, []byte("{}"))
	switch os.Args[1] {
	case "hang":
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
	case "nonsense":
		_, _ = os.Stdout.WriteString("\xff\xff\xff\xffnonsense")
	case "invalid":
		_ = WriteFrame(os.Stdout, []byte("nonsense"))
	}
}

func start(t *testing.T, argument string) *Reader {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(Program{Path: path, Arguments: []string{argument}})
	t.Cleanup(r.Close)
	return r
}

func TestBadPrograms(t *testing.T) {
	for argument, want := range map[string]string{"hang": "takes longer", "end": "damaged", "nonsense": "damaged", "invalid": "invalid"} {
		r := start(t, argument)
		if argument == "hang" {
			r.reading = time.Millisecond
		}
		for range 2 { // the second one by a new process
			if _, err := r.Read(t.Context(), []byte("x")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", argument, err)
			}
		}
	}
	if _, err := NewReader(Program{}).Read(t.Context(), nil); !errors.Is(err, ErrNoReader) {
		t.Error(err)
	}
	if _, err := NewReader(Program{Path: "/no/such/program"}).Read(t.Context(), nil); err == nil {
		t.Error("a program that does not exist")
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	r := start(t, "hang")
	ctx, end := context.WithCancel(t.Context())
	if err := r.start(ctx); err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := r.Read(ctx, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := ReadFrame(bytes.NewReader(data), 1<<10)
		if err == nil && !bytes.Equal(frame, data[4:4+len(frame)]) {
			t.Errorf("%q of %q", frame, data)
		}
	})
}
