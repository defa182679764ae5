//go:build linux || openbsd || dragonfly || solaris || illumos || aix

package ingest

import "syscall"

// changeTime is when the inode was last changed, in nanoseconds.
func changeTime(stat *syscall.Stat_t) int64 {
	return int64(stat.Ctim.Sec)*1e9 + int64(stat.Ctim.Nsec)
}
