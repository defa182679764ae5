//go:build !linux && !darwin

package sqlite

// networkFileSystem knows no way to tell here.
func networkFileSystem(string) (string, error) { return "", nil }
