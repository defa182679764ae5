package ssh_test

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"
)

// FuzzPayloads asks for a session with anything for its requests. The session ends with an exit code, nothing breaks, and
// without a terminal no output moves one.
func FuzzPayloads(f *testing.F) {
	h := sample(f, nil)
	env := func(name, value string) []byte { return gossh.Marshal(struct{ Name, Value string }{name, value}) }
	exec := func(line string) []byte { return gossh.Marshal(struct{ Line string }{line}) }
	pty := func(term string, columns, rows uint32, modes string) []byte {
		return gossh.Marshal(ptyRequest{term, columns, rows, 0, 0, modes})
	}
	size := func(columns, rows uint32) []byte { return gossh.Marshal(windowChange{columns, rows, 0, 0}) }
	var none []byte
	f.Add(none, none, none, exec("search rollback"))
	f.Add(env("NO_COLOR", "1"), pty("xterm-256color", 80, 24, "\x00"), size(100, 30), exec("roll back"))
	f.Add(env("QUARRY_THEME", "light"), pty("\x1b]0;x\x07", 65535, 65535, "\x01"), size(1, 65535), none)
	f.Add(env("LANG", "\x1b[2J"), none, size(0, 0), exec("--source \x1b[2J\u202e x"))
	f.Add(env("COLORTERM", strings.Repeat("x", 9_000)), pty("dumb", 0, 0, ""), none, exec("--plain"))
	f.Add([]byte("\x00\x00\x00\x08NO_COLOR\xff\xff\xff\xff"), []byte("\x00\x00\x00\x05xterm\x00"), []byte{0, 0, 0}, []byte("\xff\xff\xff\xff"))
	f.Add(none, pty("xterm", 1<<31, 1<<32-1, strings.Repeat("\x01\xff", 1000)), size(1<<32-1, 0), exec("search \xff\x00\"'"))
	f.Add(env("QUARRY_PAT", "onyx_pat_\r\n"), none, none, exec("read 1 --from -"))
	f.Fuzz(func(t *testing.T, env, pty, size, exec []byte) {
		h.t = t
		logged := len(h.log.String())
		got, terminal := ended(t, h, env, pty, size, exec)
		if got.code < 0 || got.code > 130 {
			t.Errorf("exit %d", got.code)
		}
		if text := got.out + got.err; !terminal && strings.ContainsAny(text, "\x00\x07\x1b\x7f") {
			t.Errorf("output moves a terminal: %q", text)
		}
		if log := h.log.String()[logged:]; strings.Contains(log, "panic") {
			t.Error(log)
		}
	})
}

// ended makes the requests of a session and waits for its end. It reports whether the session has a terminal.
func ended(t *testing.T, h *house, env, pty, size, exec []byte) (got said, terminal bool) {
	t.Helper()
	conn := h.mustConnect()
	defer func() { _ = conn.Close() }()
	channel, requests, err := conn.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(kind string, payload []byte) bool {
		granted, err := channel.SendRequest(kind, true, payload)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		return granted
	}
	ask("env", env)
	terminal = ask("pty-req", pty)
	ask("window-change", size)
	if !ask("exec", exec) {
		t.Error("no session begins")
	}
	var out, errs bytes.Buffer
	var group sync.WaitGroup
	group.Go(func() { _, _ = io.Copy(&out, channel) })
	group.Go(func() { _, _ = io.Copy(&errs, channel.Stderr()) })
	_ = channel.CloseWrite()
	got.code = -1
	for request := range requests {
		if request.Type == "exit-status" {
			var status struct{ Code uint32 }
			_ = gossh.Unmarshal(request.Payload, &status)
			got.code = int(status.Code)
		}
	}
	group.Wait()
	got.out, got.err = out.String(), errs.String()
	return got, terminal
}
