package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/server/directory"
	"quarry/server/index"
)

// machine is a library with files of a folder whose name stands nowhere else.
type machine struct {
	*world
	folder string
	owner  http.Handler
}

func newMachine(t *testing.T) *machine {
	w := newWorld(t)
	withChat(w, nil, llmtest.Text("The quokka smiles [1], the wombat digs [2]."))
	m := &machine{w, filepath.Join(t.TempDir(), "jos-own-machine", "zoo"), w.server.Handler(directory.Owner(directory.DefaultTenant))}
	for name, text := range map[string]string{
		"animals/quokka.md": "# Quokkas\n\nIntroduction.\n\n## Smiles\n\nThe quokka smiles at deploys. See [wombats](wombat.md).\n",
		"animals/wombat.md": "# Wombats\n\nA quokka is no wombat, which digs deploys.\n",
		"copy/quokka.md":    "# Quokkas\n\nIntroduction.\n\n## Smiles\n\nThe quokka smiles at deploys. See [wombats](wombat.md).\n",
		"mail.mbox": "From ana@acme.example Fri Mar  1 08:00:00 2024\nFrom: ana@acme.example\nMessage-ID: <1@acme.example>\n" +
			"Subject: A quokka by mail\nDate: Fri, 1 Mar 2024 08:00:00 +0000\n\nThe quokka deploys.\n",
	} {
		file := filepath.Join(m.folder, name)
		w.check(os.MkdirAll(filepath.Dir(file), 0o700))
		w.check(os.WriteFile(file, []byte(text), 0o600))
	}
	w.events("/library/add", wire.AddRequest{Paths: []string{m.folder}, Set: "Animals"})
	return m
}

// stored lists the ids of the documents of the folder as they are stored.
func (m *machine) stored() []string {
	found := decoded[wire.SearchResponse](m.world, m.call(m.owner, "", "POST", "/search", `{"query":"quokka","num_results":50}`))
	var ids []string
	for _, id := range found.CitationMapping {
		if strings.Contains(id, "jos-own-machine") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestNothingOfThisMachineIsSent sends over a listener every request of the conformance tests, and to the routes that
// name documents more of them, as an administrator and as a user: no answer has the folder that was added.
func TestNothingOfThisMachineIsSent(t *testing.T) {
	m := newMachine(t)
	ids := m.stored()
	if len(ids) != 3 {
		t.Fatalf("the owner sees %q", ids)
	}
	handler := m.server.Gate(PublicOptions{}).Listener(true)
	sent := map[string]bool{}
	send := func(who, method, target, body string) string {
		t.Helper()
		answer := m.call(handler, who, method, target, body)
		for _, text := range append(slices.Concat(slices.Collect(maps.Values(answer.Header()))...), answer.Body.String()) {
			if strings.Contains(text, "jos-own-machine") {
				t.Errorf("%s %s %s: HTTP %d %s", method, target, body, answer.Code, text)
			}
		}
		path, _, _ := strings.Cut(target, "?")
		sent[method+" "+path] = true
		return answer.Body.String()
	}
	public := []string{}
	for _, who := range []string{"owner", "jo"} {
		for _, body := range []string{
			`{"query":"quokka","num_results":50}`, `{"query":"quokka deploys","stream":true,"explain":true}`,
			`{"query":"","browse":true,"num_results":50}`, `{"query":"quokka","offset":0,"skip_document_selection":true}`,
			`{"query":"","similar_to":"zoo/animals/quokka.md#0"}`, `{"query":"","similar_to":` + string(mustJSON(ids[0]+"#0")) + `}`,
		} {
			answer := send(who, "POST", "/search", body)
			if !strings.Contains(answer, `"zoo/`) {
				t.Errorf("%s: %s", body, answer)
			}
			var found wire.SearchResponse
			if json.Unmarshal([]byte(answer), &found) == nil {
				for _, result := range found.Results {
					public = append(public, result.Ref, result.Citation, result.DocumentID)
				}
			}
		}
		for _, body := range []string{`{"message":"quokka"}`, `{"message":"quokka","stream":false}`,
			`{"message":"quokka","refs":["zoo/animals/quokka.md#0"],"stream":false}`} {
			if answer := send(who, "POST", "/chat/send-chat-message", body); !strings.Contains(answer, `"zoo/animals/quokka.md"`) {
				t.Errorf("%s: %s", body, answer)
			}
		}
		sessions := send(who, "GET", "/chat/get-user-chat-sessions", "")
		var list wire.ChatSessions
		m.check(json.Unmarshal([]byte(sessions), &list))
		for _, session := range list.Sessions {
			send(who, "GET", "/chat/get-chat-session/"+session.ID, "")
			send(who, "GET", "/chat/chat-session/"+session.ID+"/resume-stream", "")
			send(who, "PATCH", "/chat/chat-session/"+session.ID, `{"sharing_status":"private"}`)
		}
		send(who, "GET", "/search/facets?types=md", "")
		if answer := send(who, "GET", "/search/suggest?prefix=quok", ""); !strings.Contains(answer, `"zoo/animals/quokka.md"`) {
			t.Errorf("suggested %s", answer)
		}
	}
	agent := send("owner", "POST", "/persona", `{"name":"Zoo","description":"d","document_ids":["zoo/animals/quokka.md"],"is_public":true,
		"document_set_ids":[],"num_chunks":1,"llm_relevance_filter":false,"llm_filter_extraction":false,"recency_bias":"auto","tool_ids":[]}`)
	if !strings.Contains(agent, `"zoo/animals/quokka.md"`) {
		t.Errorf("the agent %s", agent)
	}
	slices.Sort(public)
	for _, ref := range slices.Compact(append(public, ids...)) {
		for _, path := range []string{"/document/chunks", "/document/document-size-info", "/document/chunk-info?chunk_id=0"} {
			separator := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
			send("jo", "GET", path+separator+"document_id="+url.QueryEscape(ref), "")
		}
		send("owner", "DELETE", "/onyx-api/ingestion/"+url.PathEscape(ref), "")
	}
	for _, story := range readStories(t) {
		if !story.Server.InProcess {
			for _, e := range story.Cases {
				if strings.Contains(e.Send, "{") && !strings.Contains(e.Send, "{folder}") || !strings.Contains(e.Send, " /") {
					continue // what an earlier answer names
				}
				method, target, _ := strings.Cut(strings.ReplaceAll(e.Send, "{folder}", m.folder), " ")
				send("owner", method, target, string(e.Body))
			}
		}
	}
	send("owner", "DELETE", "/manage/admin/document-set/1", "")
	send("owner", "POST", "/manage/admin/user-group/1/add-users", `{"user_ids":[]}`)
	for _, route := range routes() {
		method, pattern, _ := strings.Cut(route.pattern, " ")
		if !slices.ContainsFunc(slices.Collect(maps.Keys(sent)), func(sent string) bool {
			mux := http.NewServeMux()
			mux.HandleFunc(route.pattern, func(http.ResponseWriter, *http.Request) {})
			_, path, _ := strings.Cut(sent, " ")
			request, err := http.NewRequest(method, path, nil)
			if err != nil || !strings.HasPrefix(sent, method+" ") {
				return false
			}
			_, matched := mux.Handler(request)
			return matched != ""
		}) {
			t.Errorf("no request to %s %s", method, pattern)
		}
	}
}

// TestIDsComeBackFromOthers reads, over a listener, what a listener sent, and by the stored ids that older answers had.
func TestIDsComeBackFromOthers(t *testing.T) {
	m := newMachine(t)
	handler := m.server.Gate(PublicOptions{}).Listener(true)
	read := func(named string) (int, wire.DocumentChunks) {
		answer := m.call(handler, "jo", "GET", "/document/chunks?document_id="+url.QueryEscape(named), "")
		var chunks wire.DocumentChunks
		_ = json.Unmarshal(answer.Body.Bytes(), &chunks)
		return answer.Code, chunks
	}
	for named, passage := range map[string]int{
		"zoo/animals/quokka.md": -1, "file:" + filepath.ToSlash(m.folder) + "/animals/quokka.md": -1,
		"zoo/animals/quokka.md:1": 0, "zoo/animals/quokka.md:7": 0,
	} {
		code, chunks := read(named)
		if code != http.StatusOK || chunks.Document.ID != "zoo/animals/quokka.md" || (passage < 0) != (chunks.Passage == nil) ||
			chunks.Passage != nil && *chunks.Passage != passage {
			t.Errorf("%s: HTTP %d %+v", named, code, chunks)
		}
	}
	for _, named := range []string{"mid:1@acme.example", "<1@acme.example>", "1@acme.example", "mid:1%40acme.example"} {
		if code, chunks := read(named); code != http.StatusOK || chunks.Document.ID != "zoo/mail.mbox!1@acme.example" || chunks.Passage == nil {
			t.Errorf("%s: HTTP %d %+v", named, code, chunks)
		}
	}
	beyond := m.call(handler, "jo", "GET", "/document/chunks?document_id=zoo/animals/quokka.md:70", "")
	if !strings.Contains(beyond.Body.String(), "has no line 70: it ends at line ") {
		t.Errorf("a line that does not exist: %s", beyond.Body)
	}
	for _, named := range []string{"mid:2@acme.example", "mid:", "ana@acme.example", "zoo/animals/quokka.md:70", "zoo/animals/quokka.md:0", "zoo/animals/quokka.md:-1", "zoo/nothing.md",
		"zoo/animals/../animals/quokka.md", "zoo", "zoo/", "zoo:1", "ZOO/animals/quokka.md", "zoo/animals/quokka.md#page=1"} {
		if code, _ := read(named); code != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", named, code)
		}
	}
}

// TestHiddenFilesAreLikeAbsentOnes: no name of a hidden document answers otherwise than one of nothing.
func TestHiddenFilesAreLikeAbsentOnes(t *testing.T) {
	m := newMachine(t)
	var patches []index.AccessPatch
	for _, id := range m.stored() {
		patches = append(patches, index.AccessPatch{ID: id, Access: []string{"user_email:kim@acme.example"}})
	}
	_, err := m.documents.UpdateAccess(t.Context(), patches)
	m.check(err)
	handler := m.server.Gate(PublicOptions{}).Listener(true)
	for _, form := range []string{"zoo/animals/%s.md", "zoo/animals/%s.md:1", "zoo/animals/%s.md:99", "zoo/animals/%s.md#0",
		"file:" + filepath.ToSlash(m.folder) + "/animals/%s.md", "file:" + filepath.ToSlash(m.folder) + "/animals/%s.md:1"} {
		for _, path := range []string{"/document/chunks?document_id=", "/document/document-size-info?document_id="} {
			answers := map[string]*httptest.ResponseRecorder{}
			for _, name := range []string{"wombat", "absent"} {
				answers[name] = m.call(handler, "jo", "GET", path+url.QueryEscape(fmt.Sprintf(form, name)), "")
			}
			if a, b := answers["wombat"], answers["absent"]; a.Code != b.Code || a.Body.String() != b.Body.String() || a.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s, absent %d %s", form, a.Code, a.Body, b.Code, b.Body)
			}
		}
	}
	if answer := m.call(handler, "jo", "GET", "/document/chunks?document_id=mid:1@acme.example", ""); answer.Code != http.StatusNotFound {
		t.Errorf("a hidden message: %d %s", answer.Code, answer.Body)
	}
}
