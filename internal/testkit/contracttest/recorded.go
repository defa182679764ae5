package contracttest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"quarry/client/wire"
)

// RecordedToken is the only token that a Recorded server accepts.
const RecordedToken = "onyx_pat_recorded"

// Recorded is a server that answers with recorded bodies: those of the folder onyx, and with additions, where there is
// one, the body of the same route in the folder quarry. It checks requests as Onyx does.
func Recorded(bodies fs.FS, additions bool) http.Handler {
	r := &recorded{bodies: bodies, additions: additions, mux: http.NewServeMux()}
	r.open()
	r.listings()
	r.documents()
	r.handle("POST /search", r.search)
	r.chats()
	r.handle("POST /onyx-api/ingestion", func(w http.ResponseWriter, _ *http.Request) {
		r.write(w, http.StatusOK, fmt.Sprintf(`{"document_id":"hr-001","already_existed":%t}`, r.ingested.Swap(true)))
	})
	if additions {
		r.added()
	}
	return r.mux
}

type recorded struct {
	bodies    fs.FS
	additions bool
	mux       *http.ServeMux
	ingested  atomic.Bool
}

// handle adds a route that needs the token.
func (r *recorded) handle(pattern string, handler http.HandlerFunc) {
	r.mux.HandleFunc(pattern, func(w http.ResponseWriter, request *http.Request) {
		const want = "Bearer " + RecordedToken
		if request.Header.Get("X-Onyx-Authorization") != want || request.Header.Get("Authorization") != want {
			name := "error-403-token"
			if request.URL.Path == "/me" {
				name = "error-403-me"
			}
			r.send(w, http.StatusForbidden, name)
			return
		}
		handler(w, request)
	})
}

// fixed adds a route that always answers the same.
func (r *recorded) fixed(pattern, name string) {
	r.handle(pattern, func(w http.ResponseWriter, _ *http.Request) { r.send(w, http.StatusOK, name) })
}

func (r *recorded) body(name string) []byte {
	if r.additions {
		if body, err := fs.ReadFile(r.bodies, "quarry/"+name); err == nil {
			return body
		}
	}
	body, err := fs.ReadFile(r.bodies, "onyx/"+name)
	if err != nil {
		panic(err)
	}
	return body
}

func (r *recorded) send(w http.ResponseWriter, status int, name string) {
	r.write(w, status, string(r.body(name+".json")))
}

func (r *recorded) write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", wire.MediaTypeJSON)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func (r *recorded) stream(w http.ResponseWriter, lines ...string) {
	w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimSpace(line))
		_ = http.NewResponseController(w).Flush()
	}
}

// open adds the routes that need no token.
func (r *recorded) open() {
	for path, name := range map[string]string{"/version": "version", "/health": "health"} {
		r.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { r.send(w, http.StatusOK, name) })
	}
	r.mux.HandleFunc("GET /auth/type", func(w http.ResponseWriter, _ *http.Request) {
		r.write(w, http.StatusOK, `{"auth_type":"basic"}`)
	})
	r.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		r.write(w, http.StatusNotFound, `{"detail":"Not Found"}`)
	})
}

func (r *recorded) listings() {
	r.fixed("GET /me", "me")
	r.fixed("GET /manage/indexed-sources", "indexed-sources")
	r.fixed("GET /manage/connector-status", "connector-status")
	r.fixed("GET /manage/document-set", "document-set")
	r.fixed("GET /federated", "federated")
	r.fixed("GET /persona", "persona")
	r.handle("GET /persona/{id}", func(w http.ResponseWriter, request *http.Request) {
		if persona := r.persona(request.PathValue("id")); persona != nil {
			r.write(w, http.StatusOK, string(persona))
			return
		}
		r.send(w, http.StatusNotFound, "error-404-persona")
	})
	r.handle("GET /query/valid-tags", func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Get("allow_prefix") == "false" && !r.additions {
			r.write(w, http.StatusInternalServerError, `{"detail":""}`)
			return
		}
		r.send(w, http.StatusOK, "valid-tags")
	})
}

// persona gives one agent of the recorded list.
func (r *recorded) persona(id string) json.RawMessage {
	var list []json.RawMessage
	var named struct {
		ID int `json:"id"`
	}
	if err := json.Unmarshal(r.body("persona.json"), &list); err != nil {
		panic(err)
	}
	for _, persona := range list {
		if json.Unmarshal(persona, &named) == nil && strconv.Itoa(named.ID) == id {
			return persona
		}
	}
	return nil
}

func (r *recorded) documents() {
	size := func(w http.ResponseWriter, request *http.Request, then func(chunks int)) {
		if request.URL.Query().Get("document_id") != RecordedDocument {
			r.send(w, http.StatusNotFound, "error-404-document")
			return
		}
		var size wire.DocumentSize
		if err := json.Unmarshal(r.body("document-size-info.json"), &size); err != nil {
			panic(err)
		}
		then(size.NumChunks)
	}
	r.handle("GET /document/document-size-info", func(w http.ResponseWriter, request *http.Request) {
		size(w, request, func(int) { r.send(w, http.StatusOK, "document-size-info") })
	})
	r.handle("GET /document/chunk-info", func(w http.ResponseWriter, request *http.Request) {
		size(w, request, func(chunks int) {
			id, err := strconv.Atoi(request.URL.Query().Get("chunk_id"))
			switch {
			case err != nil || id < 0 || id >= chunks:
				r.write(w, http.StatusNotFound, `{"detail":"Chunk not found"}`)
			case r.additions:
				r.write(w, http.StatusOK, marshal(wire.ChunkInfo{Content: r.recordedChunks().Chunks[id].Content, NumTokens: 9}))
			default:
				r.send(w, http.StatusOK, "chunk-info")
			}
		})
	})
}

// RecordedDocument is the id of the one document of a Recorded server.
const RecordedDocument = "confluence:88123"

// added adds the routes of a quarry server.
func (r *recorded) added() {
	r.fixed("GET /search/suggest", "suggest")
	r.fixed("GET /search/facets", "facets")
	r.fixed("GET /library/status", "library-status")
	r.fixed("GET /user/pats", "tokens")
	r.fixed("POST /user/pats", "new-token")
	r.handle("DELETE /user/pats/{id}", func(w http.ResponseWriter, request *http.Request) {
		if request.PathValue("id") != "5" {
			r.write(w, http.StatusNotFound, `{"error_code":"NOT_FOUND","detail":"Token not found"}`)
			return
		}
		r.write(w, http.StatusOK, `{"message":"Token deleted successfully"}`)
	})
	r.handle("GET /document/chunks", r.chunks)
	r.handle("POST /library/add", func(w http.ResponseWriter, _ *http.Request) {
		r.stream(w, strings.Split(strings.TrimSpace(string(r.body("library-add.ndjson"))), "\n")...)
	})
	for path, removed := range map[string]int{"/library/sync": 0, "/library/remove": 2} {
		r.handle("POST "+path, func(w http.ResponseWriter, _ *http.Request) {
			r.stream(w, fmt.Sprintf(`{"type":"done","removed":%d}`, removed))
		})
	}
}

func (r *recorded) chunks(w http.ResponseWriter, request *http.Request) {
	if request.URL.Query().Get("document_id") != RecordedDocument {
		r.send(w, http.StatusNotFound, "error-404-document")
		return
	}
	document := r.recordedChunks()
	from, _ := strconv.Atoi(request.URL.Query().Get("from"))
	to, _ := strconv.Atoi(request.URL.Query().Get("to"))
	document.Chunks = slices.DeleteFunc(document.Chunks, func(chunk wire.Chunk) bool {
		return chunk.ChunkInd < from || chunk.ChunkInd > to
	})
	r.write(w, http.StatusOK, marshal(document))
}

func (r *recorded) recordedChunks() (document wire.DocumentChunks) {
	if err := json.Unmarshal(r.body("chunks.json"), &document); err != nil {
		panic(err)
	}
	return document
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (r *recorded) search(w http.ResponseWriter, request *http.Request) {
	var asked wire.SearchRequest
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		r.write(w, http.StatusUnprocessableEntity, `{"status_code":422,"message":"not JSON","data":null}`)
		return
	}
	if r.refuses(w, asked) {
		return
	}
	answer := r.answer(asked)
	if !r.additions || !asked.Stream {
		r.write(w, http.StatusOK, answer)
		return
	}
	r.stream(w, `{"type":"stage","name":"retrieve","state":"start"}`, `{"type":"provisional","response":`+answer+`}`,
		`{"type":"stage","name":"retrieve","state":"end","ms":1.5,"outcome":"ok"}`, `{"type":"final","response":`+answer+`}`)
}

// refuses answers a request that Onyx would not run.
func (r *recorded) refuses(w http.ResponseWriter, asked wire.SearchRequest) bool {
	length := utf8.RuneCountInString(asked.Query)
	switch {
	case length == 0 || length > wire.MaxQueryRunes || (asked.Model == nil) != (asked.Provider == nil):
		r.write(w, http.StatusUnprocessableEntity, `{"status_code":422,"message":"1 validation error","data":null}`)
	case slices.ContainsFunc(asked.Sources, func(s string) bool { _, ok := wire.LookupSource(s); return !ok }):
		r.send(w, http.StatusUnprocessableEntity, "error-422-source")
	case asked.PersonaID != nil && r.persona(strconv.Itoa(*asked.PersonaID)) == nil:
		r.send(w, http.StatusNotFound, "error-404-persona")
	case len(asked.DocumentSets) > 0 && asked.DocumentSets[0] != "Engineering handbook":
		r.send(w, http.StatusForbidden, "error-403-document-sets")
	default:
		return false
	}
	return true
}

// answer narrows the recorded answer to what the request asks for and its server would honour.
func (r *recorded) answer(asked wire.SearchRequest) string {
	var recordedAnswer map[string]json.RawMessage
	var results []json.RawMessage
	if err := json.Unmarshal(r.body("search.json"), &recordedAnswer); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(recordedAnswer["results"], &results); err != nil {
		panic(err)
	}
	kept := slices.DeleteFunc(results, func(raw json.RawMessage) bool {
		var result wire.SearchResult
		return json.Unmarshal(raw, &result) != nil ||
			len(asked.Sources) > 0 && !slices.Contains(asked.Sources, result.SourceType) ||
			r.additions && asked.TimeUntil != nil ||
			asked.Query == RecordedNoMatch
	})
	if r.additions && asked.NumResults != nil {
		kept = kept[:min(len(kept), *asked.NumResults)]
	}
	recordedAnswer["results"] = json.RawMessage(marshal(kept))
	return marshal(recordedAnswer)
}

// RecordedNoMatch is the query that finds nothing on a Recorded server.
const RecordedNoMatch = "zyxwv"
