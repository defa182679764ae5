package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/index"
)

// ruleWorld is a server of one or two tenants that was arranged at random, and the rules of what it holds.
type ruleWorld struct {
	t       testing.TB
	rand    *rand.Rand
	server  *Server // without models
	people  *directory.Directory
	indexes map[string]index.Index
	public  http.Handler
	tenants []*rules
	now     atomic.Pointer[time.Time]
	step    string // what is being asked, for messages

	near, thinking *Server // the same with vectors, and with a language model beside them
	model          *ruleModel
	gates          map[*Server]*Gate
	publics        map[*Server]http.Handler // the listeners of the gates
	chats          map[string]*chat.Store
	sessions       []ruleSession
	files          []ruleSession // that were uploaded
	dead           []string      // tokens that hold no more, or never did
}

func newRuleWorld(t testing.TB, number uint64, tenants ...string) *ruleWorld {
	t.Helper()
	w := &ruleWorld{t: t, rand: rand.New(rand.NewPCG(number, 7)),
		indexes: map[string]index.Index{}, chats: map[string]*chat.Store{}}
	w.now.Store(new(today))
	now := func() time.Time { return *w.now.Load() }
	var err error
	path := ""
	if number%4 == 3 { // what is read of a file is remembered
		path = filepath.Join(t.TempDir(), "directory.db")
	}
	people, chats := openStores(t, path, now)
	w.people = people
	for _, tenant := range tenants {
		w.check(w.people.AddTenant(t.Context(), tenant))
		w.indexes[tenant] = openDocuments(t, tenant, now)
		w.chats[tenant], err = chats(tenant)
		w.check(err)
	}
	w.model = new(ruleModel)
	options := Options{
		Directory: w.people, Settings: Settings{Now: now},
		Index: func(_ context.Context, tenant string, _ bool) (index.Index, error) { return w.indexes[tenant], nil },
		Chats: func(tenant string) *chat.Store { return w.chats[tenant] },
	}
	w.server = New(options)
	options.Models = w.model.providers(w, "")
	w.near = New(options)
	options.Models = w.model.providers(w, "scripted/small")
	w.thinking = New(options)
	w.gates, w.publics = map[*Server]*Gate{}, map[*Server]http.Handler{}
	for _, server := range []*Server{w.server, w.near, w.thinking} {
		w.gates[server] = server.Gate(PublicOptions{})
		w.publics[server] = w.gates[server].Listener(true)
	}
	w.public = w.publics[w.server]
	for _, tenant := range tenants {
		w.arrange(tenant)
	}
	return w
}

func (w *ruleWorld) close() {
	for server := range w.publics {
		server.Close()
	}
	for _, documents := range w.indexes {
		w.check(documents.Close())
	}
	for _, sessions := range w.chats {
		w.check(sessions.Close())
	}
	w.check(w.people.Close())
}

func (w *ruleWorld) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", w.step, err)
	}
}

// word is a word that no other is near to.
func (w *ruleWorld) word() string {
	const letters = "bcfhjkmpqrtvwxz"
	var text strings.Builder
	for i := range 12 {
		if i%3 == 1 {
			text.WriteByte("aou"[w.rand.IntN(3)])
		} else {
			text.WriteByte(letters[w.rand.IntN(len(letters))])
		}
	}
	return text.String()
}

func (w *ruleWorld) one(of ...string) string { return of[w.rand.IntN(len(of))] }

func (w *ruleWorld) chance(percent int) bool { return w.rand.IntN(100) < percent }

// some takes each of a list with a chance.
func some[T any](w *ruleWorld, percent int, of []T) (taken []T) {
	for _, value := range of {
		if w.chance(percent) {
			taken = append(taken, value)
		}
	}
	return taken
}

func commonWords() []string { return []string{"zanzibar", "quokka", "ostrava", "mirabel", "tundra"} }

// misspelt is a letter away from a common word, and stands in some documents as it is.
const misspelt = "zanzibor"

func ruleSources() []string { return []string{"confluence", "slack", "github", "web"} }
func ruleGroups() []string  { return []string{"Legal", "Eng", "People"} }

// ask sends a request with a token.
func (w *ruleWorld) ask(handler http.Handler, token, method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	r.Host = "localhost"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// made posts something.
func made[T any](w *ruleWorld, maker *ruleUser, method, target string, body any) (value T) {
	w.t.Helper()
	answer := w.ask(w.public, maker.full, method, target, string(mustJSON(body)))
	if answer.Code != http.StatusOK {
		w.t.Fatalf("%s %s: HTTP %d %s", method, target, answer.Code, answer.Body)
	}
	w.check(json.Unmarshal(answer.Body.Bytes(), &value))
	return value
}

// arrange fills a tenant. What it holds has the same names in every tenant, so that only their separation keeps them
// apart; only secrets differ.
func (w *ruleWorld) arrange(tenant string) {
	r := &rules{tenant: tenant, groups: map[string]int{}}
	w.tenants = append(w.tenants, r)
	ctx := w.t.Context()
	for i, email := range []string{directory.OwnerEmail, "ann@acme.example", "bob@acme.example", "cho@acme.example", "dan@acme.example"} {
		u := &ruleUser{email: email, admin: i == 0 || i == 1 && w.chance(30), active: true, groups: map[string]bool{}, external: map[string]bool{}}
		if i > 0 {
			role := map[bool]directory.Role{true: directory.RoleAdmin, false: directory.RoleBasic}[u.admin]
			_, err := w.people.In(ctx, tenant).AddUser(email, role)
			w.check(err)
		}
		known, err := w.people.In(ctx, tenant).UserNamed(email)
		w.check(err)
		u.id = known.ID
		u.scopes = some(w, 30, []string{"basic", "add:agents", "read:chat", "write:chat", "read:search", "manage:connectors", "admin"})
		if u.scopes == nil {
			u.scopes = []string{"use:llm_gateway"}
		}
		request := directory.TokenRequest{Tenant: tenant, Name: "t", Email: email}
		u.full = w.token(request)
		request.Scopes = []string{"read:search"}
		u.scoped = w.token(request)
		request.Scopes = u.scopes
		u.narrow = w.token(request)
		r.users = append(r.users, u)
	}
	w.kill(r)
	for _, name := range ruleGroups() {
		w.addGroup(r, name, nil)
	}
	for i := range 4 {
		w.addPair(r, i)
	}
	for range 3 {
		w.addSet(r)
	}
	for range 3 {
		w.addAgent(r)
	}
	for i := range 6 + w.rand.IntN(6) {
		w.postDocument(r, fmt.Sprintf("doc-%d", i))
	}
	w.addLocal(r)
	for range 3 {
		w.addExternal(r)
	}
}

func (w *ruleWorld) addGroup(r *rules, name string, pairs []*rulePair) {
	request := wire.UserGroupRequest{Name: name, UserIDs: []string{}, CCPairIDs: []int{}}
	for _, u := range some(w, 35, r.users) {
		request.UserIDs = append(request.UserIDs, u.id)
		u.groups[name] = true
	}
	for _, p := range pairs {
		request.CCPairIDs = append(request.CCPairIDs, p.id)
		p.groups[name] = true
	}
	r.groups[name] = made[wire.UserGroup](w, r.users[0], "POST", "/manage/admin/user-group", request).ID
}

func (w *ruleWorld) addPair(r *rules, number int) {
	p := &rulePair{name: "Pair " + w.word(), source: w.one(ruleSources()...), access: w.one("public", "private", "private", "sync"),
		creator: directory.OwnerEmail, groups: map[string]bool{}}
	connector := made[wire.Created](w, r.users[0], "POST", "/manage/admin/connector", wire.ConnectorRequest{Name: p.name, Source: p.source, AccessType: p.access})
	credential := made[wire.Created](w, r.users[0], "POST", "/manage/credential", wire.CredentialRequest{Name: fmt.Sprint(number), Source: p.source})
	request := wire.PairRequest{Name: p.name, AccessType: p.access, Groups: []int{}}
	for _, name := range some(w, 40, sortedKeys(r.groups)) {
		request.Groups = append(request.Groups, r.groups[name])
		p.groups[name] = true
	}
	p.id = made[wire.PairResponse](w, r.users[0], "PUT", fmt.Sprintf("/manage/connector/%d/credential/%d", connector.ID, credential.ID), request).Data
	r.pairs = append(r.pairs, p)
}

// audience chooses for whom something is: addresses and names, and their ids.
func (w *ruleWorld) audience(r *rules) (users, groups map[string]bool, userIDs []string, groupIDs []int) {
	users, groups, userIDs, groupIDs = map[string]bool{}, map[string]bool{}, []string{}, []int{}
	for _, u := range some(w, 20, r.users) {
		users[u.email] = true
		userIDs = append(userIDs, u.id)
	}
	for _, name := range some(w, 30, sortedKeys(r.groups)) {
		groups[name] = true
		groupIDs = append(groupIDs, r.groups[name])
	}
	return users, groups, userIDs, groupIDs
}

func sortedKeys[T any](m map[string]T) []string {
	keys := []string{}
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (w *ruleWorld) addSet(r *rules) {
	s := &ruleSet{name: "set-" + w.word(), public: w.chance(30), pairs: some(w, 40, r.pairs)}
	if len(s.pairs) == 0 { // which a set needs
		if len(r.pairs) == 0 {
			return
		}
		s.pairs = append(s.pairs, r.pairs[w.rand.IntN(len(r.pairs))])
	}
	request := wire.DocumentSetRequest{Name: s.name, IsPublic: s.public, CCPairIDs: []int{}}
	s.users, s.groups, request.Users, request.Groups = w.audience(r)
	for _, p := range s.pairs {
		request.CCPairIDs = append(request.CCPairIDs, p.id)
	}
	s.id = made[int](w, r.users[0], "POST", "/manage/admin/document-set", request)
	r.sets = append(r.sets, s)
}

// addAgent lets somebody make an agent. An administrator's may search within sets that those do not know whom it is for.
func (w *ruleWorld) addAgent(r *rules) {
	maker := r.users[0]
	if other := r.users[w.rand.IntN(len(r.users))]; other.active {
		maker = other
	}
	g := &ruleAgent{name: "agent-" + w.word(), public: w.chance(30) && maker.admin, owner: maker.email}
	for _, s := range some(w, 40, r.sets) {
		if (asker{user: maker}).knowsSet(s) {
			g.sets = append(g.sets, s)
		}
	}
	request := wire.PersonaRequest{Name: g.name, IsPublic: g.public, DocumentSetIDs: []int{}, DocumentIDs: []string{}}
	g.users, g.groups, request.Users, request.Groups = w.audience(r)
	if !maker.admin {
		request.Groups = nil
		for name := range g.groups {
			if !maker.groups[name] {
				delete(g.groups, name)
				continue
			}
			request.Groups = append(request.Groups, r.groups[name])
		}
	}
	for _, s := range g.sets {
		request.DocumentSetIDs = append(request.DocumentSetIDs, s.id)
	}
	for i := range 3 {
		if w.chance(15) {
			g.documents = append(g.documents, fmt.Sprintf("doc-%d", i))
		}
	}
	request.DocumentIDs = append(request.DocumentIDs, g.documents...)
	if w.chance(30) {
		g.since = w.date()
		start := g.since.Format(time.RFC3339)
		request.SearchStartDate = &start
	}
	g.id = made[wire.Created](w, maker, "POST", "/persona", request).ID
	r.agents = append(r.agents, g)
}

func (w *ruleWorld) date() time.Time {
	return time.Date(2026, time.Month(1+w.rand.IntN(5)), 1+w.rand.IntN(28), 8, 0, 0, 0, time.UTC)
}

// describe makes a document up, without its rights.
func (w *ruleWorld) describe(id string) *ruleDocument {
	d := &ruleDocument{id: id, secret: w.word(), source: w.one(ruleSources()...), author: w.one("Ada Pohl", "Ben Ruiz", "Cho Park"),
		kind: w.one("md", "pdf"), updated: w.date(), words: some(w, 50, commonWords())}
	if w.chance(15) {
		d.words = append(d.words, misspelt)
	}
	if w.chance(10) {
		d.parts = 2
	}
	d.place = append([]string{d.source}, some(w, 50, []string{"red", d.source, d.secret})...)
	if len(d.place) == 1 {
		d.place = append(d.place, "blue")
	}
	d.copied = d.parts == 0 && w.chance(40)
	d.tags = []wire.Tag{{Key: "secret", Value: d.secret}, {Key: "team", Value: w.one("red", "blue")}}
	return d
}

func (d *ruleDocument) text() string {
	text := "About " + strings.Join(d.words, " and ") + ". The word is " + d.secret + "."
	if d.copied {
		text += strings.Repeat(" Whoever travels asks a manager first, and keeps all receipts until the money is back.", 12)
	}
	for range d.parts {
		text += strings.Repeat("\n\nLong, much longer, as long as a part of it may be, and then some.", 36) + " Still " + d.secret + "."
	}
	return text
}

func (d *ruleDocument) link() string { return "https://acme.example/" + d.secret + "." + d.kind }

// postDocument posts a document, new or in place of another one of that id.
func (w *ruleWorld) postDocument(r *rules, id string) {
	d := w.describe(id)
	folder := strings.Join(d.place[1:], "/")
	d.tags = append(d.tags, wire.Tag{Key: "folder", Value: folder})
	request := wire.IngestionRequest{Document: wire.IngestionDocument{ID: id, Source: d.source, SemanticIdentifier: "Title " + d.secret,
		Sections:      []wire.IngestionSection{{Text: d.text(), Link: d.link()}},
		Metadata:      map[string]wire.Metadata{"secret": {Values: []string{d.secret}}, "team": {Values: []string{d.tags[1].Value}}, "folder": {Values: []string{folder}}},
		PrimaryOwners: []wire.Expert{{DisplayName: d.author}}, DocUpdatedAt: &wire.Time{Time: d.updated}}}
	if len(r.pairs) > 0 && w.chance(70) {
		d.pair = r.pairs[w.rand.IntN(len(r.pairs))]
		request.CCPairID = &d.pair.id
	}
	if d.external = w.chance(70); d.external {
		d.public = w.chance(15)
		for _, u := range some(w, 20, r.users) {
			d.emails = append(d.emails, w.one(u.email, strings.ToUpper(u.email)))
		}
		d.groups = some(w, 40, []string{"space", "Space-HR", "c1"})
		request.Document.ExternalAccess = &wire.ExternalAccess{UserEmails: append([]string{}, d.emails...),
			UserGroupIDs: append([]string{}, d.groups...), IsPublic: d.public}
	}
	made[wire.IngestionResponse](w, r.users[0], "POST", "/onyx-api/ingestion", request)
	r.documents = slices.DeleteFunc(r.documents, func(old *ruleDocument) bool { return old.id == id })
	r.documents = append(r.documents, d)
}

// addLocal stores a document as adding a file to a set does.
func (w *ruleWorld) addLocal(r *rules) {
	d := w.describe("file:/doc")
	w.check(w.people.In(w.t.Context(), r.tenant).EnsureDocumentSet("Files"))
	sets, err := w.people.For(w.t.Context(), directory.Owner(r.tenant)).DocumentSets()
	w.check(err)
	set := sets[slices.IndexFunc(sets, func(set directory.DocumentSet) bool { return set.Name == "Files" })]
	r.sets = append(r.sets, &ruleSet{id: set.ID, name: set.Name, public: true})
	d.local = []string{set.Name}
	_, err = w.indexes[r.tenant].Write(w.t.Context(), index.Batch{Upsert: []index.Document{{
		ID: d.id, Title: "Title " + d.secret, Source: d.source, Type: d.kind, Link: d.link(), UpdatedAt: d.updated,
		Authors: []index.Person{{Name: d.author}}, Access: []string{"PUBLIC"}, Sets: d.local, Origin: "/doc",
		Place:    strings.Join(d.place, "/"),
		Metadata: []index.Field{{Key: "secret", Values: []string{d.secret}}, {Key: "team", Values: []string{d.tags[1].Value}}},
		Chunks:   []index.Chunk{{Text: d.text()}},
	}}})
	w.check(err)
	r.documents = append(r.documents, d)
}

func (w *ruleWorld) addExternal(r *rules) {
	u, source, id := r.users[w.rand.IntN(len(r.users))], w.one(ruleSources()...), w.one("SPACE", "space-hr", "C1")
	w.check(w.people.In(w.t.Context(), r.tenant).JoinExternalGroup(directory.ExternalGroup{Source: source, ID: id}, u.email))
	u.external[source+":"+strings.ToLower(id)] = true
}

// change arranges something else.
func (w *ruleWorld) change(r *rules) {
	ctx := w.t.Context()
	u := r.users[1+w.rand.IntN(len(r.users)-1)]
	group := w.one(ruleGroups()...)
	switch kind := w.rand.IntN(11); {
	case kind == 0:
		u.active = !u.active
		w.check(w.people.In(ctx, r.tenant).SetActive(u.email, u.active))
	case kind == 1 && u.groups[group]:
		leaveGroup(w.t, w.people, r.tenant, r.groups[group], u.email)
		delete(u.groups, group)
	case kind == 1:
		r.groups[group] = joinGroup(w.t, w.people, r.tenant, group, u.email)
		u.groups[group] = true
	case kind == 2 && r.groups[group] != 0:
		w.check(w.people.In(ctx, r.tenant).RemoveGroup(r.groups[group]))
		w.check(w.server.SyncConnectors(ctx, r.tenant))
		r.forgetGroup(group)
	case kind == 2:
		w.addGroup(r, group, some(w, 50, r.pairs))
	case kind == 3:
		w.addSet(r)
	case kind == 4:
		w.addAgent(r)
	case kind == 5:
		w.addExternal(r)
	case kind == 6 && len(u.external) > 0:
		source, id, _ := strings.Cut(sortedKeys(u.external)[0], ":")
		w.check(w.people.In(ctx, r.tenant).LeaveExternalGroup(directory.ExternalGroup{Source: source, ID: id}, u.email))
		delete(u.external, source+":"+id)
	case kind == 7 && len(r.pairs) > 1:
		gone := r.pairs[0]
		w.check(w.people.In(ctx, r.tenant).RemoveCCPair(gone.name))
		w.check(w.server.SyncConnectors(ctx, r.tenant))
		r.pairs = slices.Clone(r.pairs[1:])
		r.documents = slices.DeleteFunc(r.documents, func(d *ruleDocument) bool { return d.pair == gone })
	case kind == 8 && len(r.agents) > 0:
		w.check(w.people.In(ctx, r.tenant).RemoveAgent(r.agents[0].id))
		r.agents = slices.Clone(r.agents[1:])
	case kind == 9:
		w.removeSet(r)
	default:
		w.postDocument(r, fmt.Sprintf("doc-%d", w.rand.IntN(12)))
	}
}

func (r *rules) forgetGroup(name string) {
	delete(r.groups, name)
	for _, u := range r.users {
		delete(u.groups, name)
	}
	for _, p := range r.pairs {
		delete(p.groups, name)
	}
	for _, s := range r.sets {
		delete(s.groups, name)
	}
	for _, g := range r.agents {
		delete(g.groups, name)
	}
}

// removeSet ends a set that no agent searches within.
func (w *ruleWorld) removeSet(r *rules) {
	for i, s := range r.sets {
		if s.name == "Files" || slices.ContainsFunc(r.agents, func(g *ruleAgent) bool { return slices.Contains(g.sets, s) }) {
			continue
		}
		w.check(w.people.In(w.t.Context(), r.tenant).RemoveDocumentSet(s.name))
		w.check(w.server.SyncConnectors(w.t.Context(), r.tenant))
		r.sets = slices.Delete(slices.Clone(r.sets), i, i+1)
		return
	}
}

func queryOf(q ruleQuery) url.Values {
	values := url.Values{"sources": q.sources, "document_sets": q.sets, "authors": q.authors, "document_types": q.kinds, "places": q.places,
		"exclude_places":  q.not.Places,
		"exclude_sources": q.not.Sources, "exclude_document_sets": q.not.DocumentSets, "exclude_authors": q.not.Authors,
		"exclude_document_types": q.not.DocumentTypes}
	for _, t := range q.tags {
		values.Add("tags", t.Key+"="+t.Value)
	}
	for _, t := range q.not.Tags {
		values.Add("exclude_tags", t.Key+"="+t.Value)
	}
	if q.within != "" {
		values.Set("facet_place", q.within)
	}
	if !q.since.IsZero() {
		values.Set("time_cutoff", q.since.Format(time.RFC3339))
	}
	if !q.until.IsZero() {
		values.Set("time_until", q.until.Format(time.RFC3339))
	}
	if q.agent != nil {
		values.Set("persona_id", fmt.Sprint(q.agent.id))
	}
	return values
}
