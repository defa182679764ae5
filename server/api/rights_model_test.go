package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/server/llm"
)

// ruleModel answers like a server of language models, without a network, and keeps what it was told. A text's vector
// follows from its words, so that what is near is the same in every run.
type ruleModel struct {
	mutex   sync.Mutex
	replies map[string]string // by purpose
	told    bytes.Buffer
}

// RoundTrip answers a call.
func (m *ruleModel) RoundTrip(r *http.Request) (*http.Response, error) {
	const dimensions = 16
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var asked llmtest.Request
	if err := json.Unmarshal(text, &asked); err != nil {
		return nil, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.told.Write(text)
	answer, reply := llmtest.Vectors(dimensions), "It is so [1][2][9]."
	if len(asked.Input) == 0 {
		for purpose, known := range m.replies {
			if askedFor(purpose)(asked) {
				reply = known
			}
		}
		answer = llmtest.Text(reply)
	}
	w := httptest.NewRecorder()
	answer(w, r, asked)
	return w.Result(), nil
}

// providers are the models as a server is given them; without a default there are vectors alone.
func (m *ruleModel) providers(w *ruleWorld, standard string) *llm.Providers {
	config := llm.Config{Default: standard, Embedding: llm.Embedding{BaseURL: "http://models.invalid/v1", Model: "near"},
		Transport: m}
	if standard != "" {
		config.Providers = map[string]llm.Provider{"scripted": {BaseURL: "http://models.invalid/v1", Models: []string{"small"}}}
	}
	models, err := llm.New(config)
	w.check(err)
	return models
}

// embed gives every passage of a tenant its vector.
func (w *ruleWorld) embed(r *rules) {
	w.check(w.near.EmbedAll(w.t.Context(), r.tenant, w.indexes[r.tenant], nil))
}

// nearby searches where nothing is too far: everything that the asker sees and the filters admit is found.
func (q *inquiry) nearby() {
	q.embed(q.rules)
	query := q.random(q.one(commonWords()...))
	all := query
	all.word = ""
	want := q.found(q.asker, all)
	answer := q.search(q.near, query, "")
	q.same("found near "+body(query, ""), documentsOf(answer), want)
	meant := q.meant(query)
	matching := q.found(q.asker, meant)
	q.same("matches near "+body(query, ""), strconv.Itoa(answer.TotalMatches), strconv.Itoa(len(matching)))
	q.same("facets near "+body(query, ""), counts(told(answer.Facets)), counts(q.counted(q.asker, meant)))
	for _, result := range answer.Results {
		matches := slices.Contains(matching, result.DocumentID)
		if result.Matches != matches || (result.FoundBy == wire.FoundByMeaning) == matches {
			q.errorf("%s near %s: matches %v, found by %q", result.DocumentID, body(query, ""), result.Matches, result.FoundBy)
		}
	}
	q.passages(answer, `(\d+) by vector`, want)
}

// passages holds the number of passages that a search says it found to the documents that the asker sees: retrieval itself
// finds no others. It is not known beforehand of documents of several passages.
func (q *inquiry) passages(answer wire.SearchResponse, told string, want []string) {
	q.t.Helper()
	for _, d := range q.documents {
		if d.parts > 0 && slices.Contains(want, d.id) {
			return
		}
	}
	detail := ""
	for _, stage := range answer.Stages {
		if stage.Name == "retrieve" {
			detail = stage.Detail
		}
	}
	if found := regexp.MustCompile(told).FindStringSubmatch(detail); found == nil || found[1] != strconv.Itoa(len(want)) {
		q.errorf("retrieval tells %q, of the %d documents %v", detail, len(want), want)
	}
}

// search asks a server on the asker's behalf. What they ask for themselves is no secret to them.
func (q *inquiry) search(server *Server, query ruleQuery, more string) wire.SearchResponse {
	q.t.Helper()
	q.handler = q.through(server)
	return answerOf[wire.SearchResponse](q, q.send(http.MethodPost, "/search", body(query, more), query.echoed()...))
}

// echoed are the secrets that a query itself names, and an answer to it may repeat.
func (q ruleQuery) echoed() []string {
	echoed := []string{q.word}
	for _, place := range slices.Concat(q.places, q.not.Places, []string{q.within}) {
		echoed = append(echoed, strings.Split(place, "/")...)
	}
	for _, t := range slices.Concat(q.tags, q.not.Tags) {
		echoed = append(echoed, t.Value)
	}
	return echoed
}

func documentsOf(answer wire.SearchResponse) []string {
	found := []string{}
	for _, result := range answer.Results {
		found = append(found, result.DocumentID)
		for _, other := range result.AlsoIn {
			found = append(found, other.DocumentID)
		}
		if result.Newer != nil {
			found = append(found, result.Newer.DocumentID)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// inspire lets the model answer something, useful or not, for the caller or against them; it returns a secret that it
// guessed.
func (q *inquiry) inspire() (guessed string) {
	guessed = q.word()
	if d := q.unseen(); d != nil {
		guessed = d.secret
	}
	replies := map[string]string{
		"rephrase": q.one("quokka", "what of ostrava", guessed), "keywords": q.one("mirabel\ntundra", guessed+"\nquokka", ""),
		"sources": q.one("[]", "[slack]", "[web, github]", "[confluence]"),
		"time":    q.one("updated (None, None)", "updated (2026-02-01, None)", "?"),
		"select":  q.one("[0, 1]", "[1!, 0!]", "[]", "[7, 2]"), "classify": q.one("0", "1", "2", "3"),
	}
	q.model.mutex.Lock()
	defer q.model.mutex.Unlock()
	q.model.replies = replies
	q.model.told.Reset()
	return guessed
}

// admitted are the documents that a search with a model can find: it may look for other words, and within less.
func (q *inquiry) admitted(query ruleQuery) []string {
	query.word = ""
	return q.found(q.asker, query)
}

// within finds documents that an answer may not name, or the model may not have been told of.
func (q *inquiry) within(what, text string, allowed []string, echoed ...string) {
	q.t.Helper()
	for _, found := range regexp.MustCompile(`"document_id": ?"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(allowed, found[1]) {
			q.errorf("%s names %s: %s", what, found[1], text)
		}
	}
	q.model.mutex.Lock()
	heard := q.model.told.String()
	q.model.mutex.Unlock()
	for _, secret := range slices.Concat(q.secrets(q.asker), q.others) {
		if !slices.Contains(echoed, secret) && strings.Contains(heard, secret) {
			q.errorf("%s: the model is told of %s", what, secret)
		}
	}
	visible := q.sources(q.asker, func(*ruleDocument) bool { return true })
	for _, offered := range regexp.MustCompile(`\\n- ([a-z_]+) \(`).FindAllStringSubmatch(heard, -1) {
		if !slices.Contains(visible, offered[1]) {
			q.errorf("%s: the model may choose %s, of %v", what, offered[1], visible)
		}
	}
}

// thinks searches with a model, whole or as a stream.
func (q *inquiry) thinks() {
	q.embed(q.rules)
	query := q.random(q.one(commonWords()...))
	echoed := append(query.echoed(), q.inspire())
	q.handler = q.through(q.thinking)
	asked := body(query, q.one("", "stream", "explain"))
	answer := q.send(http.MethodPost, "/search", asked, echoed...)
	if answer.Code != http.StatusOK {
		q.errorf("HTTP %d %s", answer.Code, answer.Body)
	}
	q.within("a search "+asked, answer.Body.String(), q.admitted(query), echoed...)
}

// ruleSession is a chat session, and whose it is.
type ruleSession struct {
	id, tenant, of string
	hidden         bool // in no list
	agent          bool // it was begun with one, which may be gone
}

// asks lets a model answer, and keeps the session for others to look for.
func (q *inquiry) asks() {
	q.embed(q.rules)
	q.handler = q.through(q.thinking)
	query := q.random(q.one(commonWords()...))
	request := map[string]any{"message": query.word, "stream": q.chance(50), "internal_search_filters": map[string]any{
		"source_type": query.sources, "document_set": query.sets, "tags": query.tags, "authors": query.authors, "exclude_filters": query.not,
		"document_types": query.kinds, "places": query.places, "updated_at_range": map[string]any{"start": momentOr(query.since), "end": momentOr(query.until)}}}
	session := ""
	for _, s := range q.sessions {
		if q.mayChat() && s.of == q.self() && s.tenant == q.tenant && query.agent == nil && !s.agent && q.chance(20) {
			session, request["chat_session_id"] = s.id, s.id
		}
	}
	admitted := q.admitted(query)
	if q.chance(30) && len(q.documents) > 0 { // over passages of the whole tenant, whoever may see them; filters do not count
		var refs []string
		for range 1 + q.rand.IntN(4) {
			refs = append(refs, q.documents[q.rand.IntN(len(q.documents))].id+q.one("", "#0", "#1"))
		}
		request["refs"], admitted = refs, q.admitted(ruleQuery{})
	}
	info := map[string]any{"incognito": q.chance(30)}
	if query.agent != nil {
		info["persona_id"] = query.agent.id
	}
	if session == "" {
		request["chat_session_info"] = info
	}
	asked := string(mustJSON(request))
	echoed := append(query.echoed(), q.inspire())
	answer := q.send(http.MethodPost, "/chat/send-chat-message", asked, echoed...)
	if !q.mayChat() {
		q.same("status", strconv.Itoa(answer.Code), "403")
		return
	}
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), "It ") {
		q.errorf("HTTP %d %s", answer.Code, answer.Body)
	}
	if session != "" { // what was seen before is told again
		return
	}
	q.within("an answer to "+asked, answer.Body.String(), admitted, echoed...)
	if id := regexp.MustCompile(`"chat_session_id": ?"([^"]*)"`).FindStringSubmatch(answer.Body.String()); id != nil {
		q.ruleWorld.sessions = append(q.ruleWorld.sessions, ruleSession{id[1], q.tenant, q.self(), info["incognito"] == true, query.agent != nil})
	}
}

// talks looks for sessions, the asker's own and those of others.
func (q *inquiry) talks() {
	q.handler = q.through(q.thinking)
	if !q.mayChat() {
		for _, target := range []string{"/chat/get-user-chat-sessions", "/chat/get-chat-session/" + uuid.NewString()} {
			q.same("status", strconv.Itoa(q.get(target).Code), "403")
		}
		return
	}
	mine, shown := map[string]bool{}, map[string]bool{}
	for _, s := range q.sessions {
		if s.of == q.self() && s.tenant == q.tenant {
			if mine[s.id] = true; !s.hidden {
				shown[s.id] = true
			}
		}
	}
	got := map[string]bool{}
	for _, s := range answerOf[wire.ChatSessions](q, q.ask(q.handler, q.token, "GET", "/chat/get-user-chat-sessions?page_size=100", "")).Sessions {
		got[s.ID] = true
	}
	q.same("sessions", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(shown)))
	looked := ruleSession{id: uuid.NewString()}
	if len(q.sessions) > 0 && q.chance(80) {
		looked = q.sessions[q.rand.IntN(len(q.sessions))]
	}
	want := `404{"detail":"Chat session not found"}`
	switch {
	case mine[looked.id]:
		want = "200"
	case looked.tenant == q.tenant:
		want = `403{"detail":"Access denied"}`
	}
	asks := []func() *httptest.ResponseRecorder{
		func() *httptest.ResponseRecorder {
			return q.ask(q.handler, q.token, "GET", "/chat/get-chat-session/"+looked.id, "")
		},
		func() *httptest.ResponseRecorder {
			return q.ask(q.handler, q.token, "PUT", "/chat/rename-chat-session", fmt.Sprintf(`{"chat_session_id":%q,"name":"x"}`, looked.id))
		},
		func() *httptest.ResponseRecorder {
			return q.ask(q.handler, q.token, "POST", "/chat/stop-chat-session/"+looked.id, "")
		},
		func() *httptest.ResponseRecorder {
			return q.ask(q.handler, q.token, "POST", "/chat/send-chat-message", fmt.Sprintf(`{"message":"x","stream":false,"chat_session_id":%q}`, looked.id))
		},
	}
	if want == "200" {
		asks = asks[:3] // its agent may be gone
	}
	for i, ask := range asks {
		answer := ask()
		got := strconv.Itoa(answer.Code)
		want := want
		if i == 2 && want != "200" && !strings.HasPrefix(want, "403{\"error_code") { // whose session it is shows nowhere
			want = `404{"error_code":"SESSION_NOT_FOUND","detail":"Chat session not found"}`
		}
		if want != "200" {
			got += strings.TrimSpace(answer.Body.String())
		}
		q.same("a session", got, want)
	}
}

// upload gives the server a file.
func (q *inquiry) upload(text string) *httptest.ResponseRecorder {
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("files", "notes.txt")
	q.check(err)
	_, err = io.WriteString(part, text)
	q.check(errors.Join(err, parts.Close()))
	r := httptest.NewRequestWithContext(q.t.Context(), http.MethodPost, "/user/projects/file/upload", &form)
	r.Host = "localhost"
	r.Header.Set("Content-Type", parts.FormDataContentType())
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	answer := httptest.NewRecorder()
	q.handler.ServeHTTP(answer, r)
	return answer
}

// keeps uploads files, and looks for those of others: by themselves, and as what a question is asked about.
func (q *inquiry) keeps() {
	q.handler = q.through(q.thinking)
	if !q.mayChat() {
		q.same("status", strconv.Itoa(q.upload("x").Code), "403")
		q.same("status", strconv.Itoa(q.get("/chat/file/"+uuid.NewString()).Code), "403")
		return
	}
	if q.chance(60) {
		made := answerOf[wire.UploadedFiles](q, q.upload("It is of "+q.self()))
		if len(made.UserFiles) != 1 {
			q.errorf("uploaded %+v", made)
			return
		}
		q.ruleWorld.files = append(q.ruleWorld.files, ruleSession{made.UserFiles[0].ID, q.tenant, q.self(), false, false})
	}
	looked := ruleSession{id: uuid.NewString()}
	if len(q.files) > 0 && q.chance(90) {
		looked = q.files[q.rand.IntN(len(q.files))]
	}
	read := q.get("/chat/file/" + looked.id)
	asked := q.send(http.MethodPost, "/chat/send-chat-message", fmt.Sprintf(
		`{"message":"x","stream":false,"chat_session_info":{"incognito":true},"file_descriptors":[{"id":%q,"type":"plain_text"}]}`, looked.id), q.inspire())
	if looked.of == q.self() && looked.tenant == q.tenant {
		q.same("a file", read.Body.String(), "It is of "+q.self())
		q.same("a question about it", strconv.Itoa(asked.Code), "200")
		return
	}
	q.same("a file of somebody else", strconv.Itoa(read.Code)+read.Body.String(), "404{\"detail\":\"File not found\"}\n")
	q.same("a question about it", strconv.Itoa(asked.Code)+strings.ReplaceAll(asked.Body.String(), looked.id, "ID"),
		`404{"error_code":"NOT_FOUND","detail":"File 'ID' not found"}`+"\n")
}
