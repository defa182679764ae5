package cli

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/config"
	"quarry/ui/target"
)

func TestServeRefusesAddresses(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	for _, address := range []string{"nope", ":99999", ":80a", "[::1", "1.2.3.4:5:6"} {
		run(t, doors, terminal{}, "serve", "--http", address).check(t, ExitUsage).twoLines(t, address, "127.0.0.1:8080")
	}
	doors.Serve = func(context.Context, target.ServeOptions) error {
		return &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "nowhere.invalid"}}
	}
	run(t, doors, terminal{}, "serve", "--http", "nowhere.invalid:80").check(t, ExitUsage).twoLines(t, "not an address of this machine")
}

func TestServeAsksForTheFirstTokenOnly(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	doors.Serve = func(_ context.Context, options target.ServeOptions) error {
		options.Listening(target.Listening{Address: "127.0.0.1:8080"})
		return nil
	}
	if got := run(t, doors, terminal{}, "serve", "--http", "8080"); !strings.Contains(got.err, "Create the first one") {
		t.Errorf("stderr %s", got.err)
	}
	doors.admin.tokens = []wire.DirectoryToken{{User: "jo@acme.example"}}
	if got := run(t, doors, terminal{}, "serve", "--http", "8080"); strings.Contains(got.err, "first one") {
		t.Errorf("stderr %s", got.err)
	}
}

func TestTokensTellWhoseTheyAre(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	doors.admin.tokens = []wire.DirectoryToken{{User: "jo@acme.example"}}
	got := run(t, doors, terminal{tty: true, width: 120}, "admin", "token", "list").check(t, ExitSuccess)
	if !strings.Contains(got.out, "jo@acme.example") || !strings.Contains(got.err, "uses the library in /home/jo") {
		t.Errorf("stdout %s, stderr %s", got.out, got.err)
	}
	got = run(t, doors, terminal{}, "admin", "token", "add", "--name", "ci", "--user", "new@acme.example").check(t, ExitSuccess)
	if !strings.Contains(got.err, "created user new@acme.example") {
		t.Errorf("stderr %s", got.err)
	}
}

func TestServeTakesARate(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	for text, want := range map[string]*config.Rate{
		"--http=:8080": nil,
		"--rate=60/h":  {Count: 60, Per: time.Hour},
		"--rate=0":     {},
		"--rate=5/m":   {Count: 5, Per: time.Minute},
	} {
		doors.Serve = func(_ context.Context, options target.ServeOptions) error {
			if (options.Rate == nil) != (want == nil) || want != nil && *options.Rate != *want {
				t.Errorf("%s: %+v, want %+v", text, options.Rate, want)
			}
			return nil
		}
		run(t, doors, terminal{}, "serve", "--http", "8080", text).check(t, ExitSuccess)
	}
	for _, text := range []string{"often", "60", "60/w", "-1/h", "0/h"} {
		run(t, doors, terminal{}, "serve", "--http", "8080", "--rate", text).check(t, ExitUsage).twoLines(t, text, "60/h")
	}
}
