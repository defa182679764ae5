package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
)

// TestRights arranges worlds of people, groups, connectors, sets, agents and documents at random, changes them, and
// holds every answer to the rules. QUARRY_SLOW=1 asks for all worlds; QUARRY_WORLD=n for one.
func TestRights(t *testing.T) {
	const questions = 100
	worlds := uint64(100)
	first := uint64(0)
	if raceEnabled {
		worlds = 10
	}
	if os.Getenv("QUARRY_SLOW") != "" {
		worlds = 1000
	}
	if n, err := strconv.ParseUint(os.Getenv("QUARRY_WORLD"), 10, 64); err == nil {
		first, worlds = n, n+1
	}
	for number := first; number < worlds; number++ {
		t.Run(strconv.FormatUint(number, 10), func(t *testing.T) {
			t.Parallel()
			tenants := []string{directory.DefaultTenant}
			if number%2 == 1 {
				tenants = append(tenants, "acme")
			}
			w := newRuleWorld(t, number, tenants...)
			defer w.close()
			for i := range questions {
				r := w.tenants[w.rand.IntN(len(w.tenants))]
				if w.chance(15) {
					w.change(r)
				}
				w.question(r, i)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// inquiry is one question by one asker.
type inquiry struct {
	*ruleWorld
	*rules
	asker
	handler http.Handler
	token   string
	others  []string // secrets of other tenants
}

// question asks something on somebody's behalf.
func (w *ruleWorld) question(r *rules, number int) {
	q := inquiry{ruleWorld: w, rules: r, handler: w.public}
	switch who := w.rand.IntN(12); who {
	case 0:
		q.asker, q.handler = asker{all: true}, w.server.Handler(directory.Owner(r.tenant))
	case 1:
		q.handler = w.server.Handler(directory.Anonymous(r.tenant))
	default:
		q.user = r.users[w.rand.IntN(len(r.users))]
		if q.token = q.user.full; w.chance(50) {
			q.token, q.scoped = q.user.scoped, true
		}
	}
	for _, other := range w.tenants {
		if other != r {
			q.others = append(q.others, other.secrets(asker{})...)
		}
	}
	asked := []func(*inquiry){(*inquiry).searches, (*inquiry).searches, (*inquiry).searches, (*inquiry).facets, (*inquiry).hiddenWord,
		(*inquiry).unseenSet, (*inquiry).unseenAgent, (*inquiry).reads, (*inquiry).lists, (*inquiry).agents, (*inquiry).tags,
		(*inquiry).completes, (*inquiry).streams, (*inquiry).administers}
	kind := w.rand.IntN(len(asked))
	w.step = fmt.Sprintf("question %d, kind %d, by %s of %s", number, kind, q.name(), r.tenant)
	if q.user != nil && !q.user.active {
		if answer := q.get("/me"); answer.Code != http.StatusForbidden {
			w.t.Errorf("%s: somebody who was shut out gets HTTP %d", w.step, answer.Code)
		}
		return
	}
	asked[kind](&q)
}

func (q *inquiry) name() string {
	switch {
	case q.all:
		return "the owner in process"
	case q.user == nil:
		return "nobody"
	}
	return q.user.email
}

func (q *inquiry) errorf(format string, args ...any) {
	q.t.Helper()
	q.t.Errorf("%s: %s", q.step, fmt.Sprintf(format, args...))
}

// send asks, and looks through the whole answer for what may not be in it.
func (q *inquiry) send(method, target, body string, echoed ...string) *httptest.ResponseRecorder {
	q.t.Helper()
	answer := q.ask(q.handler, q.token, method, target, body)
	text := answer.Body.String()
	for _, secret := range slices.Concat(q.secrets(q.asker), q.others) {
		if !slices.Contains(echoed, secret) && strings.Contains(text, secret) {
			q.errorf("%s %s %s tells of %s: %s", method, target, body, secret, text)
		}
	}
	return answer
}

func (q *inquiry) get(target string) *httptest.ResponseRecorder {
	q.t.Helper()
	return q.send(http.MethodGet, target, "")
}

func answerOf[T any](q *inquiry, answer *httptest.ResponseRecorder) (value T) {
	q.t.Helper()
	if answer.Code != http.StatusOK {
		q.errorf("HTTP %d %s", answer.Code, answer.Body)
		return value
	}
	q.check(json.Unmarshal(answer.Body.Bytes(), &value))
	return value
}

func (q *inquiry) same(what string, got, want any) {
	q.t.Helper()
	if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
		q.errorf("%s\n got %s\nwant %s", what, g, w)
	}
}

// random is a search that the asker may make.
func (q *inquiry) random(word string) ruleQuery {
	query := ruleQuery{word: word}
	if q.chance(30) {
		query.sources = some(q.ruleWorld, 50, ruleSources())
	}
	if q.chance(20) {
		query.authors = some(q.ruleWorld, 50, []string{"Ada Pohl", "Ben Ruiz", "Cho Park"})
	}
	if q.chance(20) {
		query.kinds = []string{q.one("md", "pdf")}
	}
	if q.chance(20) {
		query.tags = append(query.tags, wire.Tag{Key: "team", Value: q.one("red", "blue")})
		if len(q.documents) > 0 && q.chance(50) { // somebody may well guess
			query.tags = append(query.tags, q.documents[q.rand.IntN(len(q.documents))].tags[0])
		}
	}
	if q.chance(20) {
		query.since = q.date()
	}
	if q.chance(20) {
		query.until = q.date()
	}
	if q.chance(30) {
		for _, s := range some(q.ruleWorld, 60, q.sets) {
			if q.knowsSet(s) {
				query.sets = append(query.sets, s.name)
			}
		}
	}
	if len(q.rules.agents) > 0 && q.chance(40) {
		if g := q.rules.agents[q.rand.IntN(len(q.rules.agents))]; q.knowsAgent(g) {
			query.agent = g
		}
	}
	return query
}

func body(q ruleQuery, more string) string {
	request := map[string]any{"query": q.word, "num_results": 100}
	for name, list := range map[string][]string{"sources": q.sources, "document_sets": q.sets, "authors": q.authors, "document_types": q.kinds} {
		if len(list) > 0 {
			request[name] = list
		}
	}
	if len(q.tags) > 0 {
		request["tags"] = q.tags
	}
	if !q.since.IsZero() {
		request["time_cutoff"] = q.since.Format(time.RFC3339)
	}
	if !q.until.IsZero() {
		request["time_until"] = q.until.Format(time.RFC3339)
	}
	if q.agent != nil {
		request["persona_id"] = q.agent.id
	}
	if more != "" {
		request[more] = true
	}
	return string(mustJSON(request))
}

// searches compares what a search finds and counts with the rules.
func (q *inquiry) searches() {
	word := q.one(commonWords()...)
	var own []*ruleDocument
	for _, d := range q.documents {
		if q.sees(d) {
			own = append(own, d)
		}
	}
	if len(own) > 0 && q.chance(20) {
		word = own[q.rand.IntN(len(own))].secret
	}
	query := q.random(word)
	var echoed []string
	for _, t := range query.tags {
		echoed = append(echoed, t.Value) // among the applied filters
	}
	answer := answerOf[wire.SearchResponse](q, q.send(http.MethodPost, "/search", body(query, ""), echoed...))
	want := q.found(q.asker, query)
	got := []string{}
	for _, result := range answer.Results {
		got = append(got, result.DocumentID)
		for _, mark := range result.Highlights {
			if marked := result.Content[mark[0]:mark[1]]; !strings.EqualFold(marked, word) {
				q.errorf("%q is marked in the answer to %q", marked, word)
			}
		}
	}
	slices.Sort(got)
	q.same("found with "+body(query, ""), slices.Compact(got), want)
	q.same("matches of "+body(query, ""), strconv.Itoa(answer.TotalMatches), strconv.Itoa(len(want)))
	q.same("facets of "+body(query, ""), counts(told(answer.Facets)), counts(q.counted(q.asker, query)))
}

func counts(of map[string]int) []string {
	list := []string{}
	for _, value := range slices.Sorted(maps.Keys(of)) {
		if of[value] != 0 {
			list = append(list, value+": "+strconv.Itoa(of[value]))
		}
	}
	return list
}

// facets counts without a search.
func (q *inquiry) facets() {
	query := q.random("")
	answer := answerOf[wire.FacetCounts](q, q.get("/search/facets?"+queryOf(query).Encode()))
	q.same("matches of "+body(query, ""), strconv.Itoa(answer.TotalMatches), strconv.Itoa(len(q.found(q.asker, query))))
	q.same("facets of "+body(query, ""), counts(told(answer.Facets)), counts(q.counted(q.asker, query)))
}

// unseen chooses one of the documents that the asker does not see.
func (q *inquiry) unseen() *ruleDocument {
	var hidden []*ruleDocument
	for _, d := range q.documents {
		if !q.sees(d) {
			hidden = append(hidden, d)
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	return hidden[q.rand.IntN(len(hidden))]
}

// alike asks for something unseen and for something absent, and wants the same answer but for the name.
func (q *inquiry) alike(unseen, absent string, ask func(name string) *httptest.ResponseRecorder) {
	q.t.Helper()
	times := regexp.MustCompile(`"ms":[0-9.e-]+`)
	one, other := ask(unseen), ask(absent)
	got := times.ReplaceAllString(one.Body.String(), "")
	want := times.ReplaceAllString(strings.ReplaceAll(other.Body.String(), absent, unseen), "")
	if one.Code != other.Code || got != want {
		q.errorf("what is unseen is not answered like what is absent\n%d %s\n%d %s", one.Code, got, other.Code, want)
	}
}

// hiddenWord looks for a word that only an unseen document has, by itself and beside others, whole and misspelt.
func (q *inquiry) hiddenWord() {
	d := q.unseen()
	if d == nil {
		return
	}
	form := q.one(`{"query":"%s"}`, `{"query":"%s","instant":true}`, `{"query":"x","phrases":["%s"]}`, `{"query":"%s","explain":true}`,
		`{"query":"\"%[1]s quokka\"","phrases":["%[1]s quokka"]}`)
	whole := len(d.secret) - q.rand.IntN(3)
	q.alike(d.secret[:whole], q.word()[:whole], func(word string) *httptest.ResponseRecorder {
		return q.ask(q.handler, q.token, http.MethodPost, "/search", fmt.Sprintf(form, word))
	})
	q.alike(d.secret, q.word(), func(word string) *httptest.ResponseRecorder {
		return q.ask(q.handler, q.token, http.MethodGet, "/search/facets?tags="+url.QueryEscape("secret="+word), "")
	})
}

// unseenSet asks within sets, some of which the asker does not know.
func (q *inquiry) unseenSet() {
	var asked, refused, echoed []string
	for _, s := range some(q.ruleWorld, 50, q.sets) {
		asked = append(asked, s.name)
		if !q.knowsSet(s) {
			refused, echoed = append(refused, quoted(s.name)), append(echoed, s.name)
		}
	}
	if q.chance(30) {
		asked, refused = append(asked, "nowhere"), append(refused, quoted("nowhere"))
	}
	query := ruleQuery{word: "quokka", sets: asked}
	for _, answer := range []*httptest.ResponseRecorder{
		q.send(http.MethodPost, "/search", body(query, ""), echoed...),
		q.send(http.MethodGet, "/search/facets?"+queryOf(ruleQuery{sets: asked}).Encode(), "", echoed...),
	} {
		if len(refused) == 0 {
			q.same("status", strconv.Itoa(answer.Code), "200")
			continue
		}
		q.same("refusal", strconv.Itoa(answer.Code)+answer.Body.String(), `403{"error_code":"INSUFFICIENT_PERMISSIONS",`+
			`"detail":"You do not have access to the following document sets: [`+strings.Join(refused, ", ")+"]\"}\n")
	}
}

// unseenAgent asks for agents that the asker may not use.
func (q *inquiry) unseenAgent() {
	hidden := slices.DeleteFunc(slices.Clone(q.rules.agents), q.knowsAgent)
	if len(hidden) == 0 {
		return
	}
	for _, ask := range []func(string) *httptest.ResponseRecorder{
		func(id string) *httptest.ResponseRecorder { return q.get("/persona/" + id) },
		func(id string) *httptest.ResponseRecorder { return q.get("/search/facets?persona_id=" + id) },
		func(id string) *httptest.ResponseRecorder { return q.get("/persona?persona_ids=" + id) },
		func(id string) *httptest.ResponseRecorder {
			return q.send(http.MethodPost, "/search", `{"query":"quokka","persona_id":`+id+`}`)
		},
	} {
		q.alike(strconv.Itoa(hidden[q.rand.IntN(len(hidden))].id), "987654", ask)
	}
}

// reads asks for the text of documents.
func (q *inquiry) reads() {
	if len(q.documents) == 0 {
		return
	}
	targets := []string{"/document/chunks?document_id=%s", "/document/chunks?from=0&to=3&document_id=%s", "/document/chunks?from=7&document_id=%s",
		"/document/document-size-info?document_id=%s", "/document/chunk-info?chunk_id=0&document_id=%s", "/document/chunk-info?chunk_id=7&document_id=%s"}
	for _, d := range []*ruleDocument{q.unseen(), q.documents[q.rand.IntN(len(q.documents))]} {
		for _, target := range targets {
			if d == nil {
				continue
			}
			read := func(id string) *httptest.ResponseRecorder { return q.get(fmt.Sprintf(target, url.QueryEscape(id))) }
			answer := read(d.id)
			if !q.sees(d) {
				q.alike(d.id, "nowhere", read)
				continue
			}
			switch {
			case strings.Contains(target, "from=7") && answer.Code == http.StatusOK:
				continue
			case strings.Contains(target, "chunk_id=7"):
				q.same(target, answer.Body.String(), `{"detail":"Chunk not found"}`+"\n")
				continue
			}
			if answer.Code != http.StatusOK || !strings.Contains(target, "size") && !strings.Contains(answer.Body.String(), d.secret) {
				q.errorf(target+": HTTP %d %s", d.id, answer.Code, answer.Body)
			}
		}
	}
}

// lists asks for what there is.
func (q *inquiry) lists() {
	sources := q.sources(q.asker, func(*ruleDocument) bool { return true })
	q.same("sources", answerOf[wire.IndexedSources](q, q.get("/manage/indexed-sources")).Sources, sources)
	rows := []string{}
	for _, row := range answerOf[[]wire.ConnectorStatus](q, q.get("/manage/connector-status")) {
		rows = append(rows, row.Source)
	}
	q.same("connectors", rows, sources)
	got, want := []string{}, []string{}
	for _, s := range answerOf[[]wire.DocumentSet](q, q.get("/manage/document-set")) {
		line := fmt.Sprint(s.ID, s.Name, s.IsPublic, q.admin() || len(s.Users)+len(s.Groups) == 0)
		for _, p := range s.CCPairSummaries {
			line += fmt.Sprint(" ", p.ID, p.Name, p.AccessType, p.Source)
		}
		got = append(got, line)
	}
	for _, s := range q.sets {
		if !q.knowsSet(s) {
			continue
		}
		line := fmt.Sprint(s.id, s.name, s.public, true)
		for _, p := range q.pairs {
			if q.knowsPair(p) && slices.Contains(s.pairs, p) {
				line += fmt.Sprint(" ", p.id, p.name, p.access, p.source)
			}
		}
		want = append(want, line)
	}
	slices.Sort(got)
	slices.Sort(want)
	q.same("document sets", got, want)
}

// agents asks for the agents, in all ways.
func (q *inquiry) agents() {
	want := []string{"0 Assistant [] []"}
	for _, g := range q.rules.agents {
		if !q.knowsAgent(g) {
			continue
		}
		sets, sources := []string{}, []string{}
		for _, s := range g.sets {
			if q.knowsSet(s) {
				sets = append(sets, s.name)
			}
		}
		slices.Sort(sets)
		if len(g.sets)+len(g.documents) > 0 {
			sources = q.sources(q.asker, func(d *ruleDocument) bool { return q.passes(d, ruleQuery{agent: g}, "") })
		}
		want = append(want, fmt.Sprint(g.id, " ", g.name, " ", sets, " ", sources))
	}
	slices.Sort(want)
	line := func(p wire.Persona) string {
		sets := []string{}
		for _, s := range p.DocumentSets {
			sets = append(sets, s.Name)
		}
		return fmt.Sprint(p.ID, " ", p.Name, " ", sets, " ", p.KnowledgeSources)
	}
	got := []string{}
	for _, p := range answerOf[[]wire.Persona](q, q.get("/persona")) {
		got = append(got, line(p))
		full := answerOf[wire.FullPersona](q, q.get("/persona/"+strconv.Itoa(p.ID)))
		q.same("agent", line(full.Persona), line(p))
	}
	slices.Sort(got)
	q.same("agents", got, want)
	page := answerOf[wire.PersonaPage](q, q.get("/agents?page_size=1000"))
	q.same("a page of agents", strconv.Itoa(page.TotalItems)+" "+strconv.Itoa(len(page.Items)), fmt.Sprint(len(want), " ", len(want)))
}

// tags asks for all tags, and for those of some sources.
func (q *inquiry) tags() {
	sources := some(q.ruleWorld, 50, ruleSources())
	got, want := map[string]bool{}, map[string]bool{}
	valid := answerOf[wire.ValidTags](q, q.get("/query/valid-tags?limit=1000&"+url.Values{"sources": sources}.Encode()))
	for _, t := range valid.Tags {
		got[t.Source+" "+t.Key+"="+t.Value] = true
	}
	for _, d := range q.documents {
		if q.sees(d) && (len(sources) == 0 || slices.Contains(sources, d.source)) {
			for _, t := range d.tags {
				want[d.source+" "+t.Key+"="+t.Value] = true
			}
		}
	}
	q.same("tags", sortedKeys(got), sortedKeys(want))
}

// completes types the beginning of a word.
func (q *inquiry) completes() {
	if len(q.documents) == 0 {
		return
	}
	d := q.documents[q.rand.IntN(len(q.documents))]
	prefix := d.secret[:1+q.rand.IntN(len(d.secret))]
	found := answerOf[wire.Suggestions](q, q.get("/search/suggest?limit=50&prefix="+prefix))
	words, titles := map[string]bool{}, map[string]bool{}
	for _, word := range found.Words {
		words[word] = true
	}
	for _, title := range found.Titles {
		titles[title.DocumentID+title.Title] = true
	}
	wantTitles := map[string]bool{}
	for _, d := range q.documents {
		begins := strings.HasPrefix(d.secret, prefix)
		if words[d.secret] != (begins && q.sees(d)) {
			q.errorf("%s completes to %s: %v", prefix, d.secret, words[d.secret])
		}
		if q.sees(d) && (begins || strings.HasPrefix("title", prefix)) {
			wantTitles[d.id+"Title "+d.secret] = true
		}
	}
	q.same("titles with "+prefix, sortedKeys(titles), sortedKeys(wantTitles))
}

// streams searches as the explorer does, and misspells.
func (q *inquiry) streams() {
	if len(q.documents) == 0 {
		return
	}
	word := q.documents[q.rand.IntN(len(q.documents))].secret
	misspelt := word[:5] + "e" + word[6:] // a letter that no secret has
	for _, text := range []string{misspelt, misspelt + " zanzibor", "zanzibor"} {
		answer := q.send(http.MethodPost, "/search", body(ruleQuery{word: text}, q.one("stream", "instant", "explain")))
		if answer.Code != http.StatusOK {
			q.errorf("HTTP %d %s", answer.Code, answer.Body)
		}
	}
}

// administers tries what is for administrators, and looks at tokens.
func (q *inquiry) administers() {
	if q.all || q.user != nil && q.user.admin && q.token == q.user.full {
		return
	}
	for _, target := range []string{"POST /onyx-api/ingestion", "POST /manage/admin/connector", "POST /manage/credential",
		"PUT /manage/connector/1/credential/1", "POST /manage/admin/document-set", "POST /manage/admin/user-group",
		"GET /manage/admin/user-group", "POST /user/pats"} {
		method, path, _ := strings.Cut(target, " ")
		if answer := q.send(method, path, "{"); answer.Code != http.StatusForbidden {
			q.errorf("%s: HTTP %d %s", target, answer.Code, answer.Body)
		}
	}
	if q.user != nil && q.token == q.user.full {
		for _, token := range answerOf[[]wire.AccessToken](q, q.get("/user/pats")) {
			if !strings.HasSuffix(q.user.full, token.TokenDisplay[len(token.TokenDisplay)-4:]) &&
				!strings.HasSuffix(q.user.scoped, token.TokenDisplay[len(token.TokenDisplay)-4:]) {
				q.errorf("somebody else's token %+v", token)
			}
		}
	}
}
