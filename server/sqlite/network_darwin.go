package sqlite

import (
	"golang.org/x/sys/unix"

	"quarry/internal/text"
)

func networkFileSystem(folder string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return "", err
	}
	name := unix.ByteSliceToString(stat.Fstypename[:])
	if !text.IsAmong(name, "nfs smbfs afpfs webdav ftp cifs") {
		return "", nil
	}
	return name, nil
}
