package client

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"quarry/client/wire"
)

// recording is a client whose server answers each route with a recorded body, and the last request's parameters.
func recording(t *testing.T, bodies map[string]string) (*Client, func() (string, url.Values)) {
	t.Helper()
	var path string
	var query url.Values
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		path, query = strings.TrimPrefix(r.URL.Path, "/api"), r.URL.Query()
		name, ok := bodies[r.Method+" "+path]
		if !ok {
			answering(http.StatusNotFound, "application/json", []byte(`{"detail":"Not Found"}`))(w, r)
			return
		}
		answering(http.StatusOK, "application/json", fixture(t, name))(w, r)
	})
	return c, func() (string, url.Values) { return path, query }
}

func TestPersonasWhere(t *testing.T) {
	t.Parallel()
	c, asked := recording(t, map[string]string{"GET /persona": "onyx/persona.json"})
	for _, test := range []struct {
		filter PersonaFilter
		want   url.Values
	}{
		{PersonaFilter{}, url.Values{}},
		{PersonaFilter{IDs: []int{7, 0}}, url.Values{"persona_ids": {"7", "0"}}},
		{PersonaFilter{IncludeDeleted: true}, url.Values{"include_deleted": {"true"}}},
	} {
		personas, err := c.PersonasWhere(t.Context(), test.filter)
		if _, query := asked(); err != nil || len(personas) != 3 || !reflect.DeepEqual(query, test.want) {
			t.Errorf("%+v: %d agents, %v; asked %v", test.filter, len(personas), err, query)
		}
	}
}

func TestAgentPage(t *testing.T) {
	t.Parallel()
	c, asked := recording(t, map[string]string{"GET /agents": "onyx/agents.json"})
	page, err := c.AgentPage(t.Context(), 0, 2)
	if err != nil || len(page.Items) != 2 || page.TotalItems != 3 || page.Items[1].Name != "Eng" {
		t.Errorf("%+v, %v", page, err)
	}
	if _, query := asked(); !reflect.DeepEqual(query, url.Values{"page_num": {"0"}, "page_size": {"2"}}) {
		t.Errorf("asked %v", query)
	}
	for _, bad := range [][2]int{{-1, 2}, {0, 0}, {0, wire.MaxAgentsPerPage + 1}} {
		if _, err := c.AgentPage(t.Context(), bad[0], bad[1]); KindOf(err) != BadRequest {
			t.Errorf("%v: %v", bad, err)
		}
	}
	beyond := jsonServer(t, []byte(`{"total_items":3}`))
	if page, err := beyond.AgentPage(t.Context(), 9, 2); err != nil || page.Items == nil || len(page.Items) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestFederatedLogins(t *testing.T) {
	t.Parallel()
	c, _ := recording(t, map[string]string{"GET /federated/oauth-status": "onyx/federated-oauth-status.json"})
	logins, err := c.FederatedLogins(t.Context())
	if err != nil || len(logins) != 2 || logins[0].HasToken || logins[0].AuthorizeURL == nil ||
		*logins[0].AuthorizeURL != "https://slack.example/oauth/authorize?client_id=1" || !logins[1].HasToken {
		t.Errorf("%+v, %v", logins, err)
	}
	hostile := jsonServer(t, []byte(`[{"name":"a\u001b[31mb","authorize_url":"javascript:alert(1)"}]`))
	logins, err = hostile.FederatedLogins(t.Context())
	if err != nil || logins[0].Name != "ab" || logins[0].AuthorizeURL != nil {
		t.Errorf("%+v, %v", logins, err)
	}
}

func TestConnectors(t *testing.T) {
	t.Parallel()
	c, _ := recording(t, map[string]string{"GET /manage/connector": "onyx/connectors.json"})
	connectors, err := c.Connectors(t.Context())
	if err != nil || len(connectors) != 1 || connectors[0].Source != "confluence" || connectors[0].Config["space"] != "PLAT" {
		t.Fatalf("%+v, %v", connectors, err)
	}
	if _, err := c.Connector(t.Context(), 12); KindOf(err) != NotAvailable {
		t.Error(err)
	}
	one, err := json.Marshal(connectors[0])
	if err != nil {
		t.Fatal(err)
	}
	single := serving(t, routes{"GET /manage/connector/11": string(one)}.ServeHTTP)
	if got, err := single.Connector(t.Context(), 11); err != nil || !reflect.DeepEqual(*got, connectors[0]) {
		t.Errorf("%+v, %v", got, err)
	}
	scoped := serving(t, answering(http.StatusForbidden, "application/json", fixture(t, "onyx/error-403-scope.json")))
	if _, err := scoped.Connectors(t.Context()); KindOf(err) != Auth {
		t.Error(err)
	}
}

func TestValidTagsOfSources(t *testing.T) {
	t.Parallel()
	c, asked := recording(t, map[string]string{"GET /query/valid-tags": "onyx/valid-tags.json"})
	tags, err := c.ValidTagsOf(t.Context(), []string{"slack", "web"}, "", true, 9)
	want := url.Values{"allow_prefix": {"true"}, "limit": {"9"}, "sources": {"slack", "web"}}
	if _, query := asked(); !reflect.DeepEqual(query, want) {
		t.Errorf("asked %v", query)
	}
	if err != nil || len(tags) != 1 || tags[0].Source != "slack" {
		t.Errorf("%+v, %v", tags, err)
	}
	if tags, err := c.ValidTagsOf(t.Context(), []string{"web"}, "", true, 9); err != nil || tags == nil || len(tags) != 0 {
		t.Errorf("%+v, %v", tags, err)
	}
	if _, err := c.ValidTags(t.Context(), "", true, 9); err != nil {
		t.Error(err)
	}
	if _, query := asked(); query.Has("sources") {
		t.Errorf("asked %v", query)
	}
}
