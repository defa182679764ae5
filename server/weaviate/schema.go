package weaviate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
)

// The properties of an object. Every passage is one, with the metadata of its document, and every document is one more,
// of the ordinal wholeDocument, with its words.
const (
	propText     = "search_text" // the terms of a passage, of its headings and of its title
	propDocument = "document_id"
	propOrdinal  = "ordinal"
	propVersion  = "version"
	propAccess   = "access_control_list"
	propHidden   = "hidden"
	propUpdated  = "updated_at" // microseconds since 1970
	propMonth    = "month"
	propTerms    = "terms"
	propSurfaces = "surfaces"
	propTitled   = "title_terms"
	propSize     = "title_size"
	propPassages = "passages"
	propNewest   = "newest_first" // the place of a document in a list
	propOldest   = "oldest_first"
)

const (
	wholeDocument = -1
	// probeObject is the ordinal of an object of no document.
	probeObject = -2
	// undated is the time of documents without one. It is a whole number as float64, too.
	undated = -1 << 53
	// classPrefix begins the names of our collections; schemaVersion changes with the properties.
	classPrefix   = "Quarry"
	schemaVersion = "8"
	// titleCopies is how often the title counts in the text of a passage.
	titleCopies = 2
)

// className is the collection of the vectors of a model; all vectors of a collection have one length.
func className(model string) string {
	if model == "" {
		return classPrefix + schemaVersion
	}
	return fmt.Sprintf("%s%s_%.6x", classPrefix, schemaVersion, sha256.Sum256([]byte(model)))
}

// usable reports whether a collection has the properties of this version.
func usable(name string) bool {
	return name == classPrefix+schemaVersion || strings.HasPrefix(name, classPrefix+schemaVersion+"_")
}

// settings are those of a collection, or of a part of it, as the API has them.
type settings = map[string]any

// wantedClass is how a collection must be.
func wantedClass(name string, replication int) settings {
	var properties []any
	add := func(kind string, how settings, names ...string) {
		for _, name := range names {
			p := settings{"name": name, "dataType": []any{kind}, "indexFilterable": true, "indexSearchable": false,
				"indexRangeFilters": false}
			maps.Copy(p, how)
			properties = append(properties, p)
		}
	}
	exact := settings{"tokenization": "field"}
	add("text", settings{"tokenization": "whitespace", "indexFilterable": false, "indexSearchable": true}, propText)
	add("text", exact, propDocument, propMonth)
	add("text[]", exact, propAccess, propTerms, propSurfaces, propTitled)
	for id := range field.N {
		switch column := index.ColumnOf(id); {
		case column.Single:
			add("text", exact, column.Property)
		case column.Counted != "":
			add("text[]", exact, column.Counted)
			fallthrough
		default:
			add("text[]", exact, column.Property)
		}
	}
	add("int", settings{"indexRangeFilters": true}, propOrdinal, propVersion, propUpdated)
	add("int", nil, propSize, propPassages, propNewest, propOldest)
	add("boolean", nil, propHidden)
	return settings{
		"class": name, "properties": properties, "vectorizer": "none", "vectorIndexType": "hnsw",
		"vectorIndexConfig": settings{"distance": "cosine"},
		"invertedIndexConfig": settings{"bm25": settings{"k1": 1.2, "b": 0.75},
			"stopwords": settings{"preset": "none"}},
		"multiTenancyConfig": settings{"enabled": true, "autoTenantActivation": true, "autoTenantCreation": false},
		"replicationConfig":  settings{"factor": float64(replication), "deletionStrategy": "TimeBasedResolution"},
	}
}

// ErrSchema: a collection is not as this program needs it.
var ErrSchema = errors.New("the schema of Weaviate differs")

// difference describes the first setting that is not as wanted; empty: all are. BM25's parameters may be others: what
// is found is ranked again.
func difference(place string, found, wanted any) string {
	needs, inner := wanted.(settings)
	has, _ := found.(settings)
	switch {
	case found == nil && wanted != false:
		return "lacks " + place
	case !inner && found != nil && !reflect.DeepEqual(found, wanted):
		return fmt.Sprintf("has %s %v, not %v", place, found, wanted)
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if name == "bm25" {
			continue
		}
		if problem := difference(strings.TrimPrefix(place+"."+name, "."), has[name], needs[name]); problem != "" {
			return problem
		}
	}
	return ""
}

// byName returns the settings of a collection with those of each property under its name.
func byName(class settings) settings {
	named := maps.Clone(class)
	list, _ := class["properties"].([]any)
	for _, one := range list {
		if property, ok := one.(settings); ok {
			named[fmt.Sprint("property ", property["name"])] = property
		}
	}
	delete(named, "properties")
	return named
}

// create creates a collection and the tenant in it, or checks that they are as they must be. A new tenant begins with
// the first change.
func (x *Index) create(ctx context.Context, name string) error {
	c, found := x.client, settings{}
	wanted := wantedClass(name, c.cluster.Replication)
	err := c.rest(ctx, http.MethodGet, "/v1/schema/"+name, nil, &found)
	if notFound(err) {
		err = c.rest(ctx, http.MethodPost, "/v1/schema", wanted, nil)
		// Another process may have been faster.
		if asked := c.rest(ctx, http.MethodGet, "/v1/schema/"+name, nil, &found); asked != nil {
			return explain(ctx, "create the collection "+name+" in Weaviate", errors.Join(err, asked))
		}
		err = nil
	}
	if err != nil {
		return explain(ctx, "read the schema of Weaviate", err)
	}
	if problem := difference("", byName(found), byName(wanted)); problem != "" {
		err := fmt.Errorf("%w: collection %s %s", ErrSchema, name, problem)
		return repairable("check the schema of Weaviate", err.Error(),
			"correct index.engine, or delete the collection there and quarry fills it again", err)
	}
	path := "/v1/schema/" + name + "/tenants"
	err = c.rest(ctx, http.MethodGet, path+"/"+x.tenant, nil, nil)
	if !notFound(err) {
		return explain(ctx, "look for the tenant in Weaviate", err)
	}
	if !x.ReadOnly() {
		if err := x.Forget(ctx, x.follower(name)); err != nil {
			return err
		}
	}
	added := []map[string]string{{"name": x.tenant}}
	if err = c.rest(ctx, http.MethodPost, path, added, nil); err == nil {
		return nil
	}
	switch asked := c.rest(ctx, http.MethodGet, path+"/"+x.tenant, nil, nil); {
	case asked == nil: // another process was faster
		return nil
	case notFound(c.rest(ctx, http.MethodGet, "/v1/schema/"+name, nil, nil)): // or found the collection empty
		return x.create(ctx, name)
	}
	return explain(ctx, "create the tenant in Weaviate", err)
}

// Name returns the name of a tenant's library in a cluster.
func Name(ctx context.Context, store *documents.Store, tenant string) (string, error) {
	now, err := store.State(ctx)
	return tenantName(tenant, now.Store), err
}

// Remove deletes libraries, by Name, in all collections of a cluster. It is no error if there are none.
func Remove(ctx context.Context, cluster Cluster, names []string) (err error) {
	defer guard.End(&err)
	c := guard.Must(newClient(cluster))
	defer c.close()
	var schema struct {
		Classes []struct {
			Name string `json:"class"`
		} `json:"classes"`
	}
	guard.Check(explain(ctx, "read the schema of Weaviate", c.rest(ctx, http.MethodGet, "/v1/schema", nil, &schema)))
	for _, class := range schema.Classes {
		if strings.HasPrefix(class.Name, classPrefix) {
			guard.Check(c.removeTenant(ctx, class.Name, names...))
		}
	}
	return nil
}

// removeTenant deletes tenants of a collection. It is no error if there are none.
func (c *client) removeTenant(ctx context.Context, class string, names ...string) error {
	err := c.rest(ctx, http.MethodDelete, "/v1/schema/"+class+"/tenants", names, nil)
	if notFound(err) {
		return nil
	}
	return explain(ctx, "remove tenants from Weaviate", err)
}

// removeEmpty deletes a collection that has no tenants.
func (c *client) removeEmpty(ctx context.Context, class string) error {
	var left []struct{}
	err := c.rest(ctx, http.MethodGet, "/v1/schema/"+class+"/tenants", nil, &left)
	if err == nil && len(left) == 0 {
		err = c.rest(ctx, http.MethodDelete, "/v1/schema/"+class, nil, nil)
	}
	if notFound(err) {
		return nil
	}
	return explain(ctx, "remove a collection from Weaviate", err)
}

// tenantName is the name of a library in a collection: that of the tenant, and which store it is. Names that Weaviate
// does not take are hashed.
func tenantName(tenant, store string) string {
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`).MatchString(tenant) {
		tenant = fmt.Sprintf("h-%.16x", sha256.Sum256([]byte(tenant)))
	}
	return tenant + "-" + store[:min(8, len(store))]
}
