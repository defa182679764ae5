package measure

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

// Server is a running quarry serve with tokens of its own.
type Server struct {
	Address string
	Tokens  []string

	binary, library string
	command         *exec.Cmd
	ids             []int // of the tokens
}

// Serve starts binary serve on a library.
func Serve(binary, library string) (*Server, error) {
	s := &Server{binary: binary, library: library}
	for i := range users {
		name := "load" + strconv.Itoa(i)
		out, err := exec.Command(binary, "admin", "token", "add", "--json", "--name", name, "--user", name+"@localhost",
			"--expires", "1", "--library", library).Output()
		var made struct {
			ID    int    `json:"id"`
			Token string `json:"token"`
		}
		if err == nil {
			err = json.Unmarshal(out, &made)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a token: %w", err), s.removeTokens())
		}
		s.ids, s.Tokens = append(s.ids, made.ID), append(s.Tokens, made.Token)
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
		return nil, errors.Join(fmt.Errorf("the server does not listen: %s", first), err, s.Stop())
	}
	s.Address, _, _ = strings.Cut(rest, " ")
	go func() { _, _ = io.Copy(io.Discard, said) }() // its log is written, as when it is served
	return s, nil
}

// PID is the process of the server.
func (s *Server) PID() int { return s.command.Process.Pid }

// Stop ends the server and removes its tokens.
func (s *Server) Stop() error {
	err := s.command.Process.Signal(os.Interrupt)
	if err == nil {
		err = s.command.Wait()
	}
	return errors.Join(err, s.removeTokens())
}

func (s *Server) removeTokens() error {
	var failed []error
	for _, id := range s.ids {
		failed = append(failed, exec.Command(s.binary, "admin", "token", "remove", strconv.Itoa(id),
			"--library", s.library, "--quiet").Run())
	}
	return errors.Join(failed...)
}
