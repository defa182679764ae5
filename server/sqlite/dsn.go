package sqlite

import (
	"net/url"
	"path/filepath"
	"strings"
)

// fileURI names a file in SQLite's URI form, in which question marks, hashes and percent signs of the path are escaped
// and its own parameters (mode, immutable, vfs) count. The parameters have the driver's names.
func fileURI(path string, parameters url.Values) string {
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: parameters.Encode()}
	return uri.String()
}
