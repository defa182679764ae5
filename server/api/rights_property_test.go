package api

import (
	"context"
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
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/server/directory"
)

// TestRights arranges worlds of two tenants with people, groups, connectors, sets, agents and documents at random,
// changes them, and holds every answer to the rules. QUARRY_SLOW=1 asks for all worlds; QUARRY_WORLD=n for one, which is
// always the same, QUARRY_WORLD=m-n for several.
func TestRights(t *testing.T) {
	first, end := worldsToAsk(t)
	asked := make([]atomic.Int64, len(kindsOfQuestion()))
	t.Run("world", func(t *testing.T) {
		for number := first; number < end; number++ {
			t.Run(strconv.FormatUint(number, 10), func(t *testing.T) {
				t.Parallel()
				askWorld(t, number, asked)
			})
		}
	})
	told, total := "", int64(0)
	for i, kind := range kindsOfQuestion() {
		total += asked[i].Load()
		told += fmt.Sprintf(" %s %d", kind.name, asked[i].Load())
	}
	summary := fmt.Sprintf("%d questions in %d worlds:%s", total, end-first, told)
	t.Log(summary)
	if longtest.Enabled() && !testing.Verbose() {
		fmt.Println(summary) // for make rights
	}
}

const questionsPerWorld = 100

// worldsToAsk are the numbers of the worlds, from first up to end.
func worldsToAsk(t *testing.T) (first, end uint64) {
	t.Helper()
	end = uint64(longtest.Rounds(4, 1_000))
	if text := os.Getenv("QUARRY_WORLD"); text != "" {
		from, to, several := strings.Cut(text, "-")
		var err, wrong error
		first, err = strconv.ParseUint(from, 10, 64)
		if end = first; several {
			end, wrong = strconv.ParseUint(to, 10, 64)
		}
		if err != nil || wrong != nil {
			t.Fatalf("QUARRY_WORLD=%s is not the number of a world, nor a range", text)
		}
		end++
	}
	return first, end
}

func askWorld(t *testing.T, number uint64, asked []atomic.Int64) {
	w := newRuleWorld(t, number, directory.DefaultTenant, "acme")
	defer func() {
		if t.Failed() {
			t.Logf("the same again: QUARRY_WORLD=%d go test -run '^TestRights$' ./server/api", number)
		}
	}()
	defer w.close()
	for i := range questionsPerWorld {
		r := w.tenants[w.rand.IntN(len(w.tenants))]
		if w.chance(15) {
			w.change(r)
		}
		asked[w.question(r, i)].Add(1)
		if t.Failed() {
			return
		}
	}
}

// kindOfQuestion is one thing to ask.
type kindOfQuestion struct {
	name  string
	often int
	ask   func(*inquiry)
}

func kindsOfQuestion() []kindOfQuestion {
	return []kindOfQuestion{
		{"search", 4, (*inquiry).searches}, {"instant", 2, (*inquiry).types}, {"pages", 3, (*inquiry).pages}, {"similar", 3, (*inquiry).similar}, {"near", 3, (*inquiry).nearby},
		{"model", 3, (*inquiry).thinks}, {"ask", 2, (*inquiry).asks}, {"sessions", 1, (*inquiry).talks}, {"files", 1, (*inquiry).keeps},
		{"change", 2, (*inquiry).changes}, {"unseen scope", 1, (*inquiry).unseenScope},
		{"typo", 2, (*inquiry).misspells}, {"facets", 2, (*inquiry).facets}, {"hidden word", 3, (*inquiry).hiddenWord},
		{"unseen set", 1, (*inquiry).unseenSet}, {"unseen agent", 1, (*inquiry).unseenAgent}, {"read", 2, (*inquiry).reads},
		{"list", 2, (*inquiry).lists}, {"agents", 2, (*inquiry).agents}, {"tags", 2, (*inquiry).tags},
		{"complete", 2, (*inquiry).completes}, {"stream", 1, (*inquiry).streams}, {"administer", 1, (*inquiry).administers},
		{"tokens", 1, (*inquiry).shows}, {"absent routes", 1, (*inquiry).absents}, {"other tenant", 2, (*inquiry).crosses},
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

// through is the asker's way to a server: in process, as the owner or as nobody; over a listener with a token; or as a
// guest, whom another listener has recognised or let in.
func (q *inquiry) through(server *Server) http.Handler {
	switch {
	case q.all:
		return server.Handler(directory.Owner(q.tenant))
	case q.guest:
		return q.gates[server].Visitor(Visitor{Remote: "192.0.2.1:7", Identify: func(ctx context.Context) (directory.Principal, error) {
			if q.user == nil {
				return directory.Anonymous(q.tenant), nil
			}
			return q.people.Person(ctx, q.tenant, q.user.email)
		}})
	case q.user == nil:
		return server.Handler(directory.Anonymous(q.tenant))
	}
	return q.publics[server]
}

// question asks something on somebody's behalf, and returns the number of its kind.
func (w *ruleWorld) question(r *rules, number int) int {
	q := inquiry{ruleWorld: w, rules: r}
	switch who := w.rand.IntN(12); who {
	case 0:
		q.asker = asker{all: true}
	case 1: // nobody
		q.guest = w.chance(50)
	default:
		q.user = r.users[w.rand.IntN(len(r.users))]
		switch q.token = q.user.full; {
		case w.chance(50):
			q.token, q.scoped = q.user.scoped, true
		case w.chance(20):
			q.token, q.guest = "", true
		}
	}
	for _, other := range w.tenants {
		if other != r {
			q.others = append(q.others, other.secrets(asker{})...)
		}
	}
	q.handler = q.through(w.server)
	kinds := kindsOfQuestion()
	var drawn []int
	for i, kind := range kinds {
		drawn = append(drawn, slices.Repeat([]int{i}, kind.often)...)
	}
	kind := drawn[w.rand.IntN(len(drawn))]
	w.step = fmt.Sprintf("question %d, %s, by %s of %s", number, kinds[kind].name, q.name(), r.tenant)
	if q.user != nil && !q.user.active {
		answer := q.get("/me")
		q.same("somebody who was shut out", strconv.Itoa(answer.Code)+answer.Body.String(), "403{\"detail\":\"Unauthorized\"}\n")
		return kind
	}
	kinds[kind].ask(&q)
	return kind
}

func (q *inquiry) name() string {
	switch {
	case q.all:
		return "the owner in process"
	case q.user == nil:
		return "nobody"
	}
	return fmt.Sprint(q.user.email, map[bool]string{true: ", a guest"}[q.guest], map[bool]string{true: ", who may search"}[q.scoped])
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
		query.places = []string{q.place()}
	}
	if q.chance(20) {
		query.within = q.place()
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
	if q.chance(30) {
		query.not = q.exclusions()
	}
	if len(q.rules.agents) > 0 && q.chance(40) {
		if g := q.rules.agents[q.rand.IntN(len(q.rules.agents))]; q.knowsAgent(g) {
			query.agent = g
		}
	}
	return query
}

// place is a place of some document, or some of its names, or a name of none.
func (q *inquiry) place() string {
	if len(q.documents) == 0 || q.chance(10) {
		return "nowhere"
	}
	names := q.documents[q.rand.IntN(len(q.documents))].place
	from := q.rand.IntN(len(names))
	run := strings.Join(names[from:from+1+q.rand.IntN(len(names)-from)], "/")
	if from == 0 && q.chance(30) {
		return "/" + run
	}
	return run
}

// exclusions are values to leave out, the secret tags of documents among them.
func (q *inquiry) exclusions() (not wire.Filters) {
	switch q.rand.IntN(6) {
	case 5:
		not.Places = []string{q.place()}
	case 0:
		not.Sources = some(q.ruleWorld, 40, ruleSources())
	case 1:
		not.Authors = []string{q.one("Ada Pohl", "Ben Ruiz", "Cho Park")}
	case 2:
		not.DocumentTypes = []string{q.one("md", "pdf")}
	case 3:
		not.Tags = []wire.Tag{{Key: "team", Value: q.one("red", "blue")}}
		if len(q.documents) > 0 {
			not.Tags = append(not.Tags, q.documents[q.rand.IntN(len(q.documents))].tags[0])
		}
	case 4:
		for _, s := range some(q.ruleWorld, 60, q.sets) {
			if q.knowsSet(s) {
				not.DocumentSets = append(not.DocumentSets, s.name)
			}
		}
	}
	return not
}

func body(q ruleQuery, more string) string {
	request := map[string]any{"query": q.word, "num_results": 100}
	for name, list := range map[string][]string{"sources": q.sources, "document_sets": q.sets, "authors": q.authors, "document_types": q.kinds,
		"places": q.places} {
		if len(list) > 0 {
			request[name] = list
		}
	}
	if len(q.tags) > 0 {
		request["tags"] = q.tags
	}
	if !field.IsEmpty(q.not) {
		request["exclude_filters"] = q.not
	}
	if !q.since.IsZero() {
		request["time_cutoff"] = q.since.Format(time.RFC3339)
	}
	if !q.until.IsZero() {
		request["time_until"] = q.until.Format(time.RFC3339)
	}
	if q.within != "" {
		request["facet_place"] = q.within
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
	if own := q.own(); len(own) > 0 && q.chance(20) {
		word = own[q.rand.IntN(len(own))].secret
	}
	q.compare(q.random(word), "")
}

// own are the documents that the asker sees.
func (q *inquiry) own() (own []*ruleDocument) {
	for _, d := range q.documents {
		if q.sees(d) {
			own = append(own, d)
		}
	}
	return own
}

// types searches with the beginning of a word, as one does while one types: by words alone, whatever there is beside them.
func (q *inquiry) types() {
	query := q.random(q.one(commonWords()...))
	query.word, query.begins = query.word[:3+q.rand.IntN(3)], true
	q.compare(query, "instant")
}

// pages reads a list page by page, with words or without: together they are all that is found, each document once, in the
// order asked for, and every page counts the same.
func (q *inquiry) pages() {
	query := q.random(q.one(append(commonWords(), "")...))
	order := q.one(wire.SortRelevance, wire.SortNewest, wire.SortOldest)
	if query.word == "" {
		order = q.one(wire.SortNewest, wire.SortOldest)
	}
	const size = 4
	meant := q.meant(query)
	want := q.found(q.asker, meant)
	var ids []string
	last := ""
	for offset := 0; ; offset += size {
		asked := listBody(query, order, offset, size)
		page := answerOf[wire.SearchResponse](q, q.send(http.MethodPost, "/search", asked, query.echoed()...))
		q.same("matches of "+asked, strconv.Itoa(page.TotalMatches), strconv.Itoa(len(want)))
		q.same("facets of "+asked, counts(told(page.Facets)), counts(q.counted(q.asker, meant)))
		for i, result := range page.Results {
			ids = append(ids, result.DocumentID)
			if number := offset + i + 1; *result.CitationID != number || page.CitationMapping[strconv.Itoa(number)] != result.DocumentID {
				q.errorf("%s: result %d has the number %d, %v", asked, i, *result.CitationID, page.CitationMapping)
			}
			if at := *result.UpdatedAt; order == wire.SortNewest && last != "" && at > last || order == wire.SortOldest && at < last {
				q.errorf("%s: %s follows %s", asked, at, last)
			}
			last = *result.UpdatedAt
		}
		if len(page.Results) == 0 || q.t.Failed() {
			break
		}
	}
	slices.Sort(ids)
	q.same("pages of "+listBody(query, order, 0, size), ids, want)
}

// similar looks for passages like one: one that is not seen is not there, and no word that only unseen documents share
// with it mentions them.
func (q *inquiry) similar() {
	form := q.one(`{"similar_to":%q,"num_results":20}`, `{"similar_to":%q,"num_results":20,"explain":true,"stream":true}`)
	ask := func(id string) *httptest.ResponseRecorder {
		return q.send(http.MethodPost, "/search", fmt.Sprintf(form, id))
	}
	if d := q.unseen(); d != nil && q.chance(50) {
		q.alike(d.id, "no-document", ask)
		q.alike(d.id+"#0", "no-document#0", ask)
	}
	own := q.own()
	if len(own) == 0 {
		return
	}
	d := own[q.rand.IntN(len(own))]
	if d.parts > 1 {
		return // its first passage may lack words that its text has
	}
	answer := q.ask(q.handler, q.token, http.MethodPost, "/search", fmt.Sprintf(`{"similar_to":%q,"num_results":100}`, d.id))
	var found wire.SearchResponse
	q.check(json.Unmarshal(answer.Body.Bytes(), &found))
	for _, result := range found.Results {
		if result.DocumentID == d.id {
			q.errorf("%s is like itself", d.id)
		}
	}
	words := ""
	if len(found.Queries) > 0 {
		words = found.Queries[0].Query
	}
	for word := range strings.FieldsSeq(words) {
		holds := 0
		for _, other := range own {
			if other.secret == word || slices.Contains(other.words, word) || !slices.Contains(append(commonWords(), d.secret), word) {
				holds++
			}
		}
		if holds < 2 {
			q.errorf("%q stands in no other document that is seen: %s", word, words)
		}
	}
}

// listBody asks for a page of a list.
func listBody(q ruleQuery, order string, offset, size int) string {
	var request map[string]any
	if err := json.Unmarshal([]byte(body(q, "skip_document_selection")), &request); err != nil {
		panic(err)
	}
	request["sort"], request["offset"], request["num_results"], request["browse"] = order, offset, size, q.word == ""
	return string(mustJSON(request))
}

// compare holds what is found and counted to the rules.
func (q *inquiry) compare(query ruleQuery, more string) wire.SearchResponse {
	q.t.Helper()
	server := q.server
	if more == "instant" {
		server = q.thinking
	}
	asked := body(query, more)
	answer := q.search(server, query, more)
	query = q.meant(query)
	want := q.found(q.asker, query)
	for _, result := range answer.Results {
		for _, mark := range result.Highlights {
			if marked := strings.ToLower(result.Content[mark[0]:mark[1]]); marked != query.word &&
				!(query.begins && strings.HasPrefix(marked, query.word)) {
				q.errorf("%q is marked in the answer to %q", marked, query.word)
			}
		}
	}
	q.same("found with "+asked, documentsOf(answer), want)
	q.same("matches of "+asked, strconv.Itoa(answer.TotalMatches), strconv.Itoa(len(want)))
	q.same("facets of "+asked, counts(told(answer.Facets)), counts(q.counted(q.asker, query)))
	q.passages(answer, `^(\d+) passage`, want)
	applied := map[bool][]string{}
	for _, f := range answer.AppliedFilters {
		if f.Field == "places" {
			applied[f.Negated] = append(applied[f.Negated], f.Value)
		}
	}
	q.same("places of "+asked, applied[false], q.meantPlaces(q.asker, query.places))
	q.same("excluded places of "+asked, applied[true], q.meantPlaces(q.asker, query.not.Places))
	return answer
}

// meant is the query that is answered.
func (q *inquiry) meant(query ruleQuery) ruleQuery { return q.rules.meant(q.asker, query) }

// misspells a word. Only what the asker sees corrects it, and only where they see nothing that is spelt like that.
func (q *inquiry) misspells() {
	query := q.random(misspelt)
	meant := q.meant(query)
	answer := q.compare(query, "")
	noted := slices.ContainsFunc(answer.Notes, func(n wire.Note) bool {
		return n.Code == wire.NoteTypoCorrected && strings.Contains(n.Text, meant.word)
	})
	if noted != (meant.word != query.word) {
		q.errorf("%s: a correction is told of: %v", body(query, ""), noted)
	}
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

// hiddenWord looks for a word that only unseen documents have, by itself and beside others, whole and misspelt.
func (q *inquiry) hiddenWord() {
	d := q.unseen()
	if d == nil {
		return
	}
	form := q.one(`{"query":"%s"}`, `{"query":"%s","instant":true}`, `{"query":"x","phrases":["%s"]}`, `{"query":"%s","explain":true}`,
		`{"query":"\"%[1]s quokka\"","phrases":["%[1]s quokka"]}`, `{"query":"quokka","exclude":["%s"]}`,
		`{"query":"quokka mirabel %s","explain":true}`, `{"query":"%s zanzibar ostrava tundra"}`,
		`{"query":"ostrava %[1]s title-%[1]s","explain":true}`, `{"query":"tundra quokka %s","instant":true,"explain":true}`,
		`{"query":"quokka mirabel %s","num_results":50,"stream":true}`)
	whole := len(d.secret) - q.rand.IntN(3)
	q.alike(d.secret[:whole], q.word()[:whole], func(word string) *httptest.ResponseRecorder {
		return q.ask(q.handler, q.token, http.MethodPost, "/search", fmt.Sprintf(form, word))
	})
	target := q.one("/search/facets?tags=secret%%3D%s", "/search/suggest?prefix=%s", "/search/suggest?prefix=title%%20%s",
		"/query/valid-tags?match_pattern=%s", "/query/valid-tags?match_pattern=secret%%3D%s", "/search/facets?authors=%s",
		"/query/valid-tags?allow_prefix=false&match_pattern=%s")
	q.alike(d.secret, q.word(), func(word string) *httptest.ResponseRecorder {
		return q.ask(q.handler, q.token, http.MethodGet, fmt.Sprintf(target, word), "")
	})
	if !slices.ContainsFunc(q.own(), func(d *ruleDocument) bool { return slices.Contains(d.words, misspelt) }) {
		q.alike(misspelt, "zanzibur", func(word string) *httptest.ResponseRecorder {
			return q.ask(q.handler, q.token, http.MethodPost, "/search", fmt.Sprintf(q.one(`{"query":%q}`), word))
		})
	}
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
	if q.chance(50) {
		query = ruleQuery{word: "quokka", not: wire.Filters{DocumentSets: asked}}
	}
	for _, answer := range []*httptest.ResponseRecorder{
		q.send(http.MethodPost, "/search", body(query, ""), echoed...),
		q.send(http.MethodGet, "/search/facets?"+queryOf(query).Encode(), "", echoed...),
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

// unseenScope names sets and groups for a new agent that the asker may not know of.
func (q *inquiry) unseenScope() {
	if q.user == nil || q.token != q.user.full || q.admin() {
		return
	}
	var forms, ids []string
	for _, s := range q.sets {
		if !q.knowsSet(s) {
			forms, ids = append(forms, `{"name":"x","document_set_ids":[%s]}`), append(ids, strconv.Itoa(s.id))
		}
	}
	for _, name := range sortedKeys(q.groups) {
		if !q.user.groups[name] {
			forms, ids = append(forms, `{"name":"x","groups":[%s]}`), append(ids, strconv.Itoa(q.groups[name]))
		}
	}
	for i, form := range forms {
		q.alike(ids[i], "987654", func(id string) *httptest.ResponseRecorder {
			return q.send(http.MethodPost, "/persona", fmt.Sprintf(form, id))
		})
	}
}

// changes asks, changes something, and asks again: what is given and taken away is so at once.
func (q *inquiry) changes() {
	q.lists()
	q.change(q.rules)
	if q.user != nil && !q.user.active {
		q.same("somebody who is shut out", strconv.Itoa(q.get("/manage/document-set").Code), "403")
		return
	}
	q.lists()
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
	visible := q.sources(q.asker, func(*ruleDocument) bool { return true })
	connectors := []string{}
	for _, p := range q.pairs {
		if q.knowsPair(p) {
			connectors = append(connectors, p.source)
		}
	}
	for _, source := range visible {
		if !slices.Contains(connectors, source) {
			connectors = append(connectors, source)
		}
	}
	slices.Sort(connectors)
	sources := slices.Compact(slices.Clone(connectors))
	q.same("sources", answerOf[wire.IndexedSources](q, q.get("/manage/indexed-sources")).Sources, sources)
	rows := []string{}
	for _, row := range answerOf[[]wire.ConnectorStatus](q, q.get("/manage/connector-status")) {
		rows = append(rows, row.Source)
	}
	q.same("connectors", rows, connectors)
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
	want := []string{"0 Assistant [] [] 0"}
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
		attached := 0
		for _, d := range q.own() {
			if slices.Contains(g.documents, d.id) {
				attached++
			}
		}
		want = append(want, fmt.Sprint(g.id, " ", g.name, " ", sets, " ", sources, " ", attached))
	}
	slices.Sort(want)
	line := func(p wire.Persona) string {
		sets := []string{}
		for _, s := range p.DocumentSets {
			sets = append(sets, s.Name)
		}
		return fmt.Sprint(p.ID, " ", p.Name, " ", sets, " ", p.KnowledgeSources, " ", p.AttachedDocumentCount)
	}
	got := []string{}
	for _, p := range answerOf[[]wire.Persona](q, q.get("/persona")) {
		got = append(got, line(p))
		full := answerOf[wire.FullPersona](q, q.get("/persona/"+strconv.Itoa(p.ID)))
		q.same("agent", line(full.Persona), line(p))
		if i := slices.IndexFunc(q.rules.agents, func(g *ruleAgent) bool { return g.id == p.ID }); i >= 0 {
			g, told := q.rules.agents[i], len(full.Users)+len(full.Groups)
			if manages := q.admin() || q.user != nil && g.owner == q.user.email; !manages && told > 0 {
				q.errorf("for whom agent %s is, is told to a visitor: %v %v", g.name, full.Users, full.Groups)
			}
		}
	}
	slices.Sort(got)
	q.same("agents", got, want)
	page := answerOf[wire.PersonaPage](q, q.get("/agents?page_size=1000"))
	q.same("a page of agents", strconv.Itoa(page.TotalItems)+" "+strconv.Itoa(len(page.Items)), fmt.Sprint(len(want), " ", len(want)))
}

// tags asks for tags: all, or by what a key or a value is or begins with, of all sources or of some; the most frequent
// come first.
func (q *inquiry) tags() {
	sources := some(q.ruleWorld, 50, ruleSources())
	pattern := q.one("", "", "t", "TEAM", "red", "team=b", "team=blue", "sec", "secret="+q.word(), "secret=")
	if len(q.documents) > 0 && q.chance(30) {
		secret := q.documents[q.rand.IntN(len(q.documents))].secret
		pattern = q.one(secret, "secret="+secret, secret[:2], "secret="+secret[:1])
	}
	exact := q.chance(20)
	key, value, both := strings.Cut(strings.ToLower(pattern), "=")
	is := func(text, pattern string) bool { return text == pattern || !exact && strings.HasPrefix(text, pattern) }
	counted := map[string]int{}
	for _, d := range q.own() {
		for _, t := range d.tags {
			fits := is(t.Key, key) || is(t.Value, key)
			if both {
				fits = is(t.Key, key) && is(t.Value, value)
			}
			if (fits || pattern == "") && (len(sources) == 0 || slices.Contains(sources, d.source)) {
				counted[d.source+" "+t.Key+"="+t.Value]++
			}
		}
	}
	values := url.Values{"sources": sources, "limit": {"1000"}, "allow_prefix": {strconv.FormatBool(!exact)}}
	if pattern != "" {
		values.Set("match_pattern", pattern)
	}
	ask := func() (list []string) {
		for _, t := range answerOf[wire.ValidTags](q, q.send("GET", "/query/valid-tags?"+values.Encode(), "", pattern)).Tags {
			list = append(list, t.Source+" "+t.Key+"="+t.Value)
		}
		return list
	}
	got := ask()
	for i := range got[min(1, len(got)):] {
		if counted[got[i]] < counted[got[i+1]] {
			q.errorf("%s, of %d, stands before %s, of %d", got[i], counted[got[i]], got[i+1], counted[got[i+1]])
		}
	}
	values.Set("limit", "2")
	q.same("the first tags", ask(), got[:min(2, len(got))])
	slices.Sort(got)
	q.same("tags like "+pattern, append([]string{}, got...), sortedKeys(counted))
}

// completes types the beginning of a word. The words that most documents have come first: of those that the asker sees.
func (q *inquiry) completes() {
	word := q.one(append(commonWords(), misspelt)...)
	if len(q.documents) > 0 && q.chance(60) {
		word = q.documents[q.rand.IntN(len(q.documents))].secret
	}
	prefix, before := word[:1+q.rand.IntN(len(word))], q.one("", "", "title ", "quokka ")
	ask := func(limit string) wire.Suggestions {
		return answerOf[wire.Suggestions](q, q.send("GET", "/search/suggest?limit="+limit+"&prefix="+url.QueryEscape(before+prefix), "", prefix))
	}
	found := ask("50")
	known, held := map[string]bool{}, map[string]int{}
	wantTitles, titles := map[string]bool{}, map[string]bool{}
	for _, d := range q.documents {
		for _, word := range append([]string{d.secret}, d.words...) {
			if known[word] = strings.HasPrefix(word, prefix); known[word] && q.sees(d) {
				held[word]++
			}
		}
		titled := strings.HasPrefix(d.secret, prefix) || strings.HasPrefix("title", prefix)
		if q.sees(d) && titled && before != "quokka " {
			wantTitles[d.id+"Title "+d.secret] = true
		}
	}
	words := slices.DeleteFunc(slices.Clone(found.Words), func(word string) bool { return !known[word] })
	want := sortedKeys(held)
	slices.SortStableFunc(want, func(a, b string) int { return held[b] - held[a] })
	q.same("completions of "+prefix, append([]string{}, words...), want)
	q.same("the first completion of "+prefix, ask("1").Words, append([]string{}, found.Words[:min(1, len(found.Words))]...))
	for _, title := range found.Titles {
		titles[title.DocumentID+title.Title] = true
	}
	q.same("titles with "+before+prefix, sortedKeys(titles), sortedKeys(wantTitles))
}

// streams searches as the explorer does, and misspells.
func (q *inquiry) streams() {
	if len(q.documents) == 0 {
		return
	}
	word := q.documents[q.rand.IntN(len(q.documents))].secret
	wrong := word[:5] + "e" + word[6:] // a letter that no secret has
	for _, text := range []string{wrong, wrong + " " + misspelt} {
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
			if end := token.TokenDisplay[len(token.TokenDisplay)-4:]; !strings.HasSuffix(q.user.full, end) &&
				!strings.HasSuffix(q.user.scoped, end) && !strings.HasSuffix(q.user.narrow, end) {
				q.errorf("somebody else's token %+v", token)
			}
		}
	}
}
