package explorer

import (
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	m, start := newMemory(0), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m.Add("remote", remembered{response: &wire.SearchResponse{}, at: start})
	m.Add("library", remembered{response: &wire.SearchResponse{}, at: start, kept: true})
	for _, test := range []struct {
		key   string
		after time.Duration
		want  bool
	}{
		{"remote", rememberFor, true}, {"remote", rememberFor + time.Second, false}, {"library", 24 * time.Hour, true},
	} {
		if got, _ := m.Get(test.key); got.holds(start.Add(test.after)) != test.want {
			t.Errorf("%s after %v: not %v", test.key, test.after, test.want)
		}
	}
	big := func(part int) remembered {
		return remembered{response: &wire.SearchResponse{Results: []wire.SearchResult{{Content: strings.Repeat("x", rememberSize/part)}}}}
	}
	for _, key := range []string{"one", "two", "three", "two"} {
		m.Add(key, big(3))
	}
	if _, kept := m.Get("one"); kept {
		t.Error("the oldest is kept")
	}
	m.Add("all", big(1))
	if _, kept := m.Get("all"); kept {
		t.Error("an answer that pushes out all others is kept")
	}
	if _, kept := m.Get("two"); !kept {
		t.Error("an answer that is too large pushed out another")
	}
}
