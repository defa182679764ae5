package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// DefaultAPIPrefix is where a normal Onyx deployment exposes its API.
const DefaultAPIPrefix = "/api"

const longestName = 64

// CheckName returns an error if the name of a profile or provider is invalid.
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

// ParseRate parses a limit such as "60/h"; the periods are s, m, h and d. "" and "0" are no limit.
func ParseRate(text string) (Rate, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "0" {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || count > 1_000_000_000 {
		return Rate{}, errors.New("is not a number of requests per period, such as 60/h")
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

// String returns the text that ParseRate parses; "" for no limit.
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

// ParseAgent parses an agent's number; other text is a name.
func ParseAgent(text string) (Agent, error) {
	text = strings.TrimSpace(text)
	number, err := strconv.Atoi(text)
	switch {
	case text == "":
		return Agent{}, errors.New("is empty")
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

// absolute resolves a path of the configuration: "~" is the home folder, and relative paths start at base.
func absolute(path, home, base string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", errors.New("not a path")
	}
	if rest, tilde := strings.CutPrefix(path, "~"); tilde && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		if home == "" {
			return "", errors.New("the home folder (~) is unknown")
		}
		return filepath.Join(home, rest), nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path), nil
}
