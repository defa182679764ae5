package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/ui/state"
)

// answering is a server that finds two passages of one's own and answers at once; with refs it answers from passages.
func answeringOver(t *testing.T, features ...string) (*script, chan wire.ChatRequest) {
	t.Helper()
	asked := make(chan wire.ChatRequest, 10)
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		var results []map[string]any
		for i := range 2 {
			result := sixFields(i+1, fmt.Sprintf("%s %d", request.Query, i+1), "The rule of "+request.Query)
			id := fmt.Sprintf("%s-%d", request.Query, i+1)
			result["document_id"], result["ref"], result["chunk_ind"] = id, id+"#3", 3
			result["chunk_start"], result["chunk_end"], result["selected"] = 2, 4, true
			results = append(results, result)
		}
		answer200(w, map[string]any{"results": results})
	}}
	server.routes = map[string]http.HandlerFunc{
		"GET /version": func(w http.ResponseWriter, _ *http.Request) {
			answer200(w, map[string]any{"backend_version": "x", "quarry": map[string]any{"version": "1", "api": 1, "features": features}})
		},
		"POST /chat/send-chat-message": func(w http.ResponseWriter, r *http.Request) {
			var request wire.ChatRequest
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			asked <- request
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintln(w, `{"chat_session_id":"11111111-2222-3333-4444-555555555555","incognito":false}`)
			fmt.Fprintln(w, packet(`{"type":"message_delta","content":"It is so."}`))
			fmt.Fprintln(w, packet(`{"type":"stop","stop_reason":null}`))
		},
	}
	return server, asked
}

func TestMarkedPassagesAreAskedOver(t *testing.T) {
	t.Parallel()
	server, asked := answeringOver(t, wire.FeatureRefs)
	screen := collect(t, Options{Target: server.remote(t)}) // one of the search for taxi, one of hotel
	screen.WaitText("a ask marked")
	screen.Press("a")
	got := <-asked
	if want := []string{"hotel-2#3", "hotel-2#2", "hotel-2#4"}; !slices.Equal(got.Refs, want) || got.Message != "hotel" || got.Filters != nil {
		t.Errorf("asked %+v", got)
	}
	screen.WaitText("filters: only the 1 marked passage")
	answered(screen, "It is so.")
	screen.Type("and taxis?")
	screen.Press("enter")
	if got = <-asked; !slices.Equal(got.Refs, []string{"hotel-2#3", "hotel-2#2", "hotel-2#4"}) || got.Message != "and taxis?" || got.ChatSessionID == "" {
		t.Errorf("asked further %+v", got)
	}
	screen.Wait("the second answer", func(frame string) bool {
		return strings.Count(frame, "It is so.") == 2 && !strings.Contains(frame, "writing")
	})
	screen.WaitText("› hotel") // the list stays
	screen.Press("esc")
	screen.WaitGone("Answer")
	screen.Press("m")
	screen.WaitText("a ask")
	screen.Press("a")
	screen.WaitText("Ask over 2 marked passages")
	screen.WaitText("↵ ask")
	screen.Press("ctrl+u")
	screen.Type("which is dearer?")
	screen.Press("enter")
	if got = <-asked; !slices.Equal(got.Refs, []string{"taxi-1#3", "hotel-2#3", "taxi-1#2", "taxi-1#4", "hotel-2#2", "hotel-2#4"}) ||
		got.Message != "which is dearer?" || got.ChatSessionID != "" {
		t.Errorf("asked over the collection %+v", got)
	}
	screen.WaitText("filters: only the 2 marked passages")
}

// A server that ignores the passages is asked as usual, which the answer says; the collection says why it cannot be asked.
func TestServersThatCannotAskOverPassages(t *testing.T) {
	t.Parallel()
	server, asked := answeringOver(t)
	screen := collect(t, Options{Target: server.remote(t)})
	screen.Press("a")
	if got := <-asked; len(got.Refs) > 0 {
		t.Errorf("asked %+v", got)
	}
	screen.WaitText("! this server cannot ask over marked passages; it")
	answered(screen, "It is so.")
	screen.Press("esc")
	screen.WaitGone("Answer")
	screen.Press("m")
	screen.WaitText("Collection")
	screen.Press("a")
	screen.WaitText("this server cannot ask over marked passages")
	if strings.Contains(screen.Text(), "Ask over") {
		t.Errorf("it asks:\n%s", screen.Text())
	}
}

func TestPassagesThatCannotBeAskedOver(t *testing.T) {
	t.Parallel()
	many := make([]state.Passage, wire.MaxChatRefs+1)
	for i := range many {
		many[i] = state.Passage{SearchResult: wire.SearchResult{DocumentID: "d", Ref: fmt.Sprint("d#", i)}}
	}
	m := &Model{target: Target{Beside: []string{"acme"}}}
	m.conn.welcome.refs = true
	for want, passages := range map[string][]state.Passage{
		"": many[:wire.MaxChatRefs], "at most 20": many, "“Theirs”": {{SearchResult: wire.SearchResult{DocumentID: "d", Origin: "acme", Title: "Theirs"}}},
		"“Linked”": {many[0], {SearchResult: wire.SearchResult{Ref: "https://acme.com", Title: "Linked"}}},
	} {
		if got := m.cannotAskOver(passages); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// A question takes the best part of every passage, and of the others as many as there is room for.
func TestPartsOfPassages(t *testing.T) {
	t.Parallel()
	long := state.Passage{SearchResult: wire.SearchResult{DocumentID: "d", Ref: "d#7", ChunkStart: 0, ChunkEnd: 1 << 30}}
	other := state.Passage{SearchResult: wire.SearchResult{DocumentID: "e#1", Ref: "e#1#0"}}
	refs, whole := chatRefs([]state.Passage{long, other})
	if whole || len(refs) != wire.MaxChatRefs || refs[0] != "d#7" || refs[1] != "e#1#0" || refs[2] != "d#0" {
		t.Errorf("%q, whole %t", refs, whole)
	}
	if refs, whole = chatRefs([]state.Passage{other}); !whole || !slices.Equal(refs, []string{"e#1#0"}) {
		t.Errorf("%q, whole %t", refs, whole)
	}
}
