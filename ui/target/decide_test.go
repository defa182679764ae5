package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/config"
)

// world is a machine made up for one decision.
type world struct {
	flags   Request
	env     []string // KEY, value pairs
	file    string   // config.yaml; "" is none
	onyx    string   // configuration of Onyx's CLI; "" is none
	library bool     // the library of this machine holds documents
	broken  bool     // it cannot be looked at
	ring    map[string]string
}

func environment(pairs []string) config.Env {
	values := map[string]string{"HOME": "/nowhere"}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(key string) (string, bool) {
		value, ok := values[key]
		return value, ok
	}
}

type fakeProbe struct {
	world world
	paths config.Paths
	asked *[]string
}

func (p fakeProbe) hasDocuments(dir string) (bool, error) {
	*p.asked = append(*p.asked, "library")
	if dir != p.paths.Data {
		return false, fmt.Errorf("asked for %s", dir)
	}
	if p.world.broken {
		return false, errors.New("damaged")
	}
	return p.world.library, nil
}

func (p fakeProbe) onyxCLI(file string) (config.OnyxCLI, *config.Warning) {
	*p.asked = append(*p.asked, "onyx")
	return config.ReadOnyxCLI(file)
}

type fakeRing map[string]string

func (r fakeRing) Get(_ context.Context, account string) (string, error) {
	if token, ok := r[account]; ok {
		return token, nil
	}
	return "", config.ErrNoSecret
}
func (r fakeRing) Set(context.Context, string, string) error { return errors.New("not here") }

// decide runs Decide in a world; asked lists what it looked at.
func decide(t *testing.T, w world) (choice Choice, asked []string, err error) {
	t.Helper()
	folder := t.TempDir()
	paths := config.Paths{ConfigFile: filepath.Join(folder, "config.yaml"), Data: filepath.Join(folder, "data"),
		OnyxFile: filepath.Join(folder, "onyx.json")}
	for path, text := range map[string]string{paths.ConfigFile: w.file, paths.OnyxFile: w.onyx} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := environment(w.env)
	c, err := config.Load(paths, env)
	if err != nil {
		t.Fatal(err)
	}
	probe := fakeProbe{w, paths, &asked}
	sources := Sources{Config: c, Environment: config.ReadEnvironment(env), Paths: paths, HasDocuments: probe.hasDocuments,
		OnyxCLI: probe.onyxCLI}
	if w.ring != nil {
		sources.Keyring = fakeRing(w.ring)
	}
	choice, err = Decide(w.flags, sources)
	return choice, asked, err
}

const profiles = `active: work
profiles:
  work: {server_url: "https://work.example.com", token: work-token, agent: 7}
  base: {server_url: "https://base.example.com/onyx", api_prefix: "", token: base-token, agent: Eng}
  twin: {server_url: "https://work.example.com:443/twin", token: twin-token}
  bare: {server_url: "https://bare.example.com"}
  mine: {library: /srv/mine, agent: 3}
`

const onyxFile = `{"server_url":"https://cli.example.com","api_key":"cli-token","default_persona_id":5}`

// A token of the environment without a server names the variable that is missing.
func TestNoServerIn(t *testing.T) {
	for server, want := range map[string]string{"": "ONYX_SERVER_URL", "https://onyx.example": ""} {
		w := world{env: []string{"ONYX_PAT", "x", "ONYX_SERVER_URL", server}}
		if choice, _, err := decide(t, w); err != nil || choice.NoServerIn != want {
			t.Errorf("%q: %q, %v", server, choice.NoServerIn, err)
		}
	}
}

// remote is the outcome of a choice of a server; errors are written as their exit code and some of their words.
func remote(rule int, label, url, prefix, agent, token string) string {
	return fmt.Sprintf("%d remote %s %s prefix=%s agent=%s token=%s", rule, label, url, prefix, agent, token)
}

type decideTest struct {
	name string
	world
	want string
}

func flagTests() []decideTest {
	return []decideTest{
		{"--server with the environment's token", world{flags: Request{Server: "https://x.example.com"},
			env: []string{"ONYX_PAT", "env-token", "ONYX_PERSONA_ID", "4", "ONYX_API_PREFIX", "/v2"}, file: profiles},
			remote(1, "server", "https://x.example.com", "/v2", "4", "env-token")},
		{"--server that the environment names too", world{flags: Request{Server: "https://x.example.com:443/"},
			env: []string{"ONYX_PAT", "env-token", "ONYX_SERVER_URL", "https://X.example.com", "ONYX_API_PREFIX", ""}},
			remote(1, "server", "https://x.example.com", "", "", "env-token")},
		{"--server with another path than the environment's", world{flags: Request{Server: "https://x.example.com/other"},
			env: []string{"ONYX_PAT", "env-token", "ONYX_SERVER_URL", "https://x.example.com", "ONYX_API_PREFIX", "",
				"ONYX_PERSONA_ID", "4"}},
			remote(1, "server", "https://x.example.com/other", "/api", "", "env-token")},
		{"--server while the environment names another", world{flags: Request{Server: "https://work.example.com"},
			env: []string{"ONYX_PAT", "env-token", "ONYX_SERVER_URL", "https://env.example.com"}, file: profiles},
			remote(1, "work", "https://work.example.com", "/api", "7", "work-token")},
		{"--server while the environment names none that can be read", world{flags: Request{Server: "https://work.example.com"},
			env: []string{"ONYX_PAT", "env-token", "ONYX_SERVER_URL", "nonsense"}, file: profiles},
			remote(1, "work", "https://work.example.com", "/api", "7", "work-token")},
		{"--server with another port", world{flags: Request{Server: "https://work.example.com:8443"}, file: profiles},
			"3 no token for https://work.example.com:8443"},
		{"--server with another scheme", world{flags: Request{Server: "http://work.example.com"}, file: profiles},
			"3 no token for http://work.example.com"},
		{"--server of a profile, other path", world{flags: Request{Server: "https://base.example.com"}, file: profiles},
			remote(1, "base", "https://base.example.com", "/api", "", "base-token")},
		{"--server of a profile, same path", world{flags: Request{Server: "https://base.example.com/onyx/"}, file: profiles},
			remote(1, "base", "https://base.example.com/onyx", "", "Eng", "base-token")},
		{"--server of two profiles: the active one", world{flags: Request{Server: "https://work.example.com/twin"}, file: profiles},
			remote(1, "work", "https://work.example.com/twin", "/api", "", "work-token")},
		{"--server, profile with the keyring", world{flags: Request{Server: "https://bare.example.com"}, file: profiles,
			ring: map[string]string{"bare@https://bare.example.com": "ring-token"}},
			remote(1, "bare", "https://bare.example.com", "/api", "", "ring-token")},
		{"--server, profile without any token", world{flags: Request{Server: "https://bare.example.com"}, file: profiles},
			"3 no token for https://bare.example.com"},
		{"--server never takes the token of Onyx's CLI", world{flags: Request{Server: "https://cli.example.com"}, onyx: onyxFile},
			"3 no token for https://cli.example.com"},
		{"--server without anything", world{flags: Request{Server: "https://x.example.com", Terminal: true}, library: true},
			"3 no token for https://x.example.com"},
		{"--server and a token of another server", world{flags: Request{Server: "https://x.example.com"},
			env: []string{"QUARRY_PAT", "q", "QUARRY_SERVER_URL", "https://y.example.com"}},
			"3 QUARRY_PAT is for the server in QUARRY_SERVER_URL"},
		{"--server that is no address", world{flags: Request{Server: "work"}}, "2 --server"},
		{"--server with a password", world{flags: Request{Server: "https://u:hunter2@x"}}, "2 user name or password"},
		{"--library", world{flags: Request{Library: "/srv/other"}, env: []string{"ONYX_PAT", "x"}, file: profiles},
			"1 library local /srv/other agent="},
		{"--sample", world{flags: Request{Sample: true}, env: []string{"ONYX_PAT", "x"}, file: profiles}, "1 sample sample"},
		{"--profile", world{flags: Request{Profile: "base"}, env: []string{"ONYX_PAT", "x"}, file: profiles},
			remote(1, "base", "https://base.example.com/onyx", "", "Eng", "base-token")},
		{"--profile of a library", world{flags: Request{Profile: "mine"}, file: profiles}, "1 library mine /srv/mine agent=3"},
		{"--profile local", world{flags: Request{Profile: "local"}, file: profiles}, "1 library local DATA agent="},
		{"--profile misspelt", world{flags: Request{Profile: "wrok"}, file: profiles}, "2 did you mean work?"},
		{"--profile without a file", world{flags: Request{Profile: "qwertyuiop"}}, "2 has none"},
		{"--profile unlike any", world{flags: Request{Profile: "qwertyuiop"}, file: profiles}, "2 use one of bare, base, mine"},
		{"--profile in a sandbox", world{flags: Request{Profile: "work"}, file: profiles,
			env: []string{"QUARRY_READONLY", "1", "ONYX_PAT", "x"}}, "2 the configuration file is not read"},
		{"--profile without a token", world{flags: Request{Profile: "bare"}, file: profiles}, "3 has no token"},
	}
}

func environmentTests() []decideTest {
	return []decideTest{
		{"environment", world{env: []string{"ONYX_SERVER_URL", "https://env.example.com/", "ONYX_PAT", "env-token"}, file: profiles},
			remote(2, "environment", "https://env.example.com", "/api", "", "env-token")},
		{"environment, whole", world{env: []string{"ONYX_SERVER_URL", "https://e.example.com", "ONYX_PAT", "env-token",
			"ONYX_API_PREFIX", "", "ONYX_PERSONA_ID", "12"}},
			remote(2, "environment", "https://e.example.com", "", "12", "env-token")},
		{"agent 0 is no agent", world{env: []string{"ONYX_SERVER_URL", "https://e", "ONYX_PAT", "t", "ONYX_PERSONA_ID", "0"}},
			remote(2, "environment", "https://e", "/api", "", "t")},
		{"QUARRY_* ignores all of ONYX_*", world{env: []string{"QUARRY_SERVER_URL", "https://q.example.com", "QUARRY_PAT", "q",
			"ONYX_API_PREFIX", "/x", "ONYX_PERSONA_ID", "9", "ONYX_SERVER_URL", "https://o", "ONYX_PAT", "o"}},
			remote(2, "environment", "https://q.example.com", "/api", "", "q")},
		{"QUARRY_PAT does not go to ONYX_SERVER_URL", world{env: []string{"QUARRY_PAT", "q", "ONYX_SERVER_URL", "https://o"}},
			remote(2, "environment", "https://cloud.onyx.app", "/api", "", "q")},
		{"QUARRY_SERVER_URL does not get ONYX_PAT", world{env: []string{"QUARRY_SERVER_URL", "https://q", "ONYX_PAT", "o"},
			file: profiles}, "3 QUARRY_PAT is not"},
		{"a server without a token", world{env: []string{"ONYX_SERVER_URL", "https://work.example.com"}, file: profiles, onyx: onyxFile,
			library: true}, "3 ONYX_PAT is not"},
		{"a token alone", world{env: []string{"ONYX_PAT", "env-token"}, file: profiles},
			remote(2, "environment", "https://cloud.onyx.app", "/api", "", "env-token")},
		{"a token alone where Onyx's CLI is set up", world{env: []string{"ONYX_PAT", "env-token"}, file: profiles, onyx: onyxFile},
			remote(2, "environment", "https://cli.example.com", "/api", "", "env-token")},
		{"a token alone where that is broken", world{env: []string{"ONYX_PAT", "env-token"}, onyx: "{"},
			remote(2, "environment", "https://cloud.onyx.app", "/api", "", "env-token")},
		{"prefix and persona alone do not win", world{env: []string{"ONYX_API_PREFIX", "", "ONYX_PERSONA_ID", "3"}, file: profiles},
			remote(3, "work", "https://work.example.com", "/api", "7", "work-token")},
		{"bad address", world{env: []string{"ONYX_SERVER_URL", "env.example.com", "ONYX_PAT", "x"}}, "3 ONYX_SERVER_URL"},
		{"bad prefix", world{env: []string{"ONYX_SERVER_URL", "https://e", "ONYX_PAT", "x", "ONYX_API_PREFIX", "../x"}},
			"3 ONYX_API_PREFIX"},
		{"bad persona", world{env: []string{"ONYX_SERVER_URL", "https://e", "ONYX_PAT", "x", "ONYX_PERSONA_ID", "Eng"}},
			"3 ONYX_PERSONA_ID"},
		{"sandbox reads no file", world{env: []string{"QUARRY_READONLY", "1", "ONYX_PAT", "env-token"}, onyx: onyxFile,
			file: "version: 9"}, remote(2, "environment", "https://cloud.onyx.app", "/api", "", "env-token")},
	}
}

func laterTests() []decideTest {
	return []decideTest{
		{"active profile", world{file: profiles, onyx: onyxFile, library: true},
			remote(3, "work", "https://work.example.com", "/api", "7", "work-token")},
		{"active library", world{file: "active: mine\n" + profiles[len("active: work\n"):], onyx: onyxFile},
			"3 library mine /srv/mine agent=3"},
		{"active local", world{file: "active: local", onyx: onyxFile}, "3 library local DATA agent="},
		{"the only profile", world{file: "profiles: {one: {server_url: 'https://one', token: t}}", onyx: onyxFile},
			remote(3, "one", "https://one", "/api", "", "t")},
		{"profiles, none active", world{file: profiles[len("active: work\n"):], onyx: onyxFile},
			remote(4, "onyx-cli", "https://cli.example.com", "/api", "5", "cli-token")},
		{"active profile without a token", world{file: "profiles: {one: {server_url: 'https://one'}}", onyx: onyxFile},
			"3 the profile one"},
		{"active profile with the keyring", world{file: "profiles: {one: {server_url: 'https://one'}}",
			ring: map[string]string{"one@https://one": "ring-token"}}, remote(3, "one", "https://one", "/api", "", "ring-token")},

		// 4: Onyx's CLI
		{"Onyx's CLI", world{onyx: onyxFile, library: true},
			remote(4, "onyx-cli", "https://cli.example.com", "/api", "5", "cli-token")},
		{"Onyx's CLI without a token", world{onyx: `{"server_url":"https://cli.example.com"}`, library: true},
			"5 library local DATA agent="},
		{"Onyx's CLI broken", world{onyx: `{"api_key":`, library: true}, "5 library local DATA agent="},

		// 5 and 6
		{"library", world{library: true, flags: Request{Terminal: true}}, "5 library local DATA agent="},
		{"library that cannot be looked at", world{broken: true}, "5 library local DATA agent="},
		{"sample for a person", world{flags: Request{Terminal: true}}, "6 sample sample"},
		{"nothing for a script", world{}, "3 no server or library is configured"},
	}
}

func TestDecide(t *testing.T) {
	for _, test := range slices.Concat(flagTests(), environmentTests(), laterTests()) {
		t.Run(test.name, func(t *testing.T) {
			choice, _, err := decide(t, test.world)
			if got := outcome(t, choice, err); err != nil && !matches(got, test.want) || err == nil && got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// matches compares an error as "<exit code> <words of it>".
func matches(got, want string) bool {
	code, words, _ := strings.Cut(want, " ")
	return strings.HasPrefix(got, code+" ") && strings.Contains(got, words)
}

// outcome writes a choice, its token fetched, or an error on one line, and checks what must hold of either.
func outcome(t *testing.T, choice Choice, err error) string {
	t.Helper()
	secrets := []string{"env-token", "work-token", "base-token", "cli-token", "ring-token", "hunter2"}
	leaks := func(text string) {
		t.Helper()
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("shows a secret: %s", text)
			}
		}
	}
	var e *config.Error
	if errors.As(err, &e) {
		leaks(e.Error() + e.Remedy())
		if e.Remedy() == "" || strings.Contains(e.Error()+e.Remedy(), "\n") {
			t.Errorf("%q, remedy %q", e, e.Remedy())
		}
		return fmt.Sprint(e.ExitCode(), " ", e, " | ", e.Remedy())
	}
	if err != nil {
		t.Fatalf("%T: %v", err, err)
	}
	leaks(fmt.Sprintf("%+v %#v %s", choice, choice, choice.Reason))
	if choice.Reason == "" {
		t.Error("no reason")
	}
	switch choice.Kind {
	case KindSample:
		return fmt.Sprintf("%d sample %s", choice.Rule, choice.Profile)
	case KindLibrary:
		dir := choice.LibraryDir
		if filepath.Base(dir) == "data" {
			dir = "DATA"
		}
		return fmt.Sprintf("%d library %s %s agent=%s", choice.Rule, choice.Profile, dir, choice.Agent)
	}
	token, err := choice.token(context.Background())
	if err != nil {
		t.Errorf("token: %v", err)
	}
	fields := map[string]bool{}
	for _, origin := range choice.Origin {
		fields[origin.Field] = true
		if origin.From == "" || origin.Field == "token" && origin.Value != "" {
			t.Errorf("origin %+v", origin)
		}
	}
	if !fields["server_url"] || !fields["token"] || !fields["api_prefix"] || fields["agent"] == choice.Agent.IsZero() {
		t.Errorf("origins of %+v", choice.Origin)
	}
	return fmt.Sprintf("%d remote %s %s prefix=%s agent=%s token=%s", choice.Rule, choice.Profile, choice.ServerURL,
		choice.APIPrefix, choice.Agent, token)
}

func TestDecideLooksNoFurtherThanItMust(t *testing.T) {
	tests := []struct {
		name string
		world
		asked []string
	}{
		{"flag", world{flags: Request{Sample: true}}, nil},
		{"environment", world{env: []string{"ONYX_SERVER_URL", "https://e", "ONYX_PAT", "t"}}, nil},
		{"token alone", world{env: []string{"ONYX_PAT", "t"}}, []string{"onyx"}},
		{"sandbox", world{env: []string{"ONYX_PAT", "t", "QUARRY_READONLY", "1"}}, nil},
		{"profile", world{file: profiles}, nil},
		{"Onyx's CLI", world{onyx: onyxFile}, []string{"onyx"}},
		{"library", world{library: true}, []string{"onyx", "library"}},
		{"nothing", world{}, []string{"onyx", "library"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, asked, _ := decide(t, test.world); !reflect.DeepEqual(asked, test.asked) {
				t.Errorf("asked %v, want %v", asked, test.asked)
			}
		})
	}
}

func TestDecidePassesWarningsOn(t *testing.T) {
	choice, _, err := decide(t, world{onyx: "{", library: true})
	if err != nil || len(choice.Warnings) != 1 || !strings.Contains(choice.Warnings[0].Text, "onyx.json") {
		t.Errorf("%v, %+v", err, choice.Warnings)
	}
}

// TestATokenMeetsOnlyItsOwnServer puts every combination of sources together: whatever wins, the token is the one that
// belongs to the address.
func TestATokenMeetsOnlyItsOwnServer(t *testing.T) {
	owners := map[string]string{"q": "https://q.example.com", "o": "https://o.example.com", "work-token": "https://work.example.com",
		"twin-token": "https://work.example.com", "base-token": "https://base.example.com", "cli-token": "https://cli.example.com"}
	servers := []string{"", "https://q.example.com", "https://o.example.com", "https://work.example.com/twin",
		"https://base.example.com", "https://cli.example.com", "https://evil.example.com"}
	names := []string{"", "work", "base", "twin"}
	quarry := []string{"QUARRY_SERVER_URL", "https://q.example.com", "QUARRY_PAT", "q"}
	onyx := []string{"ONYX_SERVER_URL", "https://o.example.com", "ONYX_PAT", "o"}
	for bits := range 16 {
		w := world{}
		if bits&1 != 0 {
			w.env = append(w.env, quarry...)
		}
		if bits&2 != 0 {
			w.env = append(w.env, onyx...)
		}
		if bits&4 != 0 {
			w.file = profiles
		}
		if bits&8 != 0 {
			w.onyx = onyxFile
		}
		for _, server := range servers {
			for _, name := range names {
				w.flags = Request{Server: server, Profile: name}
				choice, _, err := decide(t, w)
				if err != nil || choice.Kind != KindRemote {
					continue
				}
				token, err := choice.token(context.Background())
				origin, _ := wire.Origin(choice.ServerURL)
				if err != nil || owners[token] != origin {
					t.Errorf("%+v: %s goes to %s (%v)", w.flags, token, choice.ServerURL, err)
				}
			}
		}
	}
}
