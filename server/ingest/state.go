package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
)

// The state is kept in the cursors of the index, so that it is written together with the documents.
const (
	rootPrefix = "ingest/root/" // + path: a rootState
	filePrefix = "ingest/file/" // + path: a fileState
	gonePrefix = "ingest/gone/" // + id: a document that was removed by hand; it stays out until it is added again
	goneByHand = "removed"
	// refillKey is set when documents are deleted, until files with others of the same id were read again.
	refillKey = "ingest/refill"
	refillDue = "due"
)

// readerVersion is compared with the files' state: if it is raised, the next sync reads every file again.
const readerVersion = "11"

// rootState is a file or folder that was added, and how.
type rootState struct {
	Name     string   `json:"name,omitempty"` // short and unique
	As       string   `json:"as,omitempty"`
	Set      string   `json:"set,omitempty"`
	Access   []string `json:"access,omitempty"`
	Include  []string `json:"include,omitempty"`   // patterns of secrets that are read
	Source   string   `json:"source"`              // shown by status: As, or the host of the folder's repository
	SyncedAt string   `json:"synced_at,omitempty"` // empty until the first complete read
	// Clones are the addresses of repositories on known hosts by their folders: in the root, and the one around it.
	Clones map[string]string `json:"clones,omitempty"`
	// Kind and Begun are of an address: what it is, and when the run began that is not complete yet.
	Kind     string       `json:"kind,omitempty"`
	Begun    string       `json:"begun,omitempty"`
	File     bool         `json:"file,omitempty"`
	Device   uint64       `json:"device,omitempty"` // file system; 0: unknown
	Unopened unopened     `json:"unopened,omitzero"`
	Problem  string       `json:"problem,omitempty"` // why it could not be read last time
	LeftOut  wire.LeftOut `json:"left_out,omitzero"`

	damaged bool // the entry cannot be read
	unnamed bool // Name is not stored yet
}

// unopened are the entries of a root that its last complete walk did not open, and that have no fileState.
type unopened struct {
	Types map[string]int     `json:"types,omitempty"` // files of unsupported types, by extension
	Files []wire.SkippedFile `json:"files,omitempty"` // others, such as too large ones: the first
	Count int                `json:"count,omitempty"` // of these others
}

// mostTypes bounds the extensions that are counted apart.
const mostTypes = 100

func (u *unopened) add(file foundFile) {
	kind, unsupported := wire.KindNotRead(file.reason)
	if !unsupported {
		listFirst(&u.Files, &u.Count, wire.SkippedFile{Path: file.path, Reason: file.reason})
		return
	}
	if u.Types == nil {
		u.Types = map[string]int{}
	}
	if u.Types[kind] == 0 && len(u.Types) >= mostTypes {
		kind = "other"
	}
	u.Types[kind]++
}

// listFirst counts a value, and lists it if it is among the first.
func listFirst[T any](list *[]T, count *int, value T) {
	if *count++; *count <= wire.MaxStatusFiles {
		*list = append(*list, value)
	}
}

// encode encodes a rootState or a fileState.
func encode(state any) string {
	data, err := json.Marshal(state)
	if err != nil {
		return "" // strings and numbers always encode
	}
	return string(data)
}

// config identifies everything except the content that a file's documents depend on.
func (r rootState) config(source string) string {
	text := strings.Join(slices.Concat([]string{readerVersion, r.Name, r.As, source, r.Set}, r.Access, r.Include),
		"\x00")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

func (r rootState) sameSettings(other rootState) bool {
	return r.As == other.As && r.Set == other.Set && slices.Equal(r.Access, other.Access) &&
		slices.Equal(r.Include, other.Include)
}

// Flags of files with an unusual state.
const (
	flagPartial    = "partial"    // its documents are being written; after a crash some are stored
	flagRemoved    = "removed"    // stays out until it is added again
	flagLeft       = "left"       // has documents that were removed by hand: those below gonePrefix
	flagIncomplete = "incomplete" // the same, but unknown which: from earlier versions
)

// fileState is the state of a file that was read.
type fileState struct {
	Print     string `json:"print,omitempty"` // fingerprint
	Config    string `json:"config,omitempty"`
	Hash      string `json:"hash,omitempty"` // of its content
	Documents int    `json:"documents,omitempty"`
	Flag      string `json:"flag,omitempty"`
	Reason    string `json:"reason,omitempty"` // why it is skipped
	// No document is dated by the file's time, so that a new time changes nothing.
	OwnDates bool     `json:"own_dates,omitempty"`
	Lines    badLines `json:"lines,omitzero"`
	LeftOut  badLines `json:"left_out,omitzero"`  // parts of its documents
	Foreign  int      `json:"foreign,omitempty"`  // documents that belong to others
	Encoding string   `json:"encoding,omitempty"` // if it was assumed
	Head     string   `json:"head,omitempty"`     // newest commits that do not have its content: see repository.date
	Web      webState `json:"web,omitzero"`
	Kind     string   `json:"kind,omitempty"` // of a container: what it was taken for
}

// several reports whether a file may have more than one document.
func (s fileState) several(file string) bool {
	f, _ := formatOf(path.Base(file))
	return !isRemote(file) && f.lines || s.Kind != ""
}

// decodeFile decodes a fileState; it returns zero if that fails. Earlier versions separated fields by tabs.
func decodeFile(text string) (s fileState) {
	if fields := strings.Split(text, "\t"); len(fields) > 6 {
		return decodeTabs(fields)
	}
	if wire.Unmarshal([]byte(text), &s) != nil {
		return fileState{}
	}
	return s
}

// decodeTabs decodes the fields of earlier versions, of which the last ones may be missing.
func decodeTabs(fields []string) fileState {
	documents, err := strconv.Atoi(fields[4])
	s := fileState{Print: fields[1], Config: fields[2], Hash: fields[3], Documents: documents, Flag: fields[5],
		Reason: fields[6]}
	if len(fields) > 7 {
		for attribute := range strings.FieldsSeq(fields[7]) {
			name, value, _ := strings.Cut(attribute, "=")
			switch name {
			case "own":
				s.OwnDates = true
			case "foreign":
				s.Foreign, _ = strconv.Atoi(value)
			case "encoding":
				s.Encoding = value
			}
		}
	}
	if len(fields) > 8 && err == nil {
		s.Lines.Reasons = fields[9:]
		s.Lines.Count, err = strconv.Atoi(fields[8])
	}
	if err != nil {
		return fileState{}
	}
	return s
}

// sizeOf returns the size in a fingerprint.
func sizeOf(print string) int64 {
	digits, _, _ := strings.Cut(print, ".")
	size, _ := strconv.ParseInt(digits, 36, 64) // 0 if it is damaged
	return size
}

// fingerprint returns a text that changes with the file's size, times or inode.
func fingerprint(info fs.FileInfo) string {
	if named, ok := info.(interface{ fingerprint() string }); ok {
		return named.fingerprint()
	}
	inode, changed, _ := statIdentity(info)
	var parts []string
	for _, n := range []int64{info.Size(), info.ModTime().UnixNano(), inode, changed} {
		parts = append(parts, strconv.FormatInt(n, 36))
	}
	return strings.Join(parts, ".")
}

// sameTime reports whether a file still has the time in its fingerprint.
func sameTime(print string, info fs.FileInfo) bool {
	parts := strings.Split(print, ".")
	return len(parts) > 1 && parts[1] == strconv.FormatInt(info.ModTime().UnixNano(), 36)
}

// libraryIndex is an index and what this package keeps in it, until ctx ends.
type libraryIndex struct {
	ctx context.Context
	idx index.Index
}

// loadRoots returns the roots by path. All have a name.
func (l libraryIndex) loadRoots() map[string]rootState {
	roots := load(l, rootPrefix, "", "the added files and folders", func(value string) (state rootState) {
		if err := wire.Unmarshal([]byte(value), &state); err != nil {
			return rootState{damaged: true}
		}
		return state
	})
	nameRoots(roots)
	return roots
}

// loadFiles returns the state of the file at path and of those below it. Entries that cannot be decoded are zero: their
// files are read again.
func (l libraryIndex) loadFiles(path string) map[string]fileState {
	files := load(l, filePrefix, strings.TrimSuffix(path, "/"), "the state of "+path, decodeFile)
	maps.DeleteFunc(files, func(file string, _ fileState) bool { return !within(path, file) })
	return files
}

// load decodes the entries below prefix that begin with start, by key without the prefix. what is for errors.
func load[T any](l libraryIndex, prefix, start, what string, decode func(string) T) map[string]T {
	entries, err := l.idx.Cursors(l.ctx, prefix+start)
	guard.While("read "+what, err)
	decoded := make(map[string]T, len(entries))
	for key, value := range entries {
		decoded[strings.TrimPrefix(key, prefix)] = decode(value)
	}
	return decoded
}

// within reports whether path is folder or below it. Both are clean and have slashes.
func within(folder, path string) bool {
	rest, begins := strings.CutPrefix(path, strings.TrimSuffix(folder, "/"))
	return folder == "" || begins && (rest == "" || rest[0] == '/')
}

// below returns path relative to folder; "" if they are equal.
func below(folder, path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
}

// owner returns the innermost root around path, or "".
func owner(roots map[string]rootState, path string) string {
	for end := len(path); end >= 0; end = strings.LastIndexByte(path[:end], '/') {
		// That of a drive ends with its slash.
		for _, root := range [...]string{path[:end], path[:min(end+1, len(path))]} {
			if _, known := roots[root]; known {
				return root
			}
		}
	}
	return ""
}

// Status lists the roots by path with their numbers of documents, and files that are skipped or of assumed encoding.
func Status(ctx context.Context, idx index.Index) (wire.LibraryStatus, error) {
	return guard.Result(libraryIndex{ctx, idx}.status)
}

func (l libraryIndex) status() wire.LibraryStatus {
	status := wire.LibraryStatus{Roots: []wire.LibraryRoot{}, Assumed: []wire.AssumedFile{},
		Skipped: []wire.SkippedFile{}, SkippedTypes: []wire.SkippedType{}, Taken: []wire.TakenFolder{}}
	roots, files := l.loadRoots(), l.loadFiles("")
	found := make(map[string]*rootCount, len(roots))
	for root := range roots {
		found[root] = &rootCount{reasons: map[string]int{}}
	}
	for file, state := range files {
		if root := found[owner(roots, file)]; root != nil {
			root.add(state)
		}
	}
	skipped, types := map[string]string{}, map[string]int{}
	for _, path := range slices.Sorted(maps.Keys(roots)) {
		state, root := roots[path], found[path]
		for _, file := range state.Unopened.Files {
			skipped[shownPath(file.Path)] = file.Reason
			root.skip(file.Reason, 1)
		}
		more := state.Unopened.Count - len(state.Unopened.Files)
		status.SkippedFiles += more
		root.Skipped += more
		status.LeftOut.Add(state.LeftOut)
		for kind, count := range state.Unopened.Types {
			types[kind] += count
			root.skip(wire.ReasonNotRead(kind), count)
		}
		root.Name, root.Path, root.Source, root.Set = state.Name, shownPath(path), state.Source, state.Set
		root.Reasons, root.SyncedAt, root.Problem = root.mostFrequent(), state.SyncedAt, state.Problem
		status.Roots = append(status.Roots, root.LibraryRoot)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		state := files[path]
		status.LeftOut.Parts += state.LeftOut.Count - state.LeftOut.Secret
		status.LeftOut.Add(state.leftOut())
		if state.Encoding != "" {
			assumed := wire.AssumedFile{Path: shownPath(path), Encoding: state.Encoding}
			listFirst(&status.Assumed, &status.AssumedFiles, assumed)
		}
		if state.Kind != "" {
			listFirst(&status.Taken, &status.TakenFolders, wire.TakenFolder{Path: path, Kind: state.Kind})
		}
		if reason := state.skipped(); reason != "" {
			skipped[shownPath(path)] = reason
		}
	}
	listed := 0
	for _, path := range slices.Sorted(maps.Keys(skipped)) {
		listFirst(&status.Skipped, &listed, wire.SkippedFile{Path: path, Reason: skipped[path]})
	}
	status.SkippedFiles += listed
	for _, kind := range text.ByCount(types) {
		status.SkippedTypes = append(status.SkippedTypes, wire.SkippedType{Type: kind, Files: types[kind]})
	}
	return status
}

// leftOut counts the secrets in the file, or the file if it is a secret or generated.
func (s fileState) leftOut() (left wire.LeftOut) {
	if left.Secret = s.Lines.Secret + s.LeftOut.Secret; left.Secret == 0 && wire.IsSecret(s.Reason) {
		left.Secret = 1
	}
	if wire.IsGenerated(s.Reason) {
		left.Generated = 1
	}
	return left
}

// skipped returns why content of the file is not stored; "" if all is, but for what LeftOut counts.
func (s fileState) skipped() string {
	reasons := slices.DeleteFunc(append([]string{s.Reason}, s.Lines.Reasons...), wire.IsLeftOut)
	return cmp.Or(reasons...)
}

// rootCount is what the files of a root contain.
type rootCount struct {
	wire.LibraryRoot
	reasons map[string]int
}

func (c *rootCount) skip(reason string, files int) {
	c.Skipped += files
	c.reasons[reason] += files
}

func (c *rootCount) add(state fileState) {
	if state.Documents > 0 {
		c.Documents += state.Documents
		c.Files++
		c.Bytes += sizeOf(state.Print)
	}
	if reason := state.skipped(); reason != "" {
		c.skip(reason, 1)
	}
}

func (c *rootCount) mostFrequent() []wire.SkippedReason {
	most := text.ByCount(c.reasons)
	return exslices.CastFunc(most[:min(len(most), wire.MaxReasons)], func(reason string) wire.SkippedReason {
		return wire.SkippedReason{Reason: reason, Files: c.reasons[reason]}
	})
}

// Sets returns the document sets of the roots, sorted.
func Sets(ctx context.Context, idx index.Index) ([]string, error) {
	return guard.Result(func() (sets []string) {
		for _, root := range (libraryIndex{ctx, idx}).loadRoots() {
			if root.Set != "" {
				sets = append(sets, root.Set)
			}
		}
		slices.Sort(sets)
		return slices.Compact(sets)
	})
}

// A document belongs to the outermost root around the file in its origin, or to the connector or API that posted it.
// Only the origin decides: it is written in the transaction that writes the document.

// isFileOrigin reports whether an origin is a file.
func isFileOrigin(origin string) bool {
	return path.IsAbs(origin) || len(origin) > 2 && origin[1] == ':' && origin[2] == '/' // a drive letter
}

// ofConnector reports whether an origin is a connector. Documents posted without one have no origin.
func ofConnector(origin string) bool {
	return origin != "" && !isFileOrigin(origin) && !isRemote(origin)
}

func connectorName(origin string) string {
	_, number, _ := strings.Cut(origin, ":")
	return "connector " + number
}

// ErrOwned is returned by Remove for a document of a connector.
var ErrOwned = errors.New("`quarry admin connector remove` removes the documents of a connector")

// outermost returns the outermost root around path, or "".
func outermost(roots map[string]rootState, path string) string {
	best := ""
	for root := range roots {
		if within(root, path) && (best == "" || len(root) < len(best)) {
			best = root
		}
	}
	return best
}

// ownsBelow returns the test for documents of files at or below folder.
func ownsBelow(folder string) func(origin string) bool {
	escaped := escapePath(folder) // for file names that are not UTF-8
	return func(origin string) bool { return within(folder, origin) || within(escaped, origin) }
}

// ownedReason says who owns the document that a file would replace; line is set for one of several of the file.
func ownedReason(id, origin string, line bool, roots map[string]rootState) string {
	document := "its document"
	if line {
		document = fmt.Sprintf("document %q", text.Clip(id, longestValue))
	}
	switch {
	case isFileOrigin(origin), isRemote(origin):
		return fmt.Sprintf("%s belongs to %s, which was also added", document,
			shownPath(cmp.Or(outermost(roots, origin), origin)))
	case ofConnector(origin):
		return fmt.Sprintf("%s belongs to %s", document, connectorName(origin))
	}
	return document + " was stored through the ingestion API"
}

// owns returns the test for documents that the target's files may replace and delete.
func (t *target) owns() func(origin string) bool {
	if t.refill {
		file := originOf(path.Join(t.path, t.start))
		return func(origin string) bool { return origin == file }
	}
	if t.again {
		return func(origin string) bool { return origin == index.LostOrigin || t.isOwn(origin) }
	}
	return t.isOwn
}
