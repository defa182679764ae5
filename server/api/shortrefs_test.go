package api

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// alike are ids whose hashes begin with the same 8 characters, the first two with the same 9.
var alike = []string{"doc-10895392", "doc-2654367", "doc-9952782", "doc-8688646", "doc-9612314", "doc-6545092"}

// readAs returns the status of reading a ref, and the id of the document.
func (w *world) readAs(handler http.Handler, who, ref string) (status int, id, answer string) {
	w.t.Helper()
	got := w.call(handler, who, "GET", "/document/chunks?document_id="+url.QueryEscape(ref), "")
	var chunks wire.DocumentChunks
	_ = json.Unmarshal(got.Body.Bytes(), &chunks)
	return got.Code, chunks.Document.ID, got.Body.String()
}

// TestShortRefsAreTheSameForAll: the hash is that of the public id, so that the owner and others get one ref, which says
// nothing of this machine and is read back by all of them, wherever a document is named.
func TestShortRefsAreTheSameForAll(t *testing.T) {
	m := newMachine(t)
	listener := m.server.Gate(PublicOptions{}).Listener(true)
	found := map[string]string{}
	for who, handler := range map[string]http.Handler{"": m.owner, "jo": listener} {
		response := decoded[wire.SearchResponse](m.world, m.call(handler, who, "POST", "/search", `{"query":"smiles","num_results":9}`))
		for _, r := range response.Results {
			public := strings.Replace(r.DocumentID, "file:"+m.folder, "zoo", 1)
			if !strings.HasPrefix(public, "zoo") {
				continue
			}
			hash := wire.HashID(public)[:wire.ShortestID]
			if want := fmt.Sprintf("%s#%d", hash, r.ChunkInd); r.ShortRef != want {
				t.Errorf("%q: %s has the short ref %q instead of %q", who, r.DocumentID, r.ShortRef, want)
			}
			found[hash] = public
		}
	}
	if len(found) != 1 && len(found) != 3 {
		t.Fatalf("found %v", found)
	}
	for hash, public := range found {
		stored := "file:" + m.folder + strings.TrimPrefix(public, "zoo")
		for _, form := range []string{hash, strings.ToUpper(hash), wire.HashID(public), wire.HashID(public)[:11]} {
			if status, id, answer := m.readAs(m.owner, "", form); id != stored {
				t.Errorf("the owner reads %s: HTTP %d %s", form, status, answer)
			}
			if status, id, answer := m.readAs(listener, "jo", form); id != public {
				t.Errorf("Jo reads %s: HTTP %d %s", form, status, answer)
			}
		}
		for _, form := range []string{hash[:7], hash + "zzz", wire.HashID(public) + "a", "zzzzzzzz", hash[:7] + "1", wire.HashID(stored)} {
			if status, _, answer := m.readAs(listener, "jo", form); status != http.StatusNotFound {
				t.Errorf("%s: HTTP %d %s", form, status, answer)
			}
		}
		for _, request := range []struct{ target, body string }{
			{"/search", `{"query":"","similar_to":"` + hash + `#0"}`},
			{"/chat/send-chat-message", `{"message":"quokka","refs":["` + hash + `#0"],"stream":false}`},
		} {
			if got := m.call(listener, "jo", "POST", request.target, request.body); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"zoo/`) {
				t.Errorf("%s %s: HTTP %d %s", request.target, request.body, got.Code, got.Body)
			}
		}
		for _, path := range []string{"/document/document-size-info?document_id=", "/document/chunk-info?chunk_id=0&document_id="} {
			if got := m.call(listener, "jo", "GET", path+hash, ""); got.Code != http.StatusOK {
				t.Errorf("%s%s: HTTP %d %s", path, hash, got.Code, got.Body)
			}
		}
	}
}

// TestShortRefsTellWhatTheCallerSees gives documents whose hashes begin alike to people at random. What somebody does
// not see neither makes a short ref longer nor ambiguous, and is not found by its own.
func TestShortRefsTellWhatTheCallerSees(t *testing.T) {
	w := newWorld(t)
	handlers := map[string]http.Handler{"": w.server.Handler(directory.Owner(directory.DefaultTenant))}
	for _, who := range []string{"jo", "kim", "owner"} {
		handlers[who] = w.server.Gate(PublicOptions{}).Listener(true)
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 12 {
		seen := map[string][]string{}
		var batch index.Batch
		for _, id := range alike {
			access, kind := []string{}, random.IntN(5)
			for i, who := range []string{"jo", "kim"} {
				if kind&(1<<i) != 0 {
					access, seen[who] = append(access, "user_email:"+who+"@acme.example"), append(seen[who], id)
				}
			}
			if kind == 4 {
				batch.Delete = append(batch.Delete, id)
				continue
			}
			seen[""] = append(seen[""], id)
			d := document(id, "Alike "+id, "web", "", "Walruses are alike.", "a", "b", "")
			d.Access, d.Chunks[1].Text = access, "The end of "+id
			batch.Upsert = append(batch.Upsert, d)
		}
		_, err := writePosted(t.Context(), w.documents, batch)
		w.check(err)
		for who, handler := range handlers {
			response := decoded[wire.SearchResponse](w, w.call(handler, who, "POST", "/search", `{"query":"walruses","num_results":20}`))
			short := map[string]string{}
			for _, r := range response.Results {
				short[r.DocumentID], _, _ = wire.SplitRef(r.ShortRef)
				for _, c := range r.AlsoIn {
					short[c.DocumentID] = ""
				}
			}
			for _, id := range alike {
				w.checkShort(who, handler, id, seen[who], short)
			}
		}
	}
}

// checkShort checks the short ref of one document among those that somebody sees, by all its beginnings.
func (w *world) checkShort(who string, handler http.Handler, id string, seen []string, short map[string]string) {
	w.t.Helper()
	hash, length := wire.HashID(id), wire.ShortestID
	fitting := func(beginning string) (ids []string) {
		for _, other := range seen {
			if strings.HasPrefix(wire.HashID(other), beginning) {
				ids = append(ids, other)
			}
		}
		return ids
	}
	for isSeen := slices.Contains(seen, id); isSeen && len(fitting(hash[:length])) > 1; {
		length++
	}
	if printed, ok := short[id]; ok != slices.Contains(seen, id) || printed != "" && printed != hash[:length] {
		w.t.Errorf("%q sees %v: the short ref of %s is %q, not %q", who, seen, id, printed, hash[:length])
	}
	for n := wire.ShortestID; n <= len(hash); n++ {
		status, read, answer := w.readAs(handler, who, hash[:n])
		switch fit := fitting(hash[:n]); len(fit) {
		case 0:
			if status != http.StatusNotFound || strings.Contains(answer, "doc-") {
				w.t.Errorf("%q sees %v, and reads %s: HTTP %d %s", who, seen, hash[:n], status, answer)
			}
		case 1:
			if read != fit[0] {
				w.t.Errorf("%q sees %v, and reads %s: HTTP %d %s", who, seen, hash[:n], status, answer)
			}
		default:
			for _, other := range alike {
				if strings.Contains(answer, other) != slices.Contains(fit, other) || status != http.StatusBadRequest {
					w.t.Errorf("%q sees %v, and reads %s: HTTP %d %s", who, seen, hash[:n], status, answer)
				}
			}
		}
	}
}

// TestShortRefsOfOlderLibraries: without stored hashes results have long refs alone; once they are completed, short ones.
// An id that looks like a short ref is an id.
func TestShortRefsOfOlderLibraries(t *testing.T) {
	w := newWorld(t)
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	hash := wire.HashID("old")[:wire.ShortestID]
	for _, id := range []string{"old", hash} {
		_, err := w.documents.Write(t.Context(), index.Batch{Upsert: []index.Document{
			document(id, "An Ibex "+id, "web", "PUBLIC", "The ibex named "+id, "a", "b", "")}})
		w.check(err)
	}
	search := func() (ref string) {
		for _, r := range decoded[wire.SearchResponse](w, w.call(owner, "", "POST", "/search", `{"query":"ibex"}`)).Results {
			if r.DocumentID == "old" {
				ref = r.ShortRef
			}
		}
		return ref
	}
	if ref := search(); ref != "" {
		t.Errorf("a short ref without a hash: %q", ref)
	}
	w.check(ingest.CompleteHashes(t.Context(), w.documents))
	if ref := search(); ref != hash+"#0" {
		t.Errorf("the short ref is %q", ref)
	}
	if _, id, _ := w.readAs(owner, "", hash); id != hash {
		t.Errorf("%s reads %s", hash, id)
	}
	if _, id, _ := w.readAs(owner, "", wire.HashID("old")[:10]); id != "old" {
		t.Errorf("%s reads %s", wire.HashID("old")[:10], id)
	}
}

// TestPostedIDsTakeNoOthers: no document can be posted under what reads as another document. One that was there before the
// file of that name takes nothing from the file, and leaves nothing behind.
func TestPostedIDsTakeNoOthers(t *testing.T) {
	m := newMachine(t)
	listener := m.server.Gate(PublicOptions{}).Listener(true)
	post := func(id string) (status int, answer string) {
		t.Helper()
		got := m.call(listener, "owner", "POST", "/onyx-api/ingestion", `{"document":{"id":"`+id+`","source":"web",`+
			`"semantic_identifier":"Another","sections":[{"text":"An imposter of the quokka that smiles."}],"metadata":{}}}`)
		return got.Code, got.Body.String()
	}
	const public = "zoo/animals/quokka.md"
	short := wire.HashID(public)[:wire.ShortestID]
	for _, id := range []string{
		"file:" + m.folder + "/animals/quokka.md", public, public + "#1", short, strings.ToUpper(short) + "#7", wire.HashID(public),
	} {
		if status, answer := post(id); status != http.StatusConflict {
			t.Errorf("%s: HTTP %d %s", id, status, answer)
		}
	}
	for _, id := range []string{"zoo/animals/emu.md", "zoo", "emu", "emu#1", "abcdefgh", "abcdefgh", wire.HashID("emu")[:7]} {
		if status, answer := post(id); status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", id, status, answer)
		}
	}
	refOf := func(who, id string) string {
		for _, r := range decoded[wire.SearchResponse](m.world, m.call(listener, who, "POST", "/search", `{"query":"quokka","num_results":50}`)).Results {
			if r.DocumentID == id && r.Title != "An imposter" {
				return r.ShortRef
			}
		}
		t.Fatalf("%s does not find %s", who, id)
		return ""
	}
	imposter := document(public, "An imposter", "web", "user_email:kim@acme.example", "An imposter of the quokka.", "a", "b", "")
	_, err := writePosted(t.Context(), m.documents, index.Batch{Upsert: []index.Document{imposter}})
	m.check(err)
	if ref := refOf("jo", public); ref != short+"#0" {
		t.Errorf("beside a document that Jo does not see, the short ref is %q", ref)
	}
	if ref := refOf("kim", public); ref != "" {
		t.Errorf("beside a document of the same id, the short ref is %q", ref)
	}
	_, err = writePosted(t.Context(), m.documents, index.Batch{Delete: []string{public}})
	m.check(err)
	for _, who := range []string{"jo", "kim"} {
		if ref := refOf(who, public); ref != short+"#0" {
			t.Errorf("without it, the short ref is %q for %s", ref, who)
		}
	}
}
