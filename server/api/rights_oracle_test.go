package api

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
)

// The rules of who may see what, as they are told to people, read plainly: nothing here knows of access terms, of an
// index or of SQL. The server is held to them by TestRights.

// ruleUser is somebody with two tokens.
type ruleUser struct {
	email, id    string
	admin        bool
	active       bool
	groups       map[string]bool
	external     map[string]bool // "source:id", the id in lower case
	full, scoped string          // tokens
	narrow       string          // another one, with the scopes below
	scopes       []string
}

// may tells whether a token with scopes, or one without for nil, may do what takes a permission.
func (u *ruleUser) may(scopes []string, permission string) bool {
	held := []string{"basic", "add:agents"}
	if u.admin {
		held = []string{"admin"}
	}
	return covers(held, permission) && (scopes == nil || covers(scopes, permission))
}

// covers: an administrator may do everything; basic brings searches and chats with it, writing in chats reading them.
func covers(held []string, permission string) bool {
	brought := map[string][]string{"basic": {"read:search", "read:chat", "write:chat"}, "write:chat": {"read:chat"}}
	return slices.ContainsFunc(held, func(h string) bool {
		return h == "admin" || h == permission || slices.Contains(brought[h], permission)
	})
}

// rulePair is a connector with a credential.
type rulePair struct {
	id      int
	name    string
	source  string
	access  string
	creator string
	groups  map[string]bool
}

// ruleSet is a document set.
type ruleSet struct {
	id            int
	name          string
	public        bool
	users, groups map[string]bool // addresses, names
	pairs         []*rulePair
}

// ruleAgent is an agent.
type ruleAgent struct {
	id            int
	name          string
	public        bool
	owner         string
	users, groups map[string]bool
	sets          []*ruleSet
	documents     []string
	since         time.Time
}

// ruleDocument is a document. Its secret is a word that stands nowhere else, in each part of its text, in its title and
// its tags.
type ruleDocument struct {
	id, secret, source, author, kind string
	place                            []string // names
	words                            []string
	parts                            int  // of its text, each as long as a chunk may be; 0: a line
	copied                           bool // most of its text is in other documents too
	tags                             []wire.Tag
	updated                          time.Time
	pair                             *rulePair // nil: none
	external                         bool      // it came with the rights of its own system
	public                           bool      // there
	emails, groups                   []string  // there
	local                            []string  // the sets it was added to
}

// rules are all there is in a tenant.
type rules struct {
	tenant    string
	users     []*ruleUser
	groups    map[string]int // ids by name
	pairs     []*rulePair
	sets      []*ruleSet
	agents    []*ruleAgent
	documents []*ruleDocument
}

// asker is somebody who asks: a user, nobody in particular, or the owner in process, who sees the whole tenant. A token
// with scopes makes nobody an administrator, and neither does a key that somebody else has recognised them by.
type asker struct {
	user               *ruleUser
	scoped, guest, all bool
}

func (a asker) admin() bool { return a.all || a.user != nil && a.user.admin && !a.scoped && !a.guest }

// mayChat: nobody in particular holds no conversations.
func (a asker) mayChat() bool { return a.all || a.user != nil && !a.scoped }

// self is whose conversations they hold. Those in process are not those of the owner elsewhere.
func (a asker) self() string {
	if a.all {
		return "the owner in process"
	}
	return a.user.email
}

// sees: everybody sees what is public; who is named, or is in a group that is named, sees the rest.
func (a asker) sees(d *ruleDocument) bool {
	if a.all {
		return true
	}
	if p := d.pair; p != nil && p.access != "sync" {
		return p.access == "public" || a.user != nil && (a.user.email == p.creator || sharesOne(a.user.groups, p.groups))
	}
	if !d.external {
		return d.pair == nil
	}
	return d.public || a.user != nil && (slices.ContainsFunc(d.emails, func(email string) bool {
		return strings.EqualFold(email, a.user.email)
	}) || slices.ContainsFunc(d.groups, func(id string) bool { return a.user.external[d.source+":"+strings.ToLower(id)] }))
}

func sharesOne(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}

func (a asker) knowsSet(s *ruleSet) bool {
	return s.public || a.admin() || a.user != nil && (s.users[a.user.email] || sharesOne(a.user.groups, s.groups))
}

func (a asker) knowsAgent(g *ruleAgent) bool {
	return g.public || a.admin() ||
		a.user != nil && (g.owner == a.user.email || g.users[a.user.email] || sharesOne(a.user.groups, g.groups))
}

func (a asker) knowsPair(p *rulePair) bool {
	return p.access == "public" || a.admin() || a.user != nil && (p.creator == a.user.email || sharesOne(a.user.groups, p.groups))
}

// setsOf are the sets that hold a document.
func (r *rules) setsOf(d *ruleDocument) []string {
	names := slices.Clone(d.local)
	for _, s := range r.sets {
		if d.pair != nil && slices.Contains(s.pairs, d.pair) {
			names = append(names, s.name)
		}
	}
	return names
}

func (r *rules) set(name string) *ruleSet {
	for _, s := range r.sets {
		if s.name == name {
			return s
		}
	}
	return nil
}

// ruleQuery is a search, or a count of everything when it has no word.
type ruleQuery struct {
	word           string
	begins         bool // the word is the beginning of one
	sources, kinds []string
	authors, sets  []string
	places         []string // runs of names, joined by slashes; with one before it: from the top
	within         string   // the place whose children are counted
	tags           []wire.Tag
	since, until   time.Time
	agent          *ruleAgent
	not            wire.Filters
}

// passes tells whether a document passes every field of a query but the named one.
func (r *rules) passes(d *ruleDocument, q ruleQuery, but string) bool {
	since, scope, attached := q.since, q.sets, []string(nil)
	if q.agent != nil {
		if q.agent.since.After(since) {
			since = q.agent.since
		}
		if d.updated.Before(q.agent.since) { // whatever month is chosen
			return false
		}
		if len(scope) == 0 {
			for _, s := range q.agent.sets {
				scope = append(scope, s.name)
			}
		}
		attached = q.agent.documents
	}
	among := func(values []string, value string) bool { return len(values) == 0 || slices.Contains(values, value) }
	inScope := len(scope)+len(attached) == 0 || slices.Contains(attached, d.id) ||
		slices.ContainsFunc(r.setsOf(d), func(name string) bool { return slices.Contains(scope, name) })
	tagged := len(q.tags) == 0 || slices.ContainsFunc(q.tags, func(t wire.Tag) bool { return slices.Contains(d.tags, t) })
	return d.holds(q) && !r.excluded(d, q.not) &&
		(but == "source" || among(q.sources, d.source)) && (but == "author" || among(q.authors, d.author)) &&
		(but == "type" || among(q.kinds, d.kind)) && (but == "place" || len(q.places) == 0 || d.livesIn(q.places)) && (but == "tag" || tagged) && (but == "set" || inScope) &&
		(but == "month" || !d.updated.Before(since) && (q.until.IsZero() || !d.updated.After(q.until)))
}

// excluded: a document with any of the values is out, whatever else is asked for.
func (r *rules) excluded(d *ruleDocument, not wire.Filters) bool {
	return slices.Contains(not.Sources, d.source) || slices.Contains(not.Authors, d.author) ||
		slices.Contains(not.DocumentTypes, d.kind) || d.livesIn(not.Places) || sharesAny(not.DocumentSets, r.setsOf(d)) || sharesAny(not.Tags, d.tags)
}

// livesIn reports whether a document's place contains one of these runs of names.
func (d *ruleDocument) livesIn(places []string) bool {
	return slices.ContainsFunc(places, func(run string) bool { return len(d.placesOf(run)) > 0 })
}

// placesOf are the places around a document, itself included, that end in a run of names; the outermost first.
func (d *ruleDocument) placesOf(run string) (places []string) {
	for i := range d.place {
		at := strings.Join(d.place[:i+1], "/")
		if at == strings.TrimPrefix(run, "/") || !strings.HasPrefix(run, "/") && strings.HasSuffix(at, "/"+run) {
			places = append(places, at)
		}
	}
	return places
}

// meantPlaces are the places that a run of names means to an asker, or the run itself.
func (r *rules) meantPlaces(a asker, runs []string) []string {
	var all []string
	for _, run := range runs {
		meant := map[string]bool{}
		for _, d := range r.documents {
			if places := d.placesOf(run); a.sees(d) && len(places) > 0 {
				meant[places[0]] = true
			}
		}
		if len(meant) == 0 {
			meant[run] = true
		}
		all = append(all, slices.Collect(maps.Keys(meant))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// countPlaces counts documents by place: below one, or where they first part. A place begins with a slash if others of them
// have its names elsewhere.
func countPlaces(documents []*ruleDocument, within string) map[string]int {
	level := func(depth int, below string) map[string]int {
		counts := map[string]int{}
		for _, d := range documents {
			if at := strings.Join(d.place[:min(depth+1, len(d.place))], "/"); len(d.place) > depth && (below == "" || path.Dir(at) == below) {
				counts[at]++
			}
		}
		return counts
	}
	counts := map[string]int{}
	if within != "" {
		for _, d := range documents {
			if places := d.placesOf(within); len(places) > 0 { // one in another would be counted twice
				maps.Copy(counts, level(strings.Count(places[0], "/")+1, places[0]))
			}
		}
	} else {
		for depth := 0; depth < 9; depth++ {
			if found := level(depth, ""); len(found) > 0 {
				counts = found
			}
			parts := map[string]bool{}
			for _, d := range documents {
				parts[strings.Join(d.place[:min(depth+1, len(d.place))], "/")] = true
			}
			if len(parts) != 1 {
				break
			}
		}
	}
	named := map[string]int{}
	for at, n := range counts {
		if slices.ContainsFunc(documents, func(d *ruleDocument) bool {
			return slices.ContainsFunc(d.placesOf(at), func(other string) bool { return other != at })
		}) {
			at = "/" + at
		}
		named["place "+at] = n
	}
	return named
}

func sharesAny[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(value T) bool { return slices.Contains(b, value) })
}

// holds: a document holds a word, or one that begins so, in its text.
func (d *ruleDocument) holds(q ruleQuery) bool {
	return q.word == "" || slices.ContainsFunc(append([]string{d.secret}, d.words...), func(word string) bool {
		return word == q.word || q.begins && strings.HasPrefix(word, q.word)
	})
}

// twins are words that are a letter apart, each of which stands in some documents.
func twins() map[string]string { return map[string]string{"zanzibar": misspelt, misspelt: "zanzibar"} }

// meant is the query that is answered: where nothing is found, and the asker sees no document with the word, the one with
// its twin, if that finds something.
func (r *rules) meant(a asker, q ruleQuery) ruleQuery {
	sees := slices.ContainsFunc(r.documents, func(d *ruleDocument) bool { return a.sees(d) && d.holds(ruleQuery{word: q.word}) })
	other := q
	if other.word = twins()[q.word]; other.word == "" || sees || q.begins || len(r.found(a, q)) > 0 ||
		len(r.found(a, other))+len(r.found(a, ruleQuery{word: other.word, agent: q.agent})) == 0 {
		return q
	}
	return other
}

// found are the documents that an asker finds, by id.
func (r *rules) found(a asker, q ruleQuery) []string {
	ids := []string{}
	for _, d := range r.documents {
		if a.sees(d) && r.passes(d, q, "") {
			ids = append(ids, d.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// counted are the facets: for each field, the documents that pass all other fields, by value.
func (r *rules) counted(a asker, q ruleQuery) map[string]int {
	var placed []*ruleDocument
	for _, d := range r.documents {
		if a.sees(d) && r.passes(d, q, "place") {
			placed = append(placed, d)
		}
	}
	counts := countPlaces(placed, q.within)
	for _, d := range r.documents {
		if !a.sees(d) {
			continue
		}
		values := map[string][]string{"source": {d.source}, "author": {d.author}, "type": {d.kind}, "month": {d.updated.Format("2006-01")}}
		for _, name := range r.setsOf(d) {
			if a.knowsSet(r.set(name)) {
				values["set"] = append(values["set"], name)
			}
		}
		for _, t := range d.tags {
			values["tag"] = append(values["tag"], t.Key+"="+t.Value)
		}
		for field, list := range values {
			for _, value := range list {
				if r.passes(d, q, field) {
					counts[field+" "+value]++
				}
			}
		}
	}
	for _, s := range r.sets {
		if counts["set "+s.name] > 0 {
			counts["set "+s.name] += r.attached(a, q, s.name)
		}
	}
	return counts
}

// attached is how many documents of the agent an asker finds that are not in a set: they are found whichever is chosen.
func (r *rules) attached(a asker, q ruleQuery, set string) (n int) {
	for _, d := range r.documents {
		if q.agent != nil && slices.Contains(q.agent.documents, d.id) && a.sees(d) && r.passes(d, q, "") &&
			!slices.Contains(r.setsOf(d), set) {
			n++
		}
	}
	return n
}

// told are the facets of an answer, in the same form.
func told(f wire.Facets) map[string]int {
	counts := map[string]int{}
	for field, list := range map[string][]wire.FacetValue{"source": f.Sources, "author": f.Authors, "type": f.Types, "set": f.DocumentSets,
		"place": f.Places} {
		for _, v := range list {
			counts[field+" "+v.Value] += v.Count
		}
	}
	for _, t := range f.Tags {
		counts["tag "+t.Key+"="+t.Value] += t.Count
	}
	for _, m := range f.Months {
		counts["month "+m.Month] += m.Count
	}
	return counts
}

// sources are those that an asker sees a document of.
func (r *rules) sources(a asker, in func(*ruleDocument) bool) []string {
	seen := map[string]bool{}
	for _, d := range r.documents {
		if a.sees(d) && in(d) {
			seen[d.source] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(seen))...)
}

// secrets are words that may stand in no answer to an asker: of documents that they do not see, and the names of sets
// and agents that they do not know.
func (r *rules) secrets(a asker) []string {
	var words []string
	for _, d := range r.documents {
		if !a.sees(d) {
			words = append(words, d.secret)
		}
	}
	for _, s := range r.sets {
		if !a.knowsSet(s) {
			words = append(words, s.name)
		}
	}
	for _, g := range r.agents {
		if !a.knowsAgent(g) {
			words = append(words, g.name)
		}
	}
	for _, p := range r.pairs {
		if !a.knowsPair(p) {
			words = append(words, p.name)
		}
	}
	return words
}
