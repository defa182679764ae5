package api

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
)

// events sends a request to the library and reads its stream.
func (w *world) events(path string, request any) []wire.LibraryEvent {
	w.t.Helper()
	body, err := json.Marshal(request)
	w.check(err)
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	answer := w.call(owner, "", http.MethodPost, path, string(body))
	if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != wire.MediaTypeNDJSON {
		w.t.Fatalf("HTTP %d %s", answer.Code, answer.Body)
	}
	var events []wire.LibraryEvent
	for line := range strings.Lines(answer.Body.String()) {
		var event wire.LibraryEvent
		w.check(json.Unmarshal([]byte(line), &event))
		events = append(events, event)
	}
	last := func(e wire.LibraryEvent) bool { return e.Type == wire.LibraryDone || e.Type == wire.LibraryError }
	if n := slices.IndexFunc(events, last); n != len(events)-1 {
		w.t.Fatalf("the stream does not end once: %+v", events)
	}
	return events
}

func TestLibraryOfTheOwner(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "quokka.md")
	w.check(os.WriteFile(file, []byte("# Quokkas\n\nThe quokka smiles at deployments.\n"), 0o600))
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	search := func() []string {
		return ids(decoded[wire.SearchResponse](w, w.call(owner, "", "POST", "/search",
			`{"query":"quokka","document_sets":["Animals"]}`)))
	}
	events := w.events("/library/add", wire.AddRequest{Paths: []string{folder}, Set: "Animals"})
	if done := events[len(events)-1]; done.Type != wire.LibraryDone || done.Added != 1 {
		t.Fatalf("added %+v", done)
	}
	if got := search(); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	status := decoded[wire.LibraryStatus](w, w.call(owner, "", "GET", "/library/status", ""))
	if status.Documents != 5 || len(status.Roots) != 1 || status.Version == "" || status.Path != "/library" {
		t.Errorf("status %+v", status)
	}
	w.check(os.Remove(file))
	events = w.events("/library/sync", wire.SyncRequest{})
	if done := events[len(events)-1]; done.Removed != 1 || len(search()) != 0 {
		t.Errorf("synchronised %+v", done)
	}
	w.check(os.WriteFile(file, []byte("# Quokkas\n\nThe quokka is back.\n"), 0o600))
	w.events("/library/sync", wire.SyncRequest{Paths: []string{folder}})
	events = w.events("/library/remove", wire.RemoveRequest{Refs: []string{folder}})
	if done := events[len(events)-1]; done.Removed != 1 || len(search()) != 0 {
		t.Errorf("removed %+v", done)
	}
}

func TestLibraryRefusals(t *testing.T) {
	w := newWorld(t)
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	absent := filepath.Join(t.TempDir(), "absent")
	for _, test := range []struct {
		path   string
		body   any
		status int
	}{
		{"/library/add", wire.AddRequest{}, 422},
		{"/library/add", wire.AddRequest{Paths: []string{}}, 422},
		{"/library/add", wire.AddRequest{Paths: []string{"relative"}}, 422},
		{"/library/add", wire.AddRequest{Paths: []string{t.TempDir()}, As: "slak"}, 422},
		{"/library/add", wire.AddRequest{Paths: []string{absent}, Set: "Never"}, 400},
		{"/library/sync", wire.SyncRequest{Paths: []string{absent}}, 404},
		{"/library/remove", wire.RemoveRequest{Refs: []string{"file:/absent"}}, 404},
		{"/library/remove", wire.RemoveRequest{}, 422},
		{"/library/remove", wire.RemoveRequest{Refs: []string{""}}, 422},
		{"/library/remove", wire.RemoveRequest{Refs: []string{"file:/absent", " "}, Set: "Animals"}, 422},
		{"/library/add", wire.AddRequest{Paths: []string{""}}, 422},
		{"/library/sync", wire.SyncRequest{Paths: []string{""}}, 422},
	} {
		body, err := json.Marshal(test.body)
		w.check(err)
		if answer := w.call(owner, "", "POST", test.path, string(body)); answer.Code != test.status {
			t.Errorf("%s %s: HTTP %d %s", test.path, body, answer.Code, answer.Body)
		}
	}
	sets, err := w.people.DocumentSets(t.Context(), directory.Owner(directory.DefaultTenant))
	w.check(err)
	if slices.ContainsFunc(sets, func(s directory.DocumentSet) bool { return s.Name == "Never" }) {
		t.Error("a refused request leaves a set behind")
	}
}
