package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/llm"
)

// TestMeaningTakesTooLong: work ends where the rest takes longer than there is time, once that can be told, and the note
// of it says how long it would take.
func TestMeaningTakesTooLong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit, took time.Duration
		made        int
		perSecond   float64 // known before
		done, total int
		ends        bool
		left        int
	}{
		"a small library":             {anHour, 10 * time.Second, 100, 0, 100, 10_000, false, 990},
		"a large one":                 {anHour, 10 * time.Second, 100, 0, 100, 100_000, true, 9990},
		"a large one, too early":      {anHour, time.Second, 10, 0, 10, 100_000, false, 9999},
		"a large one, known to be so": {anHour, 0, 0, 10, 0, 100_000, true, 10_000},
		"however long":                {0, 10 * time.Second, 100, 0, 100, 100_000, false, 9990},
		"a moment":                    {addedWithin, time.Second, 20, 0, 20, 50, false, 2},
		"no moment":                   {addedWithin, time.Second, 20, 0, 20, 500, true, 24},
		"nothing known":               {addedWithin, 0, 0, 0, 0, 500, false, 0},
	} {
		folder := t.TempDir()
		var m *making
		// The time is up once the model was measured, before that is reported, too.
		for _, reported := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			m = &making{s: &Server{}, folder: folder, limit: test.limit, cancel: cancel,
				note: meaningNote{PerSecond: test.perSecond}}
			m.progress(index.Embedded{Total: test.total})
			if test.made > 0 {
				m.measured(test.made, test.took)
			}
			if reported {
				m.note.At = time.Time{}
				m.progress(index.Embedded{Done: test.done, Total: test.total})
			}
			if ended := errors.Is(context.Cause(ctx), errTooLong); ended != test.ends {
				t.Errorf("%s, reported %v: ended %v", name, reported, ended)
			}
			cancel(nil)
		}
		note := m.s.meaningNote(folder)
		got := note.status(wire.MeaningRunning)
		if got.Done != test.done || got.Total != test.total || got.SecondsLeft != test.left {
			t.Errorf("%s: noted %+v", name, got)
		}
		if !note.runs(time.Now()) || note.runs(time.Now().Add(time.Minute)) {
			t.Errorf("%s: it must be known to run for a moment, and no longer: %+v", name, note)
		}
	}
}

// openedIndex keeps which documents a pass takes to be opened.
type openedIndex struct {
	index.Index
	opened []string
}

func (x *openedIndex) Embed(_ context.Context, pass index.Embedding) error {
	x.opened = pass.Opened()
	return nil
}

// TestOpenings: the documents whose passages are read most get their vectors first.
func TestOpenings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	models, err := llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: "http://localhost:1", Model: "none"}})
	w.check(err)
	w.server.Models = models
	const once, twice = "file:/handbook/rollback.md", "file:/handbook/travel.md"
	for _, id := range []string{twice, once, twice} {
		get[wire.DocumentChunks](w, "jo", "/document/chunks?document_id="+id)
	}
	x := &openedIndex{Index: w.documents}
	if err := w.server.Embed(t.Context(), directory.DefaultTenant, x); err != nil || !slices.Equal(x.opened, []string{twice, once}) {
		t.Errorf("opened %q, %v", x.opened, err)
	}
}

// TestManyOpenings: what is known of them is bounded, and the last ones are known.
func TestManyOpenings(t *testing.T) {
	t.Parallel()
	var o openings
	for range 3 {
		o.add("acme", "often")
	}
	for i := range 2 * maxOpenings {
		o.add("acme", fmt.Sprint("once ", i))
	}
	o.add("other", "elsewhere")
	if most := o.most("acme"); len(most) > maxOpenings || !slices.Contains(most, fmt.Sprint("once ", 2*maxOpenings-1)) {
		t.Errorf("%d are known", len(most))
	}
	if most := o.most("other"); !slices.Equal(most, []string{"elsewhere"}) {
		t.Errorf("of another tenant %q are known", most)
	}
}

// TestDamagedNote: what is no note is none.
func TestDamagedNote(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, text := range []string{"", "{", "[]", string(make([]byte, 2*maxNote))} {
		if err := os.WriteFile(filepath.Join(folder, meaningFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if note := (&Server{}).meaningNote(folder); note != (meaningNote{}) {
			t.Errorf("%.10q: %+v", text, note)
		}
	}
}

func TestOnBattery(t *testing.T) {
	t.Parallel()
	mains, battery := map[string]string{"type": "Mains\n", "online": "1\n"}, map[string]string{"type": "Battery\n", "status": "Discharging\n"}
	for name, test := range map[string]struct {
		supplies []map[string]string
		want     bool
	}{
		"no supply":      {nil, false},
		"a battery":      {[]map[string]string{battery}, true},
		"mains as well":  {[]map[string]string{battery, mains}, false},
		"mains, pulled":  {[]map[string]string{{"type": "Mains", "online": "0"}, battery}, true},
		"a full battery": {[]map[string]string{{"type": "Battery", "status": "Full"}}, false},
		"of a mouse":     {[]map[string]string{{"type": "Battery", "status": "Discharging", "scope": "Device"}}, false},
	} {
		folder := t.TempDir()
		for i, supply := range test.supplies {
			for file, text := range supply {
				path := filepath.Join(folder, string(rune('A'+i)), file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := onBattery(folder); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
