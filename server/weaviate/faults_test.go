package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
)

// faulty answers as a cluster does, with faults. It ignores all filters.
type faulty struct {
	pb.UnimplementedWeaviateServer
	mutex       sync.Mutex
	calls       map[string]int
	documents   map[string]bool // ids of stored objects
	unavailable int             // searches that fail
	refused     int             // batches whose first object fails
	refuses     string          // objects of this document
	failing     bool            // what is refused fails the whole call
	uncounted   bool            // counts fail
	lost        bool            // the tenant is not there
	removed     bool            // the collection is, when the tenant is added, by whoever had its last one
	gone        bool            // the collection is not there
	unfilled    string          // the collection that takes no objects
	searched    string          // the collection of the last search
	deleted     []string        // paths
	undeleted   int             // deletes that fail for an object
	matches     []int64         // of the next deletes
	change      func(settings)  // makes the schema differ
	access      []string        // of the last stored passage
	authorized  []string        // of REST calls
}

func (f *faulty) count(call string) int {
	f.calls[call]++
	return f.calls[call]
}

// Search returns stored documents, as many as are asked for.
func (f *faulty) Search(_ context.Context, request *pb.SearchRequest) (*pb.SearchReply, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.count("search") <= f.unavailable {
		return nil, status.Error(codes.Unknown, "could not find class") // as of a node that starts
	}
	reply := &pb.SearchReply{}
	f.searched = request.Collection
	ids := slices.Sorted(maps.Keys(f.documents))
	for _, id := range ids[:min(len(ids), int(request.Limit))] {
		reply.Results = append(reply.Results, &pb.SearchResult{Metadata: &pb.MetadataResult{}, Properties: &pb.PropertiesResult{
			NonRefProps: &pb.Properties{Fields: map[string]*pb.Value{
				propDocument: {Kind: &pb.Value_TextValue{TextValue: id}}, propOrdinal: {Kind: &pb.Value_IntValue{IntValue: 99}}}}}})
	}
	return reply, nil
}

// Aggregate counts all stored documents.
func (f *faulty) Aggregate(context.Context, *pb.AggregateRequest) (*pb.AggregateReply, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.uncounted {
		return nil, status.Error(codes.Unavailable, "no leader")
	}
	n := int64(len(f.documents))
	return &pb.AggregateReply{Result: &pb.AggregateReply_SingleResult{SingleResult: &pb.AggregateReply_Single{ObjectsCount: &n}}}, nil
}

// BatchObjects stores objects.
func (f *faulty) BatchObjects(_ context.Context, request *pb.BatchObjectsRequest) (*pb.BatchObjectsReply, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	reply, refused := &pb.BatchObjectsReply{}, f.count("batch") <= f.refused
	for i, o := range request.Objects {
		if o.Collection == f.unfilled {
			return nil, status.Error(codes.Unavailable, "no leader")
		}
		id := o.Properties.NonRefProperties.Fields[propDocument].GetStringValue()
		switch {
		case refused && i == 0:
			reply.Errors = append(reply.Errors, &pb.BatchObjectsReply_BatchError{Error: "not enough replicas"})
		case f.lost:
			reply.Errors = append(reply.Errors, &pb.BatchObjectsReply_BatchError{Index: int32(i), Error: "tenant not found"})
		case id == f.refuses && f.failing:
			return nil, status.Error(codes.InvalidArgument, "property too long")
		case id == f.refuses:
			reply.Errors = append(reply.Errors, &pb.BatchObjectsReply_BatchError{Index: int32(i), Error: "property too long"})
		case o.Properties.NonRefProperties.Fields[propOrdinal].GetNumberValue() != probeObject:
			f.documents[id] = true
			for _, list := range o.Properties.TextArrayProperties {
				if list.PropName == propAccess {
					f.access = list.Values
				}
			}
		}
	}
	return reply, nil
}

// BatchDelete deletes nothing.
func (f *faulty) BatchDelete(context.Context, *pb.BatchDeleteRequest) (*pb.BatchDeleteReply, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.count("delete") <= f.undeleted {
		return &pb.BatchDeleteReply{Matches: 1, Failed: 1}, nil
	}
	reply := &pb.BatchDeleteReply{}
	if len(f.matches) > 0 {
		reply.Matches, f.matches = f.matches[0], f.matches[1:]
	}
	return reply, nil
}

// ServeHTTP answers REST calls.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.authorized = append(f.authorized, r.Header.Get("Authorization"))
	name, tenants, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/schema/"), "/")
	switch {
	case r.Method == http.MethodDelete:
		f.deleted = append(f.deleted, r.URL.Path)
	case tenants == "tenants" && r.Method == http.MethodGet:
		_, _ = w.Write([]byte("[]"))
	case f.count("rest") == 1: // the first host is starting
		http.Error(w, "no leader", http.StatusServiceUnavailable)
	case tenants == "tenants" && f.removed:
		f.removed, f.gone = false, true
		http.Error(w, "TYPE_ADD_TENANT: class not found", http.StatusUnprocessableEntity)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/schema":
		f.gone = false
	case f.gone:
		http.NotFound(w, r)
	case tenants == "tenants": // is added
		f.lost, f.documents = false, map[string]bool{}
	case f.lost && tenants != "":
		http.NotFound(w, r)
	case tenants != "":
		_, _ = w.Write([]byte("{}"))
	default:
		c := wantedClass(name, 1)
		if f.change != nil {
			f.change(c)
		}
		_ = json.NewEncoder(w).Encode(c)
	}
}

// start serves the faults, and returns the cluster.
func (f *faulty) start(t *testing.T) Cluster {
	t.Helper()
	f.calls, f.documents = map[string]int{}, map[string]bool{}
	c := serve(t, f)
	c.Key = "secret"
	return c
}

// serve serves both protocols of a double on one host.
func serve(t *testing.T, double interface {
	pb.WeaviateServer
	http.Handler
}) Cluster {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterWeaviateServer(server, double)
	go func() { _ = server.Serve(listener) }()
	web := httptest.NewServer(double)
	t.Cleanup(func() { server.Stop(); web.Close() })
	return Cluster{Hosts: []string{web.Listener.Addr().String()}, GRPC: listener.Addr().(*net.TCPAddr).Port, Replication: 1}
}

// openAt opens a library on a cluster.
func openAt(t *testing.T, c Cluster) (*Index, error) {
	t.Helper()
	store, err := documents.Open(t.Context(), documents.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), store, c, "default")
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	t.Cleanup(func() { _ = x.Close() })
	return x, nil
}

func document(id, access string) index.Document {
	return index.Document{ID: id, Source: "file", Access: []string{access}, Chunks: []index.Chunk{{Text: "walrus"}}}
}

func search(t *testing.T, x *Index, access index.Access) (ids []string, err error) {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	result, err := s.Search(t.Context(), index.Query{Text: "walrus", Limit: 10, Count: true, Filter: index.Filter{Access: access}})
	for _, hit := range result.Hits {
		ids = append(ids, hit.DocumentID)
	}
	return slices.Sorted(slices.Values(ids)), err
}

// TestAnswersAreCheckedAgain: a replica may return what the caller must not see, or what is gone. None of it gets out.
func TestAnswersAreCheckedAgain(t *testing.T) {
	f := &faulty{}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	hidden := document("hidden", "PUBLIC")
	hidden.Hidden = true
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("public", "PUBLIC"), document("secret", "group:a"),
		hidden, document("gone", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(t.Context(), index.Batch{Delete: []string{"gone"}}); err != nil {
		t.Fatal(err)
	}
	x.changes = 0
	public := index.Access{Terms: []string{"PUBLIC"}}
	if got, err := search(t, x, public); err != nil || !slices.Equal(got, []string{"public"}) {
		t.Errorf("found %q, %v", got, err)
	}
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counts, err := s.Facets(t.Context(), index.Filter{Access: public})
	if err != nil || counts.Documents != 1 {
		t.Errorf("counted %+v, %v", counts, err)
	}
	if stats, err := s.Stats(t.Context()); err != nil || !strings.HasPrefix(stats.Engine, "weaviate 127.0.0.1:") || stats.Documents != 3 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if slices.Contains(f.authorized, "") || !slices.Contains(f.authorized, "Bearer secret") {
		t.Errorf("authorization %q", f.authorized)
	}
}

// TestCountsAreExactUpToALimit: up to maxCounted matches are read to be counted; beyond them the total is a lower bound,
// and is called an estimate.
func TestCountsAreExactUpToALimit(t *testing.T) {
	f := &faulty{}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for _, test := range []struct {
		documents int
		estimated bool
	}{{candidates + 1, false}, {maxCounted, false}, {maxCounted + 1, true}} {
		var batch index.Batch
		for ; stored < test.documents; stored++ {
			batch.Upsert = append(batch.Upsert, document(fmt.Sprintf("d%04d", stored), "PUBLIC"))
		}
		if _, err := x.Write(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if err := x.Settle(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		s, err := x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Search(t.Context(), index.Query{Text: "walrus", Limit: 10, Count: true,
			Filter: index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}}})
		if err != nil {
			t.Fatal(err)
		}
		counts, err := result.Matched.Count(t.Context())
		s.Close()
		if err != nil || counts.Documents != test.documents || counts.Estimated != test.estimated {
			t.Errorf("of %d documents %d are counted (estimated: %t), %v", test.documents, counts.Documents, counts.Estimated, err)
		}
	}
}

// TestPassingFaults: searches and writes are repeated, and only the objects that failed are sent again.
func TestPassingFaults(t *testing.T) {
	f := &faulty{unavailable: 2, refused: 1, undeleted: 1, matches: []int64{deletedAtOnce, 3}}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a", "PUBLIC"), document("b", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(t.Context(), index.Batch{Delete: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "a", Access: []string{"group:a"}}}); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got, err := search(t, x, index.Access{Terms: []string{"group:a"}}); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("found %q, %v", got, err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.calls["batch"] != 4 || f.calls["delete"] < 3 || !slices.Equal(f.access, []string{"group:a"}) || !f.documents["a"] {
		t.Errorf("calls %v, access %q, stored %v", f.calls, f.access, f.documents)
	}
}

// TestLastingFaults: what cannot be indexed is stored and found through the log; a cluster that is away is an error, in time.
func TestLastingFaults(t *testing.T) {
	f := &faulty{refused: 1 << 30}
	c := f.start(t)
	x, err := openAt(t, c)
	if err != nil {
		t.Fatal(err)
	}
	x.client.patience = 0
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	if got, err := search(t, x, index.Access{All: true}); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("found %q, %v", got, err)
	}
	f.mutex.Lock()
	f.unavailable = 1 << 30
	f.mutex.Unlock()
	if got, err := search(t, x, index.Access{All: true}); !errors.Is(err, fault.ErrEngineUnavailable) {
		t.Errorf("found %q, %v", got, err)
	}
}

// TestFailedCounts: a count that fails is an error, also where documents are counted beside it that Weaviate lacks.
func TestFailedCounts(t *testing.T) {
	f := &faulty{refused: 1 << 30, uncounted: true}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	x.client.patience = 0
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.(*snapshot).reach(t.Context(), index.Access{Terms: []string{"PUBLIC"}})
	if n, err := guard.Result(func() int64 { return r.CountSurface("walrus") }); !errors.Is(err, fault.ErrEngineUnavailable) {
		t.Errorf("counted %d, %v", n, err)
	}
	if len(r.changed) != 1 {
		t.Errorf("Weaviate lacks %q", r.changed)
	}
}

// TestRemovedCollection: a collection that another process removes, as it was empty, is created again.
func TestRemovedCollection(t *testing.T) {
	f := &faulty{lost: true, removed: true}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.removed || f.gone || f.lost || !f.documents["a"] {
		t.Errorf("tenant to come: %v, no collection: %v, no tenant: %v, stored %v", f.removed, f.gone, f.lost, f.documents)
	}
}

// TestSchemaDrift: a collection that differs is named with the property, and nothing starts.
func TestSchemaDrift(t *testing.T) {
	in := func(part, name string, value any) func(settings) {
		return func(c settings) { c[part].(settings)[name] = value }
	}
	for want, change := range map[string]func(settings){
		"property " + propAccess: func(c settings) { byName(c)["property "+propAccess].(settings)["indexFilterable"] = false },
		"lacks property " + propHidden: func(c settings) {
			c["properties"] = slices.DeleteFunc(c["properties"].([]any), func(p any) bool { return p.(settings)["name"] == propHidden })
		},
		"deletionStrategy": in("replicationConfig", "deletionStrategy", "NoAutomatedResolution"),
		"factor":           in("replicationConfig", "factor", 3),
		"multiTenancy":     in("multiTenancyConfig", "enabled", false),
	} {
		f := &faulty{change: change}
		if _, err := openAt(t, f.start(t)); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "delete the collection there") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestParseURL(t *testing.T) {
	for address, want := range map[string]Cluster{
		"weaviate://a:8080": {Hosts: []string{"a:8080"}, GRPC: 50051, Replication: 1},
		"weaviates://a:443,b:8443/?grpc=9&replication=3": {Hosts: []string{"a:443", "b:8443"}, GRPC: 9, TLS: true, Replication: 3},
	} {
		got, err := ParseURL(address)
		if err != nil || got.TLS != want.TLS || got.GRPC != want.GRPC || got.Replication != want.Replication || !slices.Equal(got.Hosts, want.Hosts) {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{"", "http://a:1", "weaviate://", "weaviate://a", "weaviate://a:0", "weaviate://a:1,", "weaviate://u:hunter2@a:1",
		"weaviate://a:1?grpc=x", "weaviate://a:1?replication=0", "weaviate://a:1?other=1"} {
		if got, err := ParseURL(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, address := range []string{"weaviate://a:8080", "weaviates://a:443,b:8443/?grpc=9&replication=3", "weaviate://u:p@a:1", "weaviate://[::1]:1"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		c, err := ParseURL(address)
		if err != nil {
			return
		}
		for _, host := range c.Hosts {
			if name, _, err := net.SplitHostPort(host); err != nil || name == "" || strings.Contains(host, "@") {
				t.Errorf("host %q of %q", host, address)
			}
		}
		if len(c.Hosts) == 0 || c.GRPC < 1 || c.Replication < 1 {
			t.Errorf("%+v of %q", c, address)
		}
	})
}

func FuzzField(f *testing.F) {
	for _, value := range []string{"", "a", " a", "=", "=a=", "\x00"} {
		f.Add(value, "b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if mark(a) == "" || strings.TrimSpace(mark(a)) != mark(a) {
			t.Errorf("%q becomes %q", a, mark(a))
		}
		if !strings.ContainsRune(a, 0) && unmark(mark(a)) != a {
			t.Errorf("%q comes back as %q", a, unmark(mark(a)))
		}
		if !strings.ContainsRune(a+b, 0) && a != b && mark(a) == mark(b) {
			t.Errorf("%q and %q are both %q", a, b, mark(a))
		}
	})
}
