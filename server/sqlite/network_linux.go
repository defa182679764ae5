package sqlite

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"quarry/internal/text"
)

// fuseMagic is of local and remote file systems; the table of mounts has the type.
const fuseMagic = 0x65735546

func networkFileSystem(folder string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return "", err
	}
	magic := uint32(stat.Type)
	if magic != fuseMagic {
		return networkMagic(magic), nil
	}
	var file unix.Stat_t
	if err := unix.Stat(folder, &file); err != nil {
		return "", err
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", nil // without /proc, FUSE mounts are assumed to be local
	}
	defer mounts.Close()
	device := uint64(file.Dev)
	return fuseName(mounts, unix.Major(device), unix.Minor(device)), nil
}

// networkMagic returns the name of a network file system by its number in statfs; "" for all others.
func networkMagic(magic uint32) string {
	return map[uint32]string{
		0x6969: "NFS", 0x517B: "SMB", 0xFE534D42: "SMB", 0xFF534D42: "SMB", 0x01021997: "9P", 0x5346414F: "AFS",
		0x6B414653: "AFS", 0x73757245: "Coda", 0x564C: "NCP", 0x00C36400: "Ceph", 0x0BD00BD0: "Lustre",
		0x47504653: "GPFS", 0x7461636F: "OCFS2", 0x01161970: "GFS2", 0x19830326: "BeeGFS",
		0x786F4256: "a VirtualBox shared folder", 0xBACBACBC: "a VMware shared folder",
	}[magic]
}

// fuseName returns the type of the mount of a device in /proc/self/mountinfo if it is a remote one.
func fuseName(mounts io.Reader, major, minor uint32) string {
	device := fmt.Sprintf("%d:%d", major, minor)
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		before, after, found := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 3 || len(rest) == 0 || fields[2] != device {
			continue
		}
		if remoteFUSE(strings.TrimPrefix(rest[0], "fuse.")) {
			return rest[0]
		}
	}
	return ""
}

func remoteFUSE(kind string) bool {
	return text.IsAmong(kind,
		`sshfs s3fs rclone gcsfuse goofys mount-s3 blobfuse2 glusterfs ceph-fuse davfs curlftpfs juicefs
		mfs smbnetfs seaweedfs`)
}
