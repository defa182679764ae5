package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
)

// TestCrashesRepeatAndDoubleNothing breaks off at every write and adds or removes again.
func TestCrashesRepeatAndDoubleNothing(t *testing.T) {
	export := func(threads int) map[string]string {
		var day strings.Builder
		for i := range threads {
			fmt.Fprintf(&day, `,{"user":"U1","ts":"17092800%02d.%04d","reply_count":1,"text":"%s"}`, i/1000, i, strings.Repeat("word ", 20))
		}
		return map[string]string{"users.json": `[{"id":"U1","name":"ana"}]`, "channels.json": `[{"id":"C1","name":"general"}]`,
			"general/2024-03-01.json": "[" + strings.TrimPrefix(day.String(), ",") + "]"}
	}
	for _, test := range []struct {
		file  string // with many documents
		write func(l *library, documents int)
	}{
		{"d/big.jsonl", func(l *library, documents int) {
			var big strings.Builder
			for i := range documents {
				big.WriteString(line(fmt.Sprintf("doc-%04d", i), strings.Repeat("word ", 20)))
			}
			l.write("d/big.jsonl", big.String())
		}},
		{"d/export", func(l *library, documents int) {
			for name, text := range inFolder("d/export", export(documents)) {
				l.write(name, text)
			}
		}},
		{"d/mail.mbox", func(l *library, documents int) {
			var messages []string
			for i := range documents {
				messages = append(messages, mailOf(fmt.Sprint(i), "Subject", first, strings.Repeat("word ", 20)))
			}
			l.write("d/mail.mbox", mboxOf(messages...))
		}},
		{"d/export.zip", func(l *library, documents int) { l.write("d/export.zip", zipped(l.t, export(documents))) }},
	} {
		for _, documents := range []int{140, 700} { // read in one part, and in several
			t.Run(fmt.Sprintf("%s of %d", test.file, documents), func(t *testing.T) {
				stop := 0
				for breakOff(t, test.file, documents, stop, test.write) {
					stop++
				}
				if stop < 3 {
					t.Errorf("there were only %d writes", stop)
				}
			})
		}
	}
}

// breakOff adds a file of many documents, breaks off at a write, and checks what can be done then. It returns false if
// there are no more writes.
func breakOff(t *testing.T, file string, documents, stop int, write func(l *library, documents int)) bool {
	crash := errors.New("power cut")
	l := newLibrary(t, map[string]string{"d/a.md": "a"})
	write(l, documents)
	n, stored := 0, 0
	l.idx.beforeWrite = func(batch index.Batch) error {
		if n++; n > stop {
			return crash
		}
		stored += len(batch.Upsert)
		return nil
	}
	_, err := Add(context.Background(), l.idx, []string{l.path("d")}, Options{Local: Local{batch: documents * 5 / 14}}, l.record())
	if err == nil {
		return false
	}
	if !errors.Is(err, crash) || len(l.idx.documents) != stored {
		t.Fatalf("stop %d: %v, %d documents", stop, err, len(l.idx.documents))
	}
	if state := decodeFile(l.idx.cursors[filePrefix+l.path(file)]); state.Print != "" {
		t.Errorf("stop %d: the fingerprint is written before the end", stop)
	}
	for _, event := range l.events.all {
		if event.Type == wire.LibraryProgress && event.Done > 1 {
			t.Errorf("stop %d: %d files are reported as done", stop, event.Done)
		}
	}
	l.idx.beforeWrite = nil
	l.events = events{}
	l.dated = l.dated.Add(time.Second)
	switch stop % 3 {
	case 0:
		l.add(Options{}, "d")
		if got := len(l.idx.documents); got != documents+1 {
			t.Errorf("stop %d: %d documents", stop, got)
		}
		l.counts(l.sync(), 0, 0, 0, documents+1)
	case 1: // the file shrinks meanwhile: nothing of the broken run may be left
		write(l, 1)
		l.add(Options{}, "d")
		if got := len(l.idx.documents); got != 2 {
			t.Errorf("stop %d: %d documents", stop, got)
		}
	default:
		if _, known := l.idx.cursors[rootPrefix+l.path("d")]; known {
			l.remove(wire.RemoveRequest{Refs: []string{l.path("d")}})
		}
		if len(l.idx.documents)+len(l.idx.cursors) > 0 {
			t.Errorf("stop %d: %d documents and %d entries are left", stop, len(l.idx.documents), len(l.idx.cursors))
		}
	}
	return true
}

func TestCancellationLeavesWhatWasAcknowledged(t *testing.T) {
	const count = 300
	files := map[string]string{}
	for i := range count {
		files[fmt.Sprintf("d/f%04d.md", i)] = strings.Repeat("text ", 10)
	}
	l := newLibrary(t, files)
	ctx, cancel := context.WithCancel(context.Background())
	acknowledged := 0
	_, err := Add(ctx, l.idx, []string{l.path("d")}, Options{Local: Local{batch: 100}}, func(e wire.LibraryEvent) {
		if acknowledged = e.Done; e.Type == wire.LibraryProgress {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || acknowledged == 0 || len(l.idx.documents) < acknowledged || acknowledged == count {
		t.Fatalf("%v: %d acknowledged, %d stored", err, acknowledged, len(l.idx.documents))
	}
	stored := len(l.idx.documents)
	l.counts(l.add(Options{}, "d"), count-stored, 0, 0, stored)
}

func TestProgressCountsFiles(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/a.md": "aaaa", "d/b.md": "bb", "d/c.zip": "x"})
	l.add(Options{}, "d")
	last := wire.LibraryEvent{}
	for _, e := range l.events.all {
		if e.Type == wire.LibraryProgress {
			if e.Done < last.Done || e.Bytes < last.Bytes {
				t.Errorf("progress goes back: %+v after %+v", e, last)
			}
			last = e
		}
	}
	if last.Done != 3 || last.Total != 3 || last.Bytes != 6 || last.TotalBytes != 6 || last.Fraction() != 1 || last.Path == "" {
		t.Errorf("last progress %+v", last)
	}
}
