package target

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/testkit/llmtest"
)

// configure writes the configuration file of a home.
func configure(t *testing.T, home, text string) {
	t.Helper()
	folder := filepath.Join(home, "config", "quarry")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheConfiguredModelIsAsked: of the library and of the sample library, with the key, for whole searches alone.
func TestTheConfiguredModelIsAsked(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	home := t.TempDir()
	configure(t, home, fmt.Sprintf(`llm:
  default: local
  providers:
    local: {base_url: "%s", models: [small], key: sk-0123456789}
`, model.BaseURL()))
	h := newHost(t, home)
	if len(h.Config.Warnings) > 0 {
		t.Errorf("warned of %v", h.Config.Warnings)
	}
	addNote(t, h, "The lantern is lit at dusk.")
	for _, open := range []func() (*client.Session, error){
		func() (*client.Session, error) { return h.OpenLibrary(context.Background(), "", false) },
		func() (*client.Session, error) {
			choice, err := h.Decide(Request{Sample: true})
			if err != nil {
				return nil, err
			}
			return h.Open(context.Background(), choice)
		},
	} {
		opened, err := open()
		if err != nil {
			t.Fatal(err)
		}
		before := len(model.Requests())
		if _, err := opened.Client.Search(context.Background(), wire.SearchRequest{Query: "lantern", Instant: true}); err != nil {
			t.Error(err)
		}
		if len(model.Requests()) != before {
			t.Error("asked while typing")
		}
		search(t, opened, "lantern")
		if len(model.Requests()) == before {
			t.Error("not asked")
		}
		closed(t, opened)
	}
	for _, r := range model.Requests() {
		if r.Authorization != "Bearer sk-0123456789" || r.Model != "small" {
			t.Errorf("sent %+v", r)
		}
	}
}

func TestModelsThatAreNotConfigured(t *testing.T) {
	h := &Host{Config: &config.Config{}}
	if models, err := h.models(); models != nil || err != nil {
		t.Errorf("%v, %v", models, err)
	}
	for text, want := range map[string]string{
		"llm: {default: local, providers: {local: {base_url: \"http://127.0.0.1:1/v1\"}}}\n": "llm.default",
		"embeddings: {base_url: \"http://127.0.0.1:1/v1\"}\n":                                "embeddings.model",
		"embeddings: {path: tiny, base_url: \"http://127.0.0.1:1/v1\", model: m}\n":          "embeddings.path",
	} {
		home := t.TempDir()
		configure(t, home, text)
		_, err := NewHost(environment([]string{"HOME", home, "XDG_CONFIG_HOME", filepath.Join(home, "config")}), "1.2.3")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAFolderWithoutAModel: the error names the key, the file of the configuration and what is missing.
func TestAFolderWithoutAModel(t *testing.T) {
	home := t.TempDir()
	configure(t, home, "embeddings: {path: ~/tiny}\n")
	_, err := newHost(t, home).models()
	for _, want := range []string{"config.yaml", "embeddings.path", filepath.Join(home, "tiny", "tokenizer.json")} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestTheGuideToModelsIsRight loads every configuration that docs/models.md shows.
func TestTheGuideToModelsIsRight(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, block := range strings.Split(string(guide), "\n\n") {
		if !strings.HasPrefix(block, "    llm:") {
			continue
		}
		blocks++
		home := t.TempDir()
		configure(t, home, strings.ReplaceAll(strings.ReplaceAll(block, "\n    ", "\n"), "sk-…", "sk-0123456789")[4:]+"\n")
		h := newHost(t, home)
		models, err := h.models()
		if err != nil || models.Default() == "" || len(h.Config.Warnings) > 0 {
			t.Errorf("%s\n%v, %v", block, err, h.Config.Warnings)
		}
	}
	if blocks != 3 {
		t.Errorf("found %d configurations", blocks)
	}
}

// behindTLS is a model's server behind one that shows a certificate of its own making.
func behindTLS(t *testing.T, model *llmtest.Server) *httptest.Server {
	t.Helper()
	address, err := url.Parse(strings.TrimSuffix(model.BaseURL(), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	encrypted := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(address))
	t.Cleanup(encrypted.Close)
	return encrypted
}

// TestModelsBehindOnesOwnCertificate: QUARRY_CA_BUNDLE holds for models and embedding models as it does for servers.
func TestModelsBehindOnesOwnCertificate(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	model.OnVectors(llmtest.Vectors(llmtest.DefaultDimensions))
	encrypted := behindTLS(t, model)
	base := encrypted.URL + "/v1"
	h := configured(t, fmt.Sprintf("llm: {default: own, providers: {own: {base_url: %q, models: [small]}}}\nembeddings: {base_url: %q, model: nomic}\n", base, base))
	addNote(t, h, "The lantern is lit at dusk.")
	tried := func() (notes string) {
		opened, err := h.OpenLibrary(context.Background(), "", false)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, opened)
		if _, err := opened.Client.ChangeLibrary(context.Background(), wire.SyncRequest{Meaning: true}, func(event wire.LibraryEvent) { notes += event.Reason }); err != nil {
			t.Error(err)
		}
		return notes + told(search(t, opened, "lantern"))
	}
	if got := tried(); strings.Count(got, "QUARRY_CA_BUNDLE") < 2 || len(model.Requests()) > 0 {
		t.Errorf("without it: %s, %d requests", got, len(model.Requests()))
	}
	trusting(t, encrypted)
	if got := tried(); strings.Contains(got, "certificate") || len(model.Requests()) < 2 {
		t.Errorf("with it: %s, %d requests", got, len(model.Requests()))
	}
	t.Setenv("QUARRY_CA_BUNDLE", filepath.Join(t.TempDir(), "nowhere.pem"))
	_, err := h.OpenLibrary(context.Background(), "", false)
	wantExit(t, err, 3, "QUARRY_CA_BUNDLE", "nowhere.pem")
	_, err = h.Open(context.Background(), Choice{Kind: KindRemote, ServerURL: "https://onyx.example"})
	wantExit(t, err, 3, "QUARRY_CA_BUNDLE", "nowhere.pem", "PEM file")
}
