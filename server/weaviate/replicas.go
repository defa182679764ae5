package weaviate

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/documents"
	"quarry/server/index"
)

// Weaviate answers a search from one replica, any of them. It acknowledges changes which a replica lacks that is down,
// at every consistency level, as a replica that the others have given up is not counted. So the follower asks each
// replica for what it wrote, and keeps in the database how far each one is. A search reads from the log what the
// replica lacks that answered it.

const (
	// lateWrites is how long Weaviate may continue a call that has failed for its caller.
	lateWrites = 20 * time.Second
	// probeTime bounds the question of whether a replica has an object.
	probeTime = 3 * time.Second
)

func (x *Index) replicated() bool { return x.client.cluster.Replication > 1 }

// sure reports whether no failed write can still change anything.
func (x *Index) sure() bool { return time.Since(time.Unix(0, x.unsure.Load())) > lateWrites }

// write applies changes on all replicas that run, or, if one of them fails, on most.
func (f *filling) write(changes *documents.Changes) (w *writer, refused []index.Unindexed) {
	if f.replicated() && f.sure() {
		w = &writer{filling: f, level: pb.ConsistencyLevel_CONSISTENCY_LEVEL_ALL}
		err := guard.Ended(func() { refused = w.apply(changes) })
		if err == nil {
			return w, refused
		}
		guard.Check(f.ctx.Err())
		f.Log.Warn("not all replicas of Weaviate can be written", "error", err)
	}
	w = &writer{filling: f, level: pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM, patience: f.client.patience}
	return w, w.apply(changes)
}

// writer changes the objects of a collection.
type writer struct {
	*filling
	level    pb.ConsistencyLevel
	patience time.Duration // with a failing call; 0: it is not repeated
	written  []stored      // one object of each call
}

// stored identifies what an object says at one time.
type stored struct {
	id      string
	changed int64
}

// try repeats a call while it fails for a passing reason. Of one that failed, Weaviate may do the rest later.
func (w *writer) try(patience time.Duration, call func(context.Context) error) error {
	return patiently(w.ctx, patience, func(ctx context.Context) error {
		err := call(ctx)
		if transient(err) {
			w.unsure.Store(time.Now().UnixNano())
		}
		return err
	})
}

// live returns the nodes that run and have a replica.
func (f *filling) live() (names []string) {
	var answer struct {
		Nodes []struct {
			Name   string     `json:"name"`
			Shards []struct{} `json:"shards"`
		} `json:"nodes"`
	}
	path := "/v1/nodes/" + f.class + "?output=verbose&shardName=" + f.tenant
	err := f.client.rest(f.ctx, http.MethodGet, path, nil, &answer)
	guard.Check(explain(f.ctx, "look for the replicas in Weaviate", err))
	for _, node := range answer.Nodes {
		if len(node.Shards) > 0 {
			names = append(names, node.Name)
		}
	}
	return names
}

// proven returns the nodes that have all that was written. Each call goes to all replicas that the node knows which
// coordinates it, as a whole, so that one object of each call proves the others.
func (w *writer) proven() (nodes []string) {
	if w.level != pb.ConsistencyLevel_CONSISTENCY_LEVEL_ALL {
		return nil
	}
	live := w.live()
	ctx, cancel := context.WithTimeout(w.ctx, probeTime)
	defer cancel()
	group, _ := guard.NewGroup(ctx)
	has := make([]bool, len(live))
	for i, node := range live {
		group.Run(func() { has[i] = w.isOn(ctx, node) })
	}
	guard.Check(group.Wait())
	for i, node := range live {
		if has[i] {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// isOn reports whether a node has all that was written.
func (w *writer) isOn(ctx context.Context, node string) bool {
	for _, wanted := range w.written {
		var found struct {
			Properties struct {
				Version int64 `json:"version"`
			} `json:"properties"`
		}
		path := fmt.Sprintf("/v1/objects/%s/%s?tenant=%s&node_name=%s", w.class, wanted.id, w.tenant,
			url.QueryEscape(node))
		if err := w.client.anywhere(ctx, http.MethodGet, path, nil, &found); err != nil ||
			found.Properties.Version < wanted.changed {
			return false
		}
	}
	return true
}

// lacking returns the position from which on a replica that runs lacks changes; position if none does.
func (f *filling) lacking(position int64, replicas map[string]int64) int64 {
	if !f.replicated() || !f.sure() || f.even(position, replicas) {
		return position
	}
	from := position
	for _, node := range f.live() {
		from = min(from, replicas[node])
	}
	return from
}

// even reports whether all replicas have the changes up to a position.
func (x *Index) even(position int64, replicas map[string]int64) bool {
	complete := 0
	for _, at := range replicas {
		if at >= position {
			complete++
		}
	}
	return !x.replicated() || complete >= x.client.cluster.Replication
}

// few reports whether a search reads all changes after a position.
func (s *snapshot) few(since int64) bool { return s.State.Generation-since <= int64(s.index.changes) }

// search asks Weaviate, and reads what the replica lacks that answers; where one of them lacks many changes, one that
// lacks few is preferred.
func (r *reach) search(request *pb.SearchRequest) (reply *pb.SearchReply) {
	s, one, least := r.s, pb.ConsistencyLevel_CONSISTENCY_LEVEL_ONE, r.s.least()
	request.Collection, request.Tenant, request.ConsistencyLevel, request.Uses_127Api = s.class,
		s.index.tenant, &one, true
	since, attempts := least, 1
	isUneven := s.replicas != nil && !s.few(least)
	if isUneven {
		if attempts = len(s.index.client.cluster.Hosts); request.Metadata == nil {
			request.Metadata = &pb.MetadataRequest{}
		}
		request.Metadata.QueryProfile = true // names the node
	}
	for attempt := range int64(attempts) {
		if reply = s.index.search(r.ctx, r.host+attempt, request); isUneven {
			since = s.answered(reply)
		}
		if s.few(since) || !slices.ContainsFunc(slices.Collect(maps.Values(s.replicas)), s.few) {
			break
		}
	}
	if r.lower(since) {
		r.loadChanged()
	}
	return reply
}

// answered returns the position up to which the replicas have the changes that answered.
func (s *snapshot) answered(reply *pb.SearchReply) int64 {
	shards, since := reply.GetQueryProfile().GetShards(), s.position
	if len(shards) == 0 {
		return s.least()
	}
	for _, shard := range shards {
		since = min(since, s.replicas[shard.GetNode()])
	}
	return since
}

// hostOf is the host that a query goes to: replicas order equal scores differently, and the pages of a list must agree.
func hostOf(query *index.Query) int64 {
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(query.Text + strings.Join(query.Phrases, " ")))
	return int64(digest.Sum32())
}

// least returns how far all replicas are.
func (s *snapshot) least() int64 {
	if s.replicas == nil {
		return s.position
	}
	least := int64(math.MaxInt64)
	for _, at := range s.replicas {
		least = min(least, at)
	}
	if len(s.replicas) < s.index.client.cluster.Replication {
		return 0 // one has not been seen
	}
	return min(least, s.position)
}

// lower makes the changes after a position those that Weaviate may lack.
func (r *reach) lower(since int64) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	lower := since < r.since
	r.since = min(r.since, since)
	return lower
}

// unfinished describes the changes that not all replicas have; empty: there are none.
func (s *snapshot) unfinished() (list []string) {
	if n := s.State.Generation - s.position; n > 0 {
		list = append(list, text.Count(int(n), "change")+" not indexed yet")
	}
	for _, node := range slices.Sorted(maps.Keys(s.replicas)) {
		if n := s.position - s.replicas[node]; n > 0 {
			list = append(list, fmt.Sprintf("%s not confirmed by node %s", text.Count(int(n), "change"), node))
		}
	}
	return list
}
