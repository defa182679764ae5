package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/client/wire"
)

const (
	noAuth  = `{"detail":"Access denied. User is not authenticated."}`
	noScope = `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"This token's scopes do not permit this endpoint."}`
)

// conformanceCase is a request and what must come back.
type conformanceCase struct {
	name, who, request, body string
	status                   int
	answer                   string // a part of it
}

// TestAnswersAreOnyxs holds statuses and bodies to those of the API, at the root and under /api.
func TestAnswersAreOnyxs(t *testing.T) {
	w := newWorld(t)
	for _, test := range slices.Concat(openCases(), rightsCases(), searchCases(), agentCases(w), documentCases(),
		ingestionCases(), tokenCases(), arrangeCases()) {
		for _, prefix := range []string{"", "/api"} {
			t.Run(test.name+prefix, func(t *testing.T) {
				method, target, _ := strings.Cut(test.request, " ")
				answer := w.call(w.public, test.who, method, prefix+target, test.body)
				text := strings.TrimSuffix(answer.Body.String(), "\n")
				if answer.Code != test.status || !strings.Contains(text, test.answer) {
					t.Errorf("HTTP %d %s\nwant HTTP %d %s", answer.Code, text, test.status, test.answer)
				}
				if kind := answer.Header().Get("Content-Type"); kind != wire.MediaTypeJSON {
					t.Errorf("media type %q", kind)
				}
				if !json.Valid([]byte(text)) {
					t.Errorf("no JSON: %s", text)
				}
			})
		}
	}
}

func openCases() []conformanceCase {
	return []conformanceCase{
		{"root", "", "GET /", "", 404, `{"detail":"Not Found"}`},
		{"health", "", "GET /health", "", 200, `{"success":true,"message":"ok","data":null}`},
		{"auth type", "", "GET /auth/type", "", 200, `{"auth_type":"basic"}`},
		{"version", "", "GET /version", "", 200, `"backend_version":"4.2.0"`},
		{"unknown route", "jo", "GET /nowhere", "", 404, `{"detail":"Not Found"}`},
		{"enterprise route", "jo", "POST /search/send-search-message", "{}", 404, `{"detail":"Not Found"}`},
		{"unclean path", "jo", "GET //persona", "", 404, `{"detail":"Not Found"}`},
		{"wrong method", "jo", "GET /search", "", 405, `{"detail":"Method Not Allowed"}`},
		{"wrong method without token", "", "DELETE /me", "", 405, `{"detail":"Method Not Allowed"}`},
		{"library", "owner", "GET /library/status", "", 404, `{"detail":"Not Found"}`},
		{"library writing", "owner", "POST /library/add", `{"paths":["/"]}`, 404, `{"detail":"Not Found"}`},
	}
}

func rightsCases() []conformanceCase {
	return []conformanceCase{
		{"no token", "", "POST /search", `{"query":"x"}`, 403, noAuth},
		{"no token, bad body", "", "POST /search", `{`, 403, noAuth},
		{"me without token", "", "GET /me", "", 403, `{"detail":"Unauthorized"}`},
		{"me", "scoped", "GET /me", "", 200, `"effective_permissions":["read:search"]`},
		{"scope on search", "chat", "POST /search", `{"query":"x"}`, 403, noScope},
		{"scope on tokens", "scoped", "GET /user/pats", "", 403, noScope},
		{"scope on federated", "scoped", "GET /federated", "", 403, noScope},
		{"scope on chat", "scoped", "POST /chat/send-chat-message", "{}", 403, noScope},
		{"scope on ingestion", "scoped", "POST /onyx-api/ingestion", "{}", 403, noScope},
		{"no permission", "jo", "POST /onyx-api/ingestion", "{}", 403, `{"error_code":"INSUFFICIENT_PERMISSIONS"`},
		{"no permission for tokens", "jo", "POST /user/pats", `{"name":"x"}`, 403, `"INSUFFICIENT_PERMISSIONS"`},
		{"scoped sources", "scoped", "GET /manage/indexed-sources", "", 200, `{"sources":["confluence","file","google_drive"]}`},
		{"scoped status", "scoped", "GET /manage/connector-status", "", 200, `[{"has_successful_run":true,"source":"confluence","status":"ACTIVE"}`},
		{"scoped sets", "scoped", "GET /manage/document-set", "", 200, `"name":"Handbook"`},
		{"scoped agents", "scoped", "GET /persona", "", 200, `"name":"Eng"`},
		{"federated", "jo", "GET /federated", "", 200, `[]`},
		{"federated status", "jo", "GET /federated/oauth-status", "", 200, `[]`},
		{"chat", "jo", "POST /chat/send-chat-message", `{"message":"x"}`, 400, `{"message":"No default LLM model found"}`},
	}
}

func searchCases() []conformanceCase {
	long := `{"query":"` + strings.Repeat("ä", wire.MaxQueryRunes+1) + `"}`
	return []conformanceCase{
		{"empty object", "jo", "POST /search", `{}`, 422, `{"status_code":422,"message":"1 validation error: {'type': 'missing', 'loc': ('body', 'query'), 'msg': 'Field required', 'input': {…}}","data":null}`},
		{"no body", "jo", "POST /search", ``, 422, `'type': 'missing'`},
		{"half a body", "jo", "POST /search", `{"query":`, 422, `'type': 'json_invalid'`},
		{"no object", "jo", "POST /search", `["query"]`, 422, `'type': 'model_attributes_type'`},
		{"null", "jo", "POST /search", `null`, 422, `'type': 'model_attributes_type'`},
		{"empty query", "jo", "POST /search", `{"query":""}`, 422, `String should have at least 1 character`},
		{"long query", "jo", "POST /search", long, 422, `String should have at most 2048 characters`},
		{"query null", "jo", "POST /search", `{"query":null}`, 422, `Input should be a valid string`},
		{"unknown source", "jo", "POST /search", `{"query":"x","sources":["slak"]}`, 422, `1 validation error: {'type': 'enum', 'loc': ('body', 'sources', 0), 'msg': \"Input should be 'ingestion_api', 'slack', 'web'`},
		{"two errors", "jo", "POST /search", `{"query":"","persona_id":"x"}`, 422, `2 validation errors: {'type': 'string_too_short'`},
		{"unseen set", "jo", "POST /search", `{"query":"x","document_sets":["Handbook","Board","Nil"]}`, 403, `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"You do not have access to the following document sets: ['Board', 'Nil']"}`},
		{"unknown agent", "jo", "POST /search", `{"query":"x","persona_id":77}`, 404, `{"error_code":"PERSONA_NOT_FOUND","detail":"Persona with id 77 not found"}`},
		{"agent 0", "jo", "POST /search", `{"query":"x","persona_id":0}`, 200, `{"results":`},
		{"provider alone", "jo", "POST /search", `{"query":"x","provider":"p"}`, 422, `provider and model must be given together`},
		{"unknown provider", "jo", "POST /search", `{"query":"x","provider":"p","model":"m"}`, 404, `{"error_code":"NOT_FOUND"`},
		{"history without question", "jo", "POST /search", `{"query":"x","message_history":[{"message":"a","message_type":"assistant"}]}`, 400, `{"message":"No user message found in message history"}`},
		{"the same, unexpanded", "jo", "POST /search", `{"query":"x","skip_query_expansion":true,"message_history":[{"message":"a","message_type":"assistant"}]}`, 200, `{"results":`},
		{"odd history", "jo", "POST /search", `{"query":"x","message_history":[{"message":"a","message_type":"robot"}]}`, 422, `'loc': ('body', 'message_history', 0, 'message_type')`},
		{"two cutoffs", "jo", "POST /search", `{"query":"x","time_cutoff":"2026-01-01","time_cutoff_days":3}`, 422, `exclude each other`},
		{"impossible date", "jo", "POST /search", `{"query":"x","time_cutoff":"2026-02-31"}`, 422, `valid datetime or date`},
		{"no results asked", "jo", "POST /search", `{"query":"x","num_results":0}`, 422, `greater than or equal to 1`},
		{"many results asked", "jo", "POST /search", `{"query":"x","num_results":101}`, 422, `less than or equal to 100`},
		{"many days", "jo", "POST /search", `{"query":"x","time_cutoff_days":36501}`, 422, `less than or equal to 36500`},
		{"context", "jo", "POST /search", `{"query":"x","max_context_chunks":0}`, 422, `'max_context_chunks'`},
		{"numbers and words that will do", "jo", "POST /search", `{"query":"deploy","num_results":1.0,"skip_query_expansion":"true","explain":0}`, 200, `"selected":true`},
		{"half a result", "jo", "POST /search", `{"query":"x","num_results":1.5}`, 422, `valid integer`},
		{"odd flag", "jo", "POST /search", `{"query":"x","stream":"perhaps"}`, 422, `valid boolean`},
		{"null flag", "jo", "POST /search", `{"query":"x","stream":null}`, 422, `'input': None`},
		{"many phrases", "jo", "POST /search", `{"query":"x","phrases":["a b"` + strings.Repeat(`,"a b"`, 100) + `]}`, 422, `at most 100 items`},
		{"long exclusions", "jo", "POST /search", `{"query":"x","exclude":["` + strings.Repeat("a ", 600) + `","` + strings.Repeat("b ", 600) + `"]}`, 422, `at most 2048 characters together`},
		{"half a tag", "jo", "POST /search", `{"query":"x","tags":[{"tag_key":"team"}]}`, 422, `('body', 'tags', 0, 'tag_value')`},
		{"nulls", "jo", "POST /search", `{"query":"x","sources":null,"document_sets":null,"tags":null,"time_cutoff":null,"persona_id":null,"provider":null,"model":null,"message_history":null,"num_results":null}`, 200, `{"results":`},
		{"unknown field", "jo", "POST /search", `{"query":"x","colour":"red"}`, 200, `{"results":`},
		{"no hits", "jo", "POST /search", `{"query":"qqqqqqqq"}`, 200, `{"results":[],`},
		{"too large", "jo", "POST /search", `{"query":"` + strings.Repeat("a", megabyte) + `"}`, 413, `{"error_code":"PAYLOAD_TOO_LARGE","detail":"The request is too large."}`},
	}
}

func agentCases(w *world) []conformanceCase {
	return []conformanceCase{
		{"one agent", "jo", "GET /persona/" + strconv.Itoa(w.eng.ID), "", 200, `"knowledge_sources":["confluence"]`},
		{"no such agent", "jo", "GET /persona/77", "", 404, `{"error_code":"PERSONA_NOT_FOUND"`},
		{"odd agent", "jo", "GET /persona/x", "", 422, `'int_parsing'`},
		{"some agents", "jo", "GET /persona?persona_ids=0", "", 200, `[{"id":0,`},
		{"a page of agents", "jo", "GET /agents?page_num=1&page_size=1", "", 200, `{"items":[{"id":` + strconv.Itoa(w.eng.ID)},
		{"a page beyond", "jo", "GET /agents?page_num=9", "", 200, `{"items":[],"total_items":2}`},
		{"a large page", "jo", "GET /agents?page_size=1001", "", 422, `'page_size'`},
	}
}

func documentCases() []conformanceCase {
	return []conformanceCase{
		{"size", "jo", "GET /document/document-size-info?document_id=file:/handbook/travel.md", "", 200, `{"num_chunks":2,"num_tokens":27}`},
		{"size of nothing", "jo", "GET /document/document-size-info?document_id=x", "", 404, `{"detail":"Document not found"}`},
		{"size of what", "jo", "GET /document/document-size-info", "", 422, `('query', 'document_id')`},
		{"chunk", "jo", "GET /document/chunk-info?document_id=file:/handbook/travel.md&chunk_id=1", "", 200, `{"content":"An end to Travel.","num_tokens":5}`},
		{"no such chunk", "jo", "GET /document/chunk-info?document_id=file:/handbook/travel.md&chunk_id=2", "", 404, `{"detail":"Chunk not found"}`},
		{"chunks", "jo", "GET /document/chunks?document_id=file:/handbook/travel.md&from=1", "", 200, `"chunks":[{"chunk_ind":1,"content":"An end to Travel.","heading_path":[]}]`},
		{"chunks beyond", "jo", "GET /document/chunks?document_id=file:/handbook/travel.md&from=7", "", 200, `"chunks":[]`},
		{"many chunks", "jo", "GET /document/chunks?document_id=x&from=0&to=200", "", 422, `'to'`},
		{"chunks backwards", "jo", "GET /document/chunks?document_id=x&from=5&to=4", "", 422, `'to'`},
		{"chunks of nothing", "jo", "GET /document/chunks?document_id=x", "", 404, `{"detail":"Document not found"}`},
	}
}

func ingestionCases() []conformanceCase {
	return []conformanceCase{
		{"ingestion of what", "owner", "POST /onyx-api/ingestion", `{}`, 422, `('body', 'document')`},
		{"ingestion of nothing", "owner", "POST /onyx-api/ingestion", `{"document":{}}`, 422, `('body', 'document', 'sections')`},
		{"ingestion of an odd source", "owner", "POST /onyx-api/ingestion", `{"document":{"sections":[],"semantic_identifier":"x","source":"slak"}}`, 422, `('body', 'document', 'source')`},
		{"unknown connector", "owner", "POST /onyx-api/ingestion", `{"document":{"sections":[{"text":"x"}],"semantic_identifier":"x","source":"web"},"cc_pair_id":5}`, 404, `{"error_code":"CONNECTOR_NOT_FOUND"`},
	}
}

func tokenCases() []conformanceCase {
	return []conformanceCase{
		{"token without name", "owner", "POST /user/pats", `{}`, 422, `('body', 'name')`},
		{"token without scopes", "owner", "POST /user/pats", `{"name":"x","scopes":[]}`, 400, `{"error_code":"INVALID_INPUT"`},
		{"token of odd scope", "owner", "POST /user/pats", `{"name":"x","scopes":["admin"]}`, 400, `{"error_code":"INVALID_INPUT"`},
		{"token of no days", "owner", "POST /user/pats", `{"name":"x","expiration_days":0}`, 422, `'expiration_days'`},
		{"token beyond one's own", "maker", "POST /user/pats", `{"name":"x"}`, 403, `"INSUFFICIENT_PERMISSIONS"`},
		{"no such token", "jo", "DELETE /user/pats/9999", "", 404, `{"error_code":"NOT_FOUND","detail":"Token not found"}`},
		{"token scopes", "jo", "GET /user/pats/scopes", "", 200, `[{"scope":"read:search"`},
	}
}

func arrangeCases() []conformanceCase {
	const noRight = `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"You do not have the required permissions for this action."}`
	const pair = "PUT /manage/connector/1/credential/1"
	cases := []conformanceCase{
		{"connector of what", "owner", "POST /manage/admin/connector", `{}`, 422, `2 validation errors: {'type': 'missing', 'loc': ('body', 'name')`},
		{"connector of an odd source", "owner", "POST /manage/admin/connector", `{"name":"x","source":"slak"}`, 422, `('body', 'source')`},
		{"credential of what", "owner", "POST /manage/credential", `{}`, 422, `('body', 'source')`},
		{"odd credential", "owner", "POST /manage/credential", `{"source":"web","credential_json":[]}`, 422, `valid dictionary`},
		{"pair without access", "owner", pair, `{}`, 422, `('body', 'access_type')`},
		{"pair of odd access", "owner", pair, `{"access_type":"all"}`, 422, `Input should be 'public', 'private' or 'sync'`},
		{"pair of nothing", "owner", pair, `{"name":"x","access_type":"public","groups":[]}`, 404, `{"error_code":"CONNECTOR_NOT_FOUND","detail":"Connector 1 not found"}`},
		{"odd pair", "owner", "PUT /manage/connector/x/credential/1", `{}`, 422, `'connector_id'`},
		{"set of an unknown connector", "owner", "POST /manage/admin/document-set", `{"name":"n","cc_pair_ids":[7]}`, 404, `{"error_code":"CONNECTOR_NOT_FOUND","detail":"Connector-credential pair 7 not found"}`},
		{"set of an unknown user", "owner", "POST /manage/admin/document-set", `{"name":"n","users":["7"]}`, 404, `{"error_code":"USER_NOT_FOUND","detail":"User 7 not found"}`},
		{"set of an unknown group", "owner", "POST /manage/admin/document-set", `{"name":"n","groups":[77]}`, 404, `{"error_code":"NOT_FOUND","detail":"User group 77 not found"}`},
		{"set again", "owner", "POST /manage/admin/document-set", `{"name":"Board"}`, 409, `{"error_code":"DUPLICATE_RESOURCE","detail":"There is a document set called \"Board\" already"}`},
		{"federated set", "owner", "POST /manage/admin/document-set", `{"name":"n","federated_connectors":[{"federated_connector_id":1}]}`, 404, `"CONNECTOR_NOT_FOUND"`},
		{"odd number", "owner", "POST /manage/admin/document-set", `{"name":"n","cc_pair_ids":["x"]}`, 422, `('body', 'cc_pair_ids', 0)`},
		{"group again", "owner", "POST /manage/admin/user-group", `{"name":"Legal","user_ids":[],"cc_pair_ids":[]}`, 409, `"DUPLICATE_RESOURCE"`},
		{"groups", "owner", "GET /manage/admin/user-group", "", 200, `"name":"Legal","users":[{"id":"`},
		{"agent without name", "jo", "POST /persona", `{}`, 422, `('body', 'name')`},
		{"agent of a long name", "jo", "POST /persona", `{"name":"` + strings.Repeat("a", 101) + `"}`, 422, `at most 100 characters`},
		{"agent of files", "jo", "POST /persona", `{"name":"n","user_file_ids":["f"]}`, 404, `"NOT_FOUND"`},
		{"agent of folders", "jo", "POST /persona", `{"name":"n","hierarchy_node_ids":[1]}`, 404, `"NOT_FOUND"`},
		{"agent of half a model", "jo", "POST /persona", `{"name":"n","llm_model_provider_override":"p"}`, 400, `"INVALID_INPUT"`},
		{"agent by a scoped token", "scoped", "POST /persona", `{`, 403, noScope},
	}
	for _, request := range []string{"POST /manage/admin/connector", "POST /manage/credential", pair,
		"POST /manage/admin/document-set", "POST /manage/admin/user-group", "GET /manage/admin/user-group"} {
		cases = append(cases, conformanceCase{request + " by a user", "jo", request, "{", 403, noRight},
			conformanceCase{request + " by a scoped token", "scoped", request, "{", 403, noScope},
			conformanceCase{request + " by nobody", "", request, "{", 403, noAuth})
	}
	return cases
}

// TestOnyxsOwnCommandLine sends what Onyx's CLI sends, byte for byte: both token headers, no User-Agent.
func TestOnyxsOwnCommandLine(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{
		`{"query":"how do we roll back a deploy"}`,
		`{"query":"how do we roll back a deploy","sources":["confluence","slack"],"time_cutoff":"2026-01-02T03:04:05Z"}`,
		`{"query":"how do we roll back a deploy","persona_id":0,"skip_query_expansion":true}`,
	} {
		for _, path := range []string{"/search", "/api/search"} {
			response := post[map[string]json.RawMessage](w, "jo", path, body)
			var results []map[string]any
			w.check(json.Unmarshal(response["results"], &results))
			if len(results) == 0 {
				t.Fatalf("%s %s finds nothing", path, body)
			}
			for _, field := range []string{"citation_id", "title", "content", "link", "source_type", "updated_at"} {
				if _, ok := results[0][field]; !ok {
					t.Errorf("a result has no %s", field)
				}
			}
			if results[0]["updated_at"] != "2026-03-02T08:00:00+00:00" && results[0]["updated_at"] != "2026-03-02T08:00:00Z" {
				t.Errorf("updated_at %v", results[0]["updated_at"])
			}
		}
	}
	// The connection check of its validate-config: anything but 403, then 200, then a version.
	for path, status := range map[string]int{"/": 404, "/me": 200, "/version": 200, "/api/": 404, "/api": 404, "/api/me": 200} {
		if answer := w.call(w.public, "jo", http.MethodGet, path, ""); answer.Code != status {
			t.Errorf("GET %s: HTTP %d", path, answer.Code)
		}
	}
}

func TestEveryNullAndListIsThere(t *testing.T) {
	w := newWorld(t)
	for target, want := range map[string][]string{
		"/me": {"token_expires_at", "team_name", "tenant_info", "admin_capabilities", "preferences"},
		"/persona/0": {"starter_messages", "owner", "owner_group", "system_prompt", "task_prompt", "search_start_date",
			"default_model_configuration_id", "labels", "tools", "knowledge_sources", "users", "groups"},
	} {
		object := get[map[string]any](w, "jo", target)
		for _, field := range want {
			if _, ok := object[field]; !ok {
				t.Errorf("%s has no %s", target, field)
			}
		}
	}
	answer := w.call(w.public, "jo", http.MethodPost, "/search", `{"query":"nothing has this qqqq","instant":true}`)
	if text := answer.Body.String(); strings.Contains(text, "null") {
		t.Errorf("an empty answer holds null: %s", text)
	}
}
