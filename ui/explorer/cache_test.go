package explorer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	m, start := newMemory(0), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m.put("remote", remembered{response: &wire.SearchResponse{}, at: start})
	m.put("library", remembered{response: &wire.SearchResponse{}, at: start, kept: true})
	for _, test := range []struct {
		key   string
		after time.Duration
		want  bool
	}{
		{"remote", rememberFor, true}, {"remote", rememberFor + time.Second, false},
		{"library", 24 * time.Hour, true}, {"another", 0, false},
	} {
		if _, got := m.get(test.key, start.Add(test.after)); got != test.want {
			t.Errorf("%s after %v: %v, want %v", test.key, test.after, got, test.want)
		}
	}
	for i := range 2 * rememberMost {
		m.put(fmt.Sprint(i), remembered{at: start})
		m.put("library", remembered{at: start, kept: true}) // used all the time, so that it stays
	}
	if _, kept := m.get("library", start); !kept || len(m.answers) != rememberMost {
		t.Errorf("%d answers, the one in use kept: %v", len(m.answers), kept)
	}
	big := func() remembered {
		return remembered{kept: true, response: &wire.SearchResponse{Results: []wire.SearchResult{{Content: strings.Repeat("x", rememberSize/3)}}}}
	}
	for _, key := range []string{"one", "two", "three", "two"} {
		m.put(key, big())
	}
	if _, kept := m.get("one", start); kept || len(m.answers) != 2 {
		t.Errorf("%d answers, the oldest kept: %v", len(m.answers), kept)
	}
	m.put("library", remembered{kept: true})
	m.clear()
	if _, left := m.get("library", start); left {
		t.Error("an answer survived")
	}
}
