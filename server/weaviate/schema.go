package weaviate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"quarry/client/field"
	"quarry/server/documents"
	"quarry/server/index"
)

// The properties of an object. Every passage is one, with the metadata of its document, and every document is one more, of the
// ordinal wholeDocument, with its words.
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

// property is a property of a collection.
type property struct {
	Name       string   `json:"name"`
	Type       []string `json:"dataType"`
	Tokens     string   `json:"tokenization,omitempty"`
	Filterable bool     `json:"indexFilterable"`
	Searchable bool     `json:"indexSearchable"`
	Ranges     bool     `json:"indexRangeFilters"`
}

// class is a collection, as far as it matters.
type class struct {
	Name        string `json:"class"`
	Vectorizer  string `json:"vectorizer"`
	VectorIndex string `json:"vectorIndexType"`
	Vectors     struct {
		Distance string `json:"distance"`
	} `json:"vectorIndexConfig"`
	Inverted struct {
		BM25 struct {
			K1 float64 `json:"k1"`
			B  float64 `json:"b"`
		} `json:"bm25"`
		StopWords struct {
			Preset string `json:"preset"`
		} `json:"stopwords"`
	} `json:"invertedIndexConfig"`
	Tenants struct {
		Enabled    bool `json:"enabled"`
		Activation bool `json:"autoTenantActivation"`
		Creation   bool `json:"autoTenantCreation"`
	} `json:"multiTenancyConfig"`
	Replication struct {
		Factor   int    `json:"factor"`
		Deletion string `json:"deletionStrategy"`
	} `json:"replicationConfig"`
	Properties []property `json:"properties"`
}

// className is the collection of the vectors of a model; all vectors of a collection have one length.
func className(model string) string {
	if model == "" {
		return classPrefix + schemaVersion
	}
	sum := sha256.Sum256([]byte(model))
	return classPrefix + schemaVersion + "_" + hex.EncodeToString(sum[:6])
}

// usable reports whether a collection has the properties of this version.
func usable(name string) bool {
	return name == classPrefix+schemaVersion || strings.HasPrefix(name, classPrefix+schemaVersion+"_")
}

// wantedClass is how a collection must be.
func wantedClass(name string, replication int) class {
	c := class{Name: name, Vectorizer: "none", VectorIndex: "hnsw"}
	c.Vectors.Distance = "cosine"
	c.Inverted.BM25.K1, c.Inverted.BM25.B = 1.2, 0.75
	c.Inverted.StopWords.Preset = "none"
	c.Tenants.Enabled, c.Tenants.Activation = true, true
	c.Replication.Factor, c.Replication.Deletion = replication, "TimeBasedResolution"
	c.Properties = []property{{Name: propText, Type: []string{"text"}, Tokens: "whitespace", Searchable: true}}
	single, lists := []string{propDocument, propMonth}, []string{propAccess, propTerms, propSurfaces, propTitled}
	for id := range field.N {
		switch column := index.ColumnOf(id); {
		case column.Single:
			single = append(single, column.Property)
		case column.Counted != "":
			lists = append(lists, column.Counted)
			fallthrough
		default:
			lists = append(lists, column.Property)
		}
	}
	for _, name := range single {
		c.Properties = append(c.Properties, property{Name: name, Type: []string{"text"}, Tokens: "field", Filterable: true})
	}
	for _, name := range lists {
		c.Properties = append(c.Properties, property{Name: name, Type: []string{"text[]"}, Tokens: "field", Filterable: true})
	}
	for _, name := range []string{propOrdinal, propVersion, propUpdated} {
		c.Properties = append(c.Properties, property{Name: name, Type: []string{"int"}, Filterable: true, Ranges: true})
	}
	for _, name := range []string{propSize, propPassages, propNewest, propOldest} {
		c.Properties = append(c.Properties, property{Name: name, Type: []string{"int"}, Filterable: true})
	}
	c.Properties = append(c.Properties, property{Name: propHidden, Type: []string{"boolean"}, Filterable: true})
	return c
}

// ErrSchema: a collection is not as this program needs it.
var ErrSchema = errors.New("the schema of Weaviate differs")

// differences returns the first difference of a collection; nil if there is none.
func (c *class) differences(wanted *class) error {
	for _, setting := range []struct {
		name         string
		found, needs any
	}{
		{"vectorizer", c.Vectorizer, wanted.Vectorizer},
		{"vectorIndexType", c.VectorIndex, wanted.VectorIndex},
		{"vectorIndexConfig.distance", c.Vectors.Distance, wanted.Vectors.Distance},
		{"invertedIndexConfig.stopwords.preset", c.Inverted.StopWords.Preset, wanted.Inverted.StopWords.Preset},
		{"multiTenancyConfig", c.Tenants, wanted.Tenants},
		{"replicationConfig.factor", c.Replication.Factor, wanted.Replication.Factor},
		{"replicationConfig.deletionStrategy", c.Replication.Deletion, wanted.Replication.Deletion},
	} {
		if setting.found != setting.needs {
			return fmt.Errorf("%w: collection %s has %s %v, not %v", ErrSchema, wanted.Name, setting.name, setting.found, setting.needs)
		}
	}
	for _, want := range wanted.Properties {
		at := slices.IndexFunc(c.Properties, func(p property) bool { return p.Name == want.Name })
		if at < 0 {
			return fmt.Errorf("%w: collection %s lacks property %s", ErrSchema, wanted.Name, want.Name)
		}
		found, _ := json.Marshal(c.Properties[at])
		needs, _ := json.Marshal(want)
		if string(found) != string(needs) {
			return fmt.Errorf("%w: property %s of collection %s is %s, not %s", ErrSchema, want.Name, wanted.Name, found, needs)
		}
	}
	return nil
}

// ensure creates a collection and a tenant in it, or checks that they are as they must be. It calls missing before it creates the
// tenant.
func (c *client) ensure(ctx context.Context, name, tenant string, missing func() error) error {
	wanted, found := wantedClass(name, c.cluster.Replication), class{}
	err := c.rest(ctx, http.MethodGet, "/v1/schema/"+name, nil, &found)
	if notFound(err) {
		err = c.rest(ctx, http.MethodPost, "/v1/schema", wanted, nil)
		if asked := c.rest(ctx, http.MethodGet, "/v1/schema/"+name, nil, &found); asked != nil { // another process may have been faster
			return explain(ctx, "create the collection "+name+" in Weaviate", errors.Join(err, asked))
		}
		err = nil
	}
	if err != nil {
		return explain(ctx, "read the schema of Weaviate", err)
	}
	if err := found.differences(&wanted); err != nil {
		return repairable("check the schema of Weaviate", err.Error(),
			"correct index.engine, or delete the collection there and quarry fills it again", err)
	}
	path := "/v1/schema/" + name + "/tenants"
	err = c.rest(ctx, http.MethodGet, path+"/"+tenant, nil, nil)
	if !notFound(err) {
		return explain(ctx, "look for the tenant in Weaviate", err)
	}
	if err := missing(); err != nil {
		return err
	}
	added := []map[string]string{{"name": tenant}}
	if err = c.rest(ctx, http.MethodPost, path, added, nil); err != nil {
		if asked := c.rest(ctx, http.MethodGet, path+"/"+tenant, nil, nil); asked == nil {
			return nil // another process may have been faster
		}
	}
	return explain(ctx, "create the tenant in Weaviate", err)
}

// Name returns the name of a tenant's library in a cluster.
func Name(ctx context.Context, store *documents.Store, tenant string) (string, error) {
	shown, err := store.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	defer shown.Close()
	return tenantName(tenant, shown.State.Store), nil
}

// Remove deletes libraries, by Name, in all collections of a cluster. It is no error if there are none.
func Remove(ctx context.Context, cluster Cluster, names []string) error {
	c, err := newClient(cluster)
	if err != nil {
		return err
	}
	defer func() { _ = c.close() }()
	var schema struct {
		Classes []struct {
			Name string `json:"class"`
		} `json:"classes"`
	}
	if err := c.rest(ctx, http.MethodGet, "/v1/schema", nil, &schema); err != nil {
		return explain(ctx, "read the schema of Weaviate", err)
	}
	for _, class := range schema.Classes {
		if !strings.HasPrefix(class.Name, classPrefix) {
			continue
		}
		if err := c.removeTenant(ctx, class.Name, names...); err != nil {
			return err
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

// tenantName is the name of a library in a collection: that of the tenant, and which store it is. Names that Weaviate does not
// take are hashed.
func tenantName(tenant, store string) string {
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`).MatchString(tenant) {
		sum := sha256.Sum256([]byte(tenant))
		tenant = "h-" + hex.EncodeToString(sum[:16])
	}
	return tenant + "-" + store[:min(8, len(store))]
}
