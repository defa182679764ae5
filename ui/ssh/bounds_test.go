package ssh_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	gossh "golang.org/x/crypto/ssh"

	"quarry/ui/ssh"
	"quarry/ui/target"
)

func TestSessionsAreLimited(t *testing.T) {
	c := newCompany(t)
	jo, joLine := key(t)
	ann, annLine := key(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
		options.Keys, options.Open = keysFile(t, `user="jo@acme.com" `+joLine, `user="ann@acme.com" `+annLine), true
		options.Limits.Sessions, options.Limits.PerPerson = 3, 2
	})
	conn := h.mustConnect(gossh.PublicKeys(jo))
	first := sit(t, conn, 80, 24, "")
	first.sees("type to search")
	sit(t, h.mustConnect(gossh.PublicKeys(jo)), 80, 24, "").sees("type to search")
	v := sit(t, conn, 80, 24, "")
	v.sees("too many sessions of this user or address")
	if code := v.leaves(); code != 6 {
		t.Errorf("exit %d", code)
	}
	if got := run(t, conn, "search plan", ""); got.code != 6 || !strings.Contains(got.err, "error: too many sessions of this user") || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	other := h.mustConnect(gossh.PublicKeys(ann))
	theirs := sit(t, other, 80, 24, "")
	theirs.sees("type to search")
	for _, conn := range []*gossh.Client{other, h.mustConnect(interactive())} {
		if got := run(t, conn, "search plan", ""); got.code != 6 || !strings.Contains(got.err, "error: too many sessions on this server") {
			t.Errorf("exit %d: %s", got.code, got.err)
		}
	}
	first.press("ctrl+c")
	first.leaves()
	if documents, refused := found(t, other); len(documents) != 2 {
		t.Errorf("found %v (%s)", documents, refused)
	}
}

func TestArrivalsAreLimited(t *testing.T) {
	h := sample(t, func(options *ssh.Options) { options.Limits.Arrivals = 3 })
	for range 3 {
		_ = h.mustConnect().Close()
	}
	conn, err := h.dialFrom("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if text, _ := io.ReadAll(conn); string(text) != "Too many connections from your address. Try again in a minute.\r\n" {
		t.Errorf("%q", text)
	}
	if _, err := h.connect(); err == nil {
		t.Error("a client comes in")
	}
	if got := run(t, h.stranger("127.0.0.7"), "version", ""); got.code != 0 {
		t.Errorf("another address: exit %d", got.code)
	}
	if !strings.Contains(h.log.String(), "reason=rate") {
		t.Error(h.log)
	}
}

func TestSessionsEnd(t *testing.T) {
	tests := []struct {
		name   string
		limits target.SSHLimits
		says   string
	}{
		{"nobody presses a key", target.SSHLimits{}, "the session was idle for too long"},
		{"it lasts too long", target.SSHLimits{Total: 10 * time.Minute}, "the session reached its time limit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := sample(t, func(options *ssh.Options) {
					inMemory(options)
					options.Limits.Total = test.limits.Total
				})
				for _, command := range []string{"", "--plain", "search -"} {
					v := sitOut(t, h.mustConnect(), command)
					if !strings.Contains(v.Text(), test.says) || strings.Contains(v.Text(), "interrupted") {
						t.Errorf("%q: they see\n%s", command, strings.TrimRight(v.Text(), " \n"))
					}
				}
				if got := waitOut(t, h.mustConnect(), "search -"); got.code != 130 || !strings.Contains(got.err, test.says) {
					t.Errorf("without a terminal: exit %d: %s", got.code, got.err)
				}
			})
		})
	}
}

// sitOut sits at a terminal until the server ends the session.
func sitOut(t *testing.T, conn *gossh.Client, command string) *visit {
	t.Helper()
	v := sit(t, conn, 80, 24, command)
	if code := exitCode(t, <-v.ended); code != 130 {
		t.Errorf("%q: exit %d", command, code)
	}
	if modes := v.Modes(); modes.AltScreen || !modes.CursorVisible {
		t.Errorf("%q: the terminal is left as %+v", command, modes)
	}
	return v
}

// waitOut runs a command whose input never ends.
func waitOut(t *testing.T, conn *gossh.Client, command string) said {
	t.Helper()
	session, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	session.Stderr = &errs
	if _, err := session.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	return said{code: exitCode(t, session.Run(command)), err: errs.String()}
}

// TestInputIsLimited floods a connection. Its sessions have two seconds to read why it ends, which is too short where the
// sender gets no processor meanwhile, so that it tries again.
func TestInputIsLimited(t *testing.T) {
	h := sample(t, func(options *ssh.Options) { options.Limits.Input = 1 << 20 })
	const says = "the connection exceeded its input limit"
	var errs bytes.Buffer
	for tries := 0; tries < 5 && !strings.Contains(errs.String(), says); tries++ {
		conn := h.mustConnect()
		v := sit(t, conn, 80, 24, "")
		v.sees("type to search")
		session, err := conn.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		session.Stderr, session.Stdin = &errs, io.LimitReader(endless("text "), 100<<20)
		if err := session.Run("ask --prompt this"); err == nil {
			t.Fatal("all was taken")
		}
		v.sees(says)
	}
	if !strings.Contains(errs.String(), says) {
		t.Errorf("the one who sends sees %q", errs.String())
	}
	if got := run(t, h.mustConnect(), "version", ""); got.code != 0 {
		t.Errorf("another connection: exit %d", got.code)
	}
	if got := run(t, h.mustConnect(), "read 1 --from -", strings.Repeat("x", 1<<19)); got.code != 2 {
		t.Errorf("half of it: exit %d: %s", got.code, got.err)
	}
}

// A command at a terminal is interrupted by ctrl+c, as nobody else turns it into a signal.
func TestCommandsAreInterrupted(t *testing.T) {
	conn := sample(t, nil).mustConnect()
	v := sit(t, conn, 80, 24, "search -")
	v.Send("roll back\r\x03")
	if code := v.leaves(); code != 130 || !strings.Contains(v.Text(), "interrupted") {
		t.Errorf("exit %d\n%s", code, v.Text())
	}
}

// A screen is drawn at most so large, in the upper left corner of a larger terminal, whatever sizes it had before.
func TestScreensAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := sit(t, sample(t, inMemory).mustConnect(), 300, 100, "roll back a release")
		for _, size := range []struct{ width, height, drawnWidth, drawnHeight int }{
			{300, 100, 250, 80}, {65535, 65535, 250, 80}, {0, 0, 0, 0}, {65535, 1, 0, 0}, {1, 65535, 0, 0}, {120, 40, 120, 40}, {260, 40, 250, 40}, {300, 81, 250, 80},
		} {
			v.Resize(min(size.width, 300), min(size.height, 100))
			if err := v.session.WindowChange(size.height, size.width); err != nil {
				t.Fatal(err)
			}
			quiet()
			lines := strings.Split(v.Text(), "\n")
			width, height := 0, 0
			for y, line := range lines {
				if line = strings.TrimRight(line, " "); line != "" {
					width, height = max(width, ansi.StringWidth(line)), y+1
				}
			}
			if size.drawnWidth == 0 { // there is no room for anything
				continue
			}
			if width > size.drawnWidth || height != size.drawnHeight || !strings.Contains(v.Text(), "Runbook: rolling back a release") {
				t.Errorf("at %d x %d a screen of %d x %d is drawn:\n%s", size.width, size.height, width, height, v.Text())
			}
		}
	})
}
