// Package githistory reads from a git repository when its files were changed, and by whom. It reads commits and trees
// and nothing else: no configuration, no hook, no content, and nothing outside the repository's own folder. It runs no
// program.
package githistory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/internal/guard"
)

const (
	maxFiles   = 500_000   // of the newest commit, and the folders that are looked into for them
	maxPaths   = 128 << 20 // bytes of their paths: a tree that names itself often makes long ones of a few objects
	maxCommits = 500_000   // that are remembered
	maxAuthors = 10        // of a file, the latest
	maxParents = 100       // of a commit
	maxPath    = 4_096
	maxNesting = 100
)

// Person is the author of a commit.
type Person struct{ Name, Email string }

// File is the history of a file. Its zero value: nothing is known.
type File struct {
	Updated time.Time // of the last commit that changed it
	Created time.Time // of the first one; zero if the history was not read to its end
	Authors []Person  // the latest first
}

// Repository is a git repository, as of its newest commit.
type Repository struct {
	Head string // the newest commit

	first    *commit
	files    map[string]*file
	complete bool // all of the history was read
	checkout Checkout
}

type file struct {
	File
	blob   id
	oldest time.Time
}

// IsCommitted reports whether data is the content of a file in the newest commit. Newlines may differ, as git's
// settings allow.
func (r *Repository) IsCommitted(path string, data []byte) bool {
	f := r.files[path]
	return f != nil && (blobOf(data) == f.blob ||
		blobOf(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))) == f.blob)
}

// File returns the history of a file, by its path in the repository. ReadHistory must have returned.
func (r *Repository) File(path string) File {
	f := r.files[path]
	if f == nil {
		return File{}
	}
	history := f.File
	if r.complete {
		history.Created = f.oldest
	}
	return history
}

func blobOf(data []byte) id {
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return id(sum.Sum(nil))
}

// Open reads the newest commit of a repository, and the list of its files. It fails when ctx ends, or when there are
// too many files: 13 trees that each name the next ten times have 10¹³ of them.
func Open(ctx context.Context, c Checkout) (*Repository, error) {
	return guard.Result(func() *Repository {
		s := guard.Must(openStore(c.GitDir))
		defer s.Close()
		at := guard.Must(s.commitOf(c.Head))
		r := &Repository{Head: hex.EncodeToString(at[:]), files: map[string]*file{}, checkout: c}
		w := newWalk(ctx, s, r)
		r.first = w.commit(at)
		bytes := 0
		w.differences("", r.first.tree, nil, 0, func(path string, blob id) {
			bytes += len(path)
			bounded(len(r.files) < maxFiles && bytes <= maxPaths)
			r.files[path] = &file{blob: blob}
		})
		return r
	})
}

// ReadHistory reads the history of the files, from the newest commit on. If ctx ends, or a commit cannot be read, as in
// a shallow clone, it keeps what it read until then, and returns why it ended.
func (r *Repository) ReadHistory(ctx context.Context) error {
	s, err := openStore(r.checkout.GitDir)
	if err != nil {
		return err
	}
	defer s.Close()
	w := newWalk(ctx, s, r)
	w.queue = []*commit{r.first}
	err = guard.Ended(w.run)
	if r.complete = err == nil; errors.Is(err, errMissing) && s.small("shallow") != "" {
		return errShallow
	}
	return err
}

// commitOf returns the commit that a reference names.
func (s *store) commitOf(name string) (id, error) {
	for range 5 { // references to references
		text := s.small(name)
		if target, isRef := strings.CutPrefix(text, "ref: "); isRef {
			name = target
			continue
		}
		at, ok := parseID(text)
		if text == "" {
			at, ok = s.packedRef(name)
		}
		switch isTable := strings.HasSuffix(name, "/.invalid"); {
		case ok:
			return at, nil
		case text == "" && !isTable:
			return at, ErrEmpty
		}
		break
	}
	return id{}, errFormat
}

// ErrEmpty is returned for repositories without a commit.
var ErrEmpty = errors.New("it has no commit")

// read returns the start of a file; "" if it cannot be read.
func (s *store) read(name string, most int64) string {
	f, err := s.regular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, most))
	return string(data)
}

func (s *store) small(name string) string { return strings.TrimSpace(s.read(name, maxRef)) }

func (s *store) packedRef(name string) (id, bool) {
	for line := range strings.Lines(s.read("packed-refs", maxObject)) {
		if hash, ref, _ := strings.Cut(strings.TrimSpace(line), " "); ref == name {
			return parseID(hash)
		}
	}
	return id{}, false
}

type commit struct {
	tree    id
	parents []id
	author  Person
	written time.Time
	order   int64 // when it was committed
}

func (w *walk) commit(at id) *commit {
	c := &commit{}
	hasTree := false
	for line := range bytes.Lines(w.store.object(at, typeCommit)) {
		key, value, ok := strings.Cut(strings.TrimRight(string(line), "\n"), " ")
		if !ok {
			break // the message follows
		}
		switch key {
		case "tree":
			c.tree, hasTree = parseID(value)
		case "parent":
			if parent, ok := parseID(value); ok {
				c.parents = append(c.parents, parent)
			}
			bounded(len(c.parents) <= maxParents)
		case "author":
			c.author, c.written = signature(value)
		case "committer":
			_, committed := signature(value)
			c.order = committed.Unix()
		}
	}
	intact(hasTree)
	return c
}

// signature parses "Ana Ortiz <ana@acme.com> 1709280000 +0100".
func signature(text string) (p Person, at time.Time) {
	name, rest, _ := strings.Cut(text, " <")
	address, when, _ := strings.Cut(rest, "> ")
	seconds, _, _ := strings.Cut(when, " ")
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
		at = time.Unix(n, 0).UTC()
	}
	return Person{strings.TrimSpace(name), address}, at
}

// walk visits commits and trees.
type walk struct {
	store      *store
	ctx        context.Context
	repository *Repository
	queue      []*commit // to visit, the newest last
	seen       map[id]bool
	trees      map[id][]entry // read before
	held       int            // entries in trees
	folders    int            // looked into for the commit at hand
}

// maxEntries bounds the entries of trees that are kept.
const maxEntries = 200_000

func newWalk(ctx context.Context, s *store, r *Repository) *walk {
	return &walk{store: s, ctx: ctx, repository: r, seen: map[id]bool{}, trees: map[id][]entry{}}
}

// run visits the commits from the newest to the oldest.
func (w *walk) run() {
	for len(w.queue) > 0 {
		c := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.folders = 0
		var trees []id
		for _, at := range c.parents {
			parent := w.commit(at)
			trees = append(trees, parent.tree)
			if !w.seen[at] {
				bounded(len(w.seen) < maxCommits)
				w.seen[at] = true
				next, _ := slices.BinarySearchFunc(w.queue, parent.order, func(c *commit, order int64) int {
					return cmp.Compare(c.order, order)
				})
				w.queue = slices.Insert(w.queue, next, parent)
			}
		}
		w.differences("", c.tree, trees, 0, func(path string, _ id) {
			if f := w.repository.files[path]; f != nil {
				f.changed(c)
			}
		})
	}
}

func (f *file) changed(c *commit) {
	if f.Updated.IsZero() {
		f.Updated = c.written
	}
	f.oldest = c.written
	if len(f.Authors) < maxAuthors && c.author != (Person{}) && !slices.Contains(f.Authors, c.author) {
		f.Authors = append(f.Authors, c.author)
	}
}

type entry struct {
	name   string
	at     id
	isTree bool
}

// differences calls use with the files of a tree that are in none of the others.
func (w *walk) differences(folder string, tree id, others []id, depth int, use func(path string, blob id)) {
	w.folders++
	bounded(w.folders <= maxFiles)
	if guard.Check(w.ctx.Err()); depth > maxNesting || slices.Contains(others, tree) {
		return
	}
	entries := w.tree(tree)
	known := make([]map[string]entry, len(others))
	for i, other := range others {
		known[i] = map[string]entry{}
		if other != (id{}) { // the folder exists there
			for _, e := range w.tree(other) {
				known[i][e.name] = e
			}
		}
	}
	for _, e := range entries {
		below := make([]id, len(known))
		same := false
		for i := range known {
			other := known[i][e.name]
			same = same || other == e
			if other.isTree {
				below[i] = other.at
			}
		}
		path := folder + e.name
		switch {
		case same || len(path) > maxPath:
		case e.isTree:
			w.differences(path+"/", e.at, below, depth+1, use)
		default:
			use(path, e.at)
		}
	}
}

// tree returns the files and folders in a tree.
func (w *walk) tree(at id) (entries []entry) {
	if entries, ok := w.trees[at]; ok {
		return entries
	}
	for data := w.store.object(at, typeTree); len(data) > 0; {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, hasName := strings.Cut(string(head), " ")
		intact(ok && hasName && len(rest) >= len(id{}))
		data = rest[len(id{}):]
		if isTree := mode == "40000"; isTree || strings.HasPrefix(mode, "100") { // no links, no submodules
			entries = append(entries, entry{name, id(rest[:len(id{})]), isTree})
		}
	}
	if w.held += len(entries); w.held > maxEntries {
		clear(w.trees)
		w.held = len(entries)
	}
	w.trees[at] = entries
	return entries
}
