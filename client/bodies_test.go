package client

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The commands are tested with copies of the recorded bodies, which must stay copies.
func TestBodiesOfTheCommandsAreTheSame(t *testing.T) {
	t.Parallel()
	others := filepath.Join("..", "ui", "cli", "testdata", "onyx")
	entries, err := os.ReadDir(others)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not there: nothing is compared", others)
	}
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, entry := range entries {
		own, err := os.ReadFile(filepath.Join("testdata", "onyx", entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(filepath.Join(others, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if compared++; !bytes.Equal(own, other) {
			t.Errorf("%s differs from the one in %s", entry.Name(), others)
		}
	}
	if compared == 0 {
		t.Errorf("%s has no body in common with testdata/onyx", others)
	}
}
