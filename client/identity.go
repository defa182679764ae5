package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"quarry/client/wire"
)

// Me returns the token's user. A server that allows anonymous access returns an anonymous user for an invalid token:
// check IsAnonymousUser.
func (c *Client) Me(ctx context.Context) (*wire.Me, error) {
	return fetched[wire.Me](ctx, c, get("/me", nil))
}

// Version returns the server's versions.
func (c *Client) Version(ctx context.Context) (*wire.Version, error) {
	return fetched[wire.Version](ctx, c, get("/version", nil))
}

// Health calls the server's health check.
func (c *Client) Health(ctx context.Context) (*wire.Status, error) {
	return fetched[wire.Status](ctx, c, get("/health", nil))
}

// AuthType returns how users sign in.
func (c *Client) AuthType(ctx context.Context) (*wire.AuthType, error) {
	return fetched[wire.AuthType](ctx, c, get("/auth/type", nil))
}

// Root checks that something responds at the server's address. Onyx responds with 404 there; only no response at all
// and 403 are errors.
func (c *Client) Root(ctx context.Context) error {
	a, err := c.send(ctx, get("/", nil))
	if err != nil {
		return err
	}
	defer a.Close()
	if a.StatusCode != http.StatusForbidden {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(a.Body, maxErrorBytes)) // what came is enough for a reason
	return a.named(statusError(a.StatusCode, a.Header, body, time.Now()))
}

// fetched returns the decoded response of a call.
func fetched[T any](ctx context.Context, c *Client, r call) (*T, error) {
	value := new(T)
	if err := c.fetch(ctx, r, value); err != nil {
		return nil, err
	}
	return value, nil
}

// listed returns the list that a call responds with; it is never nil without an error.
func listed[T any](ctx context.Context, c *Client, r call) ([]T, error) {
	list := []T{}
	if err := c.fetch(ctx, r, &list); err != nil {
		return nil, err
	}
	return list, nil
}

func badRequest(method, path, reason string) *Error {
	return &Error{Kind: BadRequest, Method: method, Path: path, Reason: reason, cause: errors.New(reason)}
}
