package server

import (
	"os"
	"path/filepath"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/server/directory"
)

// TestFilesWithOddNamesCanBeReadBack: clients drop from ids what cannot be shown, and must still find the document.
func TestFilesWithOddNamesCanBeReadBack(t *testing.T) {
	s := open(t, Options{Home: t.TempDir()})
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a\nb.md": "quokka", "a%0Ab.md": "wombat", "tab\t.md": "numbat", "\x1b[31m.md": "bilby", "a\u202eb.md": "dingo",
		"a\u2028b.md": "potoroo", "a#5.md": "bettong", "lat\xff.md": "quoll",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Skip("this file system refuses such names:", err)
		}
	}
	c := newClient(t, client.Options{BaseURL: client.InProcessURL, Local: true, Profile: "local",
		Transport: client.InProcess(s.InProcess(directory.Owner(directory.DefaultTenant)))})
	if _, err := c.ChangeLibrary(t.Context(), wire.AddRequest{Paths: []string{folder}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"quokka", "wombat", "numbat", "bilby", "dingo", "potoroo", "bettong", "quoll"} {
		found, err := c.Search(t.Context(), wire.SearchRequest{Query: text})
		if err != nil || len(found.Results) != 1 {
			t.Errorf("%s: %+v, %v", text, found, err)
			continue
		}
		read, err := c.Chunks(t.Context(), found.Results[0].DocumentID, 0, 0, "")
		if err != nil || len(read.Chunks) != 1 || read.Chunks[0].Content != text {
			t.Errorf("%s in %q: %+v, %v", text, found.Results[0].DocumentID, read, err)
		}
	}
}
