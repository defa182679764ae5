package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestAdmits(t *testing.T) {
	a := Document{Access: []string{"group:a", "user:b"}}
	hidden := a
	hidden.Hidden = true
	for _, test := range []struct {
		access   Access
		document Document
		want     bool
	}{
		{Access{All: true}, a, true},
		{Access{All: true}, hidden, false},
		{Access{Terms: []string{"PUBLIC", "user:b"}}, a, true},
		{Access{Terms: []string{"user:b"}}, hidden, false},
		{Access{Terms: []string{"PUBLIC"}}, a, false},
		{Access{}, a, false},
		{Access{Terms: []string{""}}, Document{}, false},
	} {
		if got := test.access.Admits(&test.document); got != test.want {
			t.Errorf("%+v admits %+v: %v", test.access, test.document, got)
		}
	}
}

// TestResolve: the scope of a query is resolved like its filter, in a copy.
func TestResolve(t *testing.T) {
	added := time.Unix(1, 0)
	scope := Filter{AddedSince: added}
	query := Query{Filter: Filter{AddedSince: added}, Scope: &scope}
	resolved, err := query.Resolve(t.Context(), func(_ context.Context, f Filter) (Filter, error) {
		f.AddedSince, f.Among = time.Time{}, []string{"a"}
		return f, nil
	})
	for _, f := range []Filter{resolved.Filter, *resolved.Scope} {
		if err != nil || !f.AddedSince.IsZero() || len(f.Among) != 1 {
			t.Errorf("resolved to %+v, %v", f, err)
		}
	}
	if scope.Among != nil {
		t.Error("the caller's scope has changed")
	}
	calls, failure := 0, errors.New("failure")
	if _, err := query.Resolve(t.Context(), func(_ context.Context, f Filter) (Filter, error) {
		if calls++; calls == 2 {
			return f, failure
		}
		return f, nil
	}); !errors.Is(err, failure) {
		t.Errorf("a scope that cannot be resolved: %v", err)
	}
}

// TestUnless: only unknown texts are asked for, and an answer of another length is an error.
func TestUnless(t *testing.T) {
	texts := []string{"a", "b", "c", "refused"}
	ask := Vectorise(func(_ context.Context, asked []string) ([][]float32, error) {
		if fmt.Sprint(asked) != "[a c]" {
			t.Errorf("asked for %v", asked)
		}
		return [][]float32{{1}, {3}}, nil
	})
	stored := [][]float32{nil, {2}, nil, {}}
	known := func(context.Context, []string) ([][]float32, error) { return slices.Clone(stored), nil }
	vectors, err := ask.Unless(known)(t.Context(), texts)
	if err != nil || fmt.Sprint(vectors) != "[[1] [2] [3] []]" || vectors[3] != nil {
		t.Errorf("%v, %v", vectors, err)
	}
	short := Vectorise(func(context.Context, []string) ([][]float32, error) { return [][]float32{{1}}, nil })
	if _, err := short.Unless(known)(t.Context(), texts); err == nil {
		t.Error("one vector for two texts was taken")
	}
	stored = [][]float32{{1}}
	if _, err := Vectorise(nil).Unless(known)(t.Context(), texts); err != nil {
		t.Errorf("nothing is unknown: %v", err)
	}
}
