package api

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// indexedSources answers GET /manage/indexed-sources.
func indexedSources(c *call) any {
	sources := mapped(c.statuses(), func(row wire.ConnectorStatus) string { return row.Source })
	return wire.IndexedSources{Sources: slices.Compact(sources)}
}

// connectorStatus answers GET /manage/connector-status.
func connectorStatus(c *call) any { return c.statuses() }

// statuses lists the connectors that the caller may know, and the other sources of documents that the caller may see,
// by source. A connector to which a document was posted had a successful run.
func (c *call) statuses() []wire.ConnectorStatus {
	rows, connected := []wire.ConnectorStatus{}, map[string]bool{}
	pairs, known := must(c.directory.CCPairs()), c.catalog()
	for _, pair := range pairs {
		if mayKnow(c.who, pair) && !isInternal(pair.Source) {
			connected[pair.Source] = true
			rows = append(rows, wire.ConnectorStatus{HasSuccessfulRun: known.origins[pair.Origin()] > 0,
				Source: pair.Source, Status: "ACTIVE"})
		}
	}
	for _, source := range known.sources {
		if !connected[source] {
			rows = append(rows, wire.ConnectorStatus{HasSuccessfulRun: true, Source: source, Status: "ACTIVE"})
		}
	}
	slices.SortStableFunc(rows, func(a, b wire.ConnectorStatus) int { return cmp.Compare(a.Source, b.Source) })
	return rows
}

// documentSets answers GET /manage/document-set.
func documentSets(c *call) any { return c.describeSets(must(c.directory.DocumentSets())) }

// federated answers GET /federated and its status: this server has no federated connectors.
func federated(*call) any { return []wire.FederatedConnection{} }

// tagMatcher returns a filter for tags. A pattern of the form key=value must match both, any other one of them.
func tagMatcher(pattern string, prefix bool) func(wire.Tag) bool {
	same := strings.EqualFold
	if prefix {
		same = func(text, start string) bool { return strings.HasPrefix(strings.ToLower(text), strings.ToLower(start)) }
	}
	key, value, both := strings.Cut(pattern, "=")
	if !both {
		return func(tag wire.Tag) bool { return same(tag.Key, pattern) || same(tag.Value, pattern) }
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	return func(tag wire.Tag) bool { return same(tag.Key, key) && same(tag.Value, value) }
}

// validTags answers GET /query/valid-tags: the most frequent tags first, each with the source that carries it.
func validTags(c *call) any {
	const usual, most = 50, 1000
	pattern := c.textOf("match_pattern", wire.MaxQueryRunes)
	prefix := c.boolean("allow_prefix", true)
	limit := c.wholeOr("limit", usual, 1, most)
	wanted := c.oneOf("sources", wire.SourceValues())
	check(c.failure())
	valid, matches := wire.ValidTags{Tags: []wire.SourceTag{}}, tagMatcher(pattern, prefix)
	for _, tag := range c.catalog().tags {
		if len(valid.Tags) == limit {
			break
		}
		if len(wanted) > 0 && !slices.Contains(wanted, tag.source) {
			continue
		}
		if pattern == "" || matches(tag.Tag) {
			valid.Tags = append(valid.Tags, wire.SourceTag{Key: tag.Key, Value: tag.Value, Source: tag.source})
		}
	}
	return valid
}

type countedTag struct {
	wire.Tag
	source string
	count  int
}

// The bounds of the caches: about 5 MB of agents' scopes, and at most about 50 MB of catalogs.
const (
	maxScopes      = 10_000
	maxCatalogs    = 50
	maxCatalogTags = 10_000 // a catalog with more tags is not cached
)

// counted caches the counts of listings per version of a library, so that the cost of a listing does not grow with the
// number of documents.
type counted struct {
	scopes   *lru.Cache[scopeKey, scopeCount]
	catalogs *lru.Cache[viewKey, catalog]
}

// viewKey identifies what a caller may see of a tenant's library.
type viewKey struct{ tenant, access string }

// scopeKey identifies an agent's scope as a caller sees it. Ids are not reused.
type scopeKey struct {
	viewKey
	agent, revision int
}

// scopeCount has the sources of an agent's scope and the number of its attached documents.
type scopeCount struct {
	version  string // of the library
	sources  []string
	attached int
}

// catalog has the sources and tags of a library.
type catalog struct {
	version string // of the library
	sources []string
	tags    []countedTag // the most frequent first
	// origins counts the documents of each origin of the tenant; nil if there was no connector.
	origins map[string]int
}

func newCounted() counted {
	scopes, _ := lru.New[scopeKey, scopeCount](maxScopes) // a positive size is no error
	catalogs, _ := lru.New[viewKey, catalog](maxCatalogs)
	return counted{scopes, catalogs}
}

func keyOf(who directory.Principal) viewKey {
	access := who.Access()
	if access.All {
		return viewKey{who.Tenant, "*"}
	}
	return viewKey{who.Tenant, strings.Join(access.Terms, "\x00")}
}

// catalog counts the sources and tags of the documents that the caller may see.
func (c *call) catalog() (known catalog) {
	c.read(func(snapshot index.Snapshot) {
		key, ok := keyOf(c.who), false
		if known, ok = c.counted.catalogs.Get(key); ok && known.version == snapshot.Version() {
			return
		}
		defer must(c.slots.acquire(c.ctx))()
		// Another request counted in the meantime.
		if known, ok = c.counted.catalogs.Get(key); ok && known.version == snapshot.Version() {
			return
		}
		known = c.countCatalog(snapshot)
		if len(must(c.directory.CCPairs())) > 0 {
			known.origins = must(snapshot.Origins(c.ctx))
			maps.DeleteFunc(known.origins, func(origin string, _ int) bool { return !directory.IsPairOrigin(origin) })
		}
		if len(known.tags) <= maxCatalogTags {
			known.version = snapshot.Version()
			c.counted.catalogs.Add(key, known)
		}
	})
	return known
}

// scopesOf counts what the caller may see of the scopes of agents, by agent id.
func (c *call) scopesOf(agents []directory.Agent) map[int]scopeCount {
	known := make(map[int]scopeCount, len(agents))
	c.read(func(snapshot index.Snapshot) {
		key := keyOf(c.who)
		missing := func() []directory.Agent {
			return slices.DeleteFunc(slices.Clone(agents), func(a directory.Agent) bool {
				count, ok := c.counted.scopes.Get(scopeKey{key, a.ID, a.Revision})
				if ok = ok && count.version == snapshot.Version(); ok {
					known[a.ID] = count
				}
				return ok || a.Builtin // which has no scope
			})
		}
		if len(missing()) == 0 {
			return
		}
		defer must(c.slots.acquire(c.ctx))()
		rest := missing() // another request may have counted in the meantime
		check(c.directory.ReadDocuments(rest))
		counts := c.countScopes(snapshot, rest)
		for _, a := range rest {
			count := counts[a.ID]
			count.version = snapshot.Version()
			known[a.ID] = count
			c.counted.scopes.Add(scopeKey{key, a.ID, a.Revision}, count)
		}
	})
	return known
}

// countScopes counts each document set and reads each attached document only once.
func (c *call) countScopes(snapshot index.Snapshot, agents []directory.Agent) map[int]scopeCount {
	documents := c.attachedDocuments(snapshot, agents)
	type part struct {
		set   string
		since time.Time
	}
	parts, counts := map[part][]string{}, make(map[int]scopeCount, len(agents))
	for _, a := range agents {
		count := scopeCount{sources: []string{}}
		for _, set := range a.DocumentSets {
			part := part{set.Name, a.SearchStart}
			if _, known := parts[part]; !known {
				facets := must(snapshot.Facets(c.ctx,
					index.Filter{Access: c.who.Access(), Any: field.Keys{field.Set: {set.Name}},
						Since: a.SearchStart}))
				parts[part] = sourcesIn(facets.Values[field.Source])
			}
			count.sources = append(count.sources, parts[part]...)
		}
		for _, id := range a.Documents {
			seen, ok := documents[id]
			if !ok {
				continue
			}
			count.attached++
			if a.SearchStart.IsZero() || !seen.UpdatedAt.IsZero() && !seen.UpdatedAt.Before(a.SearchStart) {
				count.sources = append(count.sources, sourcesIn([]index.ValueCount{{Value: seen.Source}})...)
			}
		}
		slices.Sort(count.sources)
		count.sources = slices.Compact(count.sources)
		counts[a.ID] = count
	}
	return counts
}

// attachedDocuments reads the documents attached to agents that the caller may see.
func (c *call) attachedDocuments(snapshot index.Snapshot, agents []directory.Agent) map[string]index.Stored {
	seen := map[string]index.Stored{}
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.Documents...)
	}
	slices.Sort(ids)
	for batch := range slices.Chunk(slices.Compact(ids), documentBatch) {
		for _, d := range must(snapshot.Documents(c.ctx, batch, c.who.Access())) {
			seen[d.ID] = d
		}
	}
	return seen
}

// countCatalog counts the tags of each source by itself, because the index counts them over all.
func (c *call) countCatalog(snapshot index.Snapshot) catalog {
	access := c.who.Access()
	counts := must(snapshot.Facets(c.ctx, index.Filter{Access: access}))
	known := catalog{sources: sourcesIn(counts.Values[field.Source])}
	for _, source := range counts.Values[field.Source] {
		own := must(snapshot.Facets(c.ctx, index.Filter{Access: access, Any: field.Keys{field.Source: {source.Value}}}))
		for _, t := range own.Values[field.Tag] {
			key, value := field.CutPair(t.Value)
			known.tags = append(known.tags,
				countedTag{Tag: wire.Tag{Key: key, Value: value}, source: source.Value, count: t.Count})
		}
	}
	slices.SortFunc(known.tags, func(a, b countedTag) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value),
			cmp.Compare(a.source, b.source))
	})
	return known
}

// sourcesIn returns the sources that are not internal, sorted.
func sourcesIn(counts []index.ValueCount) []string {
	values := []string{}
	for _, c := range counts {
		if !isInternal(c.Value) {
			values = append(values, c.Value)
		}
	}
	slices.Sort(values)
	return values
}

func isInternal(source string) bool {
	known, ok := wire.LookupSource(source)
	return ok && known.Internal
}

// listed returns a copy of items that is never nil, so that it is written as a list.
func listed[T any](items []T) []T { return append([]T{}, items...) }

// mapped returns what convert makes of each item; never nil, so that it is written as a list.
func mapped[T, W any](items []T, convert func(T) W) []W {
	converted := make([]W, len(items))
	for i, item := range items {
		converted[i] = convert(item)
	}
	return converted
}

// features lists the server's extensions. Instant searches do not include federated sources.
func (s *Server) features() []string {
	known := []string{
		wire.FeatureStream, wire.FeatureFacets, wire.FeatureChunks, wire.FeatureSuggest, wire.FeatureInstant,
		wire.FeatureNumResults, wire.FeaturePhrases, wire.FeatureTimeUntil,
	}
	for _, row := range field.All() {
		if row.Extension {
			known = append(known, row.Key)
		}
	}
	known = append(known,
		wire.FeatureExplain, wire.FeatureOffset, wire.FeatureResultSet, wire.FeatureSort, wire.FeatureBrowse,
		wire.FeatureExcludeFilters, wire.FeatureAddedSince, wire.FeatureSimilarTo, wire.FeaturePrefix,
		wire.FeatureLines, wire.FeatureRefs, wire.FeatureHighlights)
	if s.Empty {
		known = slices.DeleteFunc(known, func(f string) bool { return f == wire.FeatureInstant })
	}
	return known
}
