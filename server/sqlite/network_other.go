//go:build !linux && !darwin

package sqlite

// networkFileSystem returns "": this system does not report the kind of a file system.
func networkFileSystem(string) (string, error) { return "", nil }
