package client

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// joinBase checks a server's address and joins the API prefix to it.
func joinBase(address, prefix string) (*url.URL, error) {
	base, err := parseServerURL(address)
	if err != nil {
		return nil, err
	}
	prefix = strings.Trim(strings.TrimSpace(prefix), "/")
	if strings.ContainsAny(prefix, "?#%\\ ") || strings.Contains(prefix, "..") || Sanitize(prefix) != prefix {
		return nil, fmt.Errorf("api_prefix %q is not a path such as /api", clip(prefix))
	}
	if prefix != "" && base.Path != "/"+prefix && !strings.HasSuffix(base.Path, "/"+prefix) {
		base.Path += "/" + prefix
	}
	return base, nil
}

func parseServerURL(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		return nil, errors.New("the server URL is empty: set server_url to the address that you open in the browser")
	}
	base, err := url.Parse(address)
	if err != nil {
		// The parser's own message quotes the address, which may hold a password.
		return nil, errors.New("the server URL cannot be read: it must look like https://onyx.example.com")
	}
	switch {
	case base.User != nil:
		return nil, errors.New("the server URL holds a user name or password: remove it and use a token")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("the server URL %q must begin with https:// or http://", clip(address))
	case base.Hostname() == "":
		return nil, fmt.Errorf("the server URL %q names no host", clip(address))
	case base.RawQuery != "" || base.Fragment != "" || base.ForceQuery:
		return nil, fmt.Errorf("the server URL %q must end before any ? or #", clip(address))
	}
	base.Path = strings.TrimRight(base.Path, "/")
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

func clip(s string) string {
	const longest = 100
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return sanitizeLine(s)
}
