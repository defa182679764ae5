//go:build !unix

package config

import "io/fs"

// fileFacts says who else can get at a file. On Windows the user's own folders are closed to others by inherited
// rights, which file modes do not show.
type fileFacts struct {
	mode        fs.FileMode
	othersRead  bool
	othersWrite bool
}

func factsOf(_ string, info fs.FileInfo) fileFacts { return fileFacts{mode: info.Mode()} }

func isNotDirectory(error) bool { return false }
