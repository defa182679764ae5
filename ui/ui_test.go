package ui

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// person is somebody with a home of their own.
type person struct {
	t    *testing.T
	home string
	env  []string
}

func newPerson(t *testing.T, env ...string) person {
	t.Helper()
	home := t.TempDir()
	return person{t: t, home: home, env: append([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"QUARRY_HOME=" + filepath.Join(home, "library")}, env...)}
}

func (p person) write(path, text string) string {
	p.t.Helper()
	path = filepath.Join(p.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// run runs a command line with files for streams, as a script does.
func (p person) run(want int, arguments ...string) (out, errs string) {
	p.t.Helper()
	streams := make([]*os.File, 3)
	for i := range streams {
		file, err := os.CreateTemp(p.t.TempDir(), "stream")
		if err != nil {
			p.t.Fatal(err)
		}
		defer file.Close()
		streams[i] = file
	}
	code := Run(context.WithoutCancel(p.t.Context()), Process{In: streams[0], Out: streams[1], Err: streams[2], Arguments: arguments,
		Env: p.env, Version: "1.2.3"})
	read := func(file *os.File) string {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			p.t.Fatal(err)
		}
		text, err := io.ReadAll(file)
		if err != nil {
			p.t.Fatal(err)
		}
		return string(text)
	}
	out, errs = read(streams[1]), read(streams[2])
	if code != want {
		p.t.Fatalf("%v: exit code %d, want %d\n%s%s", arguments, code, want, out, errs)
	}
	return out, errs
}

func TestFromNothingToAnAnswer(t *testing.T) {
	p := newPerson(t)
	_, errs := p.run(3, "search", "rollback")
	if !strings.Contains(errs, "quarry configure") {
		t.Errorf("stderr: %s", errs)
	}
	p.run(9, "sync")
	notes := filepath.Dir(p.write("notes/deploy.md", "# Deploying\n\nWe roll back with deployctl rollback.\n"))
	if _, errs = p.run(0, "add", notes); !strings.Contains(errs, "Searches now go to this library") {
		t.Errorf("stderr: %s", errs)
	}
	out, _ := p.run(0, "search", "roll back")
	var answer struct {
		Results []struct {
			Ref string `json:"ref"`
		} `json:"results"`
		Searched []string `json:"searched"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Results) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if out, _ = p.run(0, "read", answer.Results[0].Ref); !strings.Contains(out, "deployctl rollback") {
		t.Errorf("read printed %s", out)
	}
	out, _ = p.run(0, "status")
	var status struct {
		Target  struct{ Rule int }
		Library struct{ Documents int }
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil || status.Target.Rule != 5 || status.Library.Documents != 1 {
		t.Errorf("%v: %s", err, out)
	}
	p.run(0, "remove", notes)
	if out, _ = p.run(0, "search", "roll back", "--library", filepath.Join(p.home, "library")); !strings.Contains(out, `"results":[]`) {
		t.Errorf("after remove: %s", out)
	}
}

func TestTokensOfTheLibrary(t *testing.T) {
	p := newPerson(t)
	out, _ := p.run(0, "admin", "token", "add", "--name", "laptop")
	if !strings.Contains(out, `"token":"onyx_pat_`) {
		t.Errorf("stdout: %s", out)
	}
	if out, _ = p.run(0, "admin", "token", "list"); strings.Contains(out, `"token":`) || !strings.Contains(out, `"laptop"`) {
		t.Errorf("list: %s", out)
	}
	p.run(0, "admin", "token", "remove", "1")
	p.run(9, "admin", "token", "remove", "1")
}

func TestConfigurationErrors(t *testing.T) {
	p := newPerson(t)
	p.write("config/quarry/config.yaml", "themes: dark\n")
	if _, errs := p.run(3, "search", "x"); !strings.Contains(errs, "config.yaml") || !strings.Contains(errs, "theme") {
		t.Errorf("stderr: %s", errs)
	}
	p.run(2, "search", "x", "--nope")
	p.run(0, "search", "--help")
	if out, _ := p.run(0, "version"); !strings.Contains(out, "unknown (not configured)") {
		t.Errorf("version printed %s", out)
	}
}

func TestKeysAreCheckedBeforeTheyAreSaved(t *testing.T) {
	p := newPerson(t)
	for arguments, says := range map[string]string{
		"keys.qit q": "keys.qit: unknown action; did you mean quit?", "keys.search a": `keys.search: "a" cannot be used there`,
	} {
		_, errs := p.run(2, append([]string{"config", "set"}, strings.Fields(arguments)...)...)
		if !strings.Contains(errs, says) {
			t.Errorf("%s: %s", arguments, errs)
		}
	}
	p.run(0, "config", "set", "keys.quit", "ctrl+q")
}

func TestServerWithoutToken(t *testing.T) {
	p := newPerson(t)
	p.run(3, "search", "x", "--server", "https://onyx.example")
	p = newPerson(t, "ONYX_SERVER_URL=https://onyx.example")
	p.run(3, "search", "x")
}

func TestReadOnly(t *testing.T) {
	p := newPerson(t, "QUARRY_READONLY=1")
	if _, errs := p.run(9, "add", p.home); !strings.Contains(errs, "QUARRY_READONLY") {
		t.Errorf("stderr: %s", errs)
	}
	p.run(9, "admin", "token", "add", "--name", "x")
}

func TestSampleLibrary(t *testing.T) {
	out, errs := newPerson(t).run(0, "search", "roll back a deploy", "--sample", "--limit", "2")
	if !strings.Contains(out, `"sample"`) || errs != "" {
		t.Errorf("stdout %s\nstderr %s", out, errs)
	}
}
