package server

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/testkit/contracttest"
	"quarry/internal/testkit/llmtest"
	"quarry/server/api"
	"quarry/server/directory"
)

const question = "how long is parental leave?"

// TestContract holds the server to what its clients rely on, in process and over a listener.
func TestContract(t *testing.T) {
	s := open(t, Options{Sample: true, Settings: api.Settings{Version: "1.2.3"}})
	made := addToken(t, s, directory.TokenRequest{Name: "contract"})
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
		Additions: true, Tokens: true, IngestionQuery: "wombat", Unanswered: question,
		Ingestion: &wire.IngestionRequest{Document: wire.IngestionDocument{
			ID: "wombat-1", Source: "web", SemanticIdentifier: "Wombats", Metadata: map[string]wire.Metadata{},
			Sections: []wire.IngestionSection{{Text: "The wombat digs."}},
		}},
	}
	t.Run("listener", func(t *testing.T) {
		served := want
		served.Refused = remote("onyx_pat_unknown")
		contracttest.Run(t, remote(made), served)
	})
	t.Run("in process", func(t *testing.T) {
		local := want
		local.LibraryPath, local.LibraryQuery = file, "quokka"
		contracttest.Run(t, func(t *testing.T) *client.Client {
			return newClient(t, client.Options{BaseURL: "http://library.invalid", Local: true, Profile: "local",
				Transport: client.InProcess(s.InProcess(directory.Owner(directory.DefaultTenant)))})
		}, local)
	})
}

// TestContractOfAnswers holds the server to what its clients rely on of questions, where it has a model.
func TestContractOfAnswers(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Containing("Answer with one digit"), llmtest.Text("1")).
		On(llmtest.Containing("You name conversations"), llmtest.Text("Parental leave")).
		On(llmtest.Containing("break off"), llmtest.EndsEarly("Half of")).
		On(llmtest.Containing("You answer questions"), llmtest.Text("As long as it says [1].")).
		On(llmtest.Any(), llmtest.Text(question))
	s := open(t, Options{Home: t.TempDir(), Settings: api.Settings{Models: modelsAt(t, model, 0)}})
	made := addToken(t, s, directory.TokenRequest{Name: "contract"})
	address, _ := listen(t, s)
	remote := func(token string) func(*testing.T) *client.Client {
		return func(t *testing.T) *client.Client {
			return newClient(t, client.Options{BaseURL: address, APIPrefix: "/api", Profile: "served",
				Token: func(context.Context) (string, error) { return token, nil }})
		}
	}
	local := func(t *testing.T) *client.Client {
		return newClient(t, client.Options{BaseURL: "http://library.invalid", Local: true, Profile: "local",
			Transport: client.InProcess(s.InProcess(directory.Owner(directory.DefaultTenant)))})
	}
	if _, err := local(t).Ingest(t.Context(), wire.IngestionRequest{Document: wire.IngestionDocument{
		ID: "leave-1", Source: "web", SemanticIdentifier: "Parental leave", Metadata: map[string]wire.Metadata{},
		Sections: []wire.IngestionSection{{Text: "Parental leave is twenty weeks long.", Link: "https://hr.acme.example/leave"}},
	}}); err != nil {
		t.Fatal(err)
	}
	want := contracttest.Expectations{Question: question, Failing: "break off", FailingAs: client.Server}
	t.Run("in process", func(t *testing.T) { contracttest.RunChat(t, local, want) })
	want.Refused = remote("onyx_pat_unknown")
	t.Run("listener", func(t *testing.T) { contracttest.RunChat(t, remote(made), want) })
}

func newClient(t *testing.T, options client.Options) *client.Client {
	t.Helper()
	c, err := client.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
