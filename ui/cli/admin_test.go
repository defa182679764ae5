package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/client/wire"
)

// fakeDirectory notes what it is asked to change.
type fakeDirectory struct{ asked []string }

func (f *fakeDirectory) note(format string, args ...any) error {
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	return nil
}

func (f *fakeDirectory) Users(context.Context) ([]wire.DirectoryUser, error) {
	return []wire.DirectoryUser{{Email: "jo@acme.example", Role: "basic", IsActive: true, CreatedAt: "2026-08-22T10:00:00Z"},
		{Email: "owner@localhost", Role: "admin", CreatedAt: "2026-08-01T10:00:00Z"}}, nil
}

func (f *fakeDirectory) AddUser(_ context.Context, email, role string) (wire.DirectoryUser, bool, error) {
	return wire.DirectoryUser{Email: email, Role: "basic", IsActive: true}, role == "", f.note("user %s %q", email, role)
}

func (f *fakeDirectory) SetUserActive(_ context.Context, email string, active bool) error {
	return f.note("user %s active %v", email, active)
}

func (f *fakeDirectory) RemoveUser(_ context.Context, email string) error {
	return f.note("no user %s", email)
}

func (f *fakeDirectory) Groups(context.Context) ([]wire.DirectoryGroup, error) {
	return []wire.DirectoryGroup{{ID: 1, Name: "Engineering", Users: []string{"jo@acme.example", "kim@acme.example"}, Connectors: []string{"Wiki"}},
		{Name: "slack:c024be91l", External: true, Users: []string{"jo@acme.example"}, Connectors: []string{}}}, nil
}

func (f *fakeDirectory) AddGroup(_ context.Context, group wire.DirectoryGroup) ([]string, error) {
	return []string{"new@acme.example"}, f.note("group %+v", group)
}

func (f *fakeDirectory) RemoveGroup(_ context.Context, group wire.DirectoryGroup) error {
	return f.note("no group %+v", group)
}

func (f *fakeDirectory) Connectors(context.Context) ([]wire.DirectoryConnector, error) {
	return []wire.DirectoryConnector{{ID: 1, Name: "Wiki", Source: "confluence", AccessType: "private", Groups: []string{"Engineering"},
		Creator: "owner@localhost", DocumentSets: []string{"Handbook"}},
		{ID: 2, Name: "Chat", Source: "slack", AccessType: "sync", Groups: []string{}, DocumentSets: []string{}}}, nil
}

func (f *fakeDirectory) AddConnector(_ context.Context, connector *wire.DirectoryConnector) error {
	return f.note("connector %+v", *connector)
}

func (f *fakeDirectory) RemoveConnector(_ context.Context, name string) error {
	return f.note("no connector %s", name)
}

func (f *fakeDirectory) DocumentSets(context.Context) ([]wire.DirectorySet, error) {
	return []wire.DirectorySet{{ID: 1, Name: "Contracts", Users: []string{}, Groups: []string{"Legal"}, Connectors: []string{}},
		{ID: 2, Name: "Handbook", Description: "How we work", IsPublic: true, Users: []string{}, Groups: []string{}, Connectors: []string{"Wiki"}}}, nil
}

func (f *fakeDirectory) AddDocumentSet(_ context.Context, set wire.DirectorySet) (int, error) {
	return 4, f.note("set %+v", set)
}

func (f *fakeDirectory) RemoveDocumentSet(_ context.Context, name string) error {
	return f.note("no set %s", name)
}

func (f *fakeDirectory) Agents(context.Context) ([]wire.DirectoryAgent, error) {
	since := "2025-01-01T00:00:00+00:00"
	return []wire.DirectoryAgent{{ID: 1, Name: "Engineering", IsPublic: true, Owner: "owner@localhost", Users: []string{}, Groups: []string{},
		DocumentSets: []string{"Handbook"}, Documents: []string{}, SearchStartDate: &since}}, nil
}

func (f *fakeDirectory) AddAgent(_ context.Context, agent *wire.DirectoryAgent) error {
	since := "any time"
	if agent.SearchStartDate != nil {
		since = *agent.SearchStartDate
	}
	return f.note("agent %s for %v %v %v in %v %v since %s by %s %s", agent.Name, agent.IsPublic, agent.Users, agent.Groups,
		agent.DocumentSets, agent.Documents, since, agent.Provider, agent.Model)
}

func (f *fakeDirectory) RemoveAgent(_ context.Context, named string) error {
	return f.note("no agent %s", named)
}

func (f *fakeDirectory) Tenants(context.Context) ([]wire.DirectoryTenant, error) {
	return []wire.DirectoryTenant{{Name: "acme", CreatedAt: "2026-08-20T10:00:00Z", Users: 3, Tokens: 2, Documents: 1200, Conversations: 4},
		{Name: "default", CreatedAt: "2026-08-01T10:00:00Z", Users: 1}}, nil
}

func (f *fakeDirectory) AddTenant(_ context.Context, name string) (wire.DirectoryTenant, bool, error) {
	return wire.DirectoryTenant{Name: name, Users: 1}, name != "old", f.note("tenant %s", name)
}

func (f *fakeDirectory) RemoveTenant(_ context.Context, name string, force bool) (wire.DirectoryTenant, error) {
	return wire.DirectoryTenant{Name: name, Users: 1, Documents: 2}, f.note("no tenant %s %v", name, force)
}

func (f *fakeDirectory) Close() error { return nil }

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
	for arguments, want := range map[string]string{
		"user add jo@acme.example":                 `user jo@acme.example ""`,
		"user add jo@acme.example --role admin":    `user jo@acme.example "admin"`,
		"user deactivate jo@acme.example":          "user jo@acme.example active false",
		"user activate jo@acme.example":            "user jo@acme.example active true",
		"user remove jo@acme.example":              "no user jo@acme.example",
		"group add Eng --user jo@acme.example":     "group {ID:0 Name:Eng External:false Users:[jo@acme.example] Connectors:[]}",
		"group add Eng --connector Wiki":           "group {ID:0 Name:Eng External:false Users:[] Connectors:[Wiki]}",
		"group add --external slack:C1 --user a@b": "group {ID:0 Name:slack:C1 External:true Users:[a@b] Connectors:[]}",
		"group remove Eng":                         "no group {ID:0 Name:Eng External:false Users:[] Connectors:[]}",
		"group remove --external slack:C1":         "no group {ID:0 Name:slack:C1 External:true Users:[] Connectors:[]}",
		"connector add Wiki --source confluence --group Eng": "connector {ID:0 Name:Wiki Source:confluence AccessType:private " +
			"Groups:[Eng] Creator: DocumentSets:[]}",
		"connector remove Wiki":           "no connector Wiki",
		"document-set add H":              "set {ID:0 Name:H Description: IsPublic:true Users:[] Groups:[] Connectors:[]}",
		"document-set add H --restricted": "set {ID:0 Name:H Description: IsPublic:false Users:[] Groups:[] Connectors:[]}",
		"document-set add H --group Legal --connector Wiki": "set {ID:0 Name:H Description: IsPublic:false Users:[] Groups:[Legal] " +
			"Connectors:[Wiki]}",
		"document-set remove H": "no set H",
		"agent add A --document-set H --since 2025-01-01 --provider p --model m": "agent A for true [] [] in [H] [] since 2025-01-01 by p m",
		"agent add A --user a@b --document file:/a,b":                            "agent A for false [a@b] [] in [] [file:/a,b] since any time by  ",
		"agent remove 3":             "no agent 3",
		"tenant add acme":            "tenant acme",
		"tenant remove acme":         "no tenant acme false",
		"tenant remove acme --force": "no tenant acme true",
	} {
		t.Run(arguments, func(t *testing.T) {
			doors, directory := testDoors(""), &fakeDirectory{}
			doors.Directory = func(context.Context, string, string) (Directory, error) { return directory, nil }
			got := run(t, doors, terminal{}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitSuccess)
			if strings.Join(directory.asked, ";") != want {
				t.Errorf("asked %q, want %q", directory.asked, want)
			}
			if tells := strings.Contains(arguments, " add ") || strings.HasPrefix(arguments, "tenant "); tells != strings.HasPrefix(got.out, "{") || strings.Contains(got.out, "s\": null") {
				t.Errorf("stdout %q", got.out)
			}
			onScreen := run(t, doors, terminal{tty: true, width: 80}, append([]string{"admin"}, strings.Fields(arguments)...)...).check(t, ExitSuccess)
			if onScreen.out != "" || onScreen.err == "" {
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
		"user add":                               "email",
		"user add jo":                            "email",
		"user add a@b --role king":               "role",
		"user list x":                            "no arguments",
		"user remove a@b c@d":                    "one",
		"group add":                              "group",
		"group add --external slack:C1":          "users",
		"group add --external slack --user a@b":  "SOURCE:ID",
		"group add --external slak:C --user a@b": "slack",
		"group add Eng --user jo":                "email",
		"group add --external slack:C --connector Wiki --user a@b": "connector",
		"connector add Wiki":                                      "source",
		"connector add Wiki --source confluense":                  "confluence",
		"connector add Wiki --source web --access all":            "access",
		"connector add Wiki --source web --access sync --group G": "private",
		"document-set add":                                        "name",
		"agent add A --since yesterday":                           "date",
		"agent add A --model m":                                   "provider",
		"user list --sample":                                      "sample",
		"tenant add":                                              "name",
		"tenant list x":                                           "no arguments",
		"tenant remove a b":                                       "one",
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

// TestAdminOfAServer goes over the API as far as that has routes.
func TestAdminOfAServer(t *testing.T) {
	s := newOnyx(t)
	for route, answer := range map[string]string{
		"/manage/admin/user-group":         `[{"id":7,"name":"Legal","users":[{"id":"u","email":"jo@acme.example"}],"cc_pairs":[{"id":1,"name":"Wiki"}],"is_up_to_date":true}]`,
		"/manage/admin/connector":          `{"id":2}`,
		"/manage/credential":               `{"id":3}`,
		"/manage/connector/2/credential/3": `{"success":true,"message":"","data":4}`,
		"/manage/admin/document-set":       `5`,
		"/manage/document-set":             `[{"id":9,"name":"Handbook","is_public":true,"cc_pair_summaries":[{"id":1,"name":"Wiki","source":"confluence"}]}]`,
	} {
		s.on(route, body(http.StatusOK, []byte(answer)))
	}
	for arguments, want := range map[string]string{
		"group list":        `"Wiki"`,
		"document-set list": `"Handbook"`,
		"connector add Wiki --source web --group Legal": `"id": 4`,
		"document-set add H --group Legal":              `"id": 5`,
	} {
		got := run(t, testDoors(s.URL), terminal{}, append([]string{"admin", "--profile", "work"}, strings.Fields(arguments)...)...).check(t, ExitSuccess)
		if !strings.Contains(got.out, want) {
			t.Errorf("%s printed %s", arguments, got.out)
		}
	}
	for _, arguments := range []string{"user list", "user add a@b", "user remove a@b", "user activate a@b", "group add G", "group remove G", "connector list",
		"connector remove W", "document-set remove H", "agent remove A", "document-set add H --connector W", "agent add A --user a@b",
		"tenant list", "tenant add acme", "tenant remove acme"} {
		run(t, testDoors(s.URL), terminal{}, append([]string{"admin", "--profile", "work"}, strings.Fields(arguments)...)...).
			check(t, ExitUsage).twoLines(t, "where the library lies")
	}
	run(t, testDoors(s.URL), terminal{}, "admin", "document-set", "add", "H", "--group", "Nobody", "--profile", "work").check(t, ExitNotAvailable)
	for _, what := range []string{"token", "group"} {
		run(t, testDoors(s.URL), terminal{}, "admin", what, "list", "--profile", "work", "--tenant", "acme").
			check(t, ExitUsage).twoLines(t, "a token names its tenant")
	}
}

// TestAdminOfATenant hands on which tenant is meant, and repeats it where it tells what to do next.
func TestAdminOfATenant(t *testing.T) {
	doors, asked := testDoors(""), []string{}
	doors.Directory = func(_ context.Context, dir, tenant string) (Directory, error) {
		asked = append(asked, dir+":"+tenant)
		return &fakeDirectory{}, nil
	}
	doors.Tokens = func(_ context.Context, dir, tenant string) (Tokens, error) {
		asked = append(asked, dir+":"+tenant)
		return &fakeTokens{}, nil
	}
	screen := terminal{tty: true, width: 100}
	got := run(t, doors, screen, "admin", "user", "add", "jo@acme.example", "--tenant", "acme", "--library", "/srv").check(t, ExitSuccess)
	if !strings.Contains(got.err, "--library /srv --tenant acme") {
		t.Errorf("stderr %s", got.err)
	}
	run(t, doors, screen, "admin", "token", "--tenant", "acme", "add", "--name", "x").check(t, ExitSuccess)
	run(t, doors, screen, "admin", "token", "list").check(t, ExitSuccess)
	if fmt.Sprint(asked) != "[/srv:acme :acme :]" {
		t.Errorf("asked for %v", asked)
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
