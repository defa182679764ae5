package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"quarry/server/index"
)

// replicas answers as three nodes do that all have the passages. It ignores all filters.
type replicas struct {
	pb.UnimplementedWeaviateServer
	mutex     sync.Mutex
	stored    map[string]map[string]kept // by node and id
	dead      map[string]bool            // the others know that they do not run
	unknown   string                     // a node that the one does not know which coordinates writes
	dying     bool                       // a node does not answer, and the others do not know it yet
	answering []string                   // the nodes that answer searches, in turn
	searches  int
}

type kept struct {
	document string
	version  int64
}

func (f *replicas) live() (nodes []string) {
	for _, node := range []string{"n0", "n1", "n2"} {
		if !f.dead[node] {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Search returns all documents of the node that answers.
func (f *replicas) Search(_ context.Context, request *pb.SearchRequest) (*pb.SearchReply, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	node := f.answering[f.searches%len(f.answering)]
	f.searches++
	reply := &pb.SearchReply{}
	if request.GetMetadata().GetQueryProfile() {
		reply.QueryProfile = &pb.QueryProfile{Shards: []*pb.QueryProfile_ShardProfile{{Node: node}}}
	}
	for _, o := range f.stored[node] {
		reply.Results = append(reply.Results, &pb.SearchResult{Properties: &pb.PropertiesResult{NonRefProps: &pb.Properties{
			Fields: map[string]*pb.Value{propDocument: {Kind: &pb.Value_TextValue{TextValue: o.document}}}}}})
	}
	return reply, nil
}

// BatchObjects stores objects on the nodes that run.
func (f *replicas) BatchObjects(_ context.Context, request *pb.BatchObjectsRequest) (*pb.BatchObjectsReply, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.dying && request.GetConsistencyLevel() == pb.ConsistencyLevel_CONSISTENCY_LEVEL_ALL {
		return nil, status.Error(codes.Unavailable, "not enough replicas")
	}
	for _, node := range f.live() {
		if node == f.unknown || f.dying && node == "n2" {
			continue
		}
		for _, o := range request.Objects {
			fields := o.Properties.NonRefProperties.Fields
			f.stored[node][o.Uuid] = kept{fields[propDocument].GetStringValue(), int64(fields[propVersion].GetNumberValue())}
		}
	}
	return &pb.BatchObjectsReply{}, nil
}

// BatchDelete deletes nothing.
func (f *replicas) BatchDelete(context.Context, *pb.BatchDeleteRequest) (*pb.BatchDeleteReply, error) {
	return &pb.BatchDeleteReply{}, nil
}

// ServeHTTP answers REST calls.
func (f *replicas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	name, tenants, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/schema/"), "/")
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/nodes/"):
		var nodes []map[string]any
		for _, node := range f.live() {
			nodes = append(nodes, map[string]any{"name": node, "shards": []any{map[string]any{"name": "t"}}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"nodes": append(nodes, map[string]any{"name": "n3", "shards": nil})})
	case r.Method == http.MethodPatch: // it keeps no rights
		_, _ = w.Write([]byte("{}"))
	case strings.HasPrefix(r.URL.Path, "/v1/objects/"):
		o, ok := f.stored[r.URL.Query().Get("node_name")][path.Base(r.URL.Path)]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"properties": map[string]any{"version": o.version}})
	case !strings.HasPrefix(r.URL.Path, "/v1/schema/"):
		w.WriteHeader(http.StatusBadRequest)
	case tenants != "":
		_, _ = w.Write([]byte("{}"))
	default:
		_ = json.NewEncoder(w).Encode(wantedClass(name, 3))
	}
}

// openReplicas opens a library on three nodes.
func openReplicas(t *testing.T) (*replicas, *Index) {
	t.Helper()
	f := &replicas{stored: map[string]map[string]kept{"n0": {}, "n1": {}, "n2": {}}, dead: map[string]bool{}, answering: []string{"n2"}}
	c := serve(t, f)
	c.Hosts, c.Replication = slices.Repeat(c.Hosts, 3), 3
	x, err := openAt(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return f, x
}

func (f *replicas) set(change func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change()
}

func write(t *testing.T, x *Index, ids ...string) {
	t.Helper()
	var batch index.Batch
	for _, id := range ids {
		batch.Upsert = append(batch.Upsert, document(id, "PUBLIC"))
	}
	if _, err := x.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// finds checks what a search finds and what is said about changes that not all nodes have.
func finds(t *testing.T, x *Index, behind bool, state string, ids ...string) {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	result, err := s.Search(t.Context(), index.Query{Text: "walrus", Limit: 10, Filter: index.Filter{Access: index.Access{All: true}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, hit := range result.Hits {
		got = append(got, hit.DocumentID)
	}
	if slices.Sort(got); !slices.Equal(got, ids) || result.Behind != behind {
		t.Errorf("found %q, behind %t; want %q", got, result.Behind, ids)
	}
	stats, err := s.Stats(t.Context())
	if _, said, _ := strings.Cut(stats.Engine, " ("); err != nil || strings.TrimSuffix(said, ")") != state {
		t.Errorf("engine %q, %v", stats.Engine, err)
	}
}

// TestReplicaThatWasAway: what a node missed is found when it answers, and written to it when it is back.
func TestReplicaThatWasAway(t *testing.T) {
	f, x := openReplicas(t)
	write(t, x, "a")
	x.changes = 0
	finds(t, x, false, "", "a")

	f.set(func() { f.dead["n2"] = true }) // but it answers, as one does that is back and that the others do not know of
	write(t, x, "b", "c")
	finds(t, x, true, "2 changes not confirmed by node n2", "a")
	x.changes = 2
	finds(t, x, false, "2 changes not confirmed by node n2", "a", "b", "c")
	x.changes = 1
	f.set(func() { f.answering = []string{"n2", "n2", "n0"} }) // another one is asked, which has all
	finds(t, x, false, "2 changes not confirmed by node n2", "a", "b", "c")

	f.set(func() { f.dead["n2"], f.answering = false, []string{"n2"} })
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.changes = 0
	finds(t, x, false, "", "a", "b", "c")

	f.set(func() { f.unknown = "n2" })
	write(t, x, "d")
	finds(t, x, true, "1 change not confirmed by node n2", "a", "b", "c")
}

// TestReplicaThatFails: a write that fails on one node is made on the others, and repeated on all when nothing of it can come
// late any more.
func TestReplicaThatFails(t *testing.T) {
	f, x := openReplicas(t)
	write(t, x, "a")
	f.set(func() { f.dying = true })
	write(t, x, "b")
	x.unsure.Store(time.Now().Add(time.Hour).UnixNano())
	f.set(func() { f.dying = false })
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := "1 change not confirmed by node n0, 1 change not confirmed by node n1, 1 change not confirmed by node n2"
	finds(t, x, false, state, "a", "b")
	write(t, x, "c")
	finds(t, x, false, strings.ReplaceAll(state, "1 change", "2 changes"), "a", "b", "c")
	x.unsure.Store(0)
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.changes = 0
	finds(t, x, false, "", "a", "b", "c")
}

// TestManyMissedChanges: a node that was away gets more changes than one step applies, while others are made.
func TestManyMissedChanges(t *testing.T) {
	f, x := openReplicas(t)
	f.set(func() { f.dead["n1"] = true })
	var ids []string
	for i := range 3 * followAtOnce {
		ids = append(ids, fmt.Sprintf("d%03d", i))
	}
	write(t, x, ids...)
	f.set(func() { f.dead["n1"] = false })
	write(t, x, "last")
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.stored["n1"]) != len(f.stored["n0"]) || len(f.stored["n0"]) != 2*len(ids)+2 {
		t.Errorf("%d objects on n1, %d on n0", len(f.stored["n1"]), len(f.stored["n0"]))
	}
}

// TestTextBeforeMissedRights: a node that was away gets a text that was changed before more than one step applies, and
// of which only the rights changed later.
func TestTextBeforeMissedRights(t *testing.T) {
	f, x := openReplicas(t)
	write(t, x, "twice")
	f.set(func() { f.dead["n1"] = true })
	text := index.Document{ID: "twice", Source: "file", Chunks: []index.Chunk{{Text: "another one"}}}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{text}}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 2 * followAtOnce {
		ids = append(ids, fmt.Sprintf("d%03d", i))
	}
	write(t, x, ids...)
	if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "twice", Access: []string{"group:one"}}}); err != nil {
		t.Fatal(err)
	}
	f.set(func() { f.dead["n1"] = false })
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for id, o := range f.stored["n0"] {
		if got := f.stored["n1"][id]; o.document == mark("twice") && got != o {
			t.Errorf("on n1 %+v, on n0 %+v", got, o)
		}
	}
}
