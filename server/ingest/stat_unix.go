//go:build unix

package ingest

import (
	"io/fs"
	"syscall"
)

// statIdentity returns the numbers that identify a replaced file, and its file system.
func statIdentity(info fs.FileInfo) (inode, changed int64, device uint64) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return int64(stat.Ino), changeTime(stat), uint64(stat.Dev)
}
