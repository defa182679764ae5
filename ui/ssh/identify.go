package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/term"

	"quarry/client"
)

const (
	identifyTime = 15 * time.Second // for the searched server to identify a token
	tokenTries   = 3
)

// The authentication methods.
const (
	byKey   = "key"
	byToken = "token"
	openWay = "open"
)

// visitor is the user of a session.
type visitor struct {
	way    string
	owner  owner  // of the key or token
	name   string // for the log: an address, or "anonymous"
	person string // key of the limit of sessions per person
	client *client.Client
}

// refusal is why a visitor is refused: an error and a hint.
type refusal struct{ what, do string }

// Error returns the first line.
func (r *refusal) Error() string { return r.what }

// Remedy returns the second line.
func (r *refusal) Remedy() string { return r.do }

// identify returns the visitor: by their key, else by the token in their environment, else anonymous if that is allowed,
// else by a token that they type.
func (s *session) identify(ctx context.Context) (*visitor, error) {
	remote := s.inner.RemoteAddr().String()
	if key := s.inner.PublicKey(); key != nil && s.server.keys != nil {
		found, ok := s.server.keys.owner(key)
		switch {
		case !ok:
			return nil, &refusal{"your key is no longer accepted", "Ask the server's operator."}
		case found.token != "":
			return s.withToken(ctx, byKey, found.token)
		}
		c, err := s.server.People.Person(found.email, remote)
		if err != nil {
			return nil, err
		}
		return s.confirmed(ctx, byKey, found, c)
	}
	token := s.token()
	switch {
	case s.server.Tokens && token != "":
		return s.withToken(ctx, byToken, token)
	case s.server.Open:
		c, err := s.server.People.Anybody(remote)
		return &visitor{way: openWay, name: "anonymous", person: "from " + hostOf(s.inner.RemoteAddr()), client: c}, err
	case s.server.Tokens && s.keyboard != nil:
		return s.askToken(ctx)
	case s.server.Tokens:
		return nil, &refusal{"this server requires a token", "Send one with: ONYX_PAT=… ssh -o SendEnv=ONYX_PAT HOST, or type it at a terminal: ssh -t HOST"}
	}
	return nil, &refusal{"this server accepts only known keys", "Ask the server's operator to add yours."}
}

// token returns the token in the session's environment.
func (s *session) token() string {
	for _, name := range []string{"QUARRY_PAT", "ONYX_PAT"} {
		for _, entry := range s.arrival.env {
			if value, found := strings.CutPrefix(entry, name+"="); found && value != "" {
				return value
			}
		}
	}
	return ""
}

func (s *session) withToken(ctx context.Context, way, token string) (*visitor, error) {
	token, err := usableToken(strings.TrimSpace(token))
	if err != nil {
		return nil, &refusal{err.Error(), "Check that it was copied completely."}
	}
	c, err := s.server.People.Token(token, s.inner.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	return s.confirmed(ctx, way, owner{token: token}, c)
}

// confirmed asks the searched server who the visitor is.
func (s *session) confirmed(ctx context.Context, way string, whose owner, c *client.Client) (*visitor, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	me, err := c.Me(ctx)
	switch {
	case client.KindOf(err) == client.Auth || err == nil && me.IsAnonymousUser:
		return nil, &refusal{map[string]string{byKey: "the owner of your key may not search here",
			byToken: "the token is not valid"}[way], "Ask the server's operator."}
	case err != nil:
		return nil, fmt.Errorf("identify you: %w", err)
	}
	return &visitor{way: way, owner: whose, name: me.Email, person: strings.ToLower(me.Email), client: c}, nil
}

// askToken asks for a token at the terminal, without echo.
func (s *session) askToken(ctx context.Context) (*visitor, error) {
	defer s.keyboard.whole.Store(s.keyboard.whole.Swap(true))
	prompt := term.NewTerminal(duplex{s.keyboard, s}, "")
	fmt.Fprintf(s, "Searching %s requires a token.\n", s.server.Where)
	var refused error
	for range tokenTries {
		typed, err := prompt.ReadPassword("Token (hidden): ")
		if err != nil || strings.TrimSpace(typed) == "" {
			return nil, &refusal{"no token was given", "Ask the server's operator for one, or create one in its settings."}
		}
		who, err := s.withToken(ctx, byToken, typed)
		var no *refusal
		if !errors.As(err, &no) {
			return who, err
		}
		refused = err
		fmt.Fprintf(s, "%s\n", no.what)
	}
	return nil, refused
}
