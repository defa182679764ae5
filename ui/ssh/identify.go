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
	identifyTime = 15 * time.Second // for the server behind to say whose a token is
	tokenTries   = 3
)

// The ways in.
const (
	byKey   = "key"
	byToken = "token"
	openWay = "open"
)

// visitor is who a session is.
type visitor struct {
	way    string
	owner  owner  // of the key, or of the token that was brought
	name   string // for the log: an address, or "anonymous"
	person string // tells people apart, for the limit of sessions
	client *client.Client
}

// refusal is why somebody is not let in, in two lines.
type refusal struct{ what, do string }

// Error is the first line.
func (r *refusal) Error() string { return r.what }

// Remedy is the second.
func (r *refusal) Remedy() string { return r.do }

// identify finds out who a session is: by the key that was shown, else by the token that it brings, else it is anybody
// where anybody may come in; at a terminal a token can be typed.
func (s *session) identify(ctx context.Context) (*visitor, error) {
	remote := s.inner.RemoteAddr().String()
	if key := s.inner.PublicKey(); key != nil && s.server.keys != nil {
		found, ok := s.server.keys.owner(key)
		switch {
		case !ok:
			return nil, &refusal{"your key does not open this server any more", "Ask who runs it."}
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
		return nil, &refusal{"this server asks for a token", "Send one with: ONYX_PAT=… ssh -o SendEnv=ONYX_PAT HOST, or type it at a terminal: ssh -t HOST"}
	}
	return nil, &refusal{"only known keys open this server", "Ask who runs it to add yours."}
}

// token is what the session's environment brings.
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
		return nil, &refusal{err.Error(), "Check how it was copied."}
	}
	c, err := s.server.People.Token(token, s.inner.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	return s.confirmed(ctx, way, owner{token: token}, c)
}

// confirmed asks the server behind who the visitor is.
func (s *session) confirmed(ctx context.Context, way string, whose owner, c *client.Client) (*visitor, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	me, err := c.Me(ctx)
	switch {
	case client.KindOf(err) == client.Auth || err == nil && me.IsAnonymousUser:
		return nil, &refusal{map[string]string{byKey: "your key belongs to nobody who may search here",
			byToken: "the token is not valid here"}[way], "Ask who runs this server."}
	case err != nil:
		return nil, fmt.Errorf("find out who you are: %w", err)
	}
	return &visitor{way: way, owner: whose, name: me.Email, person: strings.ToLower(me.Email), client: c}, nil
}

// askToken lets a person type a token, which is not shown.
func (s *session) askToken(ctx context.Context) (*visitor, error) {
	defer s.keyboard.whole.Store(s.keyboard.whole.Swap(true))
	prompt := term.NewTerminal(duplex{s.keyboard, s}, "")
	fmt.Fprintf(s, "A token of %s is needed to search it.\n", s.server.Where)
	var refused error
	for range tokenTries {
		typed, err := prompt.ReadPassword("Token (it is not shown): ")
		if err != nil || strings.TrimSpace(typed) == "" {
			return nil, &refusal{"no token was given", "Ask who runs this server for one, or make one in its settings."}
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
