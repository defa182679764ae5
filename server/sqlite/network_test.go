package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"quarry/server/fault"
)

func TestNetworkFileSystemIsRefused(t *testing.T) {
	folder := t.TempDir()
	asked := ""
	options := Options{Path: filepath.Join(folder, "not", "there", "data.db"), Migrations: migrations()}
	options.networkName = func(folder string) (string, error) {
		asked = folder
		return "NFS", nil
	}
	_, err := Open(t.Context(), options)
	if !errors.Is(err, fault.ErrNetworkFileSystem) {
		t.Fatalf("got %v, want ErrNetworkFileSystem", err)
	}
	for _, part := range []string{"NFS", "QUARRY_HOME"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not mention %s", err, part)
		}
	}
	if asked != folder {
		t.Errorf("asked about %s, want the nearest folder that exists, %s", asked, folder)
	}
}

func TestLocalDiskPasses(t *testing.T) {
	name, err := networkFileSystem(t.TempDir())
	if err != nil || name != "" {
		t.Errorf("a temporary folder is on %q, %v", name, err)
	}
}
