package config

import (
	"context"
	"errors"
	"fmt"
	"io"
)

const longestToken = 4096 // bytes; Onyx's own have some 270

// TokenSource returns a token when a request needs it, and an error that says what to do if there is none. It is safe
// for concurrent use, reads its secret at most once per process, and remembers no failure.
type TokenSource func(ctx context.Context) (string, error)

// FixedToken is the source of a token that is known already, after checking that it can be sent. The name, such as
// "ONYX_PAT" or a file and key, is what errors call it.
func FixedToken(token Secret, name string) TokenSource {
	return func(context.Context) (string, error) {
		if err := checkSecret(token); err != nil {
			return "", &Error{Key: name, Problem: err.Error(), Fix: "set " + name + " to the token and nothing else"}
		}
		return token.Reveal(), nil
	}
}

// Token returns the source of a profile's token: its token, or what its token_command prints, or what the keyring
// holds for it. The command runs and the keyring is asked when the source is first called. A nil ring is no keyring.
// Call it once per profile and run.
func (c *Config) Token(p Profile, ring Keyring) TokenSource {
	key := "profiles." + p.Name
	if !p.Token.IsZero() {
		return FixedToken(p.Token, key+".token in "+c.File)
	}
	if p.TokenCommand != "" {
		return once(func(ctx context.Context) (string, error) { return c.runTokenCommand(ctx, p) })
	}
	return once(func(ctx context.Context) (string, error) {
		account, err := KeyringAccount(p)
		if err != nil || ring == nil {
			return "", c.noToken(p, nil)
		}
		token, err := ring.Get(ctx, account)
		switch {
		case errors.Is(err, context.Canceled):
			return "", err
		case errors.Is(err, ErrNoSecret):
			return "", c.noToken(p, nil)
		case err != nil:
			return "", c.noToken(p, fmt.Errorf("the system keyring does not answer: %w", err))
		}
		if checkSecret(NewSecret(token)) != nil || token == "" {
			return "", c.noToken(p, errors.New("what the system keyring holds is not a token"))
		}
		return token, nil
	})
}

func (c *Config) noToken(p Profile, cause error) error {
	return &Error{File: c.File, Key: "profiles." + p.Name, Problem: "no token for " + p.ServerURL, Err: cause,
		Fix: "store one with quarry configure, or give the profile a token_command"}
}

// once keeps the first success. Callers that come meanwhile wait for it, as long as their context allows.
func once(read TokenSource) TokenSource {
	turn := make(chan struct{}, 1) // guards token; a mutex could not be given up on
	token := ""
	return func(ctx context.Context) (string, error) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if token != "" {
			return token, nil
		}
		fresh, err := read(ctx)
		if err != nil {
			return "", err
		}
		token = fresh
		return token, nil
	}
}

// checkSecret reports whether a text can be sent in a header. The error never quotes it.
func checkSecret(s Secret) error {
	text := s.Reveal()
	if len(text) > longestToken {
		return fmt.Errorf("longer than the %d characters that a token may have", longestToken)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return errors.New("holds spaces or characters that no token has")
		}
	}
	return nil
}

// readBounded reads at most one byte more than a file may have, so that a longer one is noticed.
func readBounded(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxFile+1)) }
