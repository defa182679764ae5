package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// DefaultAPIPrefix is where a normal Onyx deployment exposes its API.
const DefaultAPIPrefix = "/api"

const longestName = 64

// CheckName reports what is wrong with the name of a profile or provider.
func CheckName(name string) error {
	if name == "" || len(name) > longestName {
		return fmt.Errorf("a name has 1 to %d characters", longestName)
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return errors.New("a name has only a to z, 0 to 9, _ and -")
		}
	}
	return nil
}

// ServerURL checks the address of a server and returns it in one spelling: lower-case scheme and host, no default
// port, no trailing slash. The errors never quote the address, which may hold a password.
func ServerURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("not an address such as https://onyx.example.com")
	}
	scheme := strings.ToLower(u.Scheme)
	switch {
	case u.User != nil || strings.Contains(text, "@"):
		return "", errors.New("holds a user name or password: an address such as https://onyx.example.com is meant")
	case scheme != "http" && scheme != "https":
		return "", errors.New("must begin with https:// or http://")
	case u.Hostname() == "" || u.Opaque != "":
		return "", errors.New("names no host")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "", errors.New("must end before any ? or #")
	}
	for _, c := range text {
		if c <= ' ' || c == 0x7f {
			return "", errors.New("holds spaces or control characters")
		}
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
		return "", errors.New("names no host that can be reached")
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

// Origin is the scheme, host and port of an address that ServerURL accepts, in one spelling: a token belongs to one.
func Origin(address string) (string, error) {
	address, err := ServerURL(address)
	if err != nil {
		return "", err
	}
	start := strings.Index(address, "://") + len("://")
	if slash := strings.IndexByte(address[start:], '/'); slash >= 0 {
		return address[:start+slash], nil
	}
	return address, nil
}

// APIPrefix checks the path that a server's API lies under and returns it with a leading slash and no trailing one;
// "" stays "".
func APIPrefix(text string) (string, error) {
	trimmed := strings.Trim(strings.TrimSpace(text), "/")
	if trimmed == "" {
		return "", nil
	}
	for _, c := range trimmed {
		letter := (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
		if !letter && !strings.ContainsRune("/-_.~", c) {
			return "", errors.New("not a path such as /api")
		}
	}
	if strings.Contains(trimmed, "..") || strings.Contains(trimmed, "//") {
		return "", errors.New("not a path such as /api")
	}
	return "/" + trimmed, nil
}

// ParseRate reads a limit such as "60/h"; the periods are s, m, h and d. "" and "0" are no limit.
func ParseRate(text string) (Rate, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "0" {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || count > 1_000_000_000 {
		return Rate{}, errors.New("not a number of requests per period, such as 60/h")
	}
	switch unit {
	case "s":
		return Rate{count, time.Second}, nil
	case "m":
		return Rate{count, time.Minute}, nil
	case "h":
		return Rate{count, time.Hour}, nil
	case "d":
		return Rate{count, 24 * time.Hour}, nil
	}
	return Rate{}, errors.New("the period is s, m, h or d, as in 60/h")
}

// String is the spelling that ParseRate reads; "" for no limit.
func (r Rate) String() string {
	switch r.Per {
	case time.Second:
		return strconv.Itoa(r.Count) + "/s"
	case time.Minute:
		return strconv.Itoa(r.Count) + "/m"
	case time.Hour:
		return strconv.Itoa(r.Count) + "/h"
	case 24 * time.Hour:
		return strconv.Itoa(r.Count) + "/d"
	}
	return ""
}

// ParseAgent reads an agent's number, or else takes the text as its name.
func ParseAgent(text string) (Agent, error) {
	text = strings.TrimSpace(text)
	number, err := strconv.Atoi(text)
	switch {
	case text == "":
		return Agent{}, errors.New("names no agent")
	case err == nil && number < 0:
		return Agent{}, errors.New("an agent's number is not negative")
	case err == nil:
		return Agent{ID: &number}, nil
	case errors.Is(err, strconv.ErrRange):
		return Agent{}, errors.New("the number is too large for an agent")
	case len(text) > 500:
		return Agent{}, errors.New("the name is too long for an agent")
	}
	return Agent{Name: text}, nil
}

// absolute resolves a path of the configuration: "~" is the home folder, and a relative path starts at the folder of
// the file that names it.
func absolute(path, home, base string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", errors.New("not a path")
	}
	if rest, tilde := strings.CutPrefix(path, "~"); tilde && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		if home == "" {
			return "", errors.New("the home folder that ~ stands for is not known")
		}
		return filepath.Join(home, rest), nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path), nil
}
