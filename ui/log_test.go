package ui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gossh "golang.org/x/crypto/ssh"

	"quarry/ui/target"
)

// hostileText holds escapes, C1 controls, DEL, direction marks, invisible characters, line separators and no UTF-8.
const hostileText = "a\x1b[31m\u009b31m\u0085\x7f\u202e\u2066\u200b\u00ad\u061c\u2028\U000e0041\x00\r\n\xff\xc2z"

// logLines checks that a log is one printable JSON object a line, and returns them.
func logLines(t *testing.T, text string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		checkPrintable(t, strings.TrimSuffix(line, "\n"))
		lines = append(lines, object)
	}
	return lines
}

func checkPrintable(t *testing.T, line string) {
	t.Helper()
	for at, r := range line {
		if !strconv.IsPrint(r) || r == utf8.RuneError && !strings.HasPrefix(line[at:], "\ufffd") {
			t.Fatalf("%q has %U at %d", line, r, at)
		}
	}
}

func FuzzLog(f *testing.F) {
	for _, seed := range []string{hostileText, "plain", "größer 漢字 👩", `a "quoted" \u009b`, strings.Repeat("\u009b", 9000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, asJSON := range []bool{true, false} {
			var out bytes.Buffer
			to := logger(target.ServeOptions{Log: &out, LogJSON: asJSON})
			to.With(text, text).WithGroup("group").Warn(text, "text", text, "error", errors.New(text), "list", []string{text},
				"bytes", []byte(text), "any", struct{ Text string }{text}, slog.Group("inner", "text", text), "count", 3)
			slog.NewLogLogger(to.Handler(), slog.LevelWarn).Print(text)
			if lines := strings.Count(out.String(), "\n"); lines != 2 || out.Len() > 12*(2*longestLogged) {
				t.Fatalf("%d lines of %d bytes", lines, out.Len())
			}
			for line := range strings.Lines(out.String()) {
				checkPrintable(t, strings.TrimSuffix(line, "\n"))
			}
			if asJSON {
				logLines(t, out.String())
			}
		}
	})
}

func TestAnEscapeShowsWhatWasSent(t *testing.T) {
	for text, want := range map[string]string{
		"größer 漢字 👍": "größer 漢字 👍", "a\u009bb": `a\u009bb`, "\x7f\u202e": `\x7f\u202e`, "\xff": `\xff`,
		"one\n\ttwo": "one\n\ttwo", "\U000e0041": `\U000e0041`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if long := printable(strings.Repeat("\u009b", longestLogged)); len(long) > longestLogged+len(`\u009b…`) {
		t.Errorf("%d bytes", len(long))
	}
}

// Libraries that know no logger of ours write to the default ones.
func TestDefaultLogsAreCaught(t *testing.T) {
	var out bytes.Buffer
	undo := catchDefaultLog(logger(target.ServeOptions{Log: &out, LogJSON: true}))
	slog.Warn("ssh: failed to accept session channel", "err", hostileText)
	log.Print(hostileText)
	undo()
	if lines := logLines(t, out.String()); len(lines) != 2 {
		t.Errorf("logged %v", lines)
	}
}

// served is a server in this process whose log is read until it ends.
type served struct {
	http, ssh string
	log       *bytes.Buffer
	stop      func()
	ended     chan int
}

func serve(t *testing.T, p person) *served {
	t.Helper()
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	s := &served{log: new(bytes.Buffer), stop: stop, ended: make(chan int, 1)}
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, Process{In: written, Out: written, Err: written, Env: p.env, Version: "1.2.3",
			Arguments: []string{"serve", "--json", "--http", "127.0.0.1:0", "--ssh", "127.0.0.1:0", "--ssh-open"}})
		written.Close()
	}()
	listening := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(read); lines.Scan(); {
			var line struct{ Msg, Protocol, Address string }
			_ = json.Unmarshal(lines.Bytes(), &line) // the test looks at it again
			fmt.Fprintln(s.log, lines.Text())
			switch line.Protocol {
			case "http":
				s.http = line.Address
			case "ssh":
				s.ssh = line.Address
			}
			if line.Protocol != "" && s.http != "" && s.ssh != "" {
				close(listening)
			}
		}
		s.ended <- <-code
	}()
	select {
	case <-listening:
	case <-s.ended:
		t.Fatalf("the server ended: %s", s.log)
	}
	return s
}

// end stops the server and returns its log.
func (s *served) end(t *testing.T) []map[string]any {
	t.Helper()
	s.stop()
	if code := <-s.ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	return logLines(t, s.log.String())
}

// send writes bytes to an address and waits until the server has answered and closed.
func send(t *testing.T, address, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // also a reset is an answer
}

// TestTheLogIsPrintable: whatever is sent to the listeners, with or without a token, each line of the log is one
// printable JSON object.
func TestTheLogIsPrintable(t *testing.T) {
	p := newPerson(t)
	p.run(0, "add", filepath.Dir(p.write("notes/deploy.md", "# Deploying\n\nWe roll back with deployctl rollback.\n")))
	out, _ := p.run(0, "admin", "token", "add", "--name", "x", "--json")
	var token struct{ Token string }
	if err := json.Unmarshal([]byte(out), &token); err != nil {
		t.Fatal(err)
	}
	s := serve(t, p)
	const encoded = "%1B%5B31m%C2%9B%7F%E2%80%AE%E2%80%8B%0D%0A%FF"
	for _, request := range []string{
		"GET /" + encoded + "?q=" + encoded + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"GET /search/suggest?prefix=" + encoded + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + token.Token + "\r\n\r\n",
		"\u009bX\u202e /\u009b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: \u009b\u202e\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: \u009b\u202e\r\nOrigin: http://\u202e\r\nConnection: close\r\n\r\n",
		"GET / HTTP/9.\u009b\r\n\r\n", "\x16\x03\x01\x00\xa5\x01\xff\xc2\r\n\r\n",
	} {
		send(t, s.http, request)
	}
	query, err := json.Marshal(map[string]any{"query": strings.ToValidUTF8(hostileText, "?"), "filters": map[string]any{
		"source_type": []string{"web"}}})
	if err != nil {
		t.Fatal(err)
	}
	send(t, s.http, "POST /search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer "+token.Token+
		"\r\nContent-Length: "+strconv.Itoa(len(query))+"\r\n\r\n"+string(query))
	send(t, s.ssh, "SSH-2.0-x\r\n"+keyExchange(hostileText))
	visit(t, s.ssh)
	lines := s.end(t)
	paths, queries, visits, handshakes := 0, 0, 0, 0
	for _, line := range lines {
		if path, _ := line["path"].(string); strings.Contains(path, `\u009b`) && strings.Contains(path, `\u202e`) {
			paths++
		}
		if query, _ := line["query"].(string); strings.Contains(query, `\u202e`) {
			queries++
		}
		if reason, _ := line["error"].(string); strings.Contains(reason, `\u202e`) {
			handshakes++
		}
		if line["msg"] == "ssh session" {
			visits++
		}
	}
	if paths != 1 || queries != 2 || handshakes != 1 || visits != 1 {
		t.Errorf("%d paths, %d queries, %d handshakes, %d visits in %v", paths, queries, handshakes, visits, lines)
	}
}

// keyExchange begins a handshake with algorithms of a hostile name, which the reason for its failure quotes.
func keyExchange(name string) string {
	names := []string{name}
	payload := gossh.Marshal(struct {
		Cookie                                           [16]byte `sshtype:"20"`
		Kex, Host, In, Out, MACIn, MACOut, ZipIn, ZipOut []string
		LanguageIn, LanguageOut                          []string
		Follows                                          bool
		Reserved                                         uint32
	}{[16]byte{}, names, names, names, names, names, names, names, names, names, names, false, 0})
	padding := 16 - (5+len(payload))%8
	packet := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	packet = append(append(packet, byte(padding)), payload...)
	return string(append(packet, make([]byte, padding)...))
}

// visit runs a command over SSH, with a hostile name, environment and program.
func visit(t *testing.T, address string) {
	t.Helper()
	client, err := gossh.Dial("tcp", address, &gossh.ClientConfig{User: hostileText, Timeout: time.Minute,
		ClientVersion: "SSH-2.0-x", HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LANG", "ONYX_PAT", hostileText} {
		_ = session.Setenv(name, hostileText)
	}
	_ = session.Run("search " + hostileText) // that it fails is logged, too
}
