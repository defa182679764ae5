//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// fileFacts says who else can get at a file.
type fileFacts struct {
	mode        fs.FileMode
	othersRead  bool
	othersWrite bool // the file, or its name in the folder
}

const groupAndOthers = 0o077

func factsOf(path string, info fs.FileInfo) fileFacts {
	facts := fileFacts{mode: info.Mode(), othersRead: info.Mode().Perm()&groupAndOthers&0o044 != 0}
	facts.othersWrite = othersCanWrite(info)
	// A link is followed: what counts is where the file lies.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil || (othersCanWrite(folder) && folder.Mode()&fs.ModeSticky == 0) {
		facts.othersWrite = true
	}
	return facts
}

func othersCanWrite(info fs.FileInfo) bool {
	if info.Mode().Perm()&groupAndOthers&0o022 != 0 {
		return true
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid()
}

// isNotDirectory: a part of the path is a file, so what it would lead to is not there either.
func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
