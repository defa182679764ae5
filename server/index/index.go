// Package index defines the interface of a search engine: store documents, find their passages, count and describe what
// matched, always with the rights of a caller. The embedded engine (package segments) and a distributed one implement
// it; package indextest tests both for the same behaviour.
package index

import (
	"context"
	"fmt"
	"slices"
	"time"

	"quarry/client/field"
)

// Index contains the documents of one tenant.
type Index interface {
	// Write stores a batch atomically: when it returns nil, all of it is durable and visible to every new Snapshot,
	// in this process and in others; otherwise none of it is.
	Write(ctx context.Context, batch Batch) (Written, error)
	// UpdateAccess changes who may see documents, and what sets they are in, without touching their text. Unknown
	// documents are ignored; it returns how many were changed.
	UpdateAccess(ctx context.Context, patches []AccessPatch) (int, error)
	// Snapshot returns a consistent view that does not change until it is closed. Many may be open at once.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Embed gives a vector to every chunk that has none by the model of the pass: it has their texts turned into
	// vectors, a batch at a time, and stores what comes back, so that each text, also a refused one, is sent once.
	// Vectors are durable by the batch and searched soon after; those of other models go when all chunks have one. It
	// returns when nothing is left, or with the first error; the next call continues there.
	Embed(ctx context.Context, pass Embedding) error
	// Version changes with every change of documents by any process; writing bookkeeping alone leaves it as it is.
	Version(ctx context.Context) (string, error)
	// Cursors returns the bookkeeping entries whose key begins with prefix.
	Cursors(ctx context.Context, prefix string) (map[string]string, error)
	// Hashed returns the ids of the documents that were stored with a hash, see Batch.Hash, and maybe some others.
	Hashed(ctx context.Context, hash uint32) (ids []string, err error)
	// Rehash gives all documents another hash, and returns their number.
	Rehash(ctx context.Context, hash func(id string) uint32) (documents int, err error)
	// Check reads all stored data, and returns the damage found and what it repaired.
	// report, which may be nil, is called with the number of documents that were checked.
	Check(ctx context.Context, options CheckOptions, report func(done, total int)) ([]Damage, error)
	// Close waits for background work and releases all resources.
	Close() error
}

// Batch is a set of changes that become visible together.
type Batch struct {
	Upsert []Document
	Delete []string // document ids; unknown ones are ignored
	// Cursors are bookkeeping entries of the caller, stored with the batch; an empty value deletes the entry.
	Cursors map[string]string
	// Owns reports whether the caller may replace or delete a document that is stored under an origin; nil: any. Delete
	// ignores the documents of others; an Upsert in their place fails the batch with an *OwnedError.
	Owns func(origin string) bool
	// Hash returns the hash by which Hashed finds a document, at most MaxHash; nil: it finds none of the batch.
	Hash func(id string) uint32
	// DryRun counts what the batch would change, and stores nothing.
	DryRun bool
}

// MaxHash is the largest hash of a document that a row stores in three bytes.
const MaxHash = 1<<23 - 1

// LostOrigin is the origin passed to Batch.Owns for a damaged document whose own cannot be read.
const LostOrigin = "?"

// OwnedError is returned by Write when documents of the batch are stored already and belong to others. Nothing of the
// batch was stored.
type OwnedError struct {
	Origins map[string]string // by id of the document
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("documents that belong to others: %d", len(e.Origins))
}

// Written counts the documents that a batch changed. A document that was stored already with the same fields is
// Unchanged and costs no write.
type Written struct {
	Added, Updated, Unchanged, Removed int
}

// Add adds the counts of another batch.
func (w *Written) Add(other Written) {
	w.Added += other.Added
	w.Updated += other.Updated
	w.Unchanged += other.Unchanged
	w.Removed += other.Removed
}

// Heading is a heading of a document, with its chunk.
type Heading struct {
	Level int
	Text  string
	Chunk int
	Link  string // to the message that it heads; empty for others
}

// Chunk is a piece of a document of at most 512 tokens. Its number is its place in Document.Chunks, from 0.
type Chunk struct {
	// Damaged: the stored chunk cannot be read; the other fields are empty.
	Damaged  bool
	Text     string
	Headings []string // the path of headings above it, outermost first
	Link     string   // to this very place; empty: the document's
}

// AccessPatch replaces the access terms, sets and visibility of one document; a nil slice or pointer leaves the field
// as it is.
type AccessPatch struct {
	ID     string
	Origin string // the document is left alone when it has another one; empty: any
	Access []string
	Sets   []string
	Hidden *bool
}

// Access is what the caller may see.
type Access struct {
	All   bool     // the owner, in process: the whole tenant, without the hidden documents
	Terms []string // any of them; none means nothing
}

// Everything returns what the owner sees, and the program itself.
func Everything() Access { return Access{All: true} }

// Admits reports whether a document may be seen.
func (a Access) Admits(d *Document) bool {
	seen := func(term string) bool { return slices.Contains(a.Terms, term) }
	return !d.Hidden && (a.All || slices.ContainsFunc(d.Access, seen))
}

// Filter narrows a search. The values of one field are alternatives, the fields must all hold. The zero Filter with
// Access set admits all that the caller may see.
type Filter struct {
	Access Access
	// Any has the wanted values by field, None those that rule a document out, also where a field is counted without
	// its own filter. An author is a name or an address, a word of the name, or the part of the address before the @;
	// any case.
	Any, None field.Keys
	// Documents and the sets of Any together are one field, the scope of knowledge: a document in any of the sets or
	// named by id passes. NoDocuments are ruled out.
	Documents, NoDocuments []string
	// Since and Until bound UpdatedAt, but for DayEdges, both inclusive; zero means unbounded. Undated documents pass
	// only with KeepUndated, or when neither bound is set.
	Since, Until time.Time
	KeepUndated  bool
	// AddedSince admits documents that were first stored after that.
	AddedSince time.Time
	// Among, if it is not nil, names the only documents that pass. Engines may resolve other fields into it.
	Among []string
}

// Query asks for passages.
type Query struct {
	// Text contains the words to look for; a passage need not contain all of them.
	Text string
	// Phrases must occur: a document qualifies when it contains all of them, a passage when it or its title contains at
	// least one. Their words are also words of the query.
	Phrases []string
	// Exclude contains words or phrases; a document that has one of them anywhere does not qualify.
	Exclude []string
	// Prefix makes the last word of Text match every word that begins with it; with PrefixIfUnknown, only if no
	// document that the caller may see contains it, and others that begin with it are there: see Result.Kept.
	Prefix, PrefixIfUnknown bool
	Filter                  Filter
	Limit                   int // passages
	// PerDocument bounds how many passages of one document are returned, the best of them; 0: no bound. It keeps one
	// long document from filling the list.
	PerDocument int
	// Scope is what the level of the query is decided in: see Level. Its time bounds what is counted, too. Nil: all
	// that Filter.Access admits.
	Scope *Filter
	// Count prepares Result.Matched.
	Count bool
	// List asks for documents in one order instead of the best passages; Limit and PerDocument do not apply.
	List *List
	// Explain fills Hit.Parts.
	Explain bool
}

// ScopeFilter is that of Scope.
func (q *Query) ScopeFilter() Filter {
	if q.Scope != nil {
		return *q.Scope
	}
	return Filter{Access: q.Filter.Access}
}

// Resolve returns the query with what resolve makes of its Filter and of its Scope.
func (q Query) Resolve(ctx context.Context,
	resolve func(context.Context, Filter) (Filter, error)) (_ Query, err error) {
	if q.Filter, err = resolve(ctx, q.Filter); err != nil || q.Scope == nil {
		return q, err
	}
	scope, err := resolve(ctx, *q.Scope)
	q.Scope = &scope
	return q, err
}

// Level is how many words of a query a document contains, in all of its chunks together, that matches. Stop words do
// not count, and a word in the title counts twice: it stands for one that is lacking. The level of a query is the first
// whose words a document of its scope holds, with all phrases and nothing excluded: queries of up to three words begin
// at LevelAll, longer ones at LevelMost, whose words one in a hundred of the documents must hold, and ten suffice.
type Level int

// The levels, by how many words they ask for.
const (
	LevelAny  Level = iota + 1
	LevelMost       // more than half
	LevelAll
)

func (l Level) String() string { return [...]string{"", "any", "most", "all"}[l] }

// List asks for a page of the documents that count as matched, each with its best passage. Pages of one list neither
// overlap nor leave documents out, and what they count is the same.
type List struct {
	Offset, Documents int
	Order             Order
	// Browse lists all documents with text that the filter and Query.Exclude admit if the query has no words.
	Browse bool
	// Folds names the group of a matching document, by id. Of a group the first one is listed, and Offset counts the
	// others as if they came directly behind it; those of the group without a name are left out, as they were listed
	// already.
	Folds map[string]string
}

// Until returns how many documents the list looks at, those that it folds among them.
func (l *List) Until() int { return l.Offset + l.Documents + len(l.Folds) }

// Order is the order of a list. Ties are ordered by id.
type Order int

// The orders of a list. The score is that of the passages that a search without List returns first; documents behind
// those are ordered by their score without the proximity of words.
const (
	ByScore Order = iota
	Newest        // by Document.UpdatedAt, undated ones last
	Oldest        // likewise
)

// Snapshot is a consistent view of an index. Its methods may be called from several goroutines.
type Snapshot interface {
	// Search returns the best passages, best first; equal scores are ordered by document id, then chunk.
	Search(ctx context.Context, query Query) (Result, error)
	// Nearest returns the passages whose vectors are nearest to a vector, best first, among those that the query's
	// filter, phrases and exclusions admit; Hit.Score is the cosine. It minds Limit and PerDocument too, and no other
	// field. Vectors of another model are not looked at. Of the ten nearest it misses at most a few in a hundred.
	Nearest(ctx context.Context, vector Vector, query Query) ([]Hit, error)
	// Facets counts all documents that the filter admits, without a query.
	Facets(ctx context.Context, filter Filter) (Counts, error)
	// Suggest completes the last word of prefix from the words and titles of documents that access admits.
	Suggest(ctx context.Context, prefix string, access Access, limit int) (Suggestions, error)
	// Documents describes documents, in the order of the ids; those that do not exist or that access does not admit
	// are left out. Chunks are not filled; ChunkCount is. Of damaged ones only the id is returned.
	Documents(ctx context.Context, ids []string, access Access) ([]Stored, error)
	// Texts reads ranges of chunks, clipped to those there are. There are none of documents that Documents leaves out
	// or that are damaged.
	Texts(ctx context.Context, ranges []Range, access Access) ([][]Chunk, error)
	// Like describes a passage for a search for others like it. ErrNotFound for one of those.
	Like(ctx context.Context, id string, chunk int, access Access) (Likeness, error)
	// DocumentIDs lists the ids of documents by Document.Origin, or by source or set where origin is empty; for
	// administration, without access control.
	DocumentIDs(ctx context.Context, by Selector) ([]string, error)
	// Origins returns how many documents are stored under each origin that is not empty.
	Origins(ctx context.Context) (map[string]int, error)
	// Stats are of the whole tenant.
	Stats(ctx context.Context) (Stats, error)
	// Damage lists what the answers of the snapshot lack so far because it cannot be read.
	Damage() []Damage
	// Version names the state that the snapshot shows.
	Version() string
	Close()
}

// Range is some chunks of a document, From and To included.
type Range struct {
	DocumentID string
	From, To   int
}

// Likeness is what passages like another one have in common with it.
type Likeness struct {
	Words  []string // its words that few other documents contain which the caller may see, the rarest first
	Vector Vector   // by the model that was used last; Values is empty where there is none
}

// Stored is a stored document without its chunks.
type Stored struct {
	Document
	ChunkCount int
	// Damaged: the document cannot be read; only its ID is known.
	Damaged bool
}

// CheckOptions say how much Check does.
type CheckOptions struct {
	// Full checks everything; otherwise only a part of a large library is read, another one each time.
	Full bool
	// Repair rebuilds what can be rebuilt from other stored data. The caller stores documents that cannot be read
	// again; Write stores them even if they did not change.
	Repair bool
	// Documents limits the check to the text of these documents, by id.
	Documents []string
}

// The kinds of damage.
const (
	DamagedDocument = "document" // what is stored of a document beside its text; ID is the document's
	DamagedText     = "text"     // some of a document's chunks; ID is the document's
	DamagedSegment  = "segment"  // a file of the index; ID is its name
	DamagedVectors  = "vectors"  // a file of vectors; ID is its name
	DamagedDatabase = "database" // pages of the database
)

// Damage is stored data that cannot be read.
type Damage struct {
	Kind   string
	ID     string
	Origin string // of a document, if it is known: see Document.Origin
	Chunks []int  // of DamagedText, ascending
	Reason string
	// Repaired: it was rebuilt from other stored data.
	Repaired bool
}

// Exporter is an index that can be copied to another engine.
type Exporter interface {
	// Export returns the documents that follow an id, whole, in the order of their ids; without access control, the
	// hidden ones too. They are at most limit, and fewer where their texts are long; none: no document follows.
	// ErrDamaged if one of them cannot be read.
	Export(ctx context.Context, after string, limit int) ([]Document, error)
	// Embeddings returns the vectors by a model that are stored for texts, nil for a text without one; it may return an
	// empty one for a text that the model refuses.
	Embeddings(ctx context.Context, model string, texts []string) ([][]float32, error)
}

// Follower is an index whose searches may lack the last changes for a while.
type Follower interface {
	// Settle returns when searches have all changes that were stored before the call, or why they do not get them.
	// report, which may be nil, is called with the number of those changes that they have, and of all that they lacked
	// at the call.
	Settle(ctx context.Context, report func(done, total int)) error
	// Problem returns what an administrator should repair; empty: nothing is wrong.
	Problem(ctx context.Context) string
}

// Selector names documents for administration; the set fields must all hold, an empty one names nothing.
type Selector struct {
	All    bool   // every document, the hidden ones too
	Origin string // exact
	Source string
	Set    string
	Link   string // exact
	Posted bool   // documents of the ingestion API: those without an origin, and those of a connector
}

// Result is what a query found.
type Result struct {
	Hits []Hit
	// Words are those of the query that count; one that was split stands there for each of its parts.
	Words []string
	// Corrections replaced words of Query.Text that occur nowhere by near ones that do.
	Corrections []Correction
	// Missing are the words that no document contains which the caller may see, except corrected ones; of unspaced
	// scripts none. A word with parts is missing if one of those is.
	Missing []string
	// Instead are the parts of a missing word that were searched for: the number of an unknown word before it.
	Instead []Correction
	// Behind: documents may be missing that were added or changed a moment ago.
	Behind bool
	// Kept is the unknown last word that was searched for as a prefix; empty: none.
	Kept string
	// Matched counts what matched; nil unless Query.Count.
	Matched Matched
	// Level is that of the query; 0 without words. Documents match, as far as
	// they were looked at, and All of them have all words.
	Level          Level
	Documents, All int
	// Before is how many documents of a list come before Hits.
	Before int
	// Highlighter marks the matched words of the query in any text.
	Highlighter Highlighter
}

// Hit is one passage found.
type Hit struct {
	DocumentID string
	Chunk      int
	Score      float64
	Parts      map[string]float64 // by part of the formula: body, title, proximity, coverage, identifier
	// Language of the document as in Document, of hits by vector; empty: unknown.
	Language string
	// Fingerprint of the passage; 0 where the engine has none.
	Fingerprint Fingerprint
	// Below: the document does not match, being below the level.
	Below bool
	// Missing are the words of the query that the document lacks.
	Missing []string
}

// Correction is a word of the query that was replaced.
type Correction struct{ From, To string }

// Matched is the set of documents that match: those that pass the filter, contain all phrases and nothing excluded, and
// reach the level of the query.
type Matched interface {
	Count(ctx context.Context) (Counts, error)
	// Has reports which documents match.
	Has(ctx context.Context, ids []string) (map[string]bool, error)
	// Twins returns the groups of matching documents that may have the same text: the fingerprints of their passages
	// are the same. Groups and their ids are in order.
	Twins(ctx context.Context) ([][]string, error)
}

// Counts are numbers of documents. The values of a field are counted under every filter but the field's own.
type Counts struct {
	Documents int
	Values    [field.N][]ValueCount // descending by count, then by value; an author by Person.Display
	Months    []ValueCount          // "2026-03", UTC, ascending
	Undated   int
	// Estimated: there may be more than were counted.
	Estimated bool
}

// ValueCount is a value and the number of documents that have it.
type ValueCount struct {
	Value string
	Count int
}

// Highlighter marks words in a text.
type Highlighter interface {
	// Highlight returns the byte ranges of the matched words of a text, ascending and disjoint, and the range of the
	// best passage within a part of it: whole sentences of at most about 300 bytes that contain the most of the query,
	// and about as much of what the last one announces; empty for an empty part.
	Highlight(text string, spoken LanguageAt, within [2]int) (marks [][2]int, best [2]int)
}

// LanguageAt returns the language of a text at a byte, in which words have stems; empty: any.
type LanguageAt func(at int) string

// InLanguage returns the LanguageAt of a text in one language.
func InLanguage(code string) LanguageAt { return func(int) string { return code } }

// Suggestions complete what was typed.
type Suggestions struct {
	Words  []string // descending by the number of documents
	Titles []Title
}

// Title is a document's title and id.
type Title struct{ Title, DocumentID string }

// Unindexed is a document that the engine did not take, or not all of it, and why.
type Unindexed struct{ ID, Reason string }

// Stats describe a tenant's library.
type Stats struct {
	// Engine is where documents are and what indexes them; empty: the embedded engine.
	Engine            string
	Documents, Chunks int
	Bytes             int64 // on disk
	// Vectors is how many chunks have a vector by VectorModel, the model that was used last; empty without one.
	Vectors     int
	VectorModel string
	// Refused is how many texts that model did not take when they were last looked at.
	Refused int
	// Unindexed is how many documents the engine did not take, and UnindexedFirst are some of them.
	Unindexed      int
	UnindexedFirst []Unindexed
}

// DayEdges returns the moment before Since at which documents pass as well, and the one up to Until at which they do
// not; zero for none. Where a bound is that of a day in a zone, a document with a date without a time, whose time is
// midnight UTC, belongs to that date in every zone.
func (f *Filter) DayEdges() (passes, fails time.Time) {
	midnight := func(at time.Time) (time.Time, bool) {
		_, offset := at.Zone()
		hour, minute, second := at.Clock()
		day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		return day, offset != 0 && hour+minute+second+at.Nanosecond() == 0
	}
	if day, ok := midnight(f.Since); ok && day.Before(f.Since) {
		passes = day
	}
	if day, ok := midnight(f.Until.Add(time.Microsecond)); ok && !day.After(f.Until) {
		fails = day
	}
	return passes, fails
}
