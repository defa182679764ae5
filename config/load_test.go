package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

const everything = `# my configuration
active: work
profiles:
  work:
    server_url: https://Onyx.Acme.com:443/
    api_prefix: ""
    token: onyx_pat_secret
    agent: 7
    search_also: [local, notes]
  notes:
    library: ../notes
  by_command:
    server_url: http://localhost:8080/base/
    token_command: pass show onyx | head -1
    agent: Engineering Support
  chat:
    kind: slack
    token_command: pass show slack
  gov:
    kind: slack
    server_url: https://slack-gov.com/api/
    token: xoxp-1
instant: on
fast: true
private: yes
theme: high-contrast
links: permalink
keys:
  Open.Source: O
  quit: [q, ctrl+c]
read_seconds: 20
age_warning: 2
rate: 60/h
llm:
  default: ollama/llama3.1
  budget: 1_000_000
  providers:
    ollama: {base_url: "http://localhost:11434/v1", models: [llama3.1, qwen2]}
    hosted: {base_url: "https://api.example.com/v1", key: sk-key}
embeddings: {mode: on, weight: 0.5, on_battery: true, base_url: "http://localhost:11434/v1", model: nomic, key: e-key, query_prefix: "search_query: ", document_prefix: "search_document: "}
http: {hosts: [search.acme.com, "search.acme.com:8443"], metrics: open}
ssh: {authorized_keys: ~/keys, token: on, open: off}
index: {engine: embedded}
directory: {url: "postgres://user:pw@db/quarry"}
`

func TestEveryKeyIsRead(t *testing.T) {
	paths := write(t, everything)
	c, err := Load(paths, env("HOME", "/home/ada"))
	if err != nil {
		t.Fatal(err)
	}
	seven, prefix := 7, ""
	want := &Config{
		File: paths.ConfigFile, Loaded: true, Active: "work",
		Profiles: map[string]Profile{
			"work": {Name: "work", ServerURL: "https://onyx.acme.com", APIPrefix: &prefix, Token: NewSecret("onyx_pat_secret"),
				Agent: wire.Agent{ID: &seven}, SearchAlso: []string{"local", "notes"}},
			"notes": {Name: "notes", Library: filepath.Join(filepath.Dir(paths.ConfigFile), "../notes")},
			"by_command": {Name: "by_command", ServerURL: "http://localhost:8080/base",
				TokenCommand: "pass show onyx | head -1", Agent: wire.Agent{Name: "Engineering Support"}},
			"chat": {Name: "chat", Kind: KindSlack, ServerURL: "https://slack.com/api", TokenCommand: "pass show slack"},
			"gov":  {Name: "gov", Kind: KindSlack, ServerURL: "https://slack-gov.com/api", Token: NewSecret("xoxp-1")},
		},
		Instant: true, Fast: true, Private: true, ReadSeconds: 20, AgeWarning: 2, Links: LinksPermalink, Theme: "high-contrast",
		Keys: map[string][]string{"Open.Source": {"O"}, "quit": {"q", "ctrl+c"}},
		Rate: Rate{60, time.Hour},
		LLM: LLM{Default: "ollama/llama3.1", Budget: 1_000_000, Providers: map[string]Provider{
			"ollama": {BaseURL: "http://localhost:11434/v1", Models: []string{"llama3.1", "qwen2"}},
			"hosted": {BaseURL: "https://api.example.com/v1", Key: NewSecret("sk-key")},
		}},
		Embeddings: Embeddings{Mode: MeaningOn, Weight: 0.5, OnBattery: true, BaseURL: "http://localhost:11434/v1", Model: "nomic", Key: NewSecret("e-key"),
			QueryPrefix: "search_query: ", DocumentPrefix: "search_document: "},
		HTTP:  HTTP{Hosts: []string{"search.acme.com", "search.acme.com:8443"}, Metrics: MetricsOpen},
		SSH:   SSH{AuthorizedKeys: "/home/ada/keys", Token: true},
		Index: Index{Engine: EngineEmbedded}, Directory: Directory{URL: NewSecret("postgres://user:pw@db/quarry")},
	}
	c.Warnings, c.from = nil, nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if got := c.Profiles["work"].Token.Reveal(); got != "onyx_pat_secret" {
		t.Errorf("token %q", got)
	}
}

func TestMissingAndEmptyFilesAreDefaults(t *testing.T) {
	missing := Paths{ConfigFile: filepath.Join(t.TempDir(), "no", "such", "config.yaml")}
	for name, paths := range map[string]Paths{
		"missing": missing, "empty": write(t, ""), "comments": write(t, "# nothing yet\n"), "null": write(t, "---\n~\n"),
	} {
		c, err := Load(paths, env())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Theme != "auto" || c.Embeddings.Mode != MeaningAuto || c.HTTP.Metrics != MetricsToken || c.Index.Engine != EngineEmbedded || c.Active != "" ||
			c.Instant || len(c.Warnings) > 0 || c.Loaded == (name == "missing") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	c, err := Load(missing, env("QUARRY_CONFIG", missing.ConfigFile))
	if err != nil || len(c.Warnings) != 1 {
		t.Errorf("a file that was asked for and is not there: %v, %+v", err, c)
	}
}

func TestMistakesNameKeyFileAndRemedy(t *testing.T) {
	tests := []struct {
		name, text string
		words      []string
	}{
		{"unknown", "them: dark", []string{"them", "did you mean theme?", ":1:"}},
		{"unknown case", "Theme: dark", []string{"Theme", "did you mean theme?"}},
		{"unknown nested", "http:\n  host: [a]", []string{"http.host", "did you mean http.hosts?", ":2:"}},
		{"unknown in profile", "profiles: {a: {server_ur: x}}", []string{"profiles.a.server_ur", "profiles.a.server_url"}},
		{"wrong level", "metrics: open", []string{"metrics", "did you mean http.metrics?"}},
		{"version of something newer", "version: 2", []string{"version", "unknown key", "newer quarry"}},
		{"nothing near", "zzzzzzzzzzzz: 2", []string{"unknown key", "known here", "active"}},
		{"hostile key", "\"a\\e[31mb\\nc\": 2", []string{"unknown key"}},
		{"dotted key", "http.hosts: [a]", []string{"http.hosts", "unknown key"}},
		{"bool", "instant: maybe", []string{"instant", "on or off"}},
		{"bool as list", "instant: [on]", []string{"instant", "is a list"}},
		{"number", "llm: {budget: lots}", []string{"llm.budget", "whole number"}},
		{"negative", "llm: {budget: -1}", []string{"llm.budget", "negative"}},
		{"weight", "embeddings: {weight: much}", []string{"embeddings.weight", "is not a number"}},
		{"no weight", "embeddings: {weight: 0}", []string{"embeddings.weight", "above 0"}},
		{"weight without a value", "embeddings: {weight: nan}", []string{"embeddings.weight", "above 0"}},
		{"section as text", "http: open", []string{"http", "is text, not a group of keys"}},
		{"text as section", "theme: {a: b}", []string{"theme", "is a group of keys"}},
		{"list of lists", "http: {hosts: [[a]]}", []string{"http.hosts"}},
		{"profile is text", "profiles: {a: b}", []string{"profiles.a", "not a group of keys"}},
		{"profile name", "profiles: {Work: {server_url: 'https://a'}}", []string{"profiles.Work", "a to z"}},
		{"profile name dot", "profiles: {a.b: {server_url: 'https://a'}}", []string{"profiles.a.b", "rename"}},
		{"scheme", "profiles: {a: {server_url: onyx.acme.com}}", []string{"profiles.a.server_url", "https://"}},
		{"ftp", "profiles: {a: {server_url: 'ftp://x'}}", []string{"profiles.a.server_url", "https://"}},
		{"userinfo", "profiles: {a: {server_url: 'https://u:hunter2@x'}}", []string{"user name or password"}},
		{"query", "profiles: {a: {server_url: 'https://x/?token=hunter2'}}", []string{"before any ?"}},
		{"port", "profiles: {a: {server_url: 'https://x:99999'}}", []string{"port"}},
		{"prefix", "profiles: {a: {server_url: 'https://x', api_prefix: '../..'}}", []string{"profiles.a.api_prefix"}},
		{"agent", "profiles: {a: {server_url: 'https://x', agent: -3}}", []string{"profiles.a.agent"}},
		{"both", "profiles: {a: {server_url: 'https://x', library: /l}}", []string{"profiles.a", "one or the other"}},
		{"neither", "profiles: {a: {agent: 3}}", []string{"profiles.a", "neither"}},
		{"token without server", "profiles: {a: {library: /l, token: hunter2}}", []string{"profiles.a", "no server_url"}},
		{"two tokens", "profiles: {a: {server_url: 'https://x', token: hunter2, token_command: c}}", []string{"one of them"}},
		{"token with spaces", "profiles: {a: {server_url: 'https://x', token: hunter2 x}}", []string{"profiles.a.token"}},
		{"long token", "profiles: {a: {server_url: 'https://x', token: " + strings.Repeat("x", 5000) + "}}", []string{"longer"}},
		{"kind", "profiles: {a: {kind: slak, server_url: 'https://x'}}", []string{"profiles.a.kind", "onyx, slack"}},
		{"kind without server", "profiles: {a: {kind: onyx, library: /l}}", []string{"profiles.a", "no server_url"}},
		{"an agent of Slack", "profiles: {a: {kind: slack, agent: 7}}", []string{"profiles.a", "Slack"}},
		{"a library of Slack", "profiles: {a: {kind: slack, library: /l}}", []string{"profiles.a", "Slack"}},
		{"two tokens of Slack", "profiles: {a: {kind: slack, token: hunter2, token_command: c}}", []string{"one of them"}},
		{"local as Slack", "profiles: {local: {kind: slack}}", []string{"profiles.local"}},
		{"local as server", "profiles: {local: {server_url: 'https://x'}}", []string{"profiles.local"}},
		{"local elsewhere", "profiles: {local: {library: /l}}", []string{"profiles.local", "data folder"}},
		{"search_also unknown", "profiles: {work: {library: /l, search_also: [wrk]}}", []string{"search_also", "work"}},
		{"search_also itself", "profiles: {work: {library: /l, search_also: [work]}}", []string{"search_also", "own"}},
		{"search_also twice", "profiles: {a: {library: /l, search_also: [local, local]}}", []string{"search_also", "twice"}},
		{"active", "active: wrk\nprofiles: {work: {library: /l}}", []string{"active", "did you mean work?", "one of work, local"}},
		{"theme", "theme: drak", []string{"theme", "did you mean dark?"}},
		{"theme path", "theme: ../../etc/passwd", []string{"theme"}},
		{"rate", "rate: often", []string{"rate", "60/h"}},
		{"rate unit", "rate: 60/w", []string{"rate", "period"}},
		{"rate zero", "rate: 0/h", []string{"rate"}},
		{"metrics", "http: {metrics: opn}", []string{"http.metrics", "open"}},
		{"hosts", "http: {hosts: ['https://a/']}", []string{"http.hosts", "host name"}},
		{"engine", "index: {engine: sqlite}", []string{"index.engine"}},
		{"database", "directory: {url: 'mysql://u:hunter2@x'}", []string{"directory.url"}},
		{"provider url", "llm: {providers: {a: {base_url: x}}}", []string{"llm.providers.a.base_url"}},
		{"provider without url", "llm: {providers: {a: {key: hunter2}}}", []string{"llm.providers.a", "base_url"}},
		{"default provider", "llm: {default: b, providers: {a: {base_url: 'http://x'}}}", []string{"llm.default"}},
		{"default model", "llm: {default: a/y, providers: {a: {base_url: 'http://x', models: [z]}}}", []string{"llm.default"}},
		{"keys", "keys: {quit: {a: b}}", []string{"keys.quit"}},
		{"duplicate", "theme: dark\ntheme: light", []string{"theme", "twice", ":2:"}},
		{"duplicate profile", "profiles:\n  a: {library: /a}\n  a: {library: /b}", []string{"a", "twice"}},
		{"alias", "theme: &a dark\nrate: *a", []string{"anchors"}},
		{"unknown alias hides its name", "profiles: {a: {token: *hunter2}}", []string{"YAML"}},
		{"not yaml", "theme: [dark", []string{"YAML", "never overwritten"}},
		{"a list", "- a\n- b", []string{"not a list of keys"}},
		{"two documents", "theme: dark\n---\ntheme: light", []string{"more than one"}},
		{"binary", "theme: \x00\x01", []string{"UTF-8"}},
		{"not utf-8", "theme: \xff\xfe", []string{"UTF-8"}},
		{"huge", "theme: dark #" + strings.Repeat("x", maxFile), []string{"larger"}},
		{"deep", "keys: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), []string{"deeply"}},
		{"first of several", "rate: 1/s\ninstant: maybe\nprofiles: {a: b}\nthem: dark\nhttp: open", []string{":2:", "instant"}},
		{"unknown without a value", "them:", []string{"them", "did you mean theme?"}},
		{"long key", strings.Repeat("x", 101) + ": 1", []string{"too long"}},
		{"complex key", "? [a]\n: b", []string{"plain word"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			paths := write(t, test.text)
			_, err := Load(paths, env())
			wantError(t, err, 3, append(test.words, paths.ConfigFile)...)
			if strings.Contains(err.Error()+err.(*Error).Remedy(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestNamesWithoutAValueAreIgnored(t *testing.T) {
	c := load(t, "profiles:\n  work:\n  local: {}\nkeys: {quit: }\nllm: {providers: {a: }}\ntheme:\n")
	if len(c.Profiles) != 1 || len(c.Keys) != 0 || len(c.LLM.Providers) != 0 || c.Theme != "auto" {
		t.Errorf("%+v", c)
	}
}

func TestAliasBombIsRefusedQuickly(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 20; i++ {
		bomb += strings.NewReplacer("N", string(rune('a'+i)), "P", string(rune('a'+i-1))).Replace("N0: &N0 [*P0,*P0,*P0,*P0]\n")
	}
	_, err := Load(write(t, bomb), env())
	wantError(t, err, 3, "anchors")
}

func TestEnvironmentOverridesTheFile(t *testing.T) {
	const text = "theme: dark\ninstant: on\nrate: 1/s\nhttp: {hosts: [a], metrics: open}\n"
	c := load(t, text, "QUARRY_THEME", "light", "QUARRY_INSTANT", "off", "QUARRY_HTTP_HOSTS", "b, c.d", "QUARRY_FAST", "")
	if c.Theme != "light" || c.Instant || c.Fast || !reflect.DeepEqual(c.HTTP.Hosts, []string{"b", "c.d"}) ||
		c.HTTP.Metrics != MetricsOpen || c.Rate != (Rate{1, time.Second}) {
		t.Errorf("environment over file: %+v", c)
	}

	_, err := Load(write(t, text), env("QUARRY_THEME", "lihgt"))
	wantError(t, err, 3, "QUARRY_THEME", "light")
	_, err = Load(write(t, text), env("QUARRY_INSTANT", "perhaps"))
	wantError(t, err, 3, "QUARRY_INSTANT")
}

func TestUserThemes(t *testing.T) {
	paths := write(t, "theme: solar")
	_, err := Load(paths, env())
	wantError(t, err, 3, "solar")
	themes := filepath.Join(filepath.Dir(paths.ConfigFile), "themes")
	if err := os.Mkdir(themes, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(themes, "solar.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(paths, env()); err != nil || c.Theme != "solar" {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestWhatIsNoRegularFile(t *testing.T) {
	folder := t.TempDir()
	_, err := Load(Paths{ConfigFile: folder}, env())
	wantError(t, err, 3, folder, "regular")
	// A file where a folder should be: what lies below it does not exist.
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Paths{ConfigFile: filepath.Join(file, "config.yaml")}, env()); err != nil {
		t.Errorf("below a file: %v", err)
	}
}

func TestReadableByOthersIsAWarning(t *testing.T) {
	tests := []struct {
		name, text string
		mode       fs.FileMode
		warn       bool
	}{
		{"token, private", "profiles: {a: {server_url: 'https://a', token: x}}", 0o600, false},
		{"token, group", "profiles: {a: {server_url: 'https://a', token: x}}", 0o640, true},
		{"token, world", "profiles: {a: {server_url: 'https://a', token: x}}", 0o644, true},
		{"no token, world", "theme: dark", 0o644, false},
		{"command only, world", "profiles: {a: {server_url: 'https://a', token_command: x}}", 0o644, false},
		{"model key, world", "llm: {providers: {a: {base_url: 'http://a', key: k}}}", 0o644, true},
		{"embedding key, world", "embeddings: {key: k}", 0o604, true},
		{"database, world", "directory: {url: 'postgres://u:p@x'}", 0o644, true},
		{"cluster key, world", "index: {engine: 'weaviate://w:8080', weaviate: {key: k}}", 0o644, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !unixFolders() {
				t.Skip("file modes say nothing here")
			}
			paths := write(t, test.text)
			if err := os.Chmod(paths.ConfigFile, test.mode); err != nil {
				t.Fatal(err)
			}
			c, err := Load(paths, env())
			if err != nil {
				t.Fatal(err)
			}
			warned := slices.ContainsFunc(c.Warnings, func(w Warning) bool {
				return w.Remedy == "chmod 600 "+paths.ConfigFile
			})
			if warned != test.warn {
				t.Fatalf("warnings: %+v", c.Warnings)
			}
		})
	}
}

func TestSandboxReadsNoFile(t *testing.T) {
	paths := write(t, "this: is [broken")
	c, err := Load(paths, env("QUARRY_READONLY", "1", "ONYX_PAT", "x", "QUARRY_THEME", "mono"))
	if err != nil || !c.Sandbox() || c.Theme != "mono" || c.Loaded {
		t.Errorf("%v, %+v", err, c)
	}
	if _, err := Load(paths, env("QUARRY_READONLY", "1")); err == nil {
		t.Error("without a target in the environment the file is read")
	}
	if _, err := Load(paths, env("ONYX_PAT", "x")); err == nil {
		t.Error("without QUARRY_READONLY the file is read")
	}
}

func TestActiveProfile(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"none", "theme: dark", ""},
		{"only one", "profiles: {a: {library: /l}}", "a"},
		{"two and none chosen", "profiles: {a: {library: /l}, b: {library: /m}}", ""},
		{"chosen", "active: b\nprofiles: {a: {library: /l}, b: {library: /m}}", "b"},
		{"local", "active: local\nprofiles: {a: {library: /l}}", "local"},
		{"local described", "active: local\nprofiles: {local: {agent: 3}}", "local"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			profile, ok := load(t, test.text).ActiveProfile()
			if profile.Name != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %v", profile.Name, ok)
			}
		})
	}
}

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{everything, "", "a: *b", "? :", "theme: !!binary aGk=", "- - - a", "a: &a {<<: *a}",
		"\ufefftheme: dark", "profiles: {a: ", "%YAML 9.9\n---\nx", "keys: {\"\\u0000\": \"\\x1b\"}", "rate: !!int 3\n...\n", "http: {metrics}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Config{File: "config.yaml"}
		tree, err := c.verify(data)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Remedy() == "" || strings.ContainsAny(e.Error(), "\n\x1b") {
				t.Errorf("not a clean *Error: %q", err)
			}
			return
		}
		// What loads must survive being saved.
		text, err := tree.encode()
		if tree.root == nil {
			return
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		if _, err := c.verify(text); err != nil {
			t.Errorf("loads as %q but not as %q: %v", data, text, err)
		}
	})
}

// TestSpacesOfAPrefixCount: models were trained with them.
func TestSpacesOfAPrefixCount(t *testing.T) {
	c := loadFrom(t, write(t, "embeddings: {document_prefix: 'passage: '}\n"), "QUARRY_EMBEDDINGS_QUERY_PREFIX", "query: ")
	if got := c.Embeddings; got.QueryPrefix != "query: " || got.DocumentPrefix != "passage: " {
		t.Errorf("%+v", got)
	}
}

func TestAnEmptyGroupKeepsItsDefaults(t *testing.T) {
	c, err := Load(write(t, "http:\n"), env("QUARRY_HTTP_HOSTS", "search.example.com"))
	if err != nil || c.HTTP.Metrics != MetricsToken || !slices.Equal(c.HTTP.Hosts, []string{"search.example.com"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Load(write(t, "http:\n  hosts: [a.example.com, ~]\n"), env()); err == nil || !strings.Contains(err.Error(), ":2: a list has an empty item") {
		t.Errorf("an empty item: %v", err)
	}
}
