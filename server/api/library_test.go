package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	w.server.Meaning.Folder = func(tenant string) string { return "/library/" + tenant }
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
	if status.Documents != 5 || len(status.Roots) != 1 || status.Version == "" || status.Path != "/library/default" {
		t.Errorf("status %+v", status)
	}
	known := decoded[wire.LibraryStatus](w, w.call(owner, "", "GET", "/library/status?known="+status.Version, ""))
	if known.Documents != 0 || known.Version != status.Version {
		t.Errorf("status of the known version %+v", known)
	}
	if other := decoded[wire.LibraryStatus](w, w.call(owner, "", "GET", "/library/status?known=x", "")); other.Documents != 5 {
		t.Errorf("status of another version %+v", other)
	}
	w.check(os.Remove(file))
	events = w.events("/library/sync", wire.SyncRequest{})
	if done := events[len(events)-1]; done.Removed != 1 || len(search()) != 0 {
		t.Errorf("synchronised %+v", done)
	}
	w.check(os.WriteFile(file, []byte("# Quokkas\n\nThe quokka is back.\n"), 0o600))
	w.events("/library/sync", wire.SyncRequest{Paths: []string{folder}})
	events = w.events("/library/remove", wire.RemoveRequest{Refs: []string{folder}})
	if done := events[len(events)-1]; done.Removed != 1 {
		t.Errorf("removed %+v", done)
	}
	left := decoded[wire.SearchResponse](w, w.call(owner, "", "POST", "/search", `{"query":"quokka"}`))
	if len(left.Results) != 0 {
		t.Errorf("found after all was removed: %v", ids(left))
	}
}

func TestSetsComeAndGoWithTheirDocuments(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "quokka.md")
	store := func() { w.check(os.WriteFile(file, []byte("# Quokkas\n\nThe quokka smiles.\n"), 0o600)) }
	store()
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	wantSets := func(after string, want ...string) {
		t.Helper()
		var got []string
		for _, set := range decoded[[]wire.DocumentSet](w, w.call(owner, "", "GET", "/manage/document-set", "")) {
			got = append(got, set.Name)
		}
		if want = append([]string{"Board", "Handbook"}, want...); !slices.Equal(got, want) {
			t.Errorf("after %s: sets %q, want %q", after, got, want)
		}
	}
	change := func(route string, request any, want wire.LibraryEvent) {
		t.Helper()
		events := w.events("/library/"+route, request)
		if want.Type = wire.LibraryDone; events[len(events)-1] != want {
			t.Errorf("%s %+v: %+v, want %+v", route, request, events[len(events)-1], want)
		}
	}
	add := func(set string) wire.AddRequest { return wire.AddRequest{Paths: []string{folder}, Set: set} }
	change("add", add("S1"), wire.LibraryEvent{Added: 1})
	wantSets("add", "S1")
	change("add", add("S2"), wire.LibraryEvent{Updated: 1})
	wantSets("add to another set", "S2")
	w.check(os.Remove(file))
	change("sync", wire.SyncRequest{}, wire.LibraryEvent{Removed: 1})
	wantSets("the file has gone", "S2") // its folder is put in it still
	store()
	change("sync", wire.SyncRequest{}, wire.LibraryEvent{Added: 1})
	wantSets("the file is back", "S2")
	change("remove", wire.RemoveRequest{Set: "S2"}, wire.LibraryEvent{Removed: 1})
	wantSets("remove of the set")
	change("remove", wire.RemoveRequest{Source: "confluence"}, wire.LibraryEvent{Removed: 1})
	change("sync", wire.SyncRequest{}, wire.LibraryEvent{})
	wantSets("sync of a set that was removed")
	change("add", add(""), wire.LibraryEvent{Added: 1})
	wantSets("add again", "S2")
	change("remove", wire.RemoveRequest{Refs: []string{folder}}, wire.LibraryEvent{Removed: 1})
	wantSets("remove of the folder")

	err := w.people.In(t.Context(), directory.DefaultTenant).EnsureDocumentSet("Left")
	w.check(err)
	change("remove", wire.RemoveRequest{Set: "Left"}, wire.LibraryEvent{})
	wantSets("remove of an empty set")
	if answer := w.call(owner, "", "POST", "/library/remove", `{"refs":[],"set":"Left"}`); answer.Code != 404 {
		t.Errorf("a set that is not there: HTTP %d %s", answer.Code, answer.Body)
	}
	// Sets that somebody described, restricted or gave to an agent are there to stay.
	change("remove", wire.RemoveRequest{Set: "Board"}, wire.LibraryEvent{Removed: 1})
	for _, set := range []string{"Handbook", "Board"} {
		change("remove", wire.RemoveRequest{Set: set}, wire.LibraryEvent{})
	}
	wantSets("remove of the others")
}

// A path is given only for a document that is a file, as it is stored, and only while that is a regular file of its folder.
func TestFileOfADocument(t *testing.T) {
	w := newWorld(t)
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.md")
	write := func(path, text string) {
		w.check(os.MkdirAll(filepath.Dir(path), 0o700))
		w.check(os.WriteFile(path, []byte(text), 0o600))
	}
	note, deep := filepath.Join(folder, "note.md"), filepath.Join(folder, "sub", "deep.md")
	write(outside, "# Secret")
	write(note, "---\nid: file:"+outside+"\nlink: file://"+outside+"\n---\n# Note\n\nThe quokka.")
	write(deep, "# Deep\n\nThe quokka.")
	write(filepath.Join(folder, "records.jsonl"), `{"id":"file:`+filepath.ToSlash(outside)+`","semantic_identifier":"X","sections":[{"text":"quokka"}]}`)
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	w.events("/library/add", wire.AddRequest{Paths: []string{folder}})
	fileOf := func(id string) string {
		answer := w.call(owner, "", "GET", "/library/file?document_id="+url.QueryEscape(id), "")
		if answer.Code != http.StatusOK {
			return strconv.Itoa(answer.Code)
		}
		return decoded[wire.LibraryFile](w, answer).Path
	}
	for id, want := range map[string]string{"file:" + note: note, "file:" + deep: deep, "file:" + outside: "404", outside: "404",
		"file:" + folder: "404", "file:" + filepath.Join(folder, "records.jsonl"): "404"} {
		if got := fileOf(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	w.check(os.Remove(note))
	if got := fileOf("file:" + note); got != "404" {
		t.Errorf("a deleted file: %s", got)
	}
	w.check(os.Symlink(outside, note))
	w.check(os.RemoveAll(filepath.Dir(deep)))
	write(filepath.Join(filepath.Dir(outside), "deep.md"), "# Secret")
	w.check(os.Symlink(filepath.Dir(outside), filepath.Dir(deep)))
	for _, link := range []string{note, deep} {
		if got := fileOf("file:" + link); got != "404" {
			t.Errorf("a link out of the folder: %s", got)
		}
	}
}

// TestRemoveTakesPlainIds removes a document whose id looks like the name of a file.
func TestRemoveTakesPlainIds(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "t.jsonl")
	w.check(os.WriteFile(file, []byte(`{"id":"x1","semantic_identifier":"X","sections":[{"text":"quokka"}]}`+"\n"+
		`{"id":"a b/c","semantic_identifier":"Y","sections":[{"text":"quokka"}]}`), 0o600))
	w.events("/library/add", wire.AddRequest{Paths: []string{file}})
	for _, id := range []string{"x1", "a b/c"} {
		events := w.events("/library/remove", wire.RemoveRequest{Refs: []string{id}})
		if done := events[len(events)-1]; done.Type != wire.LibraryDone || done.Removed != 1 {
			t.Errorf("%s: %+v", id, done)
		}
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
		{"/library/sync", wire.SyncRequest{Meaning: true}, 400},
	} {
		body, err := json.Marshal(test.body)
		w.check(err)
		if answer := w.call(owner, "", "POST", test.path, string(body)); answer.Code != test.status {
			t.Errorf("%s %s: HTTP %d %s", test.path, body, answer.Code, answer.Body)
		}
	}
	sets, err := w.people.For(t.Context(), directory.Owner(directory.DefaultTenant)).DocumentSets()
	w.check(err)
	if slices.ContainsFunc(sets, func(s directory.DocumentSet) bool { return s.Name == "Never" }) {
		t.Error("a refused request leaves a set behind")
	}
}
