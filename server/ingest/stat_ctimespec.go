//go:build darwin || freebsd || netbsd

package ingest

import "syscall"

// changeTime returns the time of the last change of the inode, in nanoseconds.
func changeTime(stat *syscall.Stat_t) int64 {
	return int64(stat.Ctimespec.Sec)*1e9 + int64(stat.Ctimespec.Nsec)
}
