package ui

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/config"
	"quarry/ui/cli"
	"quarry/ui/explorer"
	"quarry/ui/target"
)

func TestPlainExplorerOfTheSampleLibrary(t *testing.T) {
	p := newPerson(t)
	in := p.write("typed", "1\nquit\n")
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(filepath.Join(p.home, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	d := newRun(Process{In: stdin, Out: stdout, Err: stdout, Env: p.env, Version: "1.2.3"})
	host, err := d.host()
	if err != nil {
		t.Fatal(err)
	}
	found, err := host.Decide(target.Request{Terminal: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.explore(t.Context(), cli.Exploration{Target: found, Query: "roll back a deploy", Plain: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bundled sample library", "search: roll back a deploy\n", "1. Runbook", "End of result 1."} {
		if !strings.Contains(string(said), want) {
			t.Errorf("does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(string(said), "\x1b") {
		t.Errorf("escape sequences: %q", said)
	}
}

func TestTargetsOfTheScreen(t *testing.T) {
	for _, test := range []struct {
		target target.Choice
		kind   explorer.Kind
		where  string
	}{
		{target.Choice{Kind: target.KindRemote, Profile: "acme", ServerURL: "https://onyx.acme.com/x"}, explorer.Remote, "acme · onyx.acme.com"},
		{target.Choice{Kind: target.KindRemote, Profile: "environment", Rule: target.RuleEnvironment, ServerURL: "https://onyx.acme.com"}, explorer.Remote, "onyx.acme.com"},
		{target.Choice{Kind: target.KindLibrary, Rule: 5, LibraryDir: "/home/jo/q"}, explorer.Library, "the library on this machine"},
		{target.Choice{Kind: target.KindLibrary, Rule: 1, LibraryDir: "/srv/q"}, explorer.Library, "the library in /srv/q"},
		{target.Choice{Kind: target.KindSample}, explorer.Sample, "the sample library"},
	} {
		got := screenTarget(&target.Host{Config: &config.Config{Private: true}}, test.target)
		if got.Kind != test.kind || got.Where != test.where || (len(got.Examples) > 0) != (test.kind == explorer.Sample) {
			t.Errorf("%+v: %+v", test.target, got)
		}
	}
}

func TestNothingOfThisMachineOverSSH(t *testing.T) {
	d := newRun(Process{Env: []string{"SSH_CONNECTION=10.0.0.1 1 10.0.0.2 22"}})
	if caps := d.capabilities(); caps.Copy != nil || caps.Open != nil || caps.OpenReason == "" || !caps.Suspend {
		t.Errorf("%+v", caps)
	}
	if caps := newRun(Process{}).capabilities(); caps.Open == nil || !caps.Suspend {
		t.Errorf("%+v", caps)
	}
}

func TestOnlySafeLinksAreOpened(t *testing.T) {
	for _, link := range []string{"javascript:alert(1)", "vscode://x", "-h", "/etc/passwd", "", "http\x00://x", "data:text/html,x"} {
		if err := openLink(link); err == nil {
			t.Errorf("%q was opened", link)
		}
	}
}
