//go:build unix

package segments

import (
	"os"

	mmap "github.com/blevesearch/mmap-go"
)

// mapFile maps a file, so that only what is searched is read and all processes share it. The file may be unlinked while
// it is mapped.
func mapFile(file *os.File) (data []byte, release func(), err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 {
		return nil, func() {}, nil // nothing can be mapped; the reader finds it damaged
	}
	mapped, err := mmap.Map(file, mmap.RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	return mapped, func() { _ = mapped.Unmap() }, nil
}
