package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/client/wire"
)

// fakeAdmin answers the owner's routes of a library, and notes what it is asked to change.
type fakeAdmin struct {
	opened []string // "folder:tenant"
	tokens []wire.DirectoryToken
	asked  []string
}

func (f *fakeAdmin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/admin/")
	sent, err := io.ReadAll(r.Body)
	if r.Method != http.MethodGet && err == nil {
		f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(sent)))
	}
	answer := f.changed(r, path, sent)
	if r.Method == http.MethodGet {
		answer = f.list(path)
	}
	w.Header().Set("Content-Type", wire.MediaTypeJSON)
	if answer == nil || err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *fakeAdmin) list(path string) any {
	since, owner := "2025-01-01T00:00:00+00:00", "owner@localhost"
	agent := wire.Persona{ID: 1, Name: "Engineering", IsPublic: true, Owner: &wire.Owner{Email: &owner},
		DocumentSets: []wire.DocumentSet{{Name: "Handbook"}}}
	return map[string]any{
		"users": []wire.DirectoryUser{{ID: "u1", Email: "jo@acme.example", Role: "basic", IsActive: true, CreatedAt: "2026-08-22T10:00:00Z"},
			{ID: "u0", Email: "owner@localhost", Role: "admin", CreatedAt: "2026-08-01T10:00:00Z"}},
		"/manage/admin/user-group": []wire.UserGroup{{ID: 1, Name: "Engineering", CCPairs: []wire.CCPair{{ID: 1, Name: "Wiki"}},
			Users: []wire.Me{{ID: "u1", Email: "jo@acme.example"}, {ID: "u2", Email: "kim@acme.example"}}}},
		"groups": []wire.DirectoryGroup{{Name: "slack:c024be91l", External: true, Users: []string{"jo@acme.example"}, Connectors: []string{}}},
		"connectors": []wire.DirectoryConnector{{ID: 1, Name: "Wiki", Source: "confluence", AccessType: "private", Groups: []string{"Engineering"},
			Creator: "owner@localhost", DocumentSets: []string{"Handbook"}},
			{ID: 2, Name: "Chat", Source: "slack", AccessType: "sync", Groups: []string{}, DocumentSets: []string{}}},
		"/manage/document-set": []wire.DocumentSet{{ID: 1, Name: "Contracts", Groups: []int{1}}, {ID: 2, Name: "Handbook",
			Description: new("How we work"), IsPublic: true, CCPairSummaries: []wire.ConnectorSummary{{ID: 1, Name: "Wiki"}}}},
		"/me":        wire.Me{Email: "owner@localhost"},
		"/persona":   []wire.Persona{agent, {BuiltinPersona: true}},
		"/persona/1": wire.FullPersona{Persona: agent, SearchStartDate: &since},
		"tenants": []wire.DirectoryTenant{{Name: "acme", CreatedAt: "2026-08-20T10:00:00Z", Users: 3, Tokens: 2, Documents: 1200, Conversations: 4},
			{Name: "default", CreatedAt: "2026-08-01T10:00:00Z", Users: 1}},
		"/user/pats": append([]wire.DirectoryToken{}, f.tokens...),
	}[path]
}

// changed echoes what was sent. What is called old exists.
func (f *fakeAdmin) changed(r *http.Request, path string, sent []byte) any {
	switch {
	case r.Method == http.MethodDelete && path == "tenants":
		return wire.DirectoryTenant{Name: r.URL.Query().Get("name"), Users: 1, Documents: 2}
	case r.Method == http.MethodPut:
		return wire.PairResponse{Success: true, Data: 4}
	case r.Method == http.MethodPatch && strings.HasPrefix(path, "/"):
		return wire.UserGroup{ID: 1}
	case r.Method != http.MethodPost:
		return wire.MessageError{Message: "Done"}
	case path == "/manage/admin/document-set":
		return 5
	case strings.HasPrefix(path, "/") && path != "/user/pats":
		return wire.Created{ID: 5}
	}
	item := map[string]any{}
	if err := json.Unmarshal(sent, &item); err != nil {
		return nil
	}
	switch path {
	case "users":
		item["id"], item["is_active"], item["role"] = "u1", true, "basic"
	case "/user/pats":
		item["id"], item["token_display"], item["created_at"] = 4, "onyx_pat_abc****wxyz", "2026-08-22T10:00:00Z"
		item["token"] = "onyx_pat_abcdefgh"
		return item
	}
	return wire.Added[any]{Item: item, IsNew: item["name"] != "old"}
}

func TestAdminLists(t *testing.T) {
	for _, what := range []string{"user", "group", "connector", "document-set", "agent", "tenant"} {
		t.Run(what+" json", func(t *testing.T) {
			golden.RequireEqual(t, run(t, testDoors(""), terminal{}, "admin", what, "list").check(t, ExitSuccess).out)
		})
		t.Run(what+" table", func(t *testing.T) {
			golden.RequireEqual(t, run(t, testDoors(""), terminal{tty: true, width: 90}, "admin", what, "list").check(t, ExitSuccess).out)
		})
	}
}

func TestAdminChanges(t *testing.T) {
	const set = `POST /manage/admin/document-set {"name":"H","description":"","cc_pair_ids":[],"is_public":true,"users":[],"groups":[],` +
		`"federated_connectors":[]}`
	const connector = `POST /manage/admin/connector {"name":"Wiki","source":"confluence","input_type":"load_state",` +
		`"connector_specific_config":{},"access_type":"private","groups":[1]};POST /manage/credential {"name":"Wiki",` +
		`"source":"confluence","credential_json":{},"admin_public":true,"curator_public":false,"groups":[]};` +
		`PUT /manage/connector/5/credential/5 {"name":"Wiki","access_type":"private","groups":[1]}`
	for arguments, want := range map[string]string{
		"user add jo@acme.example":              `POST /admin/users {"email":"jo@acme.example","role":"","is_active":false}`,
		"user add jo@acme.example --role admin": `POST /admin/users {"email":"jo@acme.example","role":"admin","is_active":false}`,
		"user deactivate jo@acme.example":       `PATCH /admin/users {"email":"jo@acme.example","is_active":false}`,
		"user activate jo@acme.example":         `PATCH /admin/users {"email":"jo@acme.example","is_active":true}`,
		"user remove jo@acme.example":           `DELETE /admin/users?name=jo%40acme.example`,
		"group add Eng --user jo@acme.example": `POST /manage/admin/user-group {"name":"Eng","user_ids":[],"cc_pair_ids":[]};` +
			`POST /admin/users {"email":"jo@acme.example","role":"","is_active":false};` +
			`POST /manage/admin/user-group/5/add-users {"user_ids":["u1"]}`,
		"group add Eng --connector Wiki":         `POST /manage/admin/user-group {"name":"Eng","user_ids":[],"cc_pair_ids":[1]}`,
		"group add Engineering --connector Chat": `PATCH /manage/admin/user-group/1 {"user_ids":["u1","u2"],"cc_pair_ids":[1,2]}`,
		"group add --external slack:C1 --user a@b": `POST /admin/groups {"name":"slack:C1","external":true,"users":["a@b"],` +
			`"connectors":[]}`,
		"group add slack:C1 --external --user a@b": `POST /admin/groups {"name":"slack:C1","external":true,"users":["a@b"],` +
			`"connectors":[]}`,
		"user remove u1":                                  `DELETE /admin/users?name=jo%40acme.example`,
		"user deactivate JO@acme.example":                 `PATCH /admin/users {"email":"jo@acme.example","is_active":false}`,
		"group remove 1":                                  `DELETE /manage/admin/user-group/1`,
		"connector remove 2":                              `DELETE /admin/connectors?name=Chat`,
		"document-set remove 2":                           `DELETE /manage/admin/document-set/2`,
		"agent remove Engineering":                        `DELETE /persona/1`,
		"agent remove 0":                                  `DELETE /persona/0`,
		"token add ci":                                    `POST /user/pats {"name":"ci","expiration_days":null,"scopes":null}`,
		"token add --name ci":                             `POST /user/pats {"name":"ci","expiration_days":null,"scopes":null}`,
		"token remove laptop":                             `DELETE /user/pats/7`,
		"token remove 7":                                  `DELETE /user/pats/7`,
		"token remove 8":                                  `DELETE /user/pats/8`,
		"group remove Engineering":                        `DELETE /manage/admin/user-group/1`,
		"group remove Engineering --user JO@acme.example": `PATCH /manage/admin/user-group/1 {"user_ids":["u2"],"cc_pair_ids":[1]}`,
		"group remove --external slack:C1":                `DELETE /admin/groups?name=slack%3Ac1`,
		"connector add Wiki --source confluence --group Engineering":                 connector,
		"connector add Wiki --source confluence --group Engineering --creator a@b.c": strings.TrimSuffix(connector, "}") + `,"creator":"a@b.c"}`,
		"connector remove Wiki":           `DELETE /admin/connectors?name=Wiki`,
		"document-set add H":              set,
		"document-set add H --restricted": strings.Replace(set, "true", "false", 1),
		"document-set add H --group Engineering --connector Wiki": strings.NewReplacer("true", "false", `"cc_pair_ids":[]`,
			`"cc_pair_ids":[1]`, `"groups":[]`, `"groups":[1]`).Replace(set),
		"document-set remove Handbook": `DELETE /manage/admin/document-set/2`,
		"agent add A --document-set Handbook --since 2025-01-01 --provider p --model m": `POST /persona {"name":"A","description":"",` +
			`"system_prompt":"","task_prompt":"","datetime_aware":true,"is_public":true,"document_set_ids":[2],"document_ids":[],` +
			`"tool_ids":[],"users":[],"groups":[],"label_ids":[],"user_file_ids":[],"display_priority":null,"starter_messages":null,` +
			`"search_start_date":"2025-01-01","llm_model_provider_override":"p","llm_model_version_override":"m"}`,
		"agent add A --user JO@acme.example --document file:/a,b": `POST /persona {"name":"A","description":"",` +
			`"system_prompt":"","task_prompt":"","datetime_aware":true,"is_public":false,"document_set_ids":[],"document_ids":["file:/a,b"],` +
			`"tool_ids":[],"users":["u1"],"groups":[],"label_ids":[],"user_file_ids":[],"display_priority":null,"starter_messages":null,` +
			`"search_start_date":null,"llm_model_provider_override":null,"llm_model_version_override":null}`,
		"agent remove 3":             `DELETE /persona/3`,
		"tenant add acme":            `POST /admin/tenants {"name":"acme"}`,
		"tenant remove acme":         `DELETE /admin/tenants?force=false&name=acme`,
		"tenant remove acme --force": `DELETE /admin/tenants?force=true&name=acme`,
	} {
		t.Run(arguments, func(t *testing.T) {
			doors := testDoors("")
			doors.admin.tokens = []wire.DirectoryToken{{AccessToken: wire.AccessToken{ID: 7, Name: "laptop"}}}
			got := run(t, doors, terminal{}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitSuccess)
			if strings.Join(doors.admin.asked, ";") != want {
				t.Errorf("asked %q, want %q", doors.admin.asked, want)
			}
			if !strings.HasPrefix(got.out, "{") || strings.Contains(strings.ReplaceAll(got.out, `"scopes":null`, ""), "s\":null") {
				t.Errorf("stdout %q", got.out)
			}
			onScreen := run(t, doors, terminal{tty: true, width: 80}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitSuccess)
			if onScreen.out != "" && !strings.HasPrefix(onScreen.out, "onyx_pat_") || onScreen.err == "" {
				t.Errorf("stdout %q, stderr %q", onScreen.out, onScreen.err)
			}
			doors.ReadOnly = true
			run(t, doors, terminal{}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitNotAvailable).
				twoLines(t, "QUARRY_READONLY")
		})
	}
}

func TestAdminUsage(t *testing.T) {
	for arguments, word := range map[string]string{
		"user":                                   "",
		"usr":                                    "user",
		"user add":                               "missing argument EMAIL",
		"user add jo":                            "email",
		"user add a@b --role king":               "role",
		"user list x":                            "unexpected",
		"user remove a@b c@d":                    "unexpected",
		"group add":                              "missing argument NAME",
		"token add":                              "missing argument NAME",
		"token add ci --name ci":                 "unexpected",
		"group add --external slack:C1":          "--user",
		"group add --external slack --user a@b":  "SOURCE:ID",
		"group add --external slak:C --user a@b": "slack",
		"group add Eng --user jo":                "email",
		"group add --external slack:C --connector Wiki --user a@b": "connector",
		"connector add Wiki":                                      "source",
		"connector add Wiki --source confluense":                  "confluence",
		"connector add Wiki --source web --access all":            "access",
		"connector add Wiki --source web --access sync --group G": "private",
		"document-set add":                                        "missing argument NAME",
		"agent add A --since yesterday":                           "date",
		"agent add A --model m":                                   "provider",
		"user list --sample":                                      "sample",
		"tenant add":                                              "missing argument NAME",
		"tenant list x":                                           "unexpected",
		"tenant remove a b":                                       "unexpected",
		"tenant add acme --tenant acme":                           "--tenant",
	} {
		got := run(t, testDoors(""), terminal{}, append([]string{"admin"}, strings.Fields(arguments)...)...)
		if word == "" {
			got.check(t, ExitSuccess)
			continue
		}
		got.check(t, ExitUsage).twoLines(t, word)
	}
}

func TestWhatIsRemovedIsPrinted(t *testing.T) {
	doors := testDoors("")
	for arguments, want := range map[string]string{
		"connector remove 1":                            `{"id":1,"name":"Wiki","source":"confluence"`,
		"group remove 1 --user jo@acme.example":         `{"id":1,"name":"Engineering","external":false,"users":["kim@acme.example"]`,
		"group remove slack:C024BE91L --external":       `{"name":"slack:c024be91l","external":true`,
		"user deactivate u1":                            `{"id":"u1","email":"jo@acme.example","role":"basic","is_active":false`,
		"connector remove Unlisted":                     `{"name":"Unlisted"}`,
		"document-set remove Handbook --fields id,name": `{"id":2,"name":"Handbook"}`,
	} {
		if got := run(t, doors, terminal{}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitSuccess); !strings.HasPrefix(got.out, want) {
			t.Errorf("%s: %s", arguments, got.out)
		}
	}
	doors.admin.tokens = []wire.DirectoryToken{{AccessToken: wire.AccessToken{ID: 7, Name: "8"}}, {AccessToken: wire.AccessToken{ID: 8, Name: "ci"}}}
	doors.admin.asked = nil
	run(t, doors, terminal{}, "admin", "token", "remove", "8").check(t, ExitUsage).twoLines(t, `"8" names 2 tokens: 7 (8), 8 (ci)`)
	run(t, doors, terminal{}, "admin", "token", "remove", "laptop").check(t, ExitNotAvailable).twoLines(t, `there is no token "laptop"`, "token list")
	for arguments, words := range map[string][]string{
		"group remove slack:c024be91l": {`there is no group "slack:c024be91l"`, "group list"}, // it is of another system
		"group add Eng --connector W":  {`there is no connector "W"`, "connector list"},
		"agent add A --user a@b":       {`there is no user "a@b"`, "user list"},
		"agent add A --document-set H": {`there is no document set "H"`, "document-set list"},
	} {
		run(t, doors, terminal{}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitNotAvailable).twoLines(t, words...)
	}
	if doors.admin.asked != nil {
		t.Errorf("asked %q", doors.admin.asked)
	}
}

// TestAdminOfAServer goes over the API as far as that has routes.
func TestAdminOfAServer(t *testing.T) {
	s := newOnyx(t)
	for route, answer := range map[string]string{
		"/manage/admin/user-group":         `[{"id":7,"name":"Legal","users":[{"id":"u","email":"jo@acme.example"}],"cc_pairs":[{"id":1,"name":"Wiki"}],"is_up_to_date":true}]`,
		"/manage/admin/connector":          `{"id":2}`,
		"/manage/credential":               `{"id":3}`,
		"/manage/connector/2/credential/3": `{"success":true,"message":"","data":4}`,
		"/manage/admin/user-group/7":       `{"id":7}`,
		"/manage/admin/document-set":       `5`,
		"/manage/admin/document-set/9":     "null",
		"/manage/document-set":             `[{"id":9,"name":"Handbook","is_public":true,"cc_pair_summaries":[{"id":1,"name":"Wiki","source":"confluence"}]}]`,
	} {
		s.on(route, body(http.StatusOK, []byte(answer)))
	}
	for arguments, want := range map[string]string{
		"group list":        `"Wiki"`,
		"document-set list": `"Handbook"`,
		"connector add Wiki --source web --group Legal": `"id":4`,
		"document-set add H --group Legal":              `"id":5`,
		"group add Legal":                               `"id":7`,
		"group remove 7":                                `"id":7`,
		"group remove Legal":                            `"id":7`,
		"group remove Legal --user jo@acme.example":     `"id":7`,
		"document-set remove Handbook":                  `"id":9`,
	} {
		got := run(t, testDoors(s.URL), terminal{}, append([]string{"admin", "--profile", "work"}, strings.Fields(arguments)...)...).check(t, ExitSuccess)
		if !strings.Contains(got.out, want) {
			t.Errorf("%s printed %s", arguments, got.out)
		}
	}
	for _, arguments := range []string{"user list", "user add a@b", "user remove a@b", "user activate a@b", "group add G --user a@b", "connector list",
		"connector remove W", "document-set add H --connector W", "agent add A --user a@b",
		"tenant list", "tenant add acme", "tenant remove acme"} {
		run(t, testDoors(s.URL), terminal{}, append([]string{"admin", "--profile", "work"}, strings.Fields(arguments)...)...).
			check(t, ExitUsage).twoLines(t, "on the machine of the library")
	}
	run(t, testDoors(s.URL), terminal{}, "admin", "document-set", "add", "H", "--group", "Nobody", "--profile", "work").check(t, ExitNotAvailable)
	run(t, testDoors(s.URL), terminal{}, "admin", "document-set", "remove", "H", "--profile", "work").check(t, ExitNotAvailable).
		twoLines(t, `there is no document set "H"`, "document-set list")
	removed := 0
	s.on("/persona/7", func(w http.ResponseWriter, r *http.Request) {
		answer := `{"id":7,"name":"Eng"}`
		if r.Method == http.MethodDelete {
			removed++
			answer = "null"
		}
		body(http.StatusOK, []byte(answer))(w, r)
	})
	s.on("/persona/9", body(http.StatusOK, []byte(`{"id":9,"name":"Legal"}`)))
	for i, name := range []string{"7", "Eng"} {
		run(t, testDoors(s.URL), terminal{}, "admin", "agent", "remove", name, "--profile", "work").check(t, ExitSuccess)
		if removed != i+1 {
			t.Errorf("%s: removed %d", name, removed)
		}
	}
	run(t, testDoors(s.URL), terminal{}, "admin", "agent", "remove", "Nobody", "--profile", "work").check(t, ExitNotAvailable).twoLines(t, "agent list")
	for _, what := range []string{"token", "group"} {
		run(t, testDoors(s.URL), terminal{}, "admin", what, "list", "--profile", "work", "--tenant", "acme").
			check(t, ExitUsage).twoLines(t, "the token determines the tenant")
	}
}

// TestAdminOfATenant hands on which tenant is meant, and repeats it where it tells what to do next.
func TestAdminOfATenant(t *testing.T) {
	doors := testDoors("")
	screen := terminal{tty: true, width: 100}
	got := run(t, doors, screen, "admin", "user", "add", "jo@acme.example", "--tenant", "acme", "--library", "/srv").check(t, ExitSuccess)
	if !strings.Contains(got.err, "--library /srv --tenant acme") {
		t.Errorf("stderr %s", got.err)
	}
	run(t, doors, screen, "admin", "token", "--tenant", "acme", "add", "x").check(t, ExitSuccess)
	run(t, doors, screen, "admin", "token", "list").check(t, ExitSuccess)
	if opened := fmt.Sprint(doors.admin.opened); opened != "[/srv:acme :acme :]" {
		t.Errorf("opened %v", opened)
	}
	if got := run(t, doors, screen, "admin", "tenant", "add", "acme").check(t, ExitSuccess); !strings.Contains(got.err, "--tenant acme") {
		t.Errorf("stderr %s", got.err)
	}
	if got := run(t, doors, screen, "admin", "tenant", "add", "old").check(t, ExitSuccess); !strings.Contains(got.err, "already") {
		t.Errorf("stderr %s", got.err)
	}
	if got := run(t, doors, screen, "admin", "tenant", "remove", "x", "--force").check(t, ExitSuccess); !strings.Contains(got.err, "2 documents") {
		t.Errorf("stderr %s", got.err)
	}
	run(t, doors, terminal{}, "search", "x", "--tenant", "acme").check(t, ExitUsage)
}
