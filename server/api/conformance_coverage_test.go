package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/chat"
	"quarry/server/directory"
)

// coverage is what the stories have shown so far.
type coverage struct {
	*matcher
	mux      *http.ServeMux
	patterns []string
	cases    int
	beats    int

	statuses   map[string]map[int]bool          // by route
	sent       map[string]map[string]bool       // fields and parameters by route
	fields     map[reflect.Type]map[string]bool // of answers
	codes      map[string]bool
	exceptions map[string]bool
	models     onyxModels
	wrong      map[string]bool // what answers lack of Onyx's models
}

func newCoverage(t *testing.T) *coverage {
	c := &coverage{matcher: newMatcher(t), mux: http.NewServeMux(), statuses: map[string]map[int]bool{},
		sent: map[string]map[string]bool{}, fields: map[reflect.Type]map[string]bool{}, codes: map[string]bool{},
		exceptions: map[string]bool{}, models: readModels(t), wrong: map[string]bool{}}
	for _, r := range slices.Concat(routes(), ownerRoutes(), []route{metricsRoute(false)}) {
		c.mux.Handle(r.pattern, http.NotFoundHandler())
		c.patterns = append(c.patterns, r.pattern)
	}
	return c
}

// route is the pattern that a request goes to; empty for none.
func (c *coverage) route(r *http.Request) string {
	inner := &http.Request{Method: r.Method, URL: &url.URL{Path: strings.TrimPrefix(r.URL.Path, "/api")}, Host: r.Host}
	_, pattern := c.mux.Handler(inner)
	return pattern
}

// request notes what was sent, and with what status it was answered. Only what was taken counts as sent: a field of a
// request that is refused may be the reason.
func (c *coverage) request(r *http.Request, e exchange, body []byte) {
	c.cases++
	if e.Exception != "" {
		c.exceptions[e.Exception] = true
	}
	pattern := c.route(r)
	if c.statuses[pattern] == nil {
		c.statuses[pattern], c.sent[pattern] = map[int]bool{}, map[string]bool{}
	}
	c.statuses[pattern][e.Status] = true
	if e.Status != http.StatusOK {
		return
	}
	for name := range r.URL.Query() {
		c.sent[pattern]["?"+name] = true
	}
	for _, p := range e.Parts {
		c.sent[pattern][p.Name] = true
	}
	if value, err := decodeJSON(body); err == nil {
		noteFields(c.sent[pattern], "", value)
	}
}

func noteFields(sent map[string]bool, at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			name := strings.TrimPrefix(at+"."+key, ".")
			sent[name] = true
			noteFields(sent, name, inner)
		}
	case []any:
		for _, item := range value {
			noteFields(sent, at, item)
		}
	}
}

// answer notes the fields and codes of an answer.
func (c *coverage) answer(r *http.Request, status int, value any) {
	c.code(value)
	if model, ok := c.models.Routes[parameters.ReplaceAllString(c.route(r), "{}")]; ok && status == http.StatusOK {
		for _, wrong := range c.models.wrong(c.route(r), model, value) {
			c.wrong[wrong] = true
		}
	}
	if typ, ok := responses()[c.route(r)]; ok && status == http.StatusOK {
		c.show(reflect.TypeOf(typ), value)
	}
}

// line notes those of a line of a stream.
func (c *coverage) line(r *http.Request, value any) {
	c.code(value)
	object, _ := value.(map[string]any)
	packet, ok := object["obj"].(map[string]any)
	if !ok {
		if typ, ok := streams()[c.route(r)]; ok {
			c.show(reflect.TypeOf(typ), value)
		}
		return
	}
	c.show(reflect.TypeFor[chat.Packet](), value)
	for _, known := range packets() {
		if typ := reflect.ValueOf(known); typ.FieldByName("Type").String() == packet["type"] {
			c.show(typ.Type(), packet)
		}
	}
}

func (c *coverage) code(value any) {
	if object, ok := value.(map[string]any); ok {
		if code, ok := object["error_code"].(string); ok {
			c.codes[code] = true
		}
	}
}

// show notes which fields of the types within a type a decoded value has.
func (c *coverage) show(typ reflect.Type, value any) {
	switch typ.Kind() {
	case reflect.Pointer:
		c.show(typ.Elem(), value)
	case reflect.Slice:
		list, _ := value.([]any)
		for _, item := range list {
			c.show(typ.Elem(), item)
		}
	case reflect.Map:
		object, _ := value.(map[string]any)
		for _, item := range object {
			c.show(typ.Elem(), item)
		}
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		if c.fields[typ] == nil {
			c.fields[typ] = map[string]bool{}
		}
		for key, field := range jsonFields(typ) {
			if inner, ok := object[key]; ok {
				c.fields[typ][key] = true
				c.show(field, inner)
			}
		}
	}
}

// jsonFields gives the types of a struct's fields by their keys, those of embedded structs among them.
func jsonFields(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && key != "-" {
			fields[key] = field.Type
		} else if field.Anonymous {
			maps.Copy(fields, jsonFields(field.Type))
		}
	}
	return fields
}

// requestTypes are what the client puts into bodies.
func requestTypes() map[string]any {
	return map[string]any{
		"POST /search":                          wire.SearchRequest{},
		"POST /chat/send-chat-message":          wire.ChatRequest{},
		"POST /chat/create-chat-session":        wire.ChatSessionInfo{},
		"PUT /chat/rename-chat-session":         wire.RenameChatSession{},
		"POST /onyx-api/ingestion":              wire.IngestionRequest{},
		"POST /user/pats":                       wire.AccessTokenRequest{},
		"POST /manage/admin/connector":          wire.ConnectorRequest{},
		"POST /manage/credential":               wire.CredentialRequest{},
		"POST /manage/admin/document-set":       wire.DocumentSetRequest{},
		"POST /manage/admin/user-group":         wire.UserGroupRequest{},
		"PATCH /manage/admin/user-group/rename": wire.Named{},
		"PATCH /manage/admin/user-group/{id}":   wire.UserGroupChange{},
		"POST /persona":                         wire.PersonaRequest{},
		"POST /library/add":                     wire.AddRequest{},
		"POST /library/sync":                    wire.SyncRequest{},
		"POST /library/remove":                  wire.RemoveRequest{},
		"POST /library/check":                   wire.CheckRequest{},
		"POST /library/migrate":                 wire.MigrateRequest{},
		"POST /admin/users":                     wire.DirectoryUser{},
		"PATCH /admin/users":                    wire.DirectoryUserState{},
		"POST /admin/groups":                    wire.DirectoryGroup{},
		"POST /admin/tenants":                   wire.DirectoryTenantRequest{},
		"POST /admin/sandbox-tokens":            wire.SandboxTokenRequest{},

		"PUT /manage/connector/{connector}/credential/{credential}": wire.PairRequest{},
	}
}

// responses are what the routes answer with, where it is one JSON document.
func responses() map[string]any {
	return map[string]any{
		"GET /health": wire.Status{}, "GET /version": wire.Version{}, "GET /auth/type": wire.AuthType{}, "GET /me": wire.Me{},
		"POST /search": wire.SearchResponse{}, "POST /build/sandbox/search": wire.SandboxResponse{}, "GET /search/suggest": wire.Suggestions{}, "GET /search/facets": wire.FacetCounts{},
		"GET /document/chunks": wire.DocumentChunks{}, "GET /document/document-size-info": wire.DocumentSize{},
		"GET /document/chunk-info": wire.ChunkInfo{},
		"GET /persona":             []wire.Persona{}, "GET /persona/{id}": wire.FullPersona{}, "GET /agents": wire.PersonaPage{},
		"POST /persona":                wire.FullPersona{},
		"DELETE /persona/{id}":         (*wire.FullPersona)(nil), // null
		"GET /manage/indexed-sources":  wire.IndexedSources{},
		"GET /manage/connector-status": []wire.ConnectorStatus{}, "GET /manage/document-set": []wire.DocumentSet{},
		"GET /query/valid-tags": wire.ValidTags{},
		"GET /federated":        []any{}, "GET /federated/oauth-status": []any{}, // there are none
		"POST /onyx-api/ingestion": wire.IngestionResponse{},
		"GET /user/pats":           []wire.AccessToken{}, "POST /user/pats": wire.NewAccessToken{},
		"DELETE /user/pats/{id}": wire.MessageError{}, "GET /user/pats/scopes": []tokenScope{},
		"POST /manage/admin/connector": wire.Created{}, "POST /manage/credential": wire.Created{},
		"POST /manage/admin/document-set": 0,
		"POST /manage/admin/user-group":   wire.UserGroup{}, "GET /manage/admin/user-group": []wire.UserGroup{},
		"POST /chat/send-chat-message":          wire.ChatFullResponse{},
		"GET /chat/get-user-chat-sessions":      wire.ChatSessions{},
		"GET /chat/get-chat-session/{id}":       wire.ChatSessionDetail{},
		"POST /chat/create-chat-session":        wire.MadeChatSession{},
		"PUT /chat/rename-chat-session":         wire.RenamedChatSession{},
		"POST /chat/stop-chat-session/{id}":     wire.MessageError{},
		"POST /user/projects/file/upload":       wire.UploadedFiles{},
		"GET /chat/file/{id}":                   nil,                            // the file
		"GET /connectors":                       nil,                            // text
		"GET /admin/indexing/status":            nil,                            // text
		"PATCH /chat/chat-session/{id}":         (*wire.ChatSessionDetail)(nil), // null
		"DELETE /chat/delete-chat-session/{id}": (*wire.ChatSessionDetail)(nil),
		"DELETE /chat/delete-all-chat-sessions": (*wire.ChatSessionDetail)(nil),
		"GET /persona/labels":                   []wire.Named{}, "PATCH /persona/{id}": wire.FullPersona{}, "GET /tool": []wire.Tool{},
		"PATCH /manage/admin/document-set":       (*wire.DocumentSet)(nil),
		"DELETE /manage/admin/document-set/{id}": (*wire.DocumentSet)(nil),
		"GET /manage/connector":                  []wire.Connector{}, "GET /manage/connector/{id}": wire.Connector{},
		"PATCH /manage/admin/user-group/rename":        wire.UserGroup{},
		"PATCH /manage/admin/user-group/{id}":          wire.UserGroup{},
		"POST /manage/admin/user-group/{id}/add-users": wire.UserGroup{},
		"DELETE /manage/admin/user-group/{id}":         (*wire.UserGroup)(nil),
		"GET /manage/user-groups/minimal":              []wire.MinimalUserGroup{},
		"GET /onyx-api/ingestion":                      []wire.IngestedDocument{},
		"GET /onyx-api/connector-docs/{id}":            []wire.IngestedDocument{},
		"DELETE /onyx-api/ingestion/{id}":              (*wire.IngestedDocument)(nil),
		"GET /library/status":                          wire.LibraryStatus{},
		"GET /library/file":                            wire.LibraryFile{},
		"GET /library/model":                           wire.ModelStatus{}, "POST /library/model": wire.ModelTest{},
		"GET /metrics": nil, // text

		"GET /admin/users": []wire.DirectoryUser{}, "POST /admin/users": wire.Added[wire.DirectoryUser]{},
		"PATCH /admin/users": wire.MessageError{}, "DELETE /admin/users": wire.MessageError{},
		"GET /admin/groups": []wire.DirectoryGroup{}, "POST /admin/groups": wire.Added[wire.DirectoryGroup]{},
		"DELETE /admin/groups":     wire.MessageError{},
		"GET /admin/connectors":    []wire.DirectoryConnector{},
		"DELETE /admin/connectors": wire.MessageError{},
		"GET /admin/tenants":       []wire.DirectoryTenant{}, "POST /admin/tenants": wire.Added[wire.DirectoryTenant]{},
		"DELETE /admin/tenants":      wire.DirectoryTenant{},
		"POST /admin/sandbox-tokens": wire.Added[wire.NewAccessToken]{},

		"PUT /manage/connector/{connector}/credential/{credential}": wire.PairResponse{},
	}
}

// streams are the lines of those that answer with a stream, packets of chats aside.
func streams() map[string]any {
	return map[string]any{
		"POST /search": wire.SearchEvent{}, "POST /chat/send-chat-message": chatFailureOrStart{},
		"GET /chat/chat-session/{id}/resume-stream": chatFailureOrStart{},
		"POST /library/add":                         wire.LibraryEvent{}, "POST /library/sync": wire.LibraryEvent{},
		"POST /library/remove": wire.LibraryEvent{}, "POST /library/check": wire.LibraryEvent{},
		"POST /library/migrate": wire.LibraryEvent{},
	}
}

// chatFailureOrStart are the lines of a chat that are no packets.
type chatFailureOrStart struct {
	chatFailure
	wire.MadeChatSession
	UserMessageID int `json:"user_message_id"`
	MessageID     int `json:"reserved_assistant_message_id"`
}

// packets are all objects that an answer can be told in.
func packets() []any {
	return []any{
		chat.SearchStart(), chat.SearchQueries(nil), chat.SearchFilters(nil, nil, nil), chat.SearchDocuments(nil),
		chat.SectionEnd(), chat.Heartbeat(), chat.MessageStart(nil, 0), chat.MessageDelta(""), chat.Citation(0, ""),
		chat.Stop(false),
	}
}

// neverSeen are parts of the API that no story can show, with the reason.
func neverSeen() map[string]string {
	return map[string]string{
		"code TIMEOUT":               "a model is waited for longer than a test may take: TestAnswersFail",
		"wire.LibraryStatus.vectors": "needs an embedding model", "wire.LibraryStatus.vector_model": "needs an embedding model",
		"wire.LibraryStatus.database":            "needs a database server: TestServersOfOneDatabase",
		"wire.LibraryStatus.engine_problem":      "needs another engine: TestHosts of package weaviate",
		"wire.LibraryStatus.unindexed_documents": "needs another engine: TestRefusedDocument of package weaviate",
		"wire.LibraryStatus.unindexed":           "the same",
		"wire.LibraryStatus.engine":              "needs another engine: TestAnswersAreCheckedAgain of package weaviate",
		"wire.LibraryEvent.tenant":               "needs a database server: TestMigrate", "wire.LibraryEvent.migrated": "the same",
		"route POST /library/migrate":   "needs a database server: TestMigrate",
		"POST /library/migrate with to": "the same", "POST /library/migrate with dry_run": "the same",
		"wire.LibraryStatus.vectors_refused": "the same", "wire.LibraryEvent.refused": "the same",
		"wire.LibraryEvent.seconds_left": "needs an embedding model: TestMeaningTakesTooLong",
		"wire.DirectoryGroup.id":         "groups of other systems have none; the client lists the others with it",
		"wire.LeftOut.parts":             "needs a damaged part of a file: TestLeftOutParts of package ingest",
		"wire.LibraryRoot.problem":       "no request makes a folder unreadable",
		"wire.LibraryEvent.error_code":   "what fails while files are read: TestFailuresOfTheLibrary", "wire.LibraryEvent.detail": "the same",
		"wire.SearchEvent.error_code": "what fails before the first line has a status: TestStreamThatCannotBegin",
	}
}

// check fails for whatever of the API no story shows.
func (c *coverage) check(t *testing.T, stories map[string]story) {
	t.Helper()
	never := neverSeen()
	missing := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if _, excused := never[text]; excused {
			delete(never, text)
			return
		}
		t.Errorf("no case shows %s", text)
	}
	for _, wrong := range slices.Sorted(maps.Keys(c.wrong)) {
		t.Errorf("as in Onyx: %s", wrong)
	}
	c.checkRoutes(t, missing)
	c.checkRequests(t, missing)
	for typ, fields := range c.fields {
		for name := range jsonFields(typ) {
			if !fields[name] {
				missing("%s.%s", typ, name)
			}
		}
	}
	for _, code := range codesOfThePackage(t) {
		if !c.codes[code] {
			missing("code %s", code)
		}
	}
	for _, status := range []int{200, 400, 403, 404, 405, 409, 413, 421, 422, 429, 500, 503, 504} {
		if !slices.ContainsFunc(slices.Collect(maps.Values(c.statuses)), func(of map[int]bool) bool { return of[status] }) {
			missing("status %d", status)
		}
	}
	for name := range c.shapes {
		if !c.used[name] {
			missing("shape %s", name)
		}
	}
	for field, seen := range c.nulls {
		if !seen.null || !seen.value {
			missing("%s both with a value and as null", field)
		}
	}
	if c.beats == 0 {
		missing("a heartbeat")
	}
	for what, why := range never {
		t.Errorf("%s (%s) is excused and yet shown, or unknown", what, why)
	}
	c.checkExceptions(t, stories)
}

func (c *coverage) checkRoutes(t *testing.T, missing func(string, ...any)) {
	t.Helper()
	answered, streamed := responses(), streams()
	for _, pattern := range c.patterns {
		if !c.statuses[pattern][http.StatusOK] {
			missing("route %s", pattern)
		}
		if _, ok := answered[pattern]; !ok && streamed[pattern] == nil {
			t.Errorf("%s: the type of its answer is not told", pattern)
		}
	}
	for pattern := range answered {
		if !slices.Contains(c.patterns, pattern) {
			t.Errorf("%s is no route", pattern)
		}
	}
	for _, known := range packets() {
		if c.fields[reflect.TypeOf(known)] == nil {
			missing("packet %+v", known)
		}
	}
	if made := constructorsOfPackets(t); made != len(packets()) {
		t.Errorf("%d kinds of packets are made, %d are known here", made, len(packets()))
	}
}

// checkRequests holds what is sent to testdata/requests.json, which names the fields and parameters of each route, and
// that to the types that the client sends.
func (c *coverage) checkRequests(t *testing.T, missing func(string, ...any)) {
	t.Helper()
	var named map[string][]string
	readTestdata(t, "testdata/requests.json", &named)
	for pattern, fields := range named {
		if !slices.Contains(c.patterns, pattern) {
			t.Errorf("testdata/requests.json: %s is no route", pattern)
		}
		for _, field := range fields {
			if !c.sent[pattern][field] {
				missing("%s with %s", pattern, field)
			}
		}
	}
	for pattern, typ := range requestTypes() {
		for _, field := range fieldPaths("", reflect.TypeOf(typ)) {
			if !slices.Contains(named[pattern], field) {
				t.Errorf("testdata/requests.json: %s has no %s, which clients send", pattern, field)
			}
		}
	}
}

// fieldPaths lists the fields of a type and of the types within it.
func fieldPaths(at string, typ reflect.Type) (paths []string) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldPaths(at, typ.Elem())
	case reflect.Struct:
		if reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return nil
		}
		for key, field := range jsonFields(typ) {
			name := strings.TrimPrefix(at+"."+key, ".")
			paths = append(append(paths, name), fieldPaths(name, field)...)
		}
	}
	return paths
}

// exception is a point in which the server differs from Onyx on purpose.
type exception struct {
	Says string `json:"says"`
	// HeldBy are tests elsewhere, of what requests cannot show: the package's folder and the name of the function.
	HeldBy []string `json:"held_by"`
}

// checkExceptions holds the cases to the list of exceptions, and that to the cases: none is used that is not on it, and
// none is on it that nothing shows.
func (c *coverage) checkExceptions(t *testing.T, stories map[string]story) {
	t.Helper()
	var known map[string]exception
	readTestdata(t, "testdata/exceptions.json", &known)
	for point, e := range known {
		if strings.TrimSpace(e.Says) == "" || !c.exceptions[point] && len(e.HeldBy) == 0 {
			t.Errorf("exception %s (%s) is used by no case", point, e.Says)
		}
		for _, place := range e.HeldBy {
			folder, name, _ := strings.Cut(place, " ")
			if !hasTest(t, filepath.Join("../..", folder), name) {
				t.Errorf("exception %s: there is no %s", point, place)
			}
		}
	}
	for name, s := range stories {
		for _, e := range s.Cases {
			if _, ok := known[e.Exception]; e.Exception != "" && !ok {
				t.Errorf("%s, %s: there is no exception %s", name, e.Case, e.Exception)
			}
			if (e.Exception == "") != (e.Onyx == "") {
				t.Errorf("%s, %s: an exception and what Onyx does belong together", name, e.Case)
			}
		}
	}
}

// hasTest reports whether a package has a test function.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)")
	})
}

// codesOfThePackage lists the error codes that the source of this package names.
func codesOfThePackage(t *testing.T) (codes []string) {
	t.Helper()
	shape := regexp.MustCompile(`^([A-Z]+(_[A-Z]+)+|TIMEOUT)$`)
	inspectSources(t, ".", func(node ast.Node) {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && shape.MatchString(text) && !slices.Contains(codes, text) {
				codes = append(codes, text)
			}
		}
	})
	if len(codes) < 10 {
		t.Errorf("only the codes %q are found in the source", codes)
	}
	return codes
}

// constructorsOfPackets counts the functions of package chat that make objects of packets.
func constructorsOfPackets(t *testing.T) (n int) {
	inspectSources(t, "../chat", func(node ast.Node) {
		f, ok := node.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
			return
		}
		if result, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "any" {
			n++
		}
	})
	return n
}

func inspectSources(t *testing.T, folder string, visit func(ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(node ast.Node) bool {
			visit(node)
			return true
		})
	}
}

// TestEveryRouteIsGuarded: who may not use a route learns nothing about it, whatever they send.
func TestEveryRouteIsGuarded(t *testing.T) {
	w := newWorld(t)
	who := map[string]directory.Principal{}
	for name, secret := range w.tokens {
		principal, err := w.people.Authenticate(t.Context(), secret)
		w.check(err)
		who[name] = principal
	}
	w.tokens["nobody"] = "onyx_pat_" + strings.Repeat("x", 256)
	for _, r := range append(routes(), metricsRoute(false)) {
		if r.needs == open {
			continue
		}
		refused := map[string]string{"": noAuth, "nobody": noAuth}
		if r.needs == identity {
			refused = map[string]string{"": `{"detail":"Unauthorized"}`, "nobody": `{"detail":"Unauthorized"}`}
		}
		for name, principal := range who {
			switch {
			case !r.sandbox && (r.needs == identity || principal.Can(r.needs)):
			case principal.Scoped:
				refused[name] = noScope
			default:
				refused[name] = noRight
			}
		}
		method, target, _ := strings.Cut(r.pattern, " ")
		for name, want := range refused {
			status := http.StatusForbidden
			if r.sandbox && who[name].UserID == "" {
				status, want = http.StatusUnauthorized, string(mustJSON(r.denied.body))
			} else if r.sandbox {
				want = string(mustJSON(forbidden("This route needs the token of a sandbox.").body))
			}
			for _, prefix := range []string{"", "/api"} {
				answer := w.call(w.public, name, method, prefix+target, "{")
				if got := strings.TrimSpace(answer.Body.String()); answer.Code != status || got != want {
					t.Errorf("%s %s%s by %q: HTTP %d %s", method, prefix, target, name, answer.Code, got)
				}
			}
		}
	}
}
