package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
)

const commented = `# Where I search.
active: notes # for now

profiles:
  # the company's
  work:
    server_url: https://onyx.acme.com # behind the VPN
    token: old # from my phone
    agent: 7
  notes:
    library: /srv/notes
theme: dark # easier at night
# the end
`

func loadFrom(t *testing.T, paths Paths, pairs ...string) *Config {
	t.Helper()
	c, err := Load(paths, env(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func save(t *testing.T, c *Config, request NewProfile, ring Keyring) Saved {
	t.Helper()
	saved, err := c.SaveProfile(context.Background(), request, ring)
	if err != nil {
		t.Fatalf("SaveProfile: %v", err)
	}
	return saved
}

func TestSavingKeepsTheRestOfTheFile(t *testing.T) {
	paths := write(t, commented)
	saved := save(t, loadFrom(t, paths), NewProfile{
		Profile: Profile{Name: "work", ServerURL: "https://onyx.acme.com", Agent: wire.Agent{Name: "Eng"}},
		Typed:   NewSecret("fresh"), Activate: true,
	}, nil)
	if saved != (Saved{File: paths.ConfigFile, Token: TokenInFile}) {
		t.Errorf("saved %+v", saved)
	}
	text := read(t, paths.ConfigFile)
	for _, line := range []string{"# Where I search.", "active: work # for now", "# the company's",
		"server_url: https://onyx.acme.com # behind the VPN", "token: fresh", "agent: Eng", "library: /srv/notes",
		"theme: dark # easier at night", "# the end"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
	if strings.Contains(text, "old") || strings.Index(text, "profiles") > strings.Index(text, "theme") {
		t.Errorf("the old token or the order:\n%s", text)
	}
	c := loadFrom(t, paths)
	if c.Active != "work" || c.Profiles["work"].Token.Reveal() != "fresh" || c.Profiles["notes"].Library != "/srv/notes" {
		t.Errorf("loads as %+v", c)
	}
}

func TestSavingIntoNothing(t *testing.T) {
	fresh := Paths{ConfigFile: filepath.Join(t.TempDir(), "home", ".config", "quarry", "config.yaml")}
	for name, paths := range map[string]Paths{
		"no folder": fresh, "empty": write(t, ""), "comments": write(t, "# mine"), "null": write(t, "--- ~\n"),
		"no profiles": write(t, "profiles: {}\n"), "null profiles": write(t, "profiles:\ntheme: dark\n"),
	} {
		t.Run(name, func(t *testing.T) {
			save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "w", ServerURL: "https://x"}, Typed: NewSecret("123")}, nil)
			c := loadFrom(t, paths)
			if c.Profiles["w"].Token.Reveal() != "123" || len(c.Warnings) > 0 {
				t.Errorf("%+v\n%s", c, read(t, paths.ConfigFile))
			}
			if name == "comments" && !strings.HasPrefix(read(t, paths.ConfigFile), "# mine\n") {
				t.Errorf("comment lost:\n%s", read(t, paths.ConfigFile))
			}
		})
	}
	if !unixFolders() {
		return
	}
	for path, want := range map[string]os.FileMode{fresh.ConfigFile: 0o600, filepath.Dir(fresh.ConfigFile): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestATokenStaysWithItsServer(t *testing.T) {
	for _, test := range []struct {
		name, old, address, want string
	}{
		{"same address", "token: old", "https://onyx.acme.com", "old"},
		{"same server, other path", "token: old", "https://onyx.acme.com:443/base", "old"},
		{"other server", "token: old", "https://evil.example.com", ""},
		{"other port", "token: old", "https://onyx.acme.com:8443", ""},
		{"other scheme", "token: old", "http://onyx.acme.com", ""},
		{"command, other server", "token_command: 'echo old'", "https://evil.example.com", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			paths := write(t, "profiles:\n  work:\n    server_url: https://onyx.acme.com\n    "+test.old+"\n")
			save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "work", ServerURL: test.address,
				Token: NewSecret("never written")}}, nil)
			got := loadFrom(t, paths).Profiles["work"]
			if got.Token.Reveal() != test.want || got.TokenCommand != "" {
				t.Errorf("%q, %q", got.Token.Reveal(), got.TokenCommand)
			}
			if text := read(t, paths.ConfigFile); strings.Contains(text, "never written") {
				t.Errorf("a token that nobody typed was written:\n%s", text)
			}
		})
	}
}

func TestATokenFromTheEnvironmentIsNotWritten(t *testing.T) {
	paths := write(t, "")
	c := loadFrom(t, paths, "ONYX_SERVER_URL", "https://x", "ONYX_PAT", "hunter2", "QUARRY_EMBEDDINGS_KEY", "hunter2")
	save(t, c, NewProfile{Profile: Profile{Name: "work", ServerURL: "https://x"}, Activate: true}, nil)
	if text := read(t, paths.ConfigFile); strings.Contains(text, "hunter2") {
		t.Errorf("written:\n%s", text)
	}
}

func TestSavingIntoTheKeyring(t *testing.T) {
	ring, broken := newRing(), &memoryRing{err: errors.New("locked")}
	request := NewProfile{Profile: Profile{Name: "work", ServerURL: "https://onyx.acme.com"}, Typed: NewSecret("fresh")}

	paths := write(t, commented)
	if saved := save(t, loadFrom(t, paths), request, ring); saved.Token != TokenInKeyring {
		t.Errorf("%+v", saved)
	}
	if text := read(t, paths.ConfigFile); strings.Contains(text, "token") || strings.Contains(text, "fresh") {
		t.Errorf("the file still holds a token:\n%s", text)
	}
	c := loadFrom(t, paths)
	if token, err := c.Token(c.Profiles["work"], ring)(context.Background()); token != "fresh" || err != nil {
		t.Errorf("%q, %v", token, err)
	}

	paths = write(t, "")
	if saved := save(t, loadFrom(t, paths), request, broken); saved.Token != TokenInFile {
		t.Errorf("no keyring answers, so the file takes it: %+v", saved)
	}
	request.Place = TokenInKeyring
	if _, err := loadFrom(t, paths).SaveProfile(context.Background(), request, broken); err == nil {
		t.Error("the keyring was asked for and did not answer")
	}
	if _, err := loadFrom(t, paths).SaveProfile(context.Background(), request, nil); !errors.Is(err, ErrNoKeyring) {
		t.Errorf("no keyring: %v", err)
	}
}

func TestWhatCannotBeSaved(t *testing.T) {
	good := NewProfile{Profile: Profile{Name: "work", ServerURL: "https://x"}, Typed: NewSecret("tok")}
	t.Run("read-only", func(t *testing.T) {
		paths := write(t, commented)
		c := loadFrom(t, paths, "QUARRY_READONLY", "1")
		ring := newRing()
		_, err := c.SaveProfile(context.Background(), good, ring)
		wantError(t, err, 9, "QUARRY_READONLY")
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%v", err)
		}
		if read(t, paths.ConfigFile) != commented || len(ring.secrets) > 0 {
			t.Error("changed all the same")
		}
	})
	for name, text := range map[string]string{
		"corrupt since": "theme: [dark", "newer since": "version: 3\n", "invalid since": "theme: purple\n",
	} {
		t.Run(name, func(t *testing.T) {
			paths := write(t, commented)
			c := loadFrom(t, paths)
			if err := os.WriteFile(paths.ConfigFile, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := c.SaveProfile(context.Background(), good, newRing()); err == nil {
				t.Error("no error")
			}
			if read(t, paths.ConfigFile) != text {
				t.Error("the file was overwritten")
			}
		})
	}
	for name, change := range map[string]func(*NewProfile){
		"name": func(r *NewProfile) { r.Profile.Name = "a.b" }, "url": func(r *NewProfile) { r.Profile.ServerURL = "x" },
		"token": func(r *NewProfile) { r.Typed = NewSecret("a b") }, "both": func(r *NewProfile) { r.Profile.Library = "/l" },
		"nothing":     func(r *NewProfile) { r.Profile.ServerURL, r.Typed = "", Secret{} },
		"search_also": func(r *NewProfile) { r.Profile.SearchAlso = []string{"nobody"} },
	} {
		t.Run(name, func(t *testing.T) {
			paths := write(t, commented)
			request := good
			change(&request)
			if _, err := loadFrom(t, paths).SaveProfile(context.Background(), request, nil); err == nil {
				t.Error("no error")
			}
			if read(t, paths.ConfigFile) != commented {
				t.Error("the file was changed")
			}
		})
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	if !unixFolders() || os.Geteuid() == 0 {
		t.Skip("needs a user whom file modes stop")
	}
	paths := write(t, commented)
	folder := filepath.Dir(paths.ConfigFile)
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(folder, 0o700) }()
	_, err := loadFrom(t, paths).SaveProfile(context.Background(),
		NewProfile{Profile: Profile{Name: "w", ServerURL: "https://x"}, Typed: NewSecret("t")}, nil)
	wantError(t, err, 1, "cannot be saved", paths.ConfigFile)
	if read(t, paths.ConfigFile) != commented {
		t.Error("changed")
	}
}

func TestSavingThroughALinkAndLeavingNoTrace(t *testing.T) {
	if !unixFolders() {
		t.Skip("links need a privilege here")
	}
	paths := write(t, commented)
	real := filepath.Join(t.TempDir(), "dotfiles.yaml")
	if err := os.Rename(paths.ConfigFile, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, paths.ConfigFile); err != nil {
		t.Fatal(err)
	}
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "work", ServerURL: "https://onyx.acme.com"}, Activate: true}, nil)
	if info, err := os.Lstat(paths.ConfigFile); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if !strings.Contains(read(t, real), "active: work") {
		t.Error("the file behind the link was not changed")
	}
	for _, folder := range []string{filepath.Dir(real), filepath.Dir(paths.ConfigFile)} {
		if entries, _ := os.ReadDir(folder); len(entries) != 1 {
			t.Errorf("left behind: %v", entries)
		}
	}
}

func TestWhatIsNotGivenStays(t *testing.T) {
	const text = "profiles:\n  work:\n    server_url: https://x\n    api_prefix: \"\"\n    agent: 7\n    search_also: [local]\n"
	paths := write(t, text)
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "work", ServerURL: "https://x"}, Typed: NewSecret("t")}, nil)
	got := loadFrom(t, paths).Profiles["work"]
	if got.Agent.String() != "7" || len(got.SearchAlso) != 1 || got.APIPrefix == nil || got.Token.Reveal() != "t" {
		t.Errorf("same server: %+v", got)
	}
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "work", ServerURL: "https://y"}}, nil)
	got = loadFrom(t, paths).Profiles["work"]
	if !got.Agent.IsZero() || len(got.SearchAlso) > 0 || got.APIPrefix != nil || !got.Token.IsZero() {
		t.Errorf("other server: %+v", got)
	}
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "work", Library: "/l"}}, nil)
	if got = loadFrom(t, paths).Profiles["work"]; got.Library != "/l" || got.ServerURL != "" {
		t.Errorf("a library now: %+v", got)
	}
}

func TestASearchAlsoListIsKept(t *testing.T) {
	paths := write(t, commented)
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "work", ServerURL: "https://onyx.acme.com",
		SearchAlso: []string{"local", "notes"}}}, nil)
	if got := loadFrom(t, paths).Profiles["work"]; strings.Join(got.SearchAlso, ",") != "local,notes" ||
		got.Token.Reveal() != "old" {
		t.Errorf("%+v\n%s", got, read(t, paths.ConfigFile))
	}
}

func TestNothingOfSlackStaysWithAnotherServer(t *testing.T) {
	paths := write(t, "profiles:\n  team: {kind: slack, server_url: 'https://chat.acme.com', token: xoxp-secret}\n")
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "team", ServerURL: "https://chat.acme.com"},
		Typed: NewSecret("fresh")}, nil)
	if p := loadFrom(t, paths).Profiles["team"]; p.Kind != "" || p.Token.Reveal() != "fresh" {
		t.Errorf("%+v", p)
	}
	save(t, loadFrom(t, paths), NewProfile{Profile: Profile{Name: "team", ServerURL: "https://chat.acme.com"}}, nil)
	if p := loadFrom(t, paths).Profiles["team"]; p.Token.Reveal() != "fresh" {
		t.Errorf("the token did not stay: %+v", p)
	}
}
