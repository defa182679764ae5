package sqlite

import "golang.org/x/sys/unix"

func networkFileSystem(folder string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return "", err
	}
	switch name := unix.ByteSliceToString(stat.Fstypename[:]); name {
	case "nfs", "smbfs", "afpfs", "webdav", "ftp", "cifs":
		return name, nil
	default:
		return "", nil
	}
}
