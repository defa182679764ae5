package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/postgrestest"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/weaviate"
)

func openServer(t *testing.T, options Options) *Server {
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

// machines returns the options of servers of one database, each of which has files of its own.
func machines(t *testing.T) func() Options {
	address := postgrestest.Address(t, t.TempDir())
	return func() Options { return Options{Home: filepath.Join(t.TempDir(), "home"), Database: address} }
}

func TestAnAnswerOfAnotherMachineIsStopped(t *testing.T) {
	t.Parallel()
	stopsElsewhere(t, machines(t))
}

// TestServersOfOneDatabase: what is changed at one is true at the other with the next request, and limits are of both.
func TestServersOfOneDatabase(t *testing.T) {
	t.Parallel()
	ctx, place := t.Context(), machines(t)
	var servers [2]*Server
	var handlers [2]http.Handler
	for i := range servers {
		options := place()
		options.Models = answering(t, llmtest.Text("Nothing was found."))
		servers[i] = openServer(t, options)
		handlers[i] = servers[i].Admit(api.PublicOptions{Rate: api.Rate{Count: 3, Per: 24 * time.Hour}}).gate.Listener(true)
	}
	ask := func(server int, secret, method, target, body string) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(ctx, method, "http://localhost"+target, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+secret)
		answer := httptest.NewRecorder()
		handlers[server].ServeHTTP(answer, request)
		return answer
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one, two := servers[0].people, servers[1].people
	must(one.AddTenant(ctx, "acme"))
	token, secret, err := one.AddToken(ctx, directory.TokenRequest{Tenant: "acme", Name: "x", Email: "jo@acme.example"})
	must(err)
	for i, want := range []int{200, 200, 200, 429, 429} {
		answer := ask(i%2, secret, http.MethodPost, "/search", `{"query":"x"}`)
		if answer.Code != want || want == 429 && answer.Header().Get("Retry-After") == "" {
			t.Errorf("search %d: %d %s", i, answer.Code, answer.Body)
		}
	}
	session := strings.Split(ask(0, secret, http.MethodPost, "/chat/create-chat-session", `{}`).Body.String(), `"`)[3]
	if answer := ask(1, secret, http.MethodGet, "/chat/get-chat-session/"+session, ""); answer.Code != 200 {
		t.Errorf("a conversation begun at the other server: %d %s", answer.Code, answer.Body)
	}
	if _, err := one.AddModelTokens(ctx, "acme", "2026-08-01", 7); err != nil {
		t.Error(err)
	}
	if sum, err := two.AddModelTokens(ctx, "acme", "2026-08-01", 5); sum != 12 || err != nil {
		t.Errorf("%d model tokens of both (%v)", sum, err)
	}
	must(two.In(ctx, "acme").RevokeToken("", token.ID))
	if answer := ask(0, secret, http.MethodGet, "/me", ""); answer.Code != 403 {
		t.Errorf("a token revoked at the other server: %d", answer.Code)
	}
	_, other, err := two.AddToken(ctx, directory.TokenRequest{Tenant: "acme", Name: "y", Email: "jo@acme.example"})
	must(err)
	if answer := ask(0, other, http.MethodGet, "/chat/get-chat-session/"+session, ""); answer.Code != 200 {
		t.Errorf("a token added at the other server: %d", answer.Code)
	}
	must(servers[1].removeTenant(ctx, "acme"))
	if answer := ask(0, other, http.MethodGet, "/me", ""); answer.Code != 403 {
		t.Errorf("a token of a tenant removed at the other server: %d", answer.Code)
	}
	must(one.AddTenant(ctx, "acme"))
	if n, err := servers[0].chats("acme").Count(ctx); n != 0 || err != nil {
		t.Errorf("a new tenant of the same name has %d conversations (%v)", n, err)
	}
	if status := ownerAt(ctx, servers[0], http.MethodGet, "/library/status", ""); !strings.Contains(status, `"database":"PostgreSQL, `) {
		t.Errorf("status: %s", status)
	}
}

// testCluster returns the cluster that QUARRY_WEAVIATE names, or skips the test.
func testCluster(t *testing.T) weaviate.Cluster {
	t.Helper()
	address := os.Getenv("QUARRY_WEAVIATE")
	if address == "" {
		t.Skip("not tested with Weaviate: QUARRY_WEAVIATE names no cluster (make test-scale starts one)")
	}
	cluster, err := weaviate.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// lanterns searches a tenant's documents for lanterns, as somebody who may see what access names, or everything.
func lanterns(t *testing.T, server *Server, tenant string, access ...string) (documents int) {
	t.Helper()
	x, err := server.index(t.Context(), tenant, false)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	result, err := shown.Search(t.Context(), index.Query{Text: "lantern", Limit: 5, Filter: index.Filter{Access: index.Access{All: access == nil, Terms: access}}})
	if err != nil {
		t.Fatal(err)
	}
	return len(result.Hits)
}

// TestServersOfOneCluster has the documents in Weaviate, too.
func TestServersOfOneCluster(t *testing.T) {
	t.Parallel()
	cluster := testCluster(t)
	servers := documentsOfServers(t, func(o *Options) { o.Weaviate = &cluster })
	ctx := t.Context()
	store(t, servers[0], "acme", "one")
	if n := lanterns(t, servers[1], "acme"); n != 1 {
		t.Errorf("the other server finds %d documents", n)
	}
	documents, err := servers[0].openStore(ctx, "acme", false)
	if err != nil {
		t.Fatal(err)
	}
	name, err := weaviate.Name(ctx, documents, "acme")
	if err = errors.Join(err, documents.Close()); err != nil || tenantsOf(t, cluster, name) != 1 {
		t.Fatalf("Weaviate does not have %q: %v", name, err)
	}
	options := servers[0].options // Weaviate is away for the server that removes the tenant
	options.Home, options.Weaviate = t.TempDir(), &weaviate.Cluster{Hosts: []string{"127.0.0.1:1"}, GRPC: 1, Replication: 1}
	if err := openServer(t, options).removeTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	if err := servers[0].sweep(ctx); err != nil || tenantsOf(t, cluster, name) != 0 {
		t.Errorf("%s is left in Weaviate (%v)", name, err)
	}
	if names, err := servers[0].people.RemovedLibraries(ctx); err != nil || len(names) > 0 {
		t.Errorf("to be removed: %q, %v", names, err)
	}
	if _, err := servers[1].library(ctx, "acme", false); !errors.Is(err, fault.ErrReplaced) {
		t.Errorf("opened a removed tenant: %v", err)
	}
	if err := servers[0].people.AddTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	for i, server := range servers {
		if n := lanterns(t, server, "acme"); n != 0 {
			t.Errorf("server %d finds %d documents in a new tenant of the same name", i, n)
		}
	}
	store(t, servers[0], "acme", "two")
	if n := lanterns(t, servers[1], "acme"); n != 1 {
		t.Errorf("the other server finds %d documents", n)
	}
}

// TestDocumentsOfOneDatabase has an index in each server.
func TestDocumentsOfOneDatabase(t *testing.T) {
	t.Parallel()
	servers := documentsOfServers(t, func(o *Options) { o.DocumentsInDatabase = true })
	indexes := func(server *Server, tenant string) []string {
		found, err := filepath.Glob(filepath.Join(tenantFolder(server.options.Home, tenant), "segments-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	// A server that was away when a tenant was removed drops its index of it, and catches up before it serves.
	away := servers[1].options
	if len(indexes(servers[1], "acme")) == 0 {
		t.Error("a server has no index of its own")
	}
	if err := servers[1].Close(); err != nil {
		t.Fatal(err)
	}
	store(t, servers[0], "default", "later")
	if err := servers[0].removeTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	back := openServer(t, away)
	if err := back.Admit(api.PublicOptions{}).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := indexes(back, "acme"); len(left) > 0 {
		t.Errorf("a server has an index of a removed tenant: %q", left)
	}
	if n := lanterns(t, back, "default"); n != 1 {
		t.Errorf("a server that was away finds %d documents", n)
	}
	if status := ownerAt(t.Context(), back, http.MethodGet, "/library/status", ""); !strings.Contains(status, `"documents":1,`) ||
		!strings.Contains(status, `"engine":"documents in PostgreSQL`) {
		t.Errorf("status: %s", status)
	}
}

// documentsOfServers: documents stored at one server are found at the other by those who may see them, until they or their tenant
// are removed.
func documentsOfServers(t *testing.T, engine func(*Options)) (servers [2]*Server) {
	t.Helper()
	ctx, place := t.Context(), machines(t)
	for i := range servers {
		options := place()
		engine(&options)
		servers[i] = openServer(t, options)
	}
	one, two := servers[0], servers[1]
	newTenant := func() {
		t.Helper()
		if err := one.people.AddTenant(ctx, "acme"); err != nil {
			t.Fatal(err)
		}
		if n := lanterns(t, one, "acme") + lanterns(t, two, "acme"); n != 0 {
			t.Errorf("%d documents in a new tenant", n)
		}
	}
	newTenant()
	store(t, one, "acme", "one")
	store(t, two, "acme", "group:divers")
	if n, m := lanterns(t, one, "acme"), lanterns(t, two, "acme"); n != 2 || m != 2 {
		t.Errorf("found %d and %d documents", n, m)
	}
	if n := lanterns(t, one, "acme", "PUBLIC"); n != 1 {
		t.Errorf("the public finds %d documents", n)
	}
	x, err := one.index(ctx, "acme", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.UpdateAccess(ctx, []index.AccessPatch{{ID: "one", Access: []string{"group:divers"}}}); err != nil {
		t.Fatal(err)
	}
	if n, m := lanterns(t, two, "acme", "PUBLIC"), lanterns(t, two, "acme", "group:divers"); n != 0 || m != 2 {
		t.Errorf("the public finds %d documents, their group %d", n, m)
	}
	if _, err := x.Write(ctx, index.Batch{Delete: []string{"one"}}); err != nil {
		t.Fatal(err)
	}
	if n := lanterns(t, two, "acme"); n != 1 {
		t.Errorf("after a removal at the other server: %d documents", n)
	}
	if err := one.removeTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	newTenant()
	return servers
}

// store stores a document that everybody may see, or a group if that is its id.
func store(t *testing.T, server *Server, tenant, id string) {
	t.Helper()
	x, err := server.index(t.Context(), tenant, true)
	if err != nil {
		t.Fatal(err)
	}
	d := index.Document{ID: id, Title: "Boathouse", Hidden: id == "hidden", Access: []string{"PUBLIC"},
		Chunks: []index.Chunk{{Text: "The brass lantern of " + tenant + " hangs here."}}}
	if strings.HasPrefix(id, "group:") {
		d.Access = []string{id}
	}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{d}}); err != nil {
		t.Fatal(err)
	}
}

// tenantsOf counts the tenants of a name in the collections of a cluster.
func tenantsOf(t *testing.T, cluster weaviate.Cluster, name string) (n int) {
	t.Helper()
	var schema struct{ Classes []struct{ Class string } }
	var tenants []struct{ Name string }
	get := func(path string, into any) {
		response := send(t, http.MethodGet, "http://"+cluster.Hosts[0]+"/v1/schema"+path, "", "")
		if err := json.NewDecoder(response.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	get("", &schema)
	for _, class := range schema.Classes {
		get("/"+class.Class+"/tenants", &tenants)
		for _, tenant := range tenants {
			if tenant.Name == name {
				n++
			}
		}
	}
	return n
}

// TestUnavailableDatabase: outsiders get a 503 without details, the owner the reason and what to do.
func TestUnavailableDatabase(t *testing.T) {
	t.Parallel()
	const password = "S3cret-Pa55"
	s := openServer(t, Options{Home: t.TempDir(), Database: "postgres://u:" + password + "@127.0.0.1:1/quarry"})
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/me", nil)
	request.Header.Set("Authorization", "Bearer onyx_pat_x")
	s.Admit(api.PublicOptions{}).gate.Listener(true).ServeHTTP(answer, request)
	if body := answer.Body.String(); answer.Code != 503 || answer.Header().Get("Retry-After") == "" || strings.Contains(body, "127.0.0.1") {
		t.Errorf("%d %s", answer.Code, body)
	}
	if body := ownerAt(t.Context(), s, http.MethodGet, "/library/status", ""); !strings.Contains(body, "DATABASE_UNAVAILABLE") ||
		!strings.Contains(body, "start PostgreSQL") || strings.Contains(body, password) {
		t.Error(body)
	}
	if _, err := Open(t.Context(), Options{Home: t.TempDir(), Database: "postgres://u:" + password + "@h/x?pool_max_conns=0"}); err == nil ||
		strings.Contains(fmt.Sprint(err), password) {
		t.Errorf("opened an impossible address: %v", err)
	}
}
