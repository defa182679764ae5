package server

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"quarry/client"
	"quarry/client/contracttest"
	"quarry/client/wire"
	"quarry/server/directory"
)

// TestContract holds the server to what its clients rely on, in process and over a listener.
func TestContract(t *testing.T) {
	s := open(t, Options{Sample: true, Version: "1.2.3"})
	made, err := s.AddToken(t.Context(), directory.TokenRequest{Name: "contract"})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := listen(t, s)
	file := filepath.Join(t.TempDir(), "quokka.md")
	if err := os.WriteFile(file, []byte("# Quokkas\n\nThe quokka smiles.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	remote := func(token string) func(*testing.T) *client.Client {
		return func(t *testing.T) *client.Client {
			return newClient(t, client.Options{BaseURL: address, APIPrefix: "/api", Profile: "served",
				Token: func(context.Context) (string, error) { return token, nil }})
		}
	}
	agent := 1
	want := contracttest.Expectations{
		Query: "parental leave", NoMatch: "xyzzyqwvb", Source: "confluence", PersonaID: &agent,
		DocumentSet: "Incidents", Tag: "t", Document: search(t, s, "parental leave")[0].DocumentID,
		Additions: true, Tokens: true, IngestionQuery: "wombat",
		Ingestion: &wire.IngestionRequest{Document: wire.IngestionDocument{
			ID: "wombat-1", Source: "web", SemanticIdentifier: "Wombats", Metadata: map[string]wire.Metadata{},
			Sections: []wire.IngestionSection{{Text: "The wombat digs."}},
		}},
	}
	t.Run("listener", func(t *testing.T) {
		served := want
		served.Refused = remote("onyx_pat_unknown")
		contracttest.Run(t, remote(made.Token), served)
	})
	t.Run("in process", func(t *testing.T) {
		local := want
		local.LibraryPath, local.LibraryQuery = file, "quokka"
		contracttest.Run(t, func(t *testing.T) *client.Client {
			return newClient(t, client.Options{BaseURL: "http://library.invalid", Local: true, Profile: "local",
				Transport: client.InProcess(s.InProcess(s.Owner()))})
		}, local)
	})
}

func newClient(t *testing.T, options client.Options) *client.Client {
	t.Helper()
	c, err := client.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
