package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/config"
)

func TestSaveWhereThereIsNoKeyring(t *testing.T) {
	p := newPerson(t)
	host, err := newRun(Process{Env: p.env, Version: "1.2.3"}).host()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := host.SaveProfile(t.Context(), config.NewProfile{Activate: true, Typed: config.NewSecret("onyx_pat_typed"),
		Profile: config.Profile{Name: "work", ServerURL: "https://onyx.acme.com"}})
	if err != nil {
		t.Fatal(err)
	}
	where := saved.Describe()
	file := filepath.Join(p.home, "config", "quarry", "config.yaml")
	if !strings.Contains(where, file) || !strings.Contains(where, "no system keyring") {
		t.Errorf("saved in %s", where)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if out, _ := p.run(0, "status", "--json"); !strings.Contains(out, `"profile":"work"`) {
		t.Errorf("status %s", out)
	}
}

func TestWarningsAreTold(t *testing.T) {
	p := newPerson(t)
	file := p.write("config/quarry/config.yaml", "profiles:\n  work:\n    server_url: https://onyx.acme.com\n    token: onyx_pat_x\n")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs := p.run(0, "agents", "--sample"); strings.Count(errs, "chmod 600 "+file) != 1 {
		t.Errorf("stderr %s", errs)
	}
	p = newPerson(t, "QUARRY_CONFIG=/nonexistent/quarry.yaml")
	if _, errs := p.run(0, "status"); strings.Count(errs, "/nonexistent/quarry.yaml, which does not exist") != 1 {
		t.Errorf("stderr %s", errs)
	}
}
