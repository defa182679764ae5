package ssh

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"
)

func keyOf(t testing.TB, seed byte) gossh.PublicKey {
	t.Helper()
	public, err := gossh.NewPublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)).Public())
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func lineOf(t testing.TB, seed byte) string {
	t.Helper()
	return strings.TrimSpace(string(gossh.MarshalAuthorizedKey(keyOf(t, seed))))
}

func TestParseKeys(t *testing.T) {
	jo, ann := lineOf(t, 1), lineOf(t, 2)
	tests := []struct {
		text     string
		knows    bool
		owners   []owner
		problems int
	}{
		{"\n# nobody\r\n \t\n", true, nil, 0},
		{`user="jo@acme.com" ` + jo + " Jo's\r\n" + `token="onyx_pat_x",restrict,no-pty-not ` + ann, true, []owner{{email: "jo@acme.com"}}, 1},
		{`user="jo@acme.com",no-port-forwarding ` + jo + "\n" + `token="onyx_pat_x" ` + ann, true, []owner{{email: "jo@acme.com"}, {token: "onyx_pat_x"}}, 0},
		{`user="jo@acme.com" ` + jo + "\n" + `token="onyx_pat_x" ` + ann, false, []owner{{token: "onyx_pat_x"}}, 1},
		{`user="jo@acme.com" ` + jo + "\n" + `user="ann@acme.com" ` + jo, true, []owner{{email: "jo@acme.com"}}, 1},
		{`user="jo@acme.com",user="ann@acme.com" ` + jo, true, nil, 1},
		{`user="jo@acme.com",token="x" ` + jo, true, nil, 1},
		{`command="sh" ` + jo, true, nil, 1},
		{`user="Jo <jo@acme.com>" ` + jo, true, nil, 1},
		{`user="" ` + jo, true, nil, 1},
		{`token="a b" ` + jo, true, nil, 1},
		{jo, true, nil, 1},
		{"ssh-ed25519 AAAA", true, nil, 1},
	}
	for _, test := range tests {
		owners, problems := parseKeys([]byte(test.text), "keys", test.knows)
		got := slices.SortedFunc(maps.Values(owners), func(a, b owner) int { return strings.Compare(a.token+a.email, b.token+b.email) })
		if !slices.Equal(got, test.owners) || len(problems) != test.problems {
			t.Errorf("%s\n%+v, %v", test.text, got, problems)
		}
	}
}

// Connections at the same time all see a changed file, and a mistake in it is reported once for each change.
func TestConnectionsSeeChangedKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	var log bytes.Buffer // written under the logger's own lock
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(`user="jo@acme.com" ` + lineOf(t, 1))
	k, err := openKeys(path, true, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		wanted, other := byte(1+round%2), byte(2-round%2)
		write(fmt.Sprintf("user=\"p%d@acme.com\" %s\nnonsense", round, lineOf(t, wanted)))
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				found, ok := k.owner(keyOf(t, wanted))
				if _, former := k.owner(keyOf(t, other)); !ok || former || found.email != fmt.Sprintf("p%d@acme.com", round) {
					t.Errorf("round %d: %+v %v, the removed key %v", round, found, ok, former)
				}
			})
		}
		group.Wait()
	}
	if n := strings.Count(log.String(), "line 2"); n != 20 {
		t.Errorf("%d reports of 20 changes:\n%s", n, log.String())
	}
	write("")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok := k.owner(keyOf(t, 1)); ok && checksModes() {
		t.Error("a key of a file that others can write is accepted")
	}
}

func FuzzParseKeys(f *testing.F) {
	aKey := lineOf(f, 1)
	for _, seed := range []string{
		"", "# nobody\n", `user="jo@acme.com" ` + aKey + " laptop\n", `token="onyx_pat_x",restrict ` + aKey,
		`user="jo@acme.com",token="x" ` + aKey, `from="10.0.0.1" ` + aKey, aKey, `user="a b" ` + aKey,
		"user=\"x@y.z\\\"\" " + aKey, "cert-authority " + aKey, "\x00", strings.Repeat("a", 70_000),
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, knowsPeople bool) {
		owners, problems := parseKeys(text, "keys", knowsPeople)
		lines := 0
		for line := range strings.SplitSeq(string(text), "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				lines++
			}
		}
		if len(owners)+len(problems) != lines {
			t.Errorf("%d lines are %d keys and %d problems", lines, len(owners), len(problems))
		}
		for _, who := range owners {
			if (who.email == "") == (who.token == "") || who.email != "" && !knowsPeople {
				t.Errorf("a key of %+v", who)
			}
			if who.email != "" {
				if address, err := mail.ParseAddress(who.email); err != nil || address.Address != who.email {
					t.Errorf("%q is no address", who.email)
				}
			}
			if _, err := usableToken(who.token); who.token != "" && err != nil {
				t.Errorf("%q is no token", who.token)
			}
		}
		for _, problem := range problems {
			if strings.Contains(problem.Error(), "\n") {
				t.Errorf("a problem of several lines: %q", problem.Error())
			}
		}
	})
}
