package sqlite

import (
	"slices"

	"golang.org/x/sys/unix"
)

func networkFileSystem(folder string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return "", err
	}
	name := unix.ByteSliceToString(stat.Fstypename[:])
	if !slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav", "ftp", "cifs"}, name) {
		return "", nil
	}
	return name, nil
}
