package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"quarry/server/directory"
)

// token makes one.
func (w *ruleWorld) token(request directory.TokenRequest) string {
	w.t.Helper()
	_, secret, err := w.people.AddToken(w.t.Context(), request)
	w.check(err)
	return secret
}

// kill makes tokens that hold no more: one that has expired, one that was revoked, and some that never held.
func (w *ruleWorld) kill(r *rules) {
	u, days := r.users[w.rand.IntN(len(r.users))], 1
	w.now.Store(new(today.AddDate(0, 0, -3)))
	w.dead = append(w.dead, w.token(directory.TokenRequest{Tenant: r.tenant, Name: "late", Email: u.email, Days: &days}))
	w.now.Store(new(today))
	made, secret, err := w.people.AddToken(w.t.Context(), directory.TokenRequest{Tenant: r.tenant, Name: "gone", Email: u.email})
	w.check(err)
	w.check(w.people.In(w.t.Context(), r.tenant).RevokeToken(u.email, made.ID))
	elsewhere := "onyx_pat_acme." + strings.TrimPrefix(u.full, "onyx_pat_")
	if tenant, random, named := strings.Cut(strings.TrimPrefix(u.full, "onyx_pat_"), "."); named {
		elsewhere = "onyx_pat_" + random
		w.dead = append(w.dead, "onyx_pat_default."+random, "onyx_pat_"+tenant+"x."+random)
	}
	w.dead = append(w.dead, secret, elsewhere, u.full[:len(u.full)-1], u.full+"x", "onyx_pat_"+w.word(), "x")
}

// routesOfAPI are the routes of a listener by the permission that they take; none takes a body that can be read.
func routesOfAPI() map[string][]string {
	id := uuid.NewString()
	return map[string][]string{
		"": {"GET /me"},
		"read:search": {"POST /search", "GET /search/suggest?prefix=q", "GET /search/facets", "GET /document/chunks?document_id=x",
			"GET /document/document-size-info?document_id=x", "GET /document/chunk-info?document_id=x&chunk_id=0", "GET /persona",
			"GET /persona/0", "GET /agents", "GET /manage/indexed-sources", "GET /manage/connector-status",
			"GET /manage/document-set", "GET /query/valid-tags"},
		"basic": {"GET /federated", "GET /federated/oauth-status", "GET /user/pats", "GET /user/pats/scopes",
			"DELETE /user/pats/987654", "PUT /chat/rename-chat-session", "POST /user/projects/file/upload", "GET /chat/file/" + id},
		"read:chat": {"GET /chat/get-user-chat-sessions", "GET /chat/get-chat-session/" + id},
		"write:chat": {"POST /chat/send-chat-message", "POST /chat/create-chat-session",
			"POST /chat/stop-chat-session/" + id},
		"manage:connectors":    {"POST /onyx-api/ingestion"},
		"create:user_api_keys": {"POST /user/pats"},
		"add:agents":           {"POST /persona"},
		"admin": {"POST /manage/admin/connector", "POST /manage/credential", "PUT /manage/connector/1/credential/1",
			"POST /manage/admin/document-set", "POST /manage/admin/user-group", "GET /manage/admin/user-group"},
	}
}

// shows tries tokens on routes: each token opens those that it may, and what holds no more is told like what never did.
func (q *inquiry) shows() {
	routes := routesOfAPI()
	permission := q.one(sortedKeys(routes)...)
	method, target, _ := strings.Cut(q.one(routes[permission]...), " ")
	handler := q.publics[q.thinking]
	for _, token := range append([]string{""}, q.dead...) {
		answer := q.ask(handler, token, method, target, "{")
		want := "Access denied. User is not authenticated."
		if target == "/me" {
			want = "Unauthorized"
		}
		q.same(method+" "+target+" with "+token, strconv.Itoa(answer.Code)+answer.Body.String(), fmt.Sprintf("403{\"detail\":%q}\n", want))
	}
	if q.user == nil {
		return
	}
	for token, scopes := range map[string][]string{q.user.full: nil, q.user.scoped: {"read:search"}, q.user.narrow: q.user.scopes} {
		answer := q.ask(handler, token, method, target, "{")
		refusal := `"detail":"You do not have the required permissions for this action."`
		if scopes != nil {
			refusal = `"detail":"This token's scopes do not permit this endpoint."`
		}
		refused := answer.Code == http.StatusForbidden && strings.Contains(answer.Body.String(), refusal)
		if may := permission == "" || q.user.may(scopes, permission); may == refused || !may && answer.Code != http.StatusForbidden {
			q.errorf("%s %s with %v: HTTP %d %s", method, target, scopes, answer.Code, answer.Body)
		}
	}
	metrics := q.ask(handler, q.user.full, "GET", "/metrics", "").Code == http.StatusOK
	if metrics != (q.user.admin && q.tenant == directory.DefaultTenant) {
		q.errorf("metrics: %v", metrics)
	}
}

// absents asks for what this server has not, and Onyx has.
func (q *inquiry) absents() {
	targets := []string{"GET /hierarchy-nodes", "POST /admin/search", "GET /chat/search",
		"GET /search/search-history", "POST /search/send-search-message", "POST /image-generation/generate",
		"POST /federated/1"}
	if !q.all {
		for _, route := range ownerRoutes() {
			targets = append(targets, route.pattern)
		}
	}
	for _, target := range targets {
		method, path, _ := strings.Cut(target, " ")
		answer := q.send(method, path, "{}")
		if got := strconv.Itoa(answer.Code) + answer.Body.String(); got != "404{\"detail\":\"Not Found\"}\n" && path != "/federated/1" {
			q.errorf("%s: %s", target, got)
		}
	}
}

// crosses names what another tenant has, which must be answered like what nobody has.
func (q *inquiry) crosses() {
	var other *rules
	for _, r := range q.tenants {
		if r != q.rules {
			other = r
		}
	}
	if other == nil || q.user == nil {
		return
	}
	post := func(target, form string) func(string) *httptest.ResponseRecorder {
		return func(id string) *httptest.ResponseRecorder {
			return q.send(http.MethodPost, target, fmt.Sprintf(form, id))
		}
	}
	agent := func(a *ruleAgent) string { return strconv.Itoa(a.id) }
	asked := map[string]func(string) *httptest.ResponseRecorder{}
	if id := pick(q, other.agents, agent); id != "" {
		asked[id+" agent"] = func(id string) *httptest.ResponseRecorder { return q.get("/persona/" + id) }
		asked[id+" agent of a search"] = post("/search", `{"query":"quokka","persona_id":%s}`)
		asked[id+" agents"] = func(id string) *httptest.ResponseRecorder { return q.get("/persona?persona_ids=" + id) }
	}
	if q.token == q.user.full {
		set := pick(q, other.sets, func(s *ruleSet) string { return strconv.Itoa(s.id) })
		group := strconv.Itoa(other.groups[q.one(ruleGroups()...)])
		person := other.users[q.rand.IntN(len(other.users))].id
		pair := pick(q, other.pairs, func(p *rulePair) string { return strconv.Itoa(p.id) })
		asked[set+" set of an agent"] = post("/persona", `{"name":"x","document_set_ids":[%s]}`)
		asked[group+" group of an agent"] = post("/persona", `{"name":"x","groups":[%s]}`)
		asked[person+" user of an agent"] = post("/persona", `{"name":"x","users":["%s"]}`)
		asked[pair+" pair of a document"] = post("/onyx-api/ingestion", `{"cc_pair_id":%s,"document":{"sections":[{"text":"x"}],`+
			`"source":"web","semantic_identifier":"x","id":"x"}}`)
		asked[pair+" pair of a set"] = post("/manage/admin/document-set", `{"name":"x","cc_pair_ids":[%s]}`)
		asked[person+" user of a set"] = post("/manage/admin/document-set", `{"name":"x","users":["%s"]}`)
		asked[pair+" pair of a group"] = post("/manage/admin/user-group", `{"name":"x","user_ids":[],"cc_pair_ids":[%s]}`)
		asked[person+" user of a group"] = post("/manage/admin/user-group", `{"name":"x","user_ids":["%s"],"cc_pair_ids":[]}`)
		for _, tokens := range [][]string{q.tokenIDs(other), q.tokenIDs(q.rules)} { // nor is anybody else's here
			asked[q.one(tokens...)+" token"] = func(id string) *httptest.ResponseRecorder {
				return q.send(http.MethodDelete, "/user/pats/"+id, "")
			}
		}
	}
	if len(asked) == 0 {
		return
	}
	what := q.one(sortedKeys(asked)...)
	id, _, _ := strings.Cut(what, " ")
	absent := "987654"
	if len(id) == len(uuid.Nil.String()) {
		absent = uuid.NewString()
	}
	if id == "" || id == "0" {
		return
	}
	step := q.step
	q.step += ", " + what
	q.alike(id, absent, asked[what])
	if answer := asked[what](id); answer.Code < 300 && !strings.HasSuffix(what, "agents") {
		q.errorf("HTTP %d %s", answer.Code, answer.Body)
	}
	q.step = step
}

func pick[T any](q *inquiry, of []T, name func(T) string) string {
	if len(of) == 0 {
		return ""
	}
	return name(of[q.rand.IntN(len(of))])
}

// tokenIDs are the tokens of a tenant that are not the asker's.
func (q *inquiry) tokenIDs(r *rules) (ids []string) {
	for _, u := range r.users {
		if u == q.user {
			continue
		}
		tokens, err := q.people.In(q.t.Context(), r.tenant).ListTokens(u.email)
		q.check(err)
		for _, token := range tokens {
			ids = append(ids, strconv.Itoa(token.ID))
		}
	}
	return ids
}

func momentOr(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(time.RFC3339)
}
