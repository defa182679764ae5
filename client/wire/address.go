package wire

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// IsLoopback reports whether the name or number of a host is this machine.
func IsLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// ServerURL checks the address of a server and normalises it: lower-case scheme and host, no default
// port, no trailing slash. The errors never quote the address, which may contain a password.
func ServerURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("is not an address such as https://onyx.example.com")
	}
	scheme := strings.ToLower(u.Scheme)
	switch {
	case u.User != nil || strings.Contains(text, "@"):
		return "", errors.New("contains a user name or password; use an address such as https://onyx.example.com")
	case scheme != "http" && scheme != "https":
		return "", errors.New("must begin with https:// or http://")
	case u.Hostname() == "" || u.Opaque != "":
		return "", errors.New("has no host")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "", errors.New("must end before any ? or #")
	case strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return "", errors.New("contains spaces or control characters")
	}
	host, err := hostPort(scheme, u)
	if err != nil {
		return "", err
	}
	return scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

func hostPort(scheme string, u *url.URL) (string, error) {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "" || strings.ContainsAny(host, "%\"<>\\^`{|}") {
		return "", errors.New("has an invalid host")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port == "" {
		return host, nil
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 1 || number > 65535 {
		return "", errors.New("has a port outside 1 to 65535")
	}
	if (scheme == "https" && number == 443) || (scheme == "http" && number == 80) {
		return host, nil
	}
	return host + ":" + strconv.Itoa(number), nil
}

// Origin returns the scheme, host and port of an address that ServerURL accepts. A token belongs to one origin.
func Origin(address string) (string, error) {
	address, err := ServerURL(address)
	if err != nil {
		return "", err
	}
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, nil
}

// SameOrigin reports whether two addresses have the same Origin.
func SameOrigin(a, b string) bool {
	first, err := Origin(a)
	if err != nil {
		return false
	}
	second, err := Origin(b)
	return err == nil && first == second
}

// APIPrefix checks the path of a server's API and returns it with a leading slash and no trailing one; "" stays "".
func APIPrefix(text string) (string, error) {
	trimmed := strings.Trim(strings.TrimSpace(text), "/")
	if trimmed == "" {
		return "", nil
	}
	isInvalid := func(c rune) bool {
		letter := (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
		return !letter && !strings.ContainsRune("/-_.~", c)
	}
	if strings.ContainsFunc(trimmed, isInvalid) || strings.Contains(trimmed, "..") || strings.Contains(trimmed, "//") {
		return "", errors.New("is not a path such as /api")
	}
	return "/" + trimmed, nil
}
