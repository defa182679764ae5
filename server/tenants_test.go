package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/segments"
)

// tenantOf describes a tenant.
func tenantOf(t *testing.T, s *Server, id string) wire.DirectoryTenant {
	t.Helper()
	_, body := ask(t, s, "GET", "/admin/tenants", "")
	var tenants []wire.DirectoryTenant
	if err := json.Unmarshal([]byte(body), &tenants); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants {
		if tenant.Name == id {
			return tenant
		}
	}
	return wire.DirectoryTenant{}
}

// addTenant makes a tenant with a token of its owner.
func addTenant(t *testing.T, s *Server, id string) (token string) {
	t.Helper()
	people, err := s.directory(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := people.AddTenant(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	made := addToken(t, s, directory.TokenRequest{Tenant: id, Name: "x"})
	return made
}

// TestARemovedTenantLeavesNothing: one process serves, another removes the tenant and makes one of the same name.
func TestARemovedTenantLeavesNothing(t *testing.T) {
	home := t.TempDir()
	serving, admin := open(t, Options{Home: home}), open(t, Options{Home: home})
	address, _ := listen(t, serving)
	old := addTenant(t, admin, "acme")
	if !strings.HasPrefix(old, "onyx_pat_acme.") {
		t.Errorf("the token %s does not name its tenant", old)
	}
	post := func(token string) int {
		return send(t, "POST", address+"/onyx-api/ingestion", token, `{"document":{"id":"d","sections":[{"text":"quokka"}],
			"semantic_identifier":"x","source":"web","metadata":{}}}`).StatusCode
	}
	found := func(token string) int {
		response := send(t, "POST", address+"/search", token, `{"query":"quokka"}`)
		if response.StatusCode != 200 {
			return -response.StatusCode
		}
		var answer wire.SearchResponse
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return len(answer.Results)
	}
	if status, n := post(old), found(old); status != 200 || n != 1 {
		t.Fatalf("HTTP %d, %d found", status, n)
	}
	if tenant := tenantOf(t, admin, "acme"); tenant.Documents != 1 || tenant.Tokens != 1 || tenant.Users != 1 || len(tenant.Holds()) != 2 {
		t.Errorf("described as %+v", tenant)
	}
	if status, body := ask(t, admin, "DELETE", "/admin/tenants?name=acme", ""); status != 409 || !strings.Contains(body, "1 document, 1 token") {
		t.Errorf("removed while it is not empty: HTTP %d %s", status, body)
	}
	if found(old) != 1 {
		t.Error("a refusal has changed something")
	}
	if status, body := ask(t, admin, "DELETE", "/admin/tenants?name=default", ""); status != 400 || !strings.Contains(body, "built in") {
		t.Errorf("the default tenant: %d %s", status, body)
	}
	if status, body := ask(t, admin, "DELETE", "/admin/tenants?name=acme&force=true", ""); status != 200 || !strings.Contains(body, `"documents":1`) {
		t.Fatalf("HTTP %d %s", status, body)
	}
	if n := found(old); n != -403 {
		t.Errorf("the token of a removed tenant: %d", n)
	}
	if left, err := os.ReadDir(filepath.Join(home, "tenants")); err != nil || len(left) > 0 {
		t.Errorf("on disk: %v %v", left, err)
	}
	if err := admin.removeTenant(t.Context(), "acme"); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}

	fresh := addTenant(t, admin, "acme")
	if n := found(fresh); n != 0 {
		t.Errorf("a new tenant of the same name: %d", n)
	}
	if n := found(old); n != -403 {
		t.Errorf("the token of the one before it: %d", n)
	}
	if status, n := post(fresh), found(fresh); status != 200 || n != 1 {
		t.Errorf("the new one: HTTP %d, %d found", status, n)
	}
}

// racing is a library whose snapshots wait.
type racing struct {
	index.Index
	asked, removed chan struct{}
}

// Snapshot implements index.Index.
func (r *racing) Snapshot(ctx context.Context) (index.Snapshot, error) {
	close(r.asked)
	<-r.removed
	return r.Index.Snapshot(ctx)
}

// TestQuestionDuringARemoval: a question that began before its tenant was removed is answered by what became of the tenant.
func TestQuestionDuringARemoval(t *testing.T) {
	s := open(t, Options{Home: t.TempDir()})
	r := &racing{asked: make(chan struct{}), removed: make(chan struct{})}
	s.open = func(ctx context.Context, options segments.Options) (_ index.Index, err error) {
		r.Index, err = openEmbedded(ctx, options)
		return r, err
	}
	address, _ := listen(t, s)
	token := addTenant(t, s, "acme")
	if _, err := s.index(t.Context(), "acme", true); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int)
	go func() { answered <- send(t, "POST", address+"/search", token, `{"query":"quokka"}`).StatusCode }()
	<-r.asked
	if err := s.removeTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	close(r.removed)
	if status := <-answered; status != http.StatusGone {
		t.Errorf("HTTP %d", status)
	}
}

// TestARemovalThatWasBrokenOff: what was set aside is nobody's, and goes with the next removal.
func TestARemovalThatWasBrokenOff(t *testing.T) {
	home := t.TempDir()
	s := open(t, Options{Home: home})
	for _, id := range []string{"a", "a-b"} {
		addTenant(t, s, id)
		if _, err := s.index(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.setAside(t.Context(), "a-b"); err != nil {
		t.Fatal(err)
	}
	if err := s.removeTenant(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(home, "tenants"))
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0].Name(), ".removed-a-b-") {
		t.Fatalf("on disk: %v %v", left, err)
	}
	if err := s.removeTenant(t.Context(), "a-b"); err != nil {
		t.Fatal(err)
	}
	if left, err = os.ReadDir(filepath.Join(home, "tenants")); err != nil || len(left) > 0 {
		t.Errorf("on disk: %v %v", left, err)
	}
	var input directory.InputError
	if err := s.removeTenant(t.Context(), "default"); !errors.As(err, &input) {
		t.Errorf("the default tenant is removed: %v", err)
	}
	if left := tenantOf(t, s, directory.DefaultTenant); left.Name == "" || tenantOf(t, s, "a").Name != "" {
		t.Errorf("left %+v", left)
	}
}
