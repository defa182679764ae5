package ssh_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"quarry/client"
	"quarry/client/wire"
	"quarry/server"
	"quarry/server/directory"
	"quarry/ui/ssh"
	"quarry/ui/target"
)

// company is a library in a folder: a document for everybody, one for Jo and one for Ann, who has a token as well.
type company struct {
	folder string
	token  string // of Ann
}

func newCompany(t *testing.T) company {
	t.Helper()
	ctx := t.Context()
	c := company{folder: filepath.Join(t.TempDir(), "library")}
	s, err := server.Open(ctx, server.Options{Home: c.folder})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	admin := administrator(t, s)
	for _, email := range []string{"jo@acme.com", "ann@acme.com"} {
		if _, err := admin.AdminAddUser(ctx, email, ""); err != nil {
			t.Fatal(err)
		}
	}
	request := wire.AccessTokenRequest{Name: "laptop", User: "ann@acme.com"}
	made, err := admin.AdminAddToken(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	c.token = made.Item.Token
	owner := s.InProcess(directory.Owner(directory.DefaultTenant))
	for id, emails := range map[string][]string{"everybody": {}, "jo": {"jo@acme.com"}, "ann": {"ann@acme.com"}} {
		body := fmt.Sprintf(`{"document":{"id":%q,"source":"web","semantic_identifier":"The plan of %s","sections":[{"text":"The plan of %s, which is to win.\n\n~~~go\nfunc win() string { return \"yes\" } // soon\n~~~\n"}],
			"metadata":{},"from_ingestion_api":true,"external_access":{"external_user_emails":%s,"external_user_group_ids":[],"is_public":%v}}}`,
			id, id, id, mustJSON(t, emails), len(emails) == 0)
		w := httptest.NewRecorder()
		owner.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/onyx-api/ingestion", strings.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Fatalf("HTTP %d %s", w.Code, w.Body)
		}
	}
	return c
}

// administrator administers a library on its files.
func administrator(t *testing.T, s *server.Server) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(s.InProcess(directory.Owner(directory.DefaultTenant))), Local: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keysFile writes a file of keys.
func keysFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("# visitors\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// found is what a visitor finds.
func found(t *testing.T, conn *gossh.Client, env ...string) (documents []string, refused string) {
	t.Helper()
	got := run(t, conn, "search plan", "", env...)
	if got.code != 0 {
		return nil, fmt.Sprintf("exit %d: %s", got.code, got.err)
	}
	var answer struct {
		Results []struct {
			Document string `json:"document_id"`
		}
	}
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
		t.Fatal(err)
	}
	for _, result := range answer.Results {
		documents = append(documents, result.Document)
	}
	slices.Sort(documents)
	return documents, ""
}

func TestWhoComesIn(t *testing.T) {
	c := newCompany(t)
	jo, joLine := key(t)
	ann, annLine := key(t)
	stranger, _ := key(t)
	owner, ownerLine := key(t)
	gone, goneLine := key(t)
	path := keysFile(t, `user="jo@acme.com" `+joLine+" Jo's laptop", `token="`+c.token+`",restrict `+annLine,
		`user="owner@localhost" `+ownerLine, `user="gone@acme.com" `+goneLine)
	with := func(signer gossh.Signer) []gossh.AuthMethod { return []gossh.AuthMethod{gossh.PublicKeys(signer)} }
	silent := []gossh.AuthMethod{gossh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return nil, nil })}
	type ways struct{ keys, tokens, open bool }
	tests := []struct {
		name    string
		ways    ways
		auth    []gossh.AuthMethod
		env     []string
		finds   []string
		refused string // by the session; "protocol": before it
	}{
		{"a person's key", ways{keys: true}, with(jo), nil, []string{"everybody", "jo"}, ""},
		{"a token's key", ways{keys: true}, with(ann), nil, []string{"ann", "everybody"}, ""},
		{"the owner's key", ways{keys: true}, with(owner), nil, []string{"everybody"}, ""},
		{"a key of nobody", ways{keys: true}, with(gone), nil, nil, "may not search here"},
		{"a key that is not known", ways{keys: true}, with(stranger), nil, nil, "protocol"},
		{"no key", ways{keys: true}, silent, nil, nil, "protocol"},
		{"a key and another's token", ways{keys: true, tokens: true}, with(jo), []string{"ONYX_PAT=" + c.token}, []string{"everybody", "jo"}, ""},
		{"a token", ways{tokens: true}, nil, []string{"ONYX_PAT=" + c.token}, []string{"ann", "everybody"}, ""},
		{"a token beside keys", ways{keys: true, tokens: true}, silent, []string{"QUARRY_PAT=" + c.token}, []string{"ann", "everybody"}, ""},
		{"a wrong token", ways{tokens: true}, nil, []string{"ONYX_PAT=onyx_pat_x"}, nil, "not valid"},
		{"a token with a line break", ways{tokens: true}, nil, []string{"ONYX_PAT=onyx\r\nX: y"}, nil, "invalid characters"},
		{"no token", ways{tokens: true}, nil, nil, nil, "requires a token"},
		{"anybody", ways{open: true}, nil, nil, []string{"everybody"}, ""},
		{"anybody with a token that is not asked for", ways{open: true}, nil, []string{"ONYX_PAT=" + c.token}, []string{"everybody"}, ""},
		{"anybody beside tokens", ways{tokens: true, open: true}, nil, nil, []string{"everybody"}, ""},
		{"a token where anybody may come", ways{tokens: true, open: true}, nil, []string{"ONYX_PAT=" + c.token}, []string{"ann", "everybody"}, ""},
		{"a wrong token where anybody may come", ways{tokens: true, open: true}, nil, []string{"ONYX_PAT=onyx_pat_x"}, nil, "not valid"},
		{"a key that is not known where anybody may come", ways{keys: true, open: true}, append(with(stranger), silent...), nil, []string{"everybody"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
				if test.ways.keys {
					options.Keys = path
				}
				options.Token, options.Open = test.ways.tokens, test.ways.open
			})
			conn, err := h.connect(test.auth...)
			if (err != nil) != (test.refused == "protocol") {
				t.Fatalf("connected: %v", err)
			}
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			documents, refused := found(t, conn, test.env...)
			if !slices.Equal(documents, test.finds) || (refused == "") != (test.refused == "") || !strings.Contains(refused, test.refused) {
				t.Errorf("found %v, want %v; refused %q, want %q", documents, test.finds, refused, test.refused)
			}
			if test.refused != "" && !strings.Contains(refused, "exit 4") {
				t.Errorf("refused with %q", refused)
			}
			if strings.Contains(h.log.String(), c.token) {
				t.Error("the token is in the log")
			}
		})
	}
}

// pretender offers a key whose private half it does not have: it signs with its own, or not at all.
type pretender struct {
	gossh.Signer
	offers gossh.PublicKey
	silent bool
}

// PublicKey is that of somebody else.
func (p pretender) PublicKey() gossh.PublicKey { return p.offers }

// Sign signs with another key.
func (p pretender) Sign(random io.Reader, data []byte) (*gossh.Signature, error) {
	if p.silent {
		return nil, errors.New("there is no private half")
	}
	return p.Signer.Sign(random, data)
}

// A server says that it knows a key before anybody has signed with it. Who does not sign does not come in as its owner,
// nor in another way.
func TestAKeyIsWhoeverSignsWithIt(t *testing.T) {
	c := newCompany(t)
	jo, line := key(t)
	other, _ := key(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
		options.Keys, options.Open = keysFile(t, `user="jo@acme.com" `+line), true
	})
	for _, silent := range []bool{false, true} {
		conn, err := h.connect(gossh.PublicKeys(pretender{other, jo.PublicKey(), silent}),
			gossh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return nil, nil }))
		if err != nil {
			continue
		}
		if documents, refused := found(t, conn); !slices.Equal(documents, []string{"everybody"}) {
			t.Errorf("found %v (%s)", documents, refused)
		}
		_ = conn.Close()
	}
}

func TestATokenIsTyped(t *testing.T) {
	c := newCompany(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) { options.Token = true })
	v := sit(t, h.mustConnect(), 100, 30, "")
	v.sees("Token")
	v.Send("onyx_pat_wrong\r")
	v.sees("not valid")
	v.Send(c.token + "\r")
	v.sees("type to search")
	v.Send("plan")
	v.sees("The plan of ann")
	if screen := v.Text(); strings.Contains(screen, "The plan of jo") || strings.Contains(screen, c.token[:20]) {
		t.Error(screen)
	}
	v.press("esc", "ctrl+c")
	if code := v.leaves(); code != 0 {
		t.Errorf("exit %d", code)
	}
	v = sit(t, h.mustConnect(), 100, 30, "")
	v.sees("Token")
	v.Send("\r")
	v.sees("no token was given")
	if code := v.leaves(); code != 4 {
		t.Errorf("exit %d", code)
	}
}

// A key that is taken out of the file opens nothing any more, and one that is put into it does, without a restart.
func TestKeysAreReadAnew(t *testing.T) {
	c := newCompany(t)
	jo, line := key(t)
	path := keysFile(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) { options.Keys = path })
	if _, err := h.connect(gossh.PublicKeys(jo)); err == nil {
		t.Fatal("a key came in that is not in the file")
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`user="jo@acme.com" ` + line + "\n")
	conn := h.mustConnect(gossh.PublicKeys(jo))
	if documents, refused := found(t, conn); len(documents) != 2 {
		t.Fatalf("found %v (%s)", documents, refused)
	}
	write("# nobody any more\n")
	if _, refused := found(t, conn); !strings.Contains(refused, "no longer accepted") {
		t.Errorf("a connection from before: %q", refused)
	}
	write("not a key\n" + `user="jo@acme.com" ` + line + "\n")
	if documents, refused := found(t, conn); len(documents) != 2 {
		t.Errorf("found %v (%s)", documents, refused)
	}
	if !strings.Contains(h.log.String(), "line 1") {
		t.Errorf("the log does not tell of the line: %s", h.log)
	}
}

// Somebody's agent offers all keys that it has: the right one counts, wherever it is among them, and after none of them a
// token can still be typed.
func TestManyKeysAreHeard(t *testing.T) {
	c := newCompany(t)
	jo, line := key(t)
	path := keysFile(t)
	if err := os.WriteFile(path, []byte(`user="jo@acme.com" `+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) { options.Keys, options.Token = path, true })
	var others []gossh.Signer
	for range 40 {
		other, _ := key(t)
		others = append(others, other)
	}
	conn := h.mustConnect(gossh.PublicKeys(append(others, jo)...))
	if documents, refused := found(t, conn); len(documents) != 2 {
		t.Errorf("found %v (%s)", documents, refused)
	}
	answers := func(string, string, []string, []bool) ([]string, error) { return nil, nil }
	if _, err := h.connect(gossh.PublicKeys(others...), gossh.KeyboardInteractive(answers)); err != nil {
		t.Errorf("without a known key: %v", err)
	}
}

func TestStartIsRefused(t *testing.T) {
	c := newCompany(t)
	_, line := key(t)
	served, err := machineIn(t, t.TempDir()).OpenServed(t.Context(), target.ServeOptions{Request: target.Request{Library: c.folder}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = served.Close() }()
	loose := func(text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken := sample(t, nil)
	tests := map[string]struct {
		change func(*ssh.Options)
		says   string
	}{
		"no way in":          {func(o *ssh.Options) { o.Open = false }, "no SSH authentication method"},
		"a loose host key":   {func(o *ssh.Options) { o.HostKey = loose("x", 0o644) }, "can be read by others"},
		"no host key":        {func(o *ssh.Options) { o.HostKey = loose("x", 0o600) }, "is invalid"},
		"no keys":            {func(o *ssh.Options) { o.Keys = filepath.Join(t.TempDir(), "none") }, "no such file"},
		"keys others write":  {func(o *ssh.Options) { o.Keys = loose("", 0o666) }, "can be written by others"},
		"tokens others read": {func(o *ssh.Options) { o.Keys = loose(`token="onyx_pat_x" `+line, 0o644) }, "contains tokens"},
		"a key of nobody":    {func(o *ssh.Options) { o.Keys = loose(line, 0o600) }, "line 1"},
		"a key with a rule":  {func(o *ssh.Options) { o.Keys = loose(`user="a@b.c",from="10.0.0.1" `+line, 0o600) }, `unknown option "from"`},
		"a taken port":       {func(o *ssh.Options) { o.Address = taken.address }, "address already in use"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := ssh.Options{SSHOptions: target.SSHOptions{Address: "127.0.0.1:0", HostKey: filepath.Join(t.TempDir(), "key"), Open: true},
				People: served}
			test.change(&options)
			err := ssh.Serve(t.Context(), options, func(string, string) { t.Error("it started") })
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Whoever has a session with a key that is taken away loses it.
func TestAKeyThatIsTakenAwayEndsItsSession(t *testing.T) {
	c := newCompany(t)
	jo, line := key(t)
	ann, annLine := key(t)
	path := keysFile(t, `user="jo@acme.com" `+line, `user="ann@acme.com" `+annLine)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
		options.Keys, options.Limits.Known = path, 10*time.Millisecond
	})
	v := sit(t, h.mustConnect(gossh.PublicKeys(jo)), 100, 30, "")
	v.sees("type to search")
	other := sit(t, h.mustConnect(gossh.PublicKeys(ann)), 100, 30, "")
	other.sees("type to search")
	// Replaced in one step: who looks while a file is written sees an empty one, and ann's key is gone, too.
	without := keysFile(t, `user="ann@acme.com" `+annLine)
	if err := os.Rename(without, path); err != nil {
		t.Fatal(err)
	}
	v.sees("your key is no longer accepted")
	if code := v.leaves(); code != 130 {
		t.Errorf("exit %d", code)
	}
	other.Send("plan")
	other.sees("The plan of ann")
}

// Who only tries tokens is asked to connect again, and pays for it with the rate of arrivals.
func TestTryingTokensEndsTheConnection(t *testing.T) {
	c := newCompany(t)
	synctest.Test(t, func(t *testing.T) {
		h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
			inMemory(options)
			options.Token = true
		})
		conn := h.mustConnect()
		for range 3 {
			if got := run(t, conn, "search plan", "", "ONYX_PAT=onyx_pat_guess"); got.code != 4 {
				t.Fatalf("exit %d: %s", got.code, got.err)
			}
		}
		if _, err := conn.NewSession(); err == nil {
			t.Error("a fourth session is opened")
		}
		_ = conn.Wait() // which ends
	})
}

// A secret that stands in the wrong place of the file of keys is not told.
func TestTokensInTheWrongPlaceAreNotTold(t *testing.T) {
	c := newCompany(t)
	_, line := key(t)
	for _, wrong := range []string{`user="onyx_pat_secret" `, `onyx_pat_secret="x" `, `cert-authority `} {
		options := ssh.Options{SSHOptions: target.SSHOptions{Address: "127.0.0.1:0", HostKey: filepath.Join(t.TempDir(), "key"),
			Keys: keysFile(t, wrong+line)}, People: served(t, c.folder)}
		if err := ssh.Serve(t.Context(), options, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// served opens a library for visitors.
func served(t *testing.T, folder string) *target.Served {
	t.Helper()
	opened, err := machineIn(t, t.TempDir()).OpenServed(t.Context(), target.ServeOptions{Request: target.Request{Library: folder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// Who is deactivated, or whose token is revoked, does not stay either.
func TestWhoIsNotToSearchAnyMoreDoesNotStay(t *testing.T) {
	c := newCompany(t)
	jo, line := key(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
		options.Keys, options.Token = keysFile(t, `user="jo@acme.com" `+line), true
		options.Limits.Known = 10 * time.Millisecond
	})
	person := sit(t, h.mustConnect(gossh.PublicKeys(jo)), 100, 30, "")
	person.sees("type to search")
	holder := sit(t, h.mustConnect(interactive()), 100, 30, "", "ONYX_PAT="+c.token)
	holder.sees("type to search")

	s, err := server.Open(t.Context(), server.Options{Home: c.folder}) // as another process does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	admin := administrator(t, s)
	if err := admin.AdminSetUserActive(t.Context(), "jo@acme.com", false); err != nil {
		t.Fatal(err)
	}
	tokens, err := admin.AdminTokens(t.Context())
	if err != nil || len(tokens) != 1 {
		t.Fatal(tokens, err)
	}
	person.sees("your access was revoked")
	person.leaves()
	holder.Send("plan")
	holder.sees("The plan of ann")
	if err := admin.AdminRemoveToken(t.Context(), tokens[0].ID); err != nil {
		t.Fatal(err)
	}
	holder.sees("your access was revoked")
	if code := holder.leaves(); code != 130 {
		t.Errorf("exit %d", code)
	}
}
