//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"quarry/tools/measure"
)

// server is a running quarry serve.
type server struct {
	command *exec.Cmd
	address string // of SSH
	window  window // of visitors
	http    string // URL of the API; empty: it is not served

	mutex sync.Mutex
	last  string // line of its log
}

// environ keeps the caller's own configuration and library out of the figures.
func (b *bench) environ() []string {
	in := func(name string) string { return filepath.Join(b.home, name) }
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "TMPDIR=" + b.home, "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + in("config"), "XDG_DATA_HOME=" + in("data"), "XDG_STATE_HOME=" + in("state"),
		"XDG_CACHE_HOME=" + in("cache"), "QUARRY_HOME=" + in("library"),
		"QUARRY_EMBEDDINGS_MODE=off",
	}
}

// serve starts a server for anybody, with the usual limits but for the number of visitors: all of them come from here.
// More are further arguments.
func (b *bench) serve(more ...string) (*server, error) {
	args := []string{"serve", "--ssh", "127.0.0.1:0", "--ssh-open", "--ssh-sessions", strconv.Itoa(b.sessions + 50),
		"--ssh-per-person", strconv.Itoa(b.sessions + 50), "--ssh-arrivals", "1000000"}
	if len(more) == 0 {
		more = []string{"--sample"}
		if b.library != "" {
			more = []string{"--library", b.library}
		}
	}
	s := &server{command: exec.Command(b.binary, append(args, more...)...), window: window{columns, rows}}
	s.command.Env = b.environ()
	lines, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewScanner(lines)
	for s.address == "" || s.http == "" && slices.Contains(more, "--http") {
		if !said.Scan() {
			break
		}
		s.last = said.Text()
		var port, host string
		if n, _ := fmt.Sscanf(s.last, "The explorer is at: ssh -p %s %s", &port, &host); n == 2 {
			s.address = net.JoinHostPort(host, port)
		}
		if rest, found := strings.CutPrefix(s.last, "Listening on "); found {
			s.http, _, _ = strings.Cut(rest, " ")
		}
	}
	go s.note(said)
	if s.address == "" {
		return nil, errors.Join(fmt.Errorf("the server does not listen: %s", s.log()), s.command.Wait())
	}
	return s, nil
}

// note reads the log, as somebody does when it is served.
func (s *server) note(said *bufio.Scanner) {
	for said.Scan() {
		s.mutex.Lock()
		s.last = said.Text()
		s.mutex.Unlock()
	}
}

func (s *server) log() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.last
}

func (s *server) pid() int { return s.command.Process.Pid }

// stop ends the server.
func (s *server) stop() error {
	if err := s.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("the server ended badly: %w (%s)", err, s.log())
	}
	return nil
}

// load is what the machine did in a span of time.
type load struct {
	at                 time.Time
	server, own, whole time.Duration
}

func (s *server) load() load {
	return load{time.Now(), measure.CPUOf(s.pid()), measure.CPUOf(os.Getpid()), measure.Busy()}
}

// taken tells the CPUs that the server, the visitors and everything else have taken since a moment.
func (s *server) taken(since load, limits ...measure.Limit) []measure.Figure {
	now := s.load()
	span := now.at.Sub(since.at).Seconds()
	served, own := (now.server-since.server).Seconds()/span, (now.own-since.own).Seconds()/span
	return []measure.Figure{
		measure.One("  CPUs of the server", "", served, limits...), measure.One("  CPUs of the visitors", "", own),
		measure.One("  CPUs of others", "", max(0, (now.whole-since.whole).Seconds()/span-served-own)),
	}
}
