package ingest

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"time"

	"quarry/internal/text"
)

const (
	mostMessages = 1_000_000 // of a mailbox
	// mostNodes bounds the messages of a mailbox and those that they refer to and that are not in it.
	mostNodes = 3 * mostMessages
	// subjectTime is how long after a message a reply without references to it belongs to it by its subject.
	subjectTime = 30 * 24 * time.Hour
)

// mailHead is what is kept of a message until its thread is read.
type mailHead struct {
	box        int32 // its file
	isReply    bool  // by its subject, without references
	isReused   bool  // its id is that of another message
	node       int32
	start, end int64 // in its file
	at         int64 // Unix time; of an undated message that of the one before
	subject    uint64
}

// mailThreads puts messages together to threads: by references, else by subjects. Ids are compared by their hashes.
type mailThreads struct {
	seed     maphash.Seed
	nodes    map[uint64]int32 // messages and those that they refer to
	parents  []int32
	stored   []int32 // by node: the number of its message from 1, or 0
	messages []mailHead
	unjoined int // references that are too many
}

func newMailThreads() *mailThreads {
	return &mailThreads{seed: maphash.MakeSeed(), nodes: map[uint64]int32{}}
}

// known reports whether there is a message with an id, and whether it has the same subject: some programs use an id
// again.
func (t *mailThreads) known(id, subject string) (known, same bool) {
	if node := t.node(id, mostNodes); node >= 0 && t.stored[node] > 0 {
		hash, _ := t.subject(subject)
		return true, t.messages[t.stored[node]-1].subject == hash
	}
	return false, false
}

// subject returns the hash of a subject, or 0 if it says nothing, and whether it is that of a reply.
func (t *mailThreads) subject(subject string) (hash uint64, isReply bool) {
	bare, isReply := withoutReply(subject)
	if len(bare) <= 2 {
		return 0, isReply
	}
	return maphash.String(t.seed, strings.ToLower(bare)), isReply
}

// add adds a message whose id is not known.
func (t *mailThreads) add(head mailHead, id, subject string, references []string) {
	if head.node = t.node(id, mostNodes); head.node < 0 {
		return
	}
	for _, reference := range references {
		if other := t.node(reference, mostNodes-mostMessages); other >= 0 {
			t.join(head.node, other)
		} else {
			t.unjoined++
		}
	}
	if head.at == 0 && len(t.messages) > 0 {
		head.at = t.messages[len(t.messages)-1].at
	}
	head.subject, head.isReply = t.subject(subject)
	head.isReply = head.isReply && head.subject != 0 && len(references) == 0
	t.messages = append(t.messages, head)
	t.stored[head.node] = int32(len(t.messages))
}

// node returns that of an id, or -1 if it is new and there are most.
func (t *mailThreads) node(id string, most int) int32 {
	key := maphash.String(t.seed, id)
	node, known := t.nodes[key]
	if !known {
		if len(t.parents) >= most {
			return -1
		}
		node = int32(len(t.parents))
		t.nodes[key], t.parents, t.stored = node, append(t.parents, node), append(t.stored, 0)
	}
	return node
}

func (t *mailThreads) root(node int32) int32 {
	for t.parents[node] != node {
		t.parents[node] = t.parents[t.parents[node]]
		node = t.parents[node]
	}
	return node
}

func (t *mailThreads) join(a, b int32) {
	a, b = t.root(a), t.root(b)
	t.parents[max(a, b)] = min(a, b)
}

// all yields the threads in the order of the mailbox, the messages of each by time. It uses the messages up.
func (t *mailThreads) all() iter.Seq[[]mailHead] {
	slices.SortStableFunc(t.messages, func(a, b mailHead) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.at, b.at))
	})
	for i, m := range t.messages {
		if i > 0 && m.isReply && t.messages[i-1].subject == m.subject &&
			m.at-t.messages[i-1].at <= int64(subjectTime/time.Second) {
			t.join(m.node, t.messages[i-1].node)
		}
	}
	for i := range t.messages {
		t.messages[i].node = t.root(t.messages[i].node)
	}
	t.nodes, t.parents, t.stored = nil, nil, nil
	slices.SortFunc(t.messages, func(a, b mailHead) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.at, b.at), cmp.Compare(a.box, b.box),
			cmp.Compare(a.start, b.start))
	})
	return func(yield func([]mailHead) bool) {
		for rest := t.messages; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].node == rest[0].node {
				n++
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// withoutReply returns a subject without the marks of replies at its start.
func withoutReply(subject string) (bare string, isReply bool) {
	bare = text.OneLine(subject)
	for {
		mark, rest, found := strings.Cut(bare, ":")
		mark, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mark)), "[")
		if !found || !text.IsAmong(mark, "re aw sv vs antw odp res rif fw fwd wg") {
			return bare, isReply
		}
		bare, isReply = strings.TrimSpace(rest), true
	}
}

// referencesOf returns the ids in a field of a header: each in angle brackets.
func referencesOf(field string) (ids []string) {
	for {
		_, rest, found := strings.Cut(field, "<")
		id, after, closed := strings.Cut(rest, ">")
		if !found || !closed {
			return ids
		}
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
		field = after
	}
}
