package target

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
)

// TestVectorsOfTheLibrary: what is added is embedded, a failing endpoint is told and stops nothing, the next sync goes
// on, unchanged text is not embedded again, and a search is answered by both lists.
func TestVectorsOfTheLibrary(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.OnVectors(llmtest.Status(http.StatusNotFound, "no such model"), llmtest.Vectors(llmtest.DefaultDimensions))
	home := t.TempDir()
	configure(t, home, fmt.Sprintf("embeddings: {base_url: %q, model: nomic, key: sk-0123456789}\n", model.BaseURL()))
	h := newHost(t, home)
	if len(h.Config.Warnings) > 0 {
		t.Errorf("warned of %v", h.Config.Warnings)
	}
	notes := filepath.Join(home, "notes")
	if err := os.MkdirAll(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"The lantern is lit at dusk.", "Ships come in with the tide.", "Bread is baked at dawn."} {
		if err := os.WriteFile(filepath.Join(notes, fmt.Sprintf("%d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := h.OpenLibrary(context.Background(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, opened)
	var told []wire.LibraryEvent
	report := func(event wire.LibraryEvent) {
		if event.Type == wire.LibraryEmbedding {
			told = append(told, event)
		}
	}
	done, err := opened.Client.ChangeLibrary(context.Background(), wire.AddRequest{Paths: []string{notes}}, report)
	if err != nil || done.Added != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	if len(told) == 0 || !strings.Contains(told[len(told)-1].Reason, "no such model") || told[len(told)-1].Total != 3 {
		t.Errorf("told %+v", told)
	}
	if strings.Contains(fmt.Sprint(told), "sk-0123456789") {
		t.Error("the key is told")
	}
	told = nil
	if _, err := opened.Client.ChangeLibrary(context.Background(), wire.SyncRequest{Meaning: true}, report); err != nil {
		t.Fatal(err)
	}
	if last := told[len(told)-1]; last.Done != 3 || last.Total != 3 || last.Reason != "" {
		t.Errorf("told %+v", told)
	}
	before := len(model.Requests())
	if _, err := opened.Client.ChangeLibrary(context.Background(), wire.SyncRequest{Meaning: true}, report); err != nil {
		t.Fatal(err)
	}
	if len(model.Requests()) != before {
		t.Error("unchanged text was embedded again")
	}
	status, err := opened.Client.LibraryStatus(context.Background())
	if err != nil || status.Vectors != 3 || status.VectorModel != "nomic" {
		t.Errorf("status %+v, %v", status, err)
	}
	response, err := opened.Client.Search(context.Background(), wire.SearchRequest{Query: "lantern dusk", Explain: true})
	if err != nil || len(response.Results) != 3 {
		t.Fatalf("%d results, %v", len(response.Results), err)
	}
	first := response.Results[0]
	if !strings.Contains(first.Content, "lantern") || first.Ranks["lantern dusk"] != 1 ||
		first.Ranks["lantern dusk (vectors)"] != 1 {
		t.Errorf("first is %q with ranks %v", first.Content, first.Ranks)
	}
	for _, r := range model.Requests() {
		if r.Authorization != "Bearer sk-0123456789" || r.Model != "nomic" {
			t.Errorf("sent %+v", r)
		}
	}
}

// TestPassagesThatTheModelDoesNotTake: one text keeps no other from its vector, and is said; prefixes go before what is
// embedded, and another one for documents means all is embedded anew.
func TestPassagesThatTheModelDoesNotTake(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	give, refuse := llmtest.Vectors(llmtest.DefaultDimensions), llmtest.Status(http.StatusInternalServerError, "input is too large to process")
	model.OnVectors(func(w http.ResponseWriter, r *http.Request, asked llmtest.Request) {
		if strings.Contains(strings.Join(asked.Input, " "), "poison") {
			refuse(w, r, asked)
			return
		}
		give(w, r, asked)
	})
	home := t.TempDir()
	settings := fmt.Sprintf("embeddings: {base_url: %q, model: nomic, query_prefix: 'search_query: ', document_prefix: '%%s'}\n", model.BaseURL())
	configure(t, home, fmt.Sprintf(settings, "search_document: "))
	notes := filepath.Join(home, "notes")
	if err := os.MkdirAll(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"The lantern is lit at dusk.", "Ships come in.", "It is poison.", "Bread is baked at dawn."} {
		if err := os.WriteFile(filepath.Join(notes, fmt.Sprintf("%d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last wire.LibraryEvent
	sync := func(add ...string) (told bool, status *wire.LibraryStatus, found *wire.SearchResponse) {
		opened, err := newHost(t, home).OpenLibrary(context.Background(), "", true)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, opened)
		report := func(event wire.LibraryEvent) {
			if event.Type == wire.LibraryEmbedding {
				last, told = event, true
			}
		}
		if len(add) > 0 {
			if _, err = opened.Client.ChangeLibrary(context.Background(), wire.AddRequest{Paths: add}, report); err != nil {
				t.Fatal(err)
			}
		}
		// However slow the machine is: what adds and syncs makes vectors for some seconds only.
		if _, err = opened.Client.ChangeLibrary(context.Background(), wire.SyncRequest{Meaning: true}, report); err != nil {
			t.Fatal(err)
		}
		if status, err = opened.Client.LibraryStatus(context.Background()); err != nil {
			t.Fatal(err)
		}
		return told, status, search(t, opened, "lantern")
	}
	_, status, found := sync(notes)
	if last.Done != 3 || last.Total != 4 || last.Refused != 1 || !strings.Contains(last.Reason, "too large") {
		t.Errorf("told %+v", last)
	}
	if status.Vectors != 3 || status.VectorsRefused != 1 || !strings.Contains(status.VectorModel, "search_document: ") || len(found.Results) == 0 {
		t.Errorf("status %+v", status)
	}
	queries, documents := 0, 0
	for _, r := range model.Requests() {
		for _, text := range r.Input {
			switch {
			case strings.HasPrefix(text, "search_query: lantern"):
				queries++
			case strings.HasPrefix(text, "search_document: "):
				documents++
			default:
				t.Errorf("embedded %q", text)
			}
		}
	}
	if queries != 1 || documents < 4 {
		t.Errorf("%d queries, %d documents", queries, documents)
	}
	before := len(model.Requests())
	if told, _, _ := sync(); told || len(model.Requests()) != before+1 { // that of the search
		t.Errorf("nothing new: told %v, %d requests", last, len(model.Requests())-before)
	}
	configure(t, home, fmt.Sprintf(settings, "passage: "))
	if _, status, _ := sync(); status.Vectors != 3 || status.VectorsRefused != 1 || !strings.Contains(status.VectorModel, "passage: ") {
		t.Errorf("status %+v", status)
	}
}
