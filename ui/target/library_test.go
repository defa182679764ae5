package target

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestLibraryThatCannotBeUsed(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := context.Background()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inFile := filepath.Join(file, "library")
	_, err := h.OpenLibrary(ctx, inFile, true)
	wantExit(t, err, 1, "cannot write to "+file, "QUARRY_HOME", "--library")
	err = serveHTTP(h, ctx, ServeOptions{Request: Request{Library: inFile}, HTTP: "127.0.0.1:0"}, nil)
	wantExit(t, err, 1, "cannot write to "+file)
	if err := h.MayWrite(filepath.Join(home, "new", "library")); err != nil {
		t.Error(err)
	}

	absent := filepath.Join(home, "my library")
	_, err = h.OpenLibrary(ctx, absent, false)
	wantExit(t, err, 9, "no library in", "quarry add PATH --library '"+absent+"'")
	_, err = h.Administer(ctx, absent, "", false)
	wantExit(t, err, 9, "no library in")
}

func TestLibraryOfSomebodyElse(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("whoever is root may read and write everything")
	}
	home := t.TempDir()
	h := newHost(t, home)
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	ctx := context.Background()
	mode := func(mode os.FileMode) {
		if err := os.Chmod(h.Paths.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { mode(0o700) })
	mode(0)
	_, err := h.OpenLibrary(ctx, "", false)
	wantExit(t, err, 1, "cannot read the library in "+h.Paths.Data, "permission denied")
	mode(0o500)
	_, err = h.OpenLibrary(ctx, "", true)
	wantExit(t, err, 1, "cannot write to "+h.Paths.Data, "permission denied")
}
