package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/internal/testkit/longtest"
	"quarry/server/ingest/pdf"
	"quarry/server/ingest/pdf/engine"
	"quarry/server/ingest/worker"
)

// asEngine is the argument with which the test's program reads files.
const asEngine = "read-pdf"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asEngine {
		err := serve(engine.New(os.Args[2]))
		status, _ := os.ReadFile("/proc/self/status") // which other systems do not have
		_, _ = os.Stderr.Write(status)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv("PDF_CACHE") != "" { // in a process of the fuzzer
		os.Exit(m.Run())
	}
	cache, err := filetest.PDFEngine()
	if err != nil {
		panic(err)
	}
	os.Setenv("PDF_CACHE", cache)
	os.Exit(m.Run())
}

// serve reads files in a process of its own, as the program does.
func serve(e *engine.Engine) error {
	return worker.Serve(os.Stdin, os.Stdout, func(session *worker.Session[[]byte], data []byte) ([]byte, error) {
		if err := session.Prepare(context.Background(), e.Start); err != nil {
			return nil, err
		}
		err := e.Read(data, func(m pdf.Message) error {
			part, err := json.Marshal(m)
			return errors.Join(err, session.Send(part))
		})
		if about := (*pdf.FileError)(nil); errors.As(err, &about) {
			return []byte(err.Error()), nil
		}
		return nil, err
	})
}

type reader struct{ *worker.Pool[[]byte, []byte] }

func newReader(t testing.TB) reader {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := reader{worker.NewPool[[]byte, []byte](worker.Program{Path: path, Arguments: []string{asEngine, os.Getenv("PDF_CACHE")}}, 1)}
	t.Cleanup(r.Close)
	return r
}

func (r reader) Read(ctx context.Context, data []byte) (d pdf.Document, err error) {
	reason, err := r.Pool.Read(ctx, data, time.Minute, func(part []byte) error {
		var m pdf.Message
		return errors.Join(json.Unmarshal(part, &m), d.Add(m))
	})
	if len(reason) > 0 {
		err = errors.New(string(reason))
	}
	return d, err
}

func TestPagesAndProperties(t *testing.T) {
	r := newReader(t)
	for range 2 { // by one process
		d, err := r.Read(t.Context(), filetest.PDF("Rollback plan", "Stop the service.\nThen wait.", "Start it."))
		if err != nil || len(d.Texts) != 2 || strings.TrimSpace(d.Texts[0]) != "Stop the service.\r\nThen wait." || strings.TrimSpace(d.Texts[1]) != "Start it." {
			t.Fatalf("%q %v", d.Texts, err)
		}
		if d.Title != "Rollback plan" || d.Authors != "Ada Lovelace" || d.Keywords != "deploy, FTTWA" || d.Modified != "D:20240203040506+01'00'" {
			t.Errorf("%+v", d.Message)
		}
		if got := fmt.Sprint(d.Outline); got != "[{Part 1 0 0} {Part 2 0 1}]" {
			t.Error(got)
		}
	}
}

// TestBadFilesCostOnlyThemselves: after each of them the next file is read.
func TestBadFilesCostOnlyThemselves(t *testing.T) {
	r := newReader(t)
	good := filetest.PDF("x", "Stop the service.")
	circle := filetest.PDFOf("", `<</Type/Catalog/Pages 2 0 R/Outlines 3 0 R>>`, `<</Type/Pages/Kids[5 0 R]/Count 1>>`, `<</First 4 0 R/Last 4 0 R>>`,
		`<</Title(again)/Next 4 0 R/First 4 0 R/Dest[5 0 R/Fit]>>`, `<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>`)
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":   {[]byte("%PDF-1.7\n"), "not a valid PDF file"},
		"encrypted": {filetest.PDFOf("/ID[(a)(b)]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O("+strings.Repeat("o", 32)+")/U("+strings.Repeat("u", 32)+")>>", `<</Type/Catalog/Pages 2 0 R>>`, `<</Type/Pages/Kids[]/Count 0>>`), "password"},
		"bomb":      {filetest.PDFBomb(longtest.Rounds(32<<20, 300<<20)), ""}, // the engine leaves out what does not fit, or gives up
		"circle":    {circle, ""},
	} {
		d, err := r.Read(t.Context(), test.data)
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if len(d.Outline) > 5_000 {
			t.Errorf("%s: %d entries", name, len(d.Outline))
		}
		if d, err := r.Read(t.Context(), good); err != nil || len(d.Texts) != 1 {
			t.Fatalf("after %s: %v", name, err)
		}
	}
	failed := 0
	for data := range filetest.Broken(good, 5, longtest.Rounds(20, 200)) {
		if _, err := r.Read(t.Context(), data); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
	if d, err := r.Read(t.Context(), good); err != nil || len(d.Texts) != 1 {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := r.Read(ended, good); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.Read(t.Context(), good); err != nil {
		t.Error(err)
	}
}

func FuzzPDF(f *testing.F) {
	f.Add(filetest.PDF("x", "Stop the service.", "y"))
	f.Add([]byte("%PDF-1.7\n"))
	r := newReader(f)
	if _, err := r.Read(f.Context(), filetest.PDF("x", "y")); err != nil { // compiles: the fuzzer ends inputs that take ten seconds
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = r.Read(t.Context(), data)
		if d, err := r.Read(t.Context(), filetest.PDF("x", "y")); err != nil || len(d.Texts) != 1 {
			t.Fatal(err)
		}
	})
}
