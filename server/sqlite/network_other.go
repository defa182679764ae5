//go:build !linux && !darwin

package sqlite

// networkFileSystem is not implemented for this system.
func networkFileSystem(string) (string, error) { return "", nil }
