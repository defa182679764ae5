package sqlite

import (
	"net/url"
	"path/filepath"
	"strings"
)

// parameters of a connection, by the driver's names; "pragmas" is a comma-separated list of further ones.
type parameters map[string]string

func (p parameters) encode() string {
	values := url.Values{}
	for key, value := range p {
		if key != "pragmas" {
			values.Set(key, value)
			continue
		}
		for pragma := range strings.SplitSeq(value, ",") {
			values.Add("_pragma", pragma)
		}
	}
	return values.Encode()
}

// fileURI names a file in SQLite's URI form, in which question marks, hashes and percent signs of the path are escaped
// and its own parameters (mode, immutable, vfs) count.
func fileURI(path string, p parameters) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: p.encode()}
	return uri.String()
}
