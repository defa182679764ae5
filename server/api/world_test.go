package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/postgrestest"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/segments"
	"quarry/server/weaviate"
)

var today = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// world is a server with people, documents and agents.
type world struct {
	t         testing.TB
	server    *Server
	people    *directory.Directory
	documents index.Index
	public    http.Handler // a listener's on this machine
	log       *syncBuffer
	tokens    map[string]string // by who holds them
	eng       directory.Agent
	now       *atomic.Pointer[time.Time] // what its clock shows; work in the background looks at it, too
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(data)
}

func (b *syncBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, log: new(syncBuffer), tokens: map[string]string{}, now: new(atomic.Pointer[time.Time])}
	w.now.Store(new(today))
	now := func() time.Time { return *w.now.Load() }
	var chats func(tenant string) (*chat.Store, error)
	w.people, chats = openStores(t, "", now)
	w.documents = openDocuments(t, directory.DefaultTenant, now)
	t.Cleanup(func() {
		if err := w.documents.Close(); err != nil {
			t.Error(err)
		}
		if err := w.people.Close(); err != nil {
			t.Error(err)
		}
	})
	w.server = New(Options{
		Directory:    w.people,
		Index:        func(context.Context, string, bool) (index.Index, error) { return w.documents, nil },
		Chats:        w.chats(chats),
		RemoveTenant: func(ctx context.Context, id string) error { return w.people.RemoveTenant(ctx, id) },
		Settings: Settings{SecretKey: strings.Repeat("k", 32), Version: "1.2.3", Now: now,
			Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
	})
	w.public = w.server.Gate(PublicOptions{}).Listener(true)
	w.populate()
	return w
}

// openStores opens a directory, and returns it with how to open the chat sessions of a tenant: in memory or in a file, or in
// TestOnPostgres and TestOnWeaviate on a server.
func openStores(t testing.TB, path string, now func() time.Time) (*directory.Directory, func(tenant string) (*chat.Store, error)) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), onPostgres) && !strings.HasPrefix(t.Name(), onWeaviate) {
		people, err := directory.Open(t.Context(), path, false, now)
		if err != nil {
			t.Fatal(err)
		}
		return people, func(string) (*chat.Store, error) { return chat.Open(context.Background(), "", now) }
	}
	pool := postgrestest.Open(t, t.TempDir(), false) // without a server it skips the test
	people, err := directory.OpenServer(t.Context(), pool, now)
	if err != nil {
		t.Fatal(err)
	}
	return people, func(tenant string) (*chat.Store, error) {
		return chat.OpenServer(context.Background(), pool, tenant, now)
	}
}

const onPostgres = "TestOnPostgres/"

// TestOnPostgres runs the tests of rights and of the API, and those that use most of the directory and the chats, with all data on
// a PostgreSQL server, too.
func TestOnPostgres(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"conformance": TestConformance, "rights": TestRights, "bounds": TestATokenGivesAtMostWhatItHas, "conversation": TestConversation,
		"sessions": TestSessionsAreTheirUsers, "tenants": TestSessionsOfTenants, "connectors": TestConnectorsDecideWhoSeesWhat,
		"everybody": TestNobodySeesMore, "changes": TestGivingAndTakingAwayIsSeenAtOnce,
	} {
		t.Run(name, test)
	}
}

const onWeaviate = "TestOnWeaviate/"

// TestOnWeaviate runs the tests of rights and of the API with the documents in a Weaviate cluster, and all else in PostgreSQL.
func TestOnWeaviate(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"conformance": TestConformance, "rights": TestRights, "everybody": TestNobodySeesMore, "changes": TestGivingAndTakingAwayIsSeenAtOnce,
	} {
		t.Run(name, test)
	}
}

// openDocuments opens an empty library: in memory, in TestOnPostgres on the server, or in TestOnWeaviate in the cluster that
// QUARRY_WEAVIATE names.
func openDocuments(t testing.TB, tenant string, now func() time.Time) index.Index {
	t.Helper()
	var documents index.Index
	var err error
	switch {
	case strings.HasPrefix(t.Name(), onPostgres):
		documents = segments.NewLocal(t.Context(), openStore(t, tenant, now), t.TempDir(), nil)
	case strings.HasPrefix(t.Name(), onWeaviate):
		documents, err = openDistributed(t, tenant, now)
	default:
		documents, err = segments.Open(t.Context(), segments.Options{Now: now})
	}
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func openDistributed(t testing.TB, tenant string, now func() time.Time) (index.Index, error) {
	address := os.Getenv("QUARRY_WEAVIATE")
	if address == "" {
		t.Skip("not tested with Weaviate: QUARRY_WEAVIATE names no cluster (make test-scale starts one)")
	}
	cluster, err := weaviate.ParseURL(address)
	if err != nil {
		return nil, err
	}
	return weaviate.Open(t.Context(), openStore(t, tenant, now), cluster, tenant)
}

// openStore opens an empty store of documents on the PostgreSQL server.
func openStore(t testing.TB, tenant string, now func() time.Time) *documents.Store {
	t.Helper()
	database := postgrestest.Address(t, t.TempDir())
	t.Cleanup(func() {
		if err := documents.Drop(context.Background(), database, tenant); err != nil {
			t.Error(err)
		}
	})
	store, err := documents.Open(t.Context(), documents.Options{Database: database, Tenant: tenant, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// chats returns the chat sessions of each tenant.
func (w *world) chats(open func(tenant string) (*chat.Store, error)) func(tenant string) *chat.Store {
	var mutex sync.Mutex
	stores := map[string]*chat.Store{}
	return func(tenant string) *chat.Store {
		mutex.Lock()
		defer mutex.Unlock()
		if stores[tenant] == nil {
			store, err := open(tenant)
			w.check(err)
			stores[tenant] = store
			w.t.Cleanup(func() { w.check(store.Close()) })
		}
		return stores[tenant]
	}
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// joinGroup adds a user to a group and returns its id. Who and what does not exist is made.
func joinGroup(t testing.TB, d *directory.Directory, tenant, group, email string) int {
	t.Helper()
	user, userErr := d.In(t.Context(), tenant).AddUser(email, directory.RoleBasic)
	groups, err := d.In(t.Context(), tenant).Groups()
	joined, at := directory.Group{}, slices.IndexFunc(groups, func(g directory.Group) bool { return g.Name == group })
	if at >= 0 {
		joined, err = d.In(t.Context(), tenant).ChangeGroup(groups[at].ID, directory.GroupChange{Joining: []string{user.ID}})
	} else if err == nil {
		joined, err = d.In(t.Context(), tenant).AddGroup(group, []string{user.ID}, nil)
	}
	if err := errors.Join(userErr, err); err != nil {
		t.Fatal(err)
	}
	return joined.ID
}

// leaveGroup removes a user from a group.
func leaveGroup(t testing.TB, d *directory.Directory, tenant string, group int, email string) {
	t.Helper()
	groups, err := d.In(t.Context(), tenant).Groups()
	left := []string{}
	for _, g := range groups {
		for _, user := range g.Members {
			if g.ID == group && user.Email != email {
				left = append(left, user.ID)
			}
		}
	}
	if err == nil {
		_, err = d.In(t.Context(), tenant).ChangeGroup(group, directory.GroupChange{Users: left})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// populate tells a story of four documents: two public, one of Jo's, one of the group Legal, to which Kim belongs.
func (w *world) populate() {
	ctx, tenant := w.t.Context(), directory.DefaultTenant
	_, err := w.people.In(ctx, tenant).CreateDocumentSet(directory.SetDetails{DocumentSet: directory.DocumentSet{
		Name: "Handbook", Description: "How we work", Public: true}})
	w.check(err)
	_, err = w.people.In(ctx, tenant).CreateDocumentSet(directory.SetDetails{DocumentSet: directory.DocumentSet{Name: "Board"}})
	w.check(err)
	w.eng, err = w.people.In(ctx, tenant).AddAgent(directory.Agent{Name: "Eng", Description: "Engineering", Public: true,
		Listed: true, DocumentSets: []directory.DocumentSet{{Name: "Handbook"}}})
	w.check(err)
	joinGroup(w.t, w.people, tenant, "Legal", "kim@acme.example")
	for who, request := range map[string]directory.TokenRequest{
		"owner":  {},
		"jo":     {Email: "jo@acme.example"},
		"kim":    {Email: "kim@acme.example"},
		"scoped": {Email: "jo@acme.example", Scopes: []string{"read:search"}},
		"chat":   {Email: "jo@acme.example", Scopes: []string{"write:chat"}},
		"maker":  {Scopes: []string{"create:user_api_keys", "basic"}},
	} {
		request.Name = who
		_, secret, err := w.people.AddToken(ctx, request)
		w.check(err)
		w.tokens[who] = secret
	}
	_, err = writePosted(ctx, w.documents, index.Batch{Upsert: []index.Document{
		document("file:/handbook/rollback.md", "Rolling back a release", "confluence", "PUBLIC",
			"Roll back a deploy with the release tool. Watch the error budget.", "team", "infra", "Handbook"),
		ofFile(document("file:/handbook/travel.md", "Travel", "file", "PUBLIC",
			"Book travel early. The travel desk answers questions about a deploy to another office.", "team", "people",
			"Board"), "/handbook/travel.md"),
		document("file:/jo/notes.md", "Notes of Jo", "google_drive", "user_email:jo@acme.example",
			"Zanzibar deploy secrets for Jo alone.", "mood", "zealous", ""),
		document("file:/legal/contract.md", "Contract zebra", "sharepoint", "group:Legal",
			"The zeppelin contract forbids a deploy on Fridays.", "matter", "zeta", ""),
	}})
	w.check(err)
}

// ofFile returns a document as adding a file stores it.
func ofFile(d index.Document, path string) index.Document {
	d.Origin = path
	return d
}

func document(id, title, source, access, text, key, value, set string) index.Document {
	d := index.Document{
		ID: id, Title: title, Source: source, Type: "md", Link: "https://acme.example/" + title[:4],
		UpdatedAt: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), Authors: []index.Person{{Name: "Ada " + title[:2]}},
		Metadata: []index.Field{{Key: key, Values: []string{value}}}, Access: []string{access},
		Outline: []index.Heading{{Level: 1, Text: title}},
		Chunks:  []index.Chunk{{Text: text, Headings: []string{title}}, {Text: "An end to " + title + "."}},
	}
	if set != "" {
		d.Sets = []string{set}
	}
	return d
}

// call sends a request to a handler, with the token of who.
func (w *world) call(handler http.Handler, who, method, target, body string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	r.Host = "localhost:8080"
	if token := w.tokens[who]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Onyx-Authorization", "Bearer "+token)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// get asks the listener and decodes what it answers.
func get[T any](w *world, who, target string) T {
	w.t.Helper()
	return decoded[T](w, w.call(w.public, who, http.MethodGet, target, ""))
}

func post[T any](w *world, who, target, body string) T {
	w.t.Helper()
	return decoded[T](w, w.call(w.public, who, http.MethodPost, target, body))
}

func decoded[T any](w *world, answer *httptest.ResponseRecorder) T {
	w.t.Helper()
	var value T
	if answer.Code != http.StatusOK {
		w.t.Fatalf("HTTP %d: %s", answer.Code, answer.Body)
	}
	w.check(json.Unmarshal(answer.Body.Bytes(), &value))
	return value
}

func ids(response wire.SearchResponse) []string {
	var found []string
	for _, r := range response.Results {
		found = append(found, r.DocumentID)
	}
	return found
}
