//go:build unix

package e2e

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sandboxKey encrypts the tokens of sandboxes.
const sandboxKey = "QUARRY_SECRET_KEY=0123456789abcdef0123456789abcdef"

// placeholder is the token in a sandbox whose proxy has the real one.
const placeholder = "replaced_by_egress_proxy"

// servedNotes serves a library of one document, and returns its address and a sandbox token.
func servedNotes(t *testing.T) (address, token string) {
	t.Helper()
	h := newHome(t)
	notes := filepath.Join(h.dir, "notes")
	write(t, filepath.Join(notes, "deploy.md"), "# Deploying\n\nWe roll back with deployctl rollback.\n")
	h.must("add", notes)
	ensure := h.inside("admin", "token", "ensure", "--sandbox", "--user", "jo@acme.example", "--json", "--jq", ".environment.QUARRY_PAT")
	ensure.Env = append(ensure.Env, sandboxKey)
	got := runInside(t.Context(), ensure, "")
	if got.code != 0 {
		t.Fatal(got.stderr)
	}
	return serveHTTP(t, h), strings.TrimSpace(got.stdout)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// injector passes requests on to a server with the real token in place of the sandbox's, which it collects.
type injector struct {
	*httputil.ReverseProxy
	mutex sync.Mutex
	sent  []string
}

func newInjector(t *testing.T, address, token string) *injector {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	i := &injector{}
	i.ReverseProxy = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		i.mutex.Lock()
		i.sent = append(i.sent, r.In.Header.Get("Authorization"))
		i.mutex.Unlock()
		r.SetURL(to)
		for _, name := range []string{"Authorization", "X-Onyx-Authorization"} {
			r.Out.Header.Set(name, "Bearer "+token)
		}
	}}
	return i
}

// tunnelTo returns a proxy that also opens tunnels, all to the listener that decrypts what comes through them.
func (i *injector) tunnelTo(listener string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			i.ServeHTTP(w, r)
			return
		}
		server, err := net.Dial("tcp", listener)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer server.Close()
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		go func() {
			_, _ = io.Copy(server, buffered)
			server.Close()
		}()
		_, _ = io.Copy(client, server)
	})
}

// sandbox runs commands with an environment and nothing else. Its configuration file would end each command that reads it.
type sandbox struct {
	home
	env      []string
	hasProxy bool // Go reads the proxies, and the client its authorities, once and from the process's environment
}

func newSandbox(t *testing.T, env ...string) sandbox {
	t.Helper()
	s := sandbox{home: newHome(t), env: append([]string{"QUARRY_READONLY=1", "QUARRY_PAT=" + placeholder}, env...)}
	s.hasProxy = slices.ContainsFunc(env, func(entry string) bool { return strings.Contains(entry, "_PROXY=") })
	write(t, filepath.Join(s.dir, "config", "quarry", "config.yaml"), "active: [\n")
	write(t, filepath.Join(s.dir, "config", "onyx-cli", "config.json"), `{"server_url":"http://127.0.0.1:1","api_key":"stolen"}`)
	return s
}

func (s sandbox) run(args ...string) outcome {
	s.t.Helper()
	if !s.hasProxy {
		process := s.inside(args...)
		process.Env = append(process.Env, s.env...)
		return runInside(s.t.Context(), process, "")
	}
	c := s.command(s.t.Context(), args...)
	var stdout, stderr bytes.Buffer
	c.Env, c.Stdout, c.Stderr = append(c.Env, s.env...), &stdout, &stderr
	if err := c.Run(); c.ProcessState == nil {
		s.t.Fatal(err)
	}
	return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// works checks that a session can start, search and read in a sandbox, and that no file is read or written there.
func (s sandbox) works() {
	s.t.Helper()
	before := s.files()
	var health struct {
		OK     bool   `json:"ok"`
		Config string `json:"config"`
		Email  string `json:"email"`
	}
	got := s.run("validate-config", "--json")
	decode(s.t, got.stdout, &health)
	if got.code != 0 || !health.OK || health.Email != "jo@acme.example" || !strings.Contains(health.Config, "environment") {
		s.t.Errorf("validate-config: %+v", got)
	}
	if got = s.run("search", "--format", "agent", "roll back"); got.code != 0 || !strings.Contains(got.stdout, "deployctl rollback") {
		s.t.Errorf("search: %+v", got)
	}
	if s.hasProxy { // the rest is the same as without one
		s.unchanged(before)
		return
	}
	ref := strings.Split(got.stdout, "\n")[1]
	if got = s.run("read", ref); got.code != 0 || !strings.Contains(got.stdout, "deployctl rollback") || got.stderr != "" {
		s.t.Errorf("read %s: %+v", ref, got)
	}
	if got = s.run("skill", "render", "--dir", "-"); got.code != 0 || !strings.Contains(got.stdout, "- `file` — Files from folders and uploads\n") {
		s.t.Errorf("skill render: %+v", got)
	}
	for _, args := range [][]string{{"add", "."}, {"config", "set", "theme", "dark"}} {
		if got := s.run(args...); got.code != 9 || !strings.Contains(got.stderr, "QUARRY_READONLY") {
			s.t.Errorf("%v: %+v", args, got)
		}
	}
	s.unchanged(before)
}

func (s sandbox) unchanged(before []string) {
	s.t.Helper()
	if after := s.files(); !slices.Equal(before, after) {
		s.t.Errorf("files before %v, after %v", before, after)
	}
}

func (s sandbox) files() (found []string) {
	s.t.Helper()
	err := filepath.Walk(s.dir, func(path string, info os.FileInfo, err error) error {
		found = append(found, path+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// seen checks that only the placeholder left the sandbox.
func (i *injector) seen(t *testing.T) {
	t.Helper()
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if len(i.sent) == 0 || slices.ContainsFunc(i.sent, func(header string) bool { return header != "Bearer "+placeholder }) {
		t.Errorf("the sandbox sent %q", i.sent)
	}
}

func TestSandboxBehindAProxyThatHasTheToken(t *testing.T) {
	address, token := servedNotes(t)
	t.Run("as the server", func(t *testing.T) {
		i := newInjector(t, address, token)
		proxy := httptest.NewServer(i)
		defer proxy.Close()
		newSandbox(t, "QUARRY_SERVER_URL="+proxy.URL).works()
		i.seen(t)
	})
	t.Run("HTTP_PROXY", func(t *testing.T) {
		i := newInjector(t, address, token)
		proxy := httptest.NewServer(i)
		defer proxy.Close()
		newSandbox(t, "QUARRY_SERVER_URL=http://search.acme.example/api", "HTTP_PROXY="+proxy.URL).works()
		i.seen(t)
	})
	for _, variable := range []string{"QUARRY_CA_BUNDLE", "SSL_CERT_FILE"} {
		t.Run("HTTPS_PROXY with "+variable, func(t *testing.T) {
			i := newInjector(t, address, token)
			inside := httptest.NewTLSServer(i) // its certificate is for example.com
			defer inside.Close()
			proxy := httptest.NewServer(i.tunnelTo(inside.Listener.Addr().String()))
			defer proxy.Close()
			s := newSandbox(t, "QUARRY_SERVER_URL=https://example.com", "HTTPS_PROXY="+proxy.URL)
			if got := s.run("validate-config"); got.code != 5 || !strings.Contains(got.stderr, "unknown authority") || !strings.Contains(got.stderr, "QUARRY_CA_BUNDLE") {
				t.Errorf("without the certificate: %+v", got)
			}
			bundle := filepath.Join(t.TempDir(), "ca.pem")
			write(t, bundle, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: inside.Certificate().Raw})))
			s.env = append(s.env, variable+"="+bundle)
			s.works()
			i.seen(t)
		})
	}
}

// ownedNotes are documents of three sources that one person sees.
const ownedNotes = `{"document":{"id":"a","semantic_identifier":"A","source":"jira","sections":[{"text":"zeppelin"}],"metadata":{"project":"ZEP"},"external_access":{"external_user_emails":["jo@acme.example"],"external_user_group_ids":[],"is_public":false}}}
{"document":{"id":"b","semantic_identifier":"B","source":"confluence","sections":[{"text":"zeppelin"}],"metadata":{"team":"lift"},"external_access":{"external_user_emails":["jo@acme.example"],"external_user_group_ids":[],"is_public":false}}}
{"document":{"id":"c","semantic_identifier":"C","source":"slack","sections":[{"text":"zeppelin"}],"metadata":{},"external_access":{"external_user_emails":["jo@acme.example","ann@acme.example"],"external_user_group_ids":[],"is_public":false}}}
`

// The skill of a sandbox lists exactly the sources that its token can search: three, one, none.
func TestSkillOfEachSandbox(t *testing.T) {
	h := newHome(t)
	write(t, filepath.Join(h.dir, "notes.jsonl"), ownedNotes)
	h.must("add", filepath.Join(h.dir, "notes.jsonl"))
	address := serveHTTP(t, h)
	for name, want := range map[string][]string{
		"jo": {"- `confluence` — Wiki pages, spaces, and documentation (such as `team=lift`)",
			"- `jira` — Issues, tickets, and project tracking (such as `project=ZEP`)", "- `slack` — Team messages and channel discussions"},
		"ann": {"- `slack` — Team messages and channel discussions"},
		"kim": {"No connected sources available for this user. A search finds nothing: say so instead of searching."},
	} {
		var secrets [4]string // at the same time: two processes, and two runs inside of this one
		var group sync.WaitGroup
		for i := range secrets {
			args := []string{"admin", "token", "ensure", "--sandbox", "--user", name + "@acme.example", "--jq", ".environment.QUARRY_PAT"}
			process, inside := h.command(t.Context(), args...), h.inside(args...)
			process.Env, inside.Env = append(process.Env, sandboxKey), append(inside.Env, sandboxKey)
			group.Go(func() {
				if i < 2 {
					got := runInside(t.Context(), inside, "")
					if got.code != 0 {
						t.Errorf("%s: %+v", name, got)
					}
					secrets[i] = strings.TrimSpace(got.stdout)
					return
				}
				out, err := process.Output()
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				secrets[i] = strings.TrimSpace(string(out))
			})
		}
		group.Wait()
		if slices.ContainsFunc(secrets[:], func(secret string) bool { return secret != secrets[0] }) {
			t.Fatalf("%s has several tokens", name)
		}
		s := newSandbox(t, "QUARRY_SERVER_URL="+address)
		s.env = append(s.env, "QUARRY_PAT="+secrets[0])
		got := s.run("skill", "render", "--dir", "-")
		_, list, _ := strings.Cut(got.stdout, "## Sources Available in This Session\n\n")
		list, _, _ = strings.Cut(list, "\n\n")
		if list != strings.Join(want, "\n") || got.code != 0 {
			t.Errorf("%s: %+v\nwant %s", name, got, strings.Join(want, "\n"))
		}
	}
}
