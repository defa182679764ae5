package ssh

import (
	"slices"

	gossh "golang.org/x/crypto/ssh"

	"quarry/internal/guard"
)

// Limits of a channel's requests before a session begins, which are kept in memory as long as it lasts.
const (
	longestVariable = 8 << 10
	longestTerminal = 4 << 10
	mostVariables   = 32
)

// usedVariables are the environment variables that visitors may set.
func usedVariables() []string {
	return append([]string{"ONYX_PAT", "QUARRY_PAT", "QUARRY_THEME"}, terminalVariables()...)
}

// terminalVariables describe the visitor's terminal.
func terminalVariables() []string {
	return []string{"COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "ACCESSIBLE"}
}

// sifted is a channel that passes on only requests that a session needs.
type sifted struct {
	gossh.NewChannel
	broke func(error) // logs a panic
}

// Accept accepts the channel. Requests that are too large or not supported are refused.
func (s sifted) Accept() (gossh.Channel, <-chan *gossh.Request, error) {
	channel, requests, err := s.NewChannel.Accept()
	if err != nil {
		return nil, nil, err
	}
	passed := make(chan *gossh.Request)
	guard.Go(func() {
		defer close(passed)
		variables := 0
		for request := range requests {
			if !bearable(request, &variables) {
				_ = request.Reply(false, nil)
				continue
			}
			passed <- request // the receiver receives all
		}
	}, func(err error) {
		s.broke(err)
		_ = channel.Close()
		gossh.DiscardRequests(requests)
	})
	return channel, passed, nil
}

func bearable(request *gossh.Request, variables *int) bool {
	switch request.Type {
	case "env":
		var variable struct{ Name, Value string }
		if *variables >= mostVariables || len(request.Payload) > longestVariable ||
			gossh.Unmarshal(request.Payload, &variable) != nil || !slices.Contains(usedVariables(), variable.Name) {
			return false
		}
		*variables++
		return true
	case "exec": // one packet at most
		return true
	case "pty-req":
		return len(request.Payload) <= longestTerminal
	case "subsystem", "auth-agent-req@openssh.com", "x11-req":
		return false
	}
	return len(request.Payload) <= longestVariable
}
