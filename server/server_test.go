package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/api"
	"quarry/server/directory"
)

func open(t *testing.T, options Options) *Server {
	t.Helper()
	s, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request to a server as its owner, in process.
func ask(t *testing.T, s *Server, method, target, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	answer := httptest.NewRecorder()
	s.InProcess(directory.Owner(directory.DefaultTenant)).ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}

// addToken makes a token on a server's files.
func addToken(t *testing.T, s *Server, request directory.TokenRequest) (token string) {
	t.Helper()
	people, err := s.directory(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	_, token, err = people.AddToken(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func search(t *testing.T, s *Server, query string) []wire.SearchResult {
	t.Helper()
	status, body := ask(t, s, "POST", "/search", `{"query":"`+query+`"}`)
	if status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	var response wire.SearchResponse
	if err := json.Unmarshal([]byte(body), &response); err != nil {
		t.Fatal(err)
	}
	return response.Results
}

// add writes a file and adds it to the library.
func add(t *testing.T, s *Server, name, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(wire.AddRequest{Paths: []string{path}, Set: "Added"})
	if err != nil {
		t.Fatal(err)
	}
	status, answer := ask(t, s, "POST", "/library/add", string(body))
	if status != http.StatusOK || !strings.Contains(answer, `"type":"done"`) {
		t.Fatalf("HTTP %d %s", status, answer)
	}
}

func files(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReadingAHomeThatIsNotThereMakesNothing(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		home := filepath.Join(t.TempDir(), "quarry")
		s := open(t, Options{Home: home, ReadOnly: readOnly})
		if found := search(t, s, "anything"); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		for target, want := range map[string]int{
			"/persona": 200, "/manage/document-set": 200, "/manage/indexed-sources": 200, "/library/status": 200,
			"/search/facets": 200, "/me": 200, "/user/pats": 200, "/document/chunks?document_id=x": 404,
		} {
			if status, body := ask(t, s, "GET", target, ""); status != want {
				t.Errorf("%s: HTTP %d %s", target, status, body)
			}
		}
		if some, err := HasDocuments(t.Context(), home); some || err != nil {
			t.Errorf("has documents: %v, %v", some, err)
		}
		if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading made %v", files(t, home))
		}
	}
}

func TestWhatIsAddedIsFoundAndStays(t *testing.T) {
	home := filepath.Join(t.TempDir(), "quarry")
	s := open(t, Options{Home: home})
	search(t, s, "quokka") // a server that looked before anything was there must see what comes
	add(t, s, "quokka.md", "# Quokkas\n\nThe quokka smiles.\n")
	if len(search(t, s, "quokka")) != 1 {
		t.Fatal("what was added is not found")
	}
	if some, err := HasDocuments(t.Context(), home); !some || err != nil {
		t.Errorf("has documents: %v, %v", some, err)
	}
	for _, path := range []string{home, filepath.Join(home, "tenants", "default")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o700 && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %o", path, mode)
		}
	}
	for _, name := range []string{"directory.db", "tenants/default/library.db"} {
		if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask(t, s, "POST", "/search", `{"query":"quokka"}`); status != http.StatusInternalServerError {
		t.Errorf("a closed server: HTTP %d", status)
	}
	again := open(t, Options{Home: home, ReadOnly: true})
	if len(search(t, again, "quokka")) != 1 {
		t.Error("after a restart it is gone")
	}
	if status, body := ask(t, again, "POST", "/library/remove", `{"refs":["x"]}`); status != http.StatusForbidden {
		t.Errorf("removed from a read-only library: HTTP %d %s", status, body)
	}
	if status, body := ask(t, again, "POST", "/user/pats", `{"name":"x"}`); status != http.StatusForbidden {
		t.Errorf("added a token: HTTP %d %s", status, body)
	}
	if status, body := ask(t, again, "GET", "/manage/document-set", ""); status != 200 || !strings.Contains(body, "Added") {
		t.Errorf("sets: HTTP %d %s", status, body)
	}
}

func TestAnotherProcessAdds(t *testing.T) {
	home := t.TempDir()
	reader, writer := open(t, Options{Home: home}), open(t, Options{Home: home})
	if len(search(t, reader, "quokka")) != 0 {
		t.Fatal("found before it was added")
	}
	if _, body := ask(t, reader, "GET", "/manage/document-set", ""); strings.Contains(body, "Added") {
		t.Fatal("listed before it was added")
	}
	add(t, writer, "quokka.md", "The quokka smiles.")
	if len(search(t, reader, "quokka")) != 1 {
		t.Error("what another process added is not found")
	}
	if _, body := ask(t, reader, "GET", "/manage/document-set", ""); !strings.Contains(body, "Added") {
		t.Error("the set that another process made is not listed")
	}
}

func TestHasDocumentsAfterAllIsRemoved(t *testing.T) {
	home := t.TempDir()
	s := open(t, Options{Home: home})
	add(t, s, "quokka.md", "The quokka smiles.")
	if status, body := ask(t, s, "POST", "/library/remove", `{"refs":[],"set":"Added"}`); status != 200 {
		t.Fatalf("HTTP %d %s", status, body)
	}
	if some, err := HasDocuments(t.Context(), home); some || err != nil {
		t.Errorf("has documents: %v, %v", some, err)
	}
	library := filepath.Join(t.TempDir(), "tenants", "default")
	if err := os.MkdirAll(library, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(library, "library.db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if some, err := HasDocuments(t.Context(), filepath.Dir(filepath.Dir(library))); !some || err != nil {
		t.Errorf("a damaged library: %v, %v", some, err)
	}
}

func TestSampleLibrary(t *testing.T) {
	home := t.TempDir()
	s := open(t, Options{Home: home, Sample: true, Settings: api.Settings{Profile: "sample"}})
	results := search(t, s, "how do we roll back a release")
	if len(results) == 0 || results[0].Origin != "sample" {
		t.Fatalf("found %+v", results)
	}
	var agents []wire.Persona
	if _, body := ask(t, s, "GET", "/persona", ""); json.Unmarshal([]byte(body), &agents) != nil || len(agents) < 2 {
		t.Errorf("agents %+v", agents)
	}
	if found := files(t, home); len(found) != 0 {
		t.Errorf("the sample touched the disk: %v", found)
	}
}

func TestManyAtOnceOpenOneLibrary(t *testing.T) {
	s := open(t, Options{Sample: true})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(canceled, "POST", "/search", strings.NewReader(`{"query":"release"}`))
	s.InProcess(directory.Owner(directory.DefaultTenant)).ServeHTTP(httptest.NewRecorder(), r) // who leaves first must not spoil it for the others
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if len(search(t, s, "release")) == 0 {
				t.Error("nothing found")
			}
		})
	}
	group.Wait()
	if len(s.tenants) != 1 {
		t.Errorf("%d libraries are open", len(s.tenants))
	}
}

func TestOpenRefusesNoHome(t *testing.T) {
	if _, err := Open(t.Context(), Options{}); err == nil {
		t.Error("opened nothing")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Home: file})
	if status, body := ask(t, s, "POST", "/search", `{"query":"x"}`); status != 500 || !strings.Contains(body, "open the library") {
		t.Errorf("a file for a home: HTTP %d %s", status, body)
	}
}

// listen serves until the test ends or stop is called, which returns what ListenAndServe did.
func listen(t *testing.T, s *Server) (address string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- s.Admit(api.PublicOptions{}).ListenAndServe(ctx, "127.0.0.1:0", func(a net.Addr) { ready <- a })
	}()
	var once sync.Once
	var result error
	stop = func() error {
		once.Do(func() {
			cancel()
			result = <-ended
		})
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-ready:
		return "http://" + a.String(), stop
	case err := <-ended:
		t.Fatal(err)
		return "", nil
	}
}

func send(t *testing.T, method, url, token, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	return response
}

func TestListener(t *testing.T) {
	home := t.TempDir()
	log := new(bytes.Buffer)
	s := open(t, Options{Home: home, Settings: api.Settings{Version: "1.2.3", Log: slog.New(slog.NewTextHandler(log, nil))}})
	address, stop := listen(t, s)
	if got := send(t, "POST", address+"/search", "onyx_pat_x", `{"query":"x"}`).StatusCode; got != 403 {
		t.Errorf("before there is a directory: HTTP %d", got)
	}
	if found := files(t, home); len(found) != 0 {
		t.Errorf("turning a caller away made %v", found)
	}
	admin := open(t, Options{Home: home}) // as another process makes a token
	made := addToken(t, admin, directory.TokenRequest{Name: "first", Email: "jo@acme.example"})
	add(t, admin, "quokka.md", "The quokka smiles.")
	for _, prefix := range []string{"", "/api"} {
		response := send(t, "POST", address+prefix+"/search", made, `{"query":"quokka"}`)
		var answer wire.SearchResponse
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Results) != 1 {
			t.Errorf("HTTP %d, %d results, %v", response.StatusCode, len(answer.Results), err)
		}
	}
	if got := send(t, "POST", address+"/library/add", made, `{"paths":["/"]}`).StatusCode; got != 404 {
		t.Errorf("the library over a listener: HTTP %d", got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), made) || !strings.Contains(log.String(), "jo@acme.example") {
		t.Errorf("log:\n%s", log)
	}
	if _, err := new(net.Dialer).Dial("tcp", strings.TrimPrefix(address, "http://")); err == nil {
		t.Error("still listening")
	}
	if err := s.Admit(api.PublicOptions{}).ListenAndServe(t.Context(), "256.0.0.1:x", nil); err == nil {
		t.Error("listened on nonsense")
	}
}

// TestTenantsAreApart: the same words in two tenants, a token for each.
func TestTenantsAreApart(t *testing.T) {
	s := open(t, Options{Home: t.TempDir()})
	ctx := t.Context()
	people, err := s.directory(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := people.AddTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	address, _ := listen(t, s)
	tokens := map[string]string{}
	for _, tenant := range []string{"default", "acme"} {
		made := addToken(t, s, directory.TokenRequest{Tenant: tenant, Name: "x"})
		tokens[tenant] = made
		body := fmt.Sprintf(`{"document":{"id":"doc-%s","sections":[{"text":"quokka"}],"semantic_identifier":"x",
			"source":"web","metadata":{}}}`, tenant)
		if got := send(t, "POST", address+"/onyx-api/ingestion", made, body).StatusCode; got != 200 {
			t.Fatalf("HTTP %d", got)
		}
	}
	for tenant, token := range tokens {
		var answer wire.SearchResponse
		response := send(t, "POST", address+"/search", token, `{"query":"quokka"}`)
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Results) != 1 || answer.Results[0].DocumentID != "doc-"+tenant {
			t.Errorf("%s finds %+v", tenant, answer.Results)
		}
	}
	if _, err := os.Stat(filepath.Join(s.options.Home, "tenants", "acme", "library.db")); err != nil {
		t.Error(err)
	}
}

// TestShutdownFinishesWhatItBegan holds a request open over the end of the listener.
func TestShutdownFinishesWhatItBegan(t *testing.T) {
	s := open(t, Options{Sample: true})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	began, finish, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-finish
		if r.Context().Err() != nil {
			t.Error("the request was cut off")
		}
		_, _ = io.WriteString(w, "whole")
	})
	go func() { ended <- s.serve(ctx, listener, handler) }()
	answers := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			answers <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answers <- string(text)
	}()
	<-began
	cancel()
	for { // until nobody is let in any more
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			break
		}
		_ = connection.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("stopped before the request was answered: %v", err)
	default:
	}
	close(finish)
	if got := <-answers; got != "whole" {
		t.Errorf("answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestWhoIsCutOffIsTold: a request that does not end within the grace gets an answer, and the server ends.
func TestWhoIsCutOffIsTold(t *testing.T) {
	s := open(t, Options{Sample: true})
	s.grace = time.Millisecond
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begun ")
			_ = http.NewResponseController(w).Flush()
			stop()
			<-r.Context().Done()
			_, _ = io.WriteString(w, "cut off")
		}))
	}()
	response := send(t, "GET", "http://"+listener.Addr().String(), "", "")
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "begun cut off" {
		t.Errorf("%q, %v", text, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestOwner(t *testing.T) {
	if who := directory.Owner(directory.DefaultTenant); !who.Owner || who.Email != directory.OwnerEmail || !slices.Contains(who.Permissions, "admin") {
		t.Errorf("%+v", who)
	}
}
