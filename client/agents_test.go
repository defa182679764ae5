package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const fourAgents = `[{"id":3,"name":"Engineering"},{"id":4,"name":"12"},{"id":5,"name":"hrbot"},{"id":6,"name":"HRBot"}]`

func TestAgentID(t *testing.T) {
	t.Parallel()
	c := serving(t, answering(http.StatusOK, "application/json", []byte(fourAgents)))
	for _, test := range []struct {
		name string
		id   int
		near string // of an unknown one
	}{
		{"engineering", 3, ""}, {"12", 4, ""}, {"7", 7, ""}, {"Enginering", 0, `"Engineering"`}, {"Sales", 0, "See quarry agents"},
		{"HRBot", 6, ""}, {"hrbot", 5, ""}, {"HRBOT", 0, `"hrbot"`}, // which of the two is meant is not clear
	} {
		id, err := c.AgentID(t.Context(), test.name)
		if test.near == "" {
			if id != test.id || err != nil {
				t.Errorf("%s: %d, %v", test.name, id, err)
			}
			continue
		}
		var failure *Error
		if !errors.As(err, &failure) || failure.Kind != BadRequest || !strings.Contains(failure.Reason, test.name) ||
			!strings.Contains(failure.Remedy(), test.near) {
			t.Errorf("%s: %d, %v", test.name, id, err)
		}
	}
}

func TestAgentIDWithoutAList(t *testing.T) {
	t.Parallel()
	c := serving(t, answering(http.StatusForbidden, "application/json", []byte(`{"detail":"no"}`)))
	if id, err := c.AgentID(t.Context(), "7"); id != 7 || err != nil {
		t.Errorf("a number needs no list: %d, %v", id, err)
	}
	_, err := c.AgentID(t.Context(), "Eng")
	var failure *Error
	if !errors.As(err, &failure) || failure.Kind != Auth || !strings.Contains(failure.Remedy(), "number") {
		t.Errorf("%v", err)
	}
	c = serving(t, answering(http.StatusInternalServerError, "application/json", []byte(`{"detail":"down"}`)))
	if _, err := c.AgentID(t.Context(), "Eng"); KindOf(err) != Server || !strings.Contains(err.Error(), `"Eng"`) {
		t.Errorf("%v", err)
	}
}

// A search on each key looks its agent up each time.
func TestAgentListIsCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var listed, number atomic.Int32
		number.Store(3)
		c := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			listed.Add(1)
			answering(http.StatusOK, "application/json", fmt.Appendf(nil, `[{"id":%d,"name":"Eng"}]`, number.Load()))(w, r)
		})
		want := func(name string, id int, requests int32) {
			t.Helper()
			got, err := c.AgentID(t.Context(), name)
			if known := err == nil; known != (id != 0) || got != id || listed.Load() != requests {
				t.Errorf("%s: %d, %v, after %d requests", name, got, err, listed.Load())
			}
		}
		want("Eng", 3, 1)
		want("Eng", 3, 1)
		want("En", 0, 1) // a name that is being typed
		number.Store(8)
		time.Sleep(agentsRefresh)
		want("Eng", 3, 1)
		want("En", 0, 2) // may have been added meanwhile
		want("Eng", 8, 2)
		number.Store(9)
		time.Sleep(agentsExpire)
		want("Eng", 9, 3)
	})
}
