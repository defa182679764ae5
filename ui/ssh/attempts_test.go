//go:build unix

package ssh_test

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"quarry/internal/testkit/longtest"
	"quarry/internal/testkit/screentest/terminal"
	"quarry/ui/explorer"
	"quarry/ui/ssh"
	"quarry/ui/target"
)

// canary stands in the files that no visitor may see.
const canary = "CANARY-7f3a"

// guarded is a machine on which everything is watched that a visitor could reach for.
type guarded struct {
	*house
	marks   string       // folder in which every program that is started leaves a mark
	secret  string       // file
	reached atomic.Int32 // connections to the trap
	trap    string       // address that nobody has any business with
	library string
}

// guard lays out traps on this machine, for whom serve lets in.
func guard(t *testing.T) (g *guarded, c company) {
	t.Helper()
	g = &guarded{marks: t.TempDir()}
	programs := t.TempDir()
	for _, name := range []string{"sh", "bash", "vi", "vim", "nano", "ed", "less", "more", "xdg-open", "open", "x-www-browser", "sensible-browser",
		"www-browser", "firefox", "xclip", "xsel", "wl-copy", "pbcopy", "tmux", "stty", "tput", "git", "ssh", "scp", "sftp-server", "secret-tool", "id", "man"} {
		script := "#!/bin/sh\n: > '" + filepath.Join(g.marks, name) + "'\n"
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs)
	t.Setenv("EDITOR", "vi")
	t.Setenv("PAGER", "less")
	t.Setenv("DISPLAY", ":0")
	t.Setenv("SHELL", filepath.Join(programs, "sh"))
	c = newCompany(t)
	g.library = c.folder
	t.Setenv("TMPDIR", t.TempDir())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	g.trap = listener.Addr().String()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			g.reached.Add(1)
			_ = conn.Close()
		}
	}()
	return g, c
}

// serve serves the library, and lays out a secret beside what the server writes.
func (g *guarded) serve(t *testing.T) gossh.Signer {
	t.Helper()
	jo, line := key(t)
	g.house = open(t, target.Request{Library: g.library}, func(options *ssh.Options) {
		inMemory(options)
		options.Keys, options.Token, options.Open = keysFile(t, `user="jo@acme.com" `+line), true, true
		options.Limits.PerPerson = 1000
	})
	for _, folder := range []string{"config/quarry", "state/quarry"} {
		if err := os.MkdirAll(filepath.Join(g.home, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g.secret = filepath.Join(g.home, "secret.md")
	if err := os.WriteFile(g.secret, []byte(canary+" plan\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return jo
}

// snapshot hashes all files of a folder.
func snapshot(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		info, _ := entry.Info()
		name, _ := filepath.Rel(folder, path)
		files[name] = fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// changed names the files that differ.
func changed(before, after map[string]string) []string {
	var names []string
	for name := range maps.Keys(after) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(before) {
		if _, stays := after[name]; !stays {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// children tells of the processes that this one has started and seen end.
func children(t *testing.T) syscall.Rusage {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		t.Fatal(err)
	}
	return usage
}

// Nothing that a visitor tries reaches a file, a program, a clipboard or another machine from the one that serves them.
func TestAttempts(t *testing.T) {
	g, c := guard(t)
	temporary := os.Getenv("TMPDIR")
	synctest.Test(t, func(t *testing.T) { g.try(t, c) })
	if files := snapshot(t, temporary); len(files) > 0 {
		t.Errorf("temporary files are left: %v", files)
	}
	if marks := snapshot(t, g.marks); len(marks) > 0 {
		t.Errorf("programs were started: %v", slices.Sorted(maps.Keys(marks)))
	}
	if n := g.reached.Load(); n > 0 {
		t.Errorf("%d connections were led elsewhere", n)
	}
	before := children(t)
	if err := exec.Command("xclip").Run(); err != nil || len(snapshot(t, g.marks)) == 0 || children(t) == before {
		t.Errorf("the traps are not set: %v", err)
	}
	if strings.Contains(g.log.String(), canary) || strings.Contains(g.log.String(), c.token) {
		t.Error("a secret is in the log")
	}
}

// try tries everything, as Jo.
func (g *guarded) try(t *testing.T, c company) {
	jo := g.serve(t)
	conn := g.mustConnect(gossh.PublicKeys(jo))
	if documents, refused := found(t, conn); len(documents) != 2 {
		t.Fatalf("%v %s", documents, refused)
	}
	home, library, before := snapshot(t, g.home), snapshot(t, g.library), children(t)
	if _, refused := found(t, g.mustConnect(interactive()), "ONYX_PAT="+c.token); refused != "" {
		t.Fatal(refused)
	}
	g.tryCommands(t, conn)
	g.tryVariables(t, conn, c)
	g.tryProtocol(t, conn)
	g.tryKeys(t, jo)
	g.tryActions(t, jo)
	if names := changed(home, snapshot(t, g.home)); len(names) > 0 {
		t.Errorf("of the operator's files these changed: %v", names)
	}
	// The directory of a library's people notes when a token was used last. SQLite writes that to a log beside the
	// file first, and moves it over at times of its own; it says nothing of what was searched.
	for _, name := range changed(library, snapshot(t, g.library)) {
		t.Logf("of the library's files %s changed", name)
		if !strings.HasPrefix(name, "directory.db") {
			t.Errorf("nobody asked for a change of %s", name)
		}
	}
	if after := children(t); after.Minflt != before.Minflt || after.Maxrss != before.Maxrss {
		t.Error("a process was started")
	}
}

// innocent reports what a visitor should not have got.
func innocent(t *testing.T, what string, got said) {
	t.Helper()
	if text := got.out + got.err; strings.Contains(text, canary) || strings.Contains(text, "root:x:") {
		t.Errorf("%s shows a file: %s", what, text)
	}
}

// agentReads is what an agent sends to read a ref.
const agentReads = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"ref":%q}}}
`

func (g *guarded) tryCommands(t *testing.T, conn *gossh.Client) {
	made := filepath.Join(g.home, "made")
	refused := []string{
		"add " + g.secret, "add --as file " + g.home, "remove " + g.secret, "sync", "sync --watch", "status", "serve --http 127.0.0.1:0",
		"serve --ssh 127.0.0.1:0 --ssh-open", "admin user list", "admin token add x", "admin token list --library " + g.library,
		"configure", "validate-config", "completion bash", "mcp --library " + g.home, "mcp --sample",
		"__complete search --sour", "__completeNoDesc add /", "__complete add " + g.home + "/",
		"search --library " + g.home + " plan", "search --server http://" + g.trap + " plan", "search --profile local plan", "search --sample plan",
		"search --also " + g.home + " plan", "search --history " + made + " plan", "search --history=" + g.secret + " plan",
		"read 1 --from " + g.secret, "read 1 --from=/etc/passwd", "ask --server http://" + g.trap + " plan", "sources --library " + g.library,
		"tags --profile x", "--library " + g.home + " plan", "--server=http://" + g.trap + " plan", "version --server http://" + g.trap,
		"--sample --history " + made, "search plan --history /dev/stdout", "agents --sample", "document-sets --library /",
	}
	for _, command := range refused {
		got := run(t, conn, command, canary)
		innocent(t, command, got)
		if got.code != 2 || got.out != "" || !strings.Contains(got.err, "not available over SSH") {
			t.Errorf("%s: exit %d\n%s%s", command, got.code, got.out, got.err)
		}
	}
	for _, word := range []string{"list", "LIST", "Search", "login", "whoami", "serach"} { // commands elsewhere, or nearly one of ours
		if got := run(t, conn, word, ""); got.code != 2 || got.out != "" || !strings.Contains(got.err, "is not a command") {
			t.Errorf("%s: exit %d\n%s%s", word, got.code, got.out, got.err)
		}
	}
	// What is only text, or no flag here.
	for _, command := range []string{
		"@" + g.secret, "< " + g.secret, "plan > " + made, "$(cat " + g.secret + ")", "`" + g.secret + "`", "plan | sh", "; sh", "&& sh", "!sh",
		"-- --history " + made, "search -- --history " + made, "search @" + g.secret, "search file://" + g.secret, "ask @" + g.secret,
		"ask --prompt @" + g.secret, "read " + g.secret, "read ../../secret.md", "read file://" + g.secret + "#0", "read /etc/passwd#0",
		"search --max-output 100 plan", "--pick plan", "--pick -o path plan", "search --format " + g.secret + " plan", "search --raw plan",
		"search --document-set " + g.secret + " plan", "search --tag @" + g.secret + "=x plan", "--plain", "--config " + g.secret, "-o " + made,
		"search --output " + made + " plan", "search source:" + g.secret, "--help", "-v", "search --explain --format md plan",
	} {
		got := run(t, conn, command, "@"+g.secret+"\n")
		got.out, got.err = strings.ReplaceAll(got.out, "secret.md", ""), strings.ReplaceAll(got.err, "secret.md", "") // what was asked may be told
		innocent(t, command, got)
	}
	for _, ref := range []string{g.secret, "file:" + g.secret, "file://" + g.secret + "#0", "../../secret.md"} {
		got := run(t, conn, "mcp", fmt.Sprintf(agentReads, ref))
		if innocent(t, "mcp", said{out: strings.ReplaceAll(got.out, "secret.md", ""), err: got.err}); got.code != 0 || !strings.Contains(got.out, `"isError":true`) {
			t.Errorf("mcp reads %s: exit %d\n%s%s", ref, got.code, got.out, got.err)
		}
	}
	if got := run(t, conn, "search -", g.secret+"\n"); got.code != 0 {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

func (g *guarded) tryVariables(t *testing.T, conn *gossh.Client, c company) {
	variables := []string{
		"HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home, "XDG_DATA_HOME=" + g.home, "XDG_STATE_HOME=" + g.home, "XDG_CACHE_HOME=" + g.home,
		"XDG_RUNTIME_DIR=" + g.home, "QUARRY_HOME=" + g.home, "QUARRY_CONFIG=" + g.secret, "QUARRY_PROFILE=other", "QUARRY_READ_ONLY=1",
		"QUARRY_THEME=../../x", "QUARRY_CA_BUNDLE=" + g.secret, "QUARRY_SERVER=http://" + g.trap, "ONYX_SERVER_URL=http://" + g.trap,
		"ONYX_API_PREFIX=/x", "ONYX_CA_BUNDLE=" + g.secret, "HTTPS_PROXY=http://" + g.trap, "HTTP_PROXY=http://" + g.trap, "ALL_PROXY=socks5://" + g.trap,
		"SSL_CERT_FILE=" + g.secret, "SSL_CERT_DIR=" + g.home, "EDITOR=vi", "VISUAL=vi", "PAGER=less", "BROWSER=firefox", "SHELL=sh", "PATH=" + g.home,
		"LD_PRELOAD=" + g.secret, "LD_LIBRARY_PATH=" + g.home, "GODEBUG=netdns=go+2", "GOTRACEBACK=crash", "TMPDIR=" + g.home, "TERMINFO=" + g.home,
		"TEA_DEBUG=1", "TEA_TRACE=" + filepath.Join(g.home, "trace"), "UV_DEBUG=" + filepath.Join(g.home, "debug"), "TMUX=x", "STY=x", "DISPLAY=:0",
		"WAYLAND_DISPLAY=x", "SSH_AUTH_SOCK=" + filepath.Join(g.home, "agent"), "SSH_TTY=/dev/tty", "SSH_CONNECTION=127.0.0.1", "USER=root",
		"LANG=../../x", "LC_ALL=\x1b[2J", "=", "A", strings.Repeat("A", 1000) + "=x",
	}
	plain := run(t, conn, "search plan", "")
	got := run(t, conn, "search plan", "", variables...)
	innocent(t, "variables", got)
	if got.out != plain.out || got.code != plain.code {
		t.Errorf("variables change what is found: exit %d\n%s%s", got.code, got.out, got.err)
	}
	v := sit(t, conn, 100, 30, "", variables...)
	v.sees("type to search")
	v.Send("plan")
	v.sees("╭ Results")
	v.press("enter", "o", "Y")
	v.sees("clipboard")
	v.Send("\x03")
	if code := v.leaves(); code != 0 || strings.Contains(v.Text(), canary) {
		t.Errorf("exit %d\n%s", code, v.Text())
	}
	// Whoever came with a key stays who they are.
	for _, variable := range []string{"ONYX_PAT=" + c.token, "QUARRY_PAT=" + c.token, "ONYX_PAT=x", "USER=ann@acme.com", "LOGNAME=ann@acme.com"} {
		if documents, refused := found(t, conn, variable); !slices.Equal(documents, []string{"everybody", "jo"}) {
			t.Errorf("%.10s: %v %s", variable, documents, refused)
		}
	}
}

func (g *guarded) tryProtocol(t *testing.T, conn *gossh.Client) {
	socket := filepath.Join(g.home, "socket")
	for _, kind := range []string{"auth-agent@openssh.com", "x11", "forwarded-tcpip", "forwarded-streamlocal@openssh.com", "tun@openssh.com"} {
		channels := conn.HandleChannelOpen(kind)
		go func() {
			for range channels {
				t.Errorf("the server opened a channel: %s", kind)
			}
		}()
	}
	if c, err := conn.Dial("tcp", g.trap); err == nil {
		_ = c.Close()
		t.Error("a connection was led on")
	}
	if c, err := conn.Dial("unix", socket); err == nil {
		_ = c.Close()
		t.Error("a socket was reached")
	}
	for _, kind := range []string{"direct-tcpip", "direct-streamlocal@openssh.com", "tun@openssh.com", "x11", "auth-agent@openssh.com", "shell", "", "default"} {
		var no *gossh.OpenChannelError
		if _, _, err := conn.OpenChannel(kind, []byte(socket)); !errors.As(err, &no) || no.Reason != gossh.UnknownChannelType {
			t.Errorf("channel %q: %v", kind, err)
		}
	}
	for _, kind := range []string{"tcpip-forward", "streamlocal-forward@openssh.com", "cancel-tcpip-forward", "no-more-sessions@openssh.com",
		"hostkeys-prove-00@openssh.com", "default", ""} {
		if granted, _, err := conn.SendRequest(kind, true, gossh.Marshal(struct {
			Host string
			Port uint32
		}{"127.0.0.1", 0})); granted || err != nil {
			t.Errorf("request %q: %v, %v", kind, granted, err)
		}
	}
	for _, subsystem := range []string{"sftp", "netconf", "default", "", "quarry", "../sh"} {
		channel := rawSession(t, conn)
		if ask(t, channel, "subsystem", struct{ Name string }{subsystem}) {
			t.Errorf("subsystem %q", subsystem)
		}
		_ = channel.Close()
	}
	channel := rawSession(t, conn)
	go func() { _, _ = io.Copy(io.Discard, channel) }()
	for _, kind := range []string{"x11-req", "break", "xon-xoff", "eow@openssh.com", "puttysshproxy", "default"} {
		if ask(t, channel, kind, struct{ X uint32 }{1}) {
			t.Errorf("request %q of a session", kind)
		}
	}
	ask(t, channel, "auth-agent-req@openssh.com", nil) // may be taken; nothing comes of it
	shell(t, channel, 100, 30)
	if ask(t, channel, "exec", struct{ Line string }{"version"}) || ask(t, channel, "shell", nil) || ask(t, channel, "pty-req", ptyRequest{}) ||
		ask(t, channel, "subsystem", struct{ Name string }{"sftp"}) || ask(t, channel, "env", struct{ Name, Value string }{"A", "b"}) {
		t.Error("a session begins twice")
	}
	_ = channel.Close()
}

// reaching are the actions that reach for the machine where they may: its clipboard, browser, editor, files, settings.
func reaching() []string {
	return []string{"open-source", "cite", "copy-passage", "copy-answer", "collection", "save-search", "set-up", "use-theme", "suspend"}
}

// bindings returns the actions to try: all in the longer form; else those that reach for the machine and, each time, some
// others.
func bindings() []explorer.Binding {
	all := explorer.Bindings()
	if longtest.Enabled() {
		return all
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b explorer.Binding) int {
		return cmp.Compare(slices.Index(reaching(), b.Action), slices.Index(reaching(), a.Action))
	})
	return all[:len(reaching())+6]
}

// tryKeys presses every key that means something, with a passage in view.
func (g *guarded) tryKeys(t *testing.T, jo gossh.Signer) {
	keys := []string{"ctrl+v", "ctrl+y", "ctrl+\\", "ctrl+]", "ctrl+s", "!", ":", "|", "ctrl+g", "f12"}
	for _, binding := range bindings() {
		keys = append(keys, binding.Keys()...)
	}
	slices.Sort(keys)
	g.each(t, jo, slices.Compact(keys), func(v *visit, name string) {
		encoded, err := terminal.Encode(name, false)
		if err != nil {
			encoded, err = terminal.Encode(name, true)
		}
		if err != nil {
			t.Error(err)
		}
		v.Send(encoded + encoded + "\r" + g.secret + "\t\r")
		v.press("esc", "ctrl+c", "ctrl+c")
	})
}

// tryActions runs every action by its name.
func (g *guarded) tryActions(t *testing.T, jo gossh.Signer) {
	var names []string
	for _, binding := range bindings() {
		names = append(names, binding.Long)
	}
	g.each(t, jo, names, func(v *visit, name string) {
		v.press("?")
		v.sees("esc close")
		v.Send(name)
		v.press("enter")
		v.Send(g.secret + "\t\r")
		v.press("esc", "esc", "ctrl+c", "ctrl+c")
	})
}

// each does something in a visit for each name, a few at a time, until it leaves.
func (g *guarded) each(t *testing.T, jo gossh.Signer, names []string, do func(v *visit, name string)) {
	var group errgroup.Group
	group.SetLimit(8)
	for _, name := range names {
		group.Go(func() error {
			conn := g.mustConnect(gossh.PublicKeys(jo))
			defer func() { _ = conn.Close() }()
			v := sit(t, conn, 100, 30, "plan")
			v.sees("The plan of jo")
			v.press("enter")
			v.sees("y cite")
			do(v, name)
			if code := v.leaves(); code != 0 {
				t.Errorf("%s: exit %d\n%s", name, code, v.Text())
			}
			g.harmless(t, name, v)
			return nil
		})
	}
	_ = group.Wait()
}

// harmless looks at a terminal that somebody has left.
func (g *guarded) harmless(t *testing.T, what string, v *visit) {
	t.Helper()
	if strings.Contains(v.Text(), canary) || strings.Contains(strings.Join(v.Clipboard(), ""), canary) {
		t.Errorf("%s shows a file\n%s", what, v.Text())
	}
	if modes := v.Modes(); modes != terminal.Untouched() {
		t.Errorf("%s leaves the terminal as %+v", what, modes)
	}
	_ = v.session.Close()
	v.Close()
}
