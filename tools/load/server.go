package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// users are as many as a server needs to be filled: it gives each half of its places.
const users = 4

// server is a running quarry serve.
type server struct {
	binary, library string
	command         *exec.Cmd
	address         string
	tokens          []token
}

type token struct {
	ID    int    `json:"id"`
	Token string `json:"token"`
}

func start(binary, library string) (*server, error) {
	s := &server{binary: binary, library: library}
	for i := range users {
		name := "load" + strconv.Itoa(i)
		out, err := exec.Command(binary, "admin", "token", "add", "--json", "--name", name, "--user", name+"@localhost",
			"--expires", "1", "--library", library).Output()
		var made token
		if err == nil {
			err = json.Unmarshal(out, &made)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a token: %w", err), s.removeTokens())
		}
		s.tokens = append(s.tokens, made)
	}
	s.command = exec.Command(binary, "serve", "--http", "127.0.0.1:0", "--library", library, "--rate", "0")
	lines, err := s.command.StderrPipe()
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.removeTokens())
	}
	said := bufio.NewReader(lines)
	first, err := said.ReadString('\n')
	_, rest, found := strings.Cut(first, "Listening on ")
	if !found {
		return nil, errors.Join(fmt.Errorf("the server does not listen: %s", first), err, s.stop())
	}
	s.address, _, _ = strings.Cut(rest, " ")
	go func() { _, _ = io.Copy(io.Discard, said) }() // its log is written, as when it is served
	return s, nil
}

// stop ends the server and removes its tokens.
func (s *server) stop() error {
	err := s.command.Process.Signal(os.Interrupt)
	if err == nil {
		err = s.command.Wait()
	}
	return errors.Join(err, s.removeTokens())
}

func (s *server) removeTokens() error {
	var failed []error
	for _, made := range s.tokens {
		failed = append(failed, exec.Command(s.binary, "admin", "token", "remove", strconv.Itoa(made.ID),
			"--library", s.library, "--quiet").Run())
	}
	return errors.Join(failed...)
}

// peak is the most memory that the server had; empty where the system does not tell.
func (s *server) peak() string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
