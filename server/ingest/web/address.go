package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const longestURL = 2_000 // bytes

var defaultPorts = map[string]string{"http": "80", "https": "443"}

var (
	errCredentials = errors.New("an address with a user name or password is not read")
	errAddress     = errors.New("it is not a valid address") // without what the address may have of a secret
	errScheme      = errors.New("only http and https addresses are read")
)

// Normalise returns the one form of an address under which a page is stored: without a fragment, with its host in lower
// case.
func Normalise(address string) (string, error) { return normal(address, url.Parse) }

// SameOrigin reports whether an address belongs to the server of another: its scheme, host and port are the same, or it
// is the encrypted form of one, on the default ports. Redirects, sitemaps, feeds and canonical addresses lead no
// further.
func SameOrigin(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return portOf(from) == portOf(to)
	}
	return from.Scheme == "http" && to.Scheme == "https" && portOf(from) == "80" && portOf(to) == "443"
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), defaultPorts[u.Scheme])
}

// Resolve is Normalise for an address that may be relative to base.
func Resolve(base *url.URL, address string) (string, error) { return normal(address, base.Parse) }

func normal(address string, parse func(string) (*url.URL, error)) (string, error) {
	if len(address) > longestURL {
		return "", fmt.Errorf("the address has more than %d bytes", longestURL)
	}
	u, err := parse(strings.TrimSpace(address))
	if err != nil {
		return "", errAddress
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errScheme
	case u.User != nil:
		return "", errCredentials
	case u.Hostname() == "" || u.Opaque != "" || strings.Contains(u.Host, "!"):
		return "", errAddress
	}
	if u.Port() == defaultPorts[u.Scheme] {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.Fragment, u.RawFragment = "", ""
	return strings.ReplaceAll(u.String(), "!", "%21"), nil
}
