package client

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
)

// joinBase checks a server's address and joins the API prefix to it.
func joinBase(address, prefix string) (*url.URL, error) {
	address, err := wire.ServerURL(address)
	if err != nil {
		return nil, fmt.Errorf("the server URL %w", err)
	}
	if prefix, err = wire.APIPrefix(prefix); err != nil {
		return nil, fmt.Errorf("api_prefix %w", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the server URL is not valid") // the parser's own message quotes the address
	}
	if prefix != "" && !strings.HasSuffix(base.Path, prefix) {
		base.Path += prefix
	}
	base.RawPath = ""
	return base, nil
}

// origin is the scheme, host and port of an address, default ports written out.
func origin(u *url.URL) (scheme, hostPort string) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme), strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") + ":" + port
}

// clip makes foreign text a short line for a message.
func clip(s string) string { return sanitizeLine(text.Shorten(s, 100)) }
