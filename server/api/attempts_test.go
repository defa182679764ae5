package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/longtest"
	"quarry/server/directory"
)

// someone is a caller of the list of attempts.
type someone struct {
	handler http.Handler
	token   string
	may     func(route) bool // reach a route
	library bool             // the routes that change the library are there
	metrics bool             // the route of metrics is there
}

// callers are everybody who can come, by any way in.
func (w *world) callers(t *testing.T) map[string]someone {
	t.Helper()
	gate := w.server.Gate(PublicOptions{})
	gate.guard.changes = nil // what is tried is more than anybody may try in a minute
	listener := gate.Listener(true)
	_, err := w.people.In(t.Context(), directory.DefaultTenant).AddUser("lee@acme.example", directory.RoleBasic)
	w.check(err)
	w.check(w.people.AddTenant(t.Context(), "other"))
	_, secret, err := w.people.AddToken(t.Context(), directory.TokenRequest{Name: "other", Tenant: "other"})
	w.check(err)
	w.tokens["other tenant"] = secret
	by := func(p directory.Principal) func(route) bool {
		return func(r route) bool {
			return !r.sandbox && (r.needs == open || r.needs == identity && p.UserID != "" || p.Can(r.needs))
		}
	}
	callers := map[string]someone{
		"nobody":           {handler: listener, may: by(directory.Principal{}), metrics: true},
		"an unknown token": {handler: listener, token: "onyx_pat_" + strings.Repeat("x", 256), may: by(directory.Principal{}), metrics: true},
		"a guest": {may: by(directory.Anonymous("default")), handler: gate.Visitor(Visitor{Remote: "192.0.2.1:1",
			Identify: func(context.Context) (directory.Principal, error) { return directory.Anonymous("default"), nil }})},
		"a visitor": {may: by(w.principal("jo")), handler: gate.Visitor(Visitor{Remote: "192.0.2.1:1",
			Identify: func(context.Context) (directory.Principal, error) { return w.principal("jo"), nil }})},
		"the owner in process": {may: func(route) bool { return true }, library: true,
			handler: w.server.Handler(directory.Owner(directory.DefaultTenant))},
	}
	for _, who := range []string{"kim", "scoped", "chat", "maker", "owner", "other tenant"} {
		callers[who] = someone{handler: listener, token: w.tokens[who], may: by(w.principal(who)), metrics: true}
	}
	other := callers["other tenant"]
	other.may = func(r route) bool { return r.pattern != "GET /metrics" && by(w.principal("other tenant"))(r) }
	callers["other tenant"] = other
	return callers
}

func (w *world) principal(who string) directory.Principal {
	p, err := w.people.Authenticate(w.t.Context(), w.tokens[who])
	w.check(err)
	return p
}

// attempt is a body, and what is said of it.
type attempt struct {
	body     func() io.Reader
	length   int64 // -1: chunked
	encoding string
	media    string
	harmless bool // a route that needs no field may take it
}

func sent(text string) attempt {
	return attempt{body: func() io.Reader { return strings.NewReader(text) }, length: int64(len(text))}
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// endless is the name of an attempt that goes on until it is refused.
const endless = "a body without end"

// attempts are bodies that no route should take, by what they are.
func attempts(t *testing.T) map[string]attempt {
	t.Helper()
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	if _, err := io.CopyN(zip, zeros{}, 4*megabyte); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	zipped := sent(bomb.String())
	zipped.encoding = "gzip"
	form := sent("--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\n\r\nhalf")
	form.media = "multipart/form-data; boundary=x"
	chunked := sent(`{"query":`)
	chunked.length = -1
	deep := sent(strings.Repeat(`{"document":`, 5_000) + "5" + strings.Repeat("}", 5_000))
	deep.harmless = true
	return map[string]attempt{
		"nothing": sent(""), "half an object": sent(`{"query":`), "null": sent("null"), "a list": sent("[]"), "a text": sent(`"x"`),
		"a number": sent("5"), "two objects": sent("{}{}"), "UTF-16": sent("\xff\xfe{\x00}\x00"),
		"lists 10,000 deep":  sent(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)),
		"objects 5,000 deep": deep,
		"a bomb":             zipped, "chunks": chunked, "half a form": form,
		endless:                 {body: func() io.Reader { return zeros{} }, length: -1},
		"a body said to be 1TB": {body: func() io.Reader { return strings.NewReader("{") }, length: 1 << 40},
	}
}

// attemptsOn are bodies in which something is wrong with a field.
func attemptsOn(fields []string) map[string]attempt {
	list := map[string]attempt{}
	for _, name := range fields {
		for kind, value := range map[string]string{"a number": "1e999", "a list": "[[]]", "an object": `{"x":{}}`, "a long text": `"` + strings.Repeat("x", 20_000) + `"`} {
			list[kind+" for "+name] = sent(fmt.Sprintf("{%q:%s}", name, value))
		}
		list["two of "+name] = sent(fmt.Sprintf(`{%q:"x",%q:{"x":{}}}`, name, name)) // the last one counts
		other := sent(fmt.Sprintf(`{%q:"x"}`, strings.ToUpper(name)))
		other.harmless = true
		list["other case of "+name] = other
	}
	return list
}

// fieldsOf are the fields of each route's body.
func fieldsOf(t *testing.T) map[string][]string {
	t.Helper()
	var named map[string][]string
	readTestdata(t, "testdata/requests.json", &named)
	for pattern, fields := range named {
		named[pattern] = slices.DeleteFunc(fields, func(name string) bool { return strings.ContainsAny(name, "?.") })
	}
	return named
}

// contents are what somebody without rights may not change.
func (w *world) contents() string {
	w.t.Helper()
	ctx, owner := w.t.Context(), directory.Owner(directory.DefaultTenant)
	agents, err := w.people.For(ctx, owner).Agents()
	w.check(err)
	sets, err := w.people.For(ctx, owner).DocumentSets()
	w.check(err)
	tokens, err := w.people.In(ctx, directory.DefaultTenant).ListTokens("")
	w.check(err)
	for i := range tokens {
		tokens[i].LastUsed = today
	}
	groups, err := w.people.In(ctx, directory.DefaultTenant).Groups()
	w.check(err)
	pairs, err := w.people.In(ctx, directory.DefaultTenant).CCPairs()
	w.check(err)
	snapshot, err := w.documents.Snapshot(ctx)
	w.check(err)
	defer snapshot.Close()
	text, err := json.Marshal([]any{agents, sets, tokens, groups, pairs, snapshot.Version()})
	w.check(err)
	return string(text)
}

// TestAttempts sends every body to every route as everybody. A caller without access gets the same refusal for all of them;
// who may gets one that says what is wrong; nothing breaks, and nothing is changed.
func TestAttempts(t *testing.T) {
	w := newWorld(t)
	withChat(w, nil, llmtest.Text("Yes."))
	callers, fields, always := w.callers(t), fieldsOf(t), attempts(t)
	routes := slices.Concat(routes(), libraryRoutes(), []route{metricsRoute(false)})
	before := w.contents()
	for _, who := range slices.Sorted(maps.Keys(callers)) {
		caller := callers[who]
		t.Run(who, func(t *testing.T) {
			for _, r := range routes {
				tried := fields[r.pattern]
				if who != "kim" && (who != "owner" && !caller.library || !longtest.Enabled()) {
					tried = nil // what a field may be does not depend on who sends it
				}
				method, target, _ := strings.Cut(r.pattern, " ")
				if method == http.MethodGet {
					continue // has no body
				}
				target = strings.NewReplacer("{id}", "987654", "{connector}", "987654", "{credential}", "987654").Replace(target)
				all := attemptsOn(tried)
				maps.Copy(all, always)
				for name, attempt := range all {
					if name == endless && who != "owner" && caller.may(r) {
						continue // 32 megabytes are read before it is refused
					}
					caller.tries(t, r, name, method, target, attempt)
				}
			}
			if after := w.contents(); after != before {
				t.Errorf("this changed\n%s\nto\n%s", before, after)
			}
		})
	}
	if strings.Contains(w.log.String(), "panic") || strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log holds more than refusals:\n%.2000s", w.log)
	}
}

// tries sends one attempt, and looks at the answer.
func (s someone) tries(t *testing.T, r route, name, method, target string, a attempt) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, a.body())
	request.Host, request.ContentLength = "localhost", a.length
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	if a.encoding != "" {
		request.Header.Set("Content-Encoding", a.encoding)
	}
	request.Header.Set("Content-Type", a.media)
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, request)
	isLibrary := strings.Contains(r.pattern, " /library/")
	var want []int
	switch {
	case isLibrary && !s.library:
		want = []int{404}
	case !isLibrary && !s.may(r):
		want = []int{cmp.Or(r.denied.status, 403), 403}
	case name == "a body said to be 1TB" && !s.library, name == endless:
		want = []int{413, 404, 422} // a route that does not look at its body may not find what its path names
		if answer.Code != 413 && method == http.MethodPost && !strings.Contains(target, "987654") && !strings.Contains(target, "file/upload") {
			want = []int{413}
		}
	default:
		want = []int{400, 404, 422}
		if r.pattern == "DELETE /persona/{id}" {
			want = append(want, 403) // as Onyx refuses what is not there
		}
		if a.harmless || strings.HasPrefix(target, "/chat/") {
			want = append(want, 200)
		}
	}
	if !slices.Contains(want, answer.Code) || answer.Body.Len() > 64*kilobyte {
		t.Errorf("%s %s with %s: HTTP %d %.200s, want %v", method, target, name, answer.Code, answer.Body, want)
	}
}

// TestReaches: who may reach what without a body.
func TestReaches(t *testing.T) {
	w := newWorld(t)
	withChat(w, nil, llmtest.Text("Yes."))
	routes := slices.Concat(routes(), libraryRoutes(), []route{metricsRoute(false)})
	for who, caller := range w.callers(t) {
		for _, r := range routes {
			method, target, _ := strings.Cut(r.pattern, " ")
			if method != http.MethodGet {
				continue
			}
			here := caller.may(r)
			absent := strings.HasPrefix(target, "/library/") && !caller.library || target == "/metrics" && !caller.metrics
			answer := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), method, strings.Replace(target, "{id}", "987654", 1), nil)
			request.Host = "localhost"
			request.Header.Set("Authorization", "Bearer "+caller.token)
			caller.handler.ServeHTTP(answer, request)
			if strings.Contains(answer.Body.String(), "Connection not found") {
				answer.Code = 404 // Onyx refuses connectors that are not there
			}
			if absent && answer.Code != 404 || !absent && here == (answer.Code == 403) || answer.Code >= 500 {
				t.Errorf("%s: %s: HTTP %d %.200s", who, r.pattern, answer.Code, answer.Body)
			}
		}
	}
}
