package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
)

// The bookkeeping lives in the cursors of the index, so that it is written with the documents that it tells of.
const (
	rootPrefix = "ingest/root/" // + path: a rootState
	filePrefix = "ingest/file/" // + path: a fileState
	gonePrefix = "ingest/gone/" // + id: a document that was removed by hand, which stays out until it is added again
	goneByHand = "removed"
	// refillKey is set in the transaction that removes documents, until files that hold others of that id were read again.
	refillKey = "ingest/refill"
	refillDue = "due"
)

// readerVersion is part of what files are compared by: raising it makes the next sync read every file again.
const readerVersion = "2"

// rootState is a file or folder that was added, and how.
type rootState struct {
	As       string   `json:"as,omitempty"`
	Set      string   `json:"set,omitempty"`
	Access   []string `json:"access,omitempty"`
	Source   string   `json:"source"`              // what status shows: As, else what the folder's repository tells
	SyncedAt string   `json:"synced_at,omitempty"` // empty until it was read to the end once
	File     bool     `json:"file,omitempty"`
	Device   uint64   `json:"device,omitempty"` // file system that it was on; 0 unknown

	damaged bool // the entry cannot be read
}

func (r rootState) encode() string {
	data, err := json.Marshal(r)
	if err != nil {
		return "" // cannot be: there is nothing in it that JSON lacks
	}
	return string(data)
}

// config names everything but its content that decides what a file becomes.
func (r rootState) config(source string) string {
	text := strings.Join(append([]string{readerVersion, r.As, source, r.Set}, r.Access...), "\x00")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

func (r rootState) sameSettings(other rootState) bool {
	return r.As == other.As && r.Set == other.Set && slices.Equal(r.Access, other.Access)
}

func (r rootState) plain() bool { return r.As == "" && r.Set == "" && len(r.Access) == 0 }

// The flags of files that are not simply stored.
const (
	flagPartial    = "partial"    // its documents are being written; a crash left some of them
	flagRemoved    = "removed"    // stays out until it is added again
	flagLeft       = "left"       // it holds documents that were removed by hand: those below gonePrefix
	flagIncomplete = "incomplete" // likewise, but which is unknown: earlier programs did not remember
)

// fileState is what is known of a file that was read.
type fileState struct {
	print     string // of its inode: size and times
	config    string
	hash      string // of its content
	documents int
	flag      string
	reason    string // why it is skipped
	// ownDates: no document of it is dated by the file's time, so that a new time changes nothing.
	ownDates bool
	lines    badLines
	foreign  int    // documents that it holds and others own
	encoding string // that its text was assumed to have; empty: UTF-8, or declared
}

// badLines are the lines of a JSONL file that gave no document.
type badLines struct {
	count   int
	reasons []string // of the first of them, with their numbers
}

// mostRemembered is how many reasons of lines are kept with a file.
const mostRemembered = 20

// add notes one more line, and returns what to tell of it.
func (l *badLines) add(number int, problem string) (reason string) {
	reason = fmt.Sprintf("line %d: %s", number, problem)
	if l.count++; len(l.reasons) < mostRemembered {
		l.reasons = append(l.reasons, reason)
	}
	return reason
}

// told are the reasons to tell of a file that is not read again.
func (l *badLines) told() []string {
	if further := l.count - len(l.reasons); further > 0 {
		return append(slices.Clip(l.reasons), fmt.Sprintf("further lines: %d", further))
	}
	return l.reasons
}

const stateVersion = "1"

// The attributes of a state, in one field so that earlier programs can read the others.
const (
	withOwnDates = "own"
	withForeign  = "foreign="
	withEncoding = "encoding="
)

func (s fileState) attributes() string {
	var attributes []string
	if s.ownDates {
		attributes = append(attributes, withOwnDates)
	}
	if s.foreign > 0 {
		attributes = append(attributes, withForeign+strconv.Itoa(s.foreign))
	}
	if s.encoding != "" {
		attributes = append(attributes, withEncoding+s.encoding)
	}
	return strings.Join(attributes, " ")
}

func (s *fileState) setAttributes(text string) {
	for attribute := range strings.FieldsSeq(text) {
		if attribute == withOwnDates {
			s.ownDates = true
		} else if count, ok := strings.CutPrefix(attribute, withForeign); ok {
			s.foreign, _ = strconv.Atoi(count)
		} else if encoding, ok := strings.CutPrefix(attribute, withEncoding); ok {
			s.encoding = encoding
		}
	}
}

func (s fileState) encode() string {
	fields := []string{
		stateVersion, s.print, s.config, s.hash, strconv.Itoa(s.documents), s.flag, s.reason, s.attributes(),
		strconv.Itoa(s.lines.count),
	}
	fields = append(fields, s.lines.reasons...)
	for i, field := range fields {
		fields[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(field)
	}
	return strings.Join(fields, "\t")
}

// decodeFile reads what encode wrote, now or when there were fewer fields.
func decodeFile(text string) (fileState, bool) {
	const atFirst = 7
	parts := strings.Split(text, "\t")
	if len(parts) < atFirst || parts[0] != stateVersion {
		return fileState{}, false
	}
	documents, err := strconv.Atoi(parts[4])
	s := fileState{
		print: parts[1], config: parts[2], hash: parts[3], documents: documents, flag: parts[5], reason: parts[6],
	}
	if len(parts) > 7 {
		s.setAttributes(parts[7])
	}
	if len(parts) > 8 && err == nil {
		s.lines.count, err = strconv.Atoi(parts[8])
		s.lines.reasons = parts[9:]
	}
	return s, err == nil
}

// fingerprint changes when a file does, as far as its inode can tell.
func fingerprint(info fs.FileInfo) string {
	inode, changed, _ := statIdentity(info)
	parts := []int64{info.Size(), info.ModTime().UnixNano(), inode, changed}
	text := make([]byte, 0, 64)
	for i, n := range parts {
		if i > 0 {
			text = append(text, '.')
		}
		text = strconv.AppendInt(text, n, 36)
	}
	return string(text)
}

// sameTime reports whether a file has the time that it had when its fingerprint was taken.
func sameTime(print string, info fs.FileInfo) bool {
	parts := strings.Split(print, ".")
	return len(parts) > 1 && parts[1] == strconv.FormatInt(info.ModTime().UnixNano(), 36)
}

// loadRoots reads what was added, by path.
func loadRoots(ctx context.Context, idx index.Index) (map[string]rootState, error) {
	entries, err := idx.Cursors(ctx, rootPrefix)
	if err != nil {
		return nil, fmt.Errorf("read the list of what was added: %w", err)
	}
	roots := make(map[string]rootState, len(entries))
	for key, value := range entries {
		var state rootState
		if err := wire.Unmarshal([]byte(value), &state); err != nil {
			state = rootState{damaged: true}
		}
		roots[strings.TrimPrefix(key, rootPrefix)] = state
	}
	return roots, nil
}

// loadFiles reads what is known of the file at path and of those below it. An entry that cannot be read counts as
// unknown: its file is read again.
func loadFiles(ctx context.Context, idx index.Index, path string) (map[string]fileState, error) {
	entries, err := idx.Cursors(ctx, filePrefix+strings.TrimSuffix(path, "/"))
	if err != nil {
		return nil, fmt.Errorf("read what is known of %s: %w", path, err)
	}
	files := make(map[string]fileState, len(entries))
	for key, value := range entries {
		file := strings.TrimPrefix(key, filePrefix)
		if within(path, file) {
			files[file], _ = decodeFile(value)
		}
	}
	return files, nil
}

// within reports whether path is folder or lies below it. Both are clean and have slashes.
func within(folder, path string) bool {
	if folder == "" || folder == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// owner is the innermost root that path belongs to; "" for none.
func owner(roots map[string]rootState, path string) string {
	best := ""
	for root := range roots {
		if len(root) > len(best) && within(root, path) {
			best = root
		}
	}
	return best
}

// Status lists what was added, ordered by path, with the number of documents that came of it, and the files whose
// encoding was assumed or that are skipped.
func Status(ctx context.Context, idx index.Index) (wire.LibraryStatus, error) {
	status := wire.LibraryStatus{Roots: []wire.LibraryRoot{}, Assumed: []wire.AssumedFile{}, Skipped: []wire.SkippedFile{}}
	roots, err := loadRoots(ctx, idx)
	if err != nil {
		return status, err
	}
	files, err := loadFiles(ctx, idx, "")
	if err != nil {
		return status, err
	}
	counts := countByRoot(roots, files)
	for _, path := range slices.Sorted(maps.Keys(roots)) {
		state := roots[path]
		status.Roots = append(status.Roots, wire.LibraryRoot{
			Path: path, Source: state.Source, Set: state.Set, Documents: counts[path], SyncedAt: state.SyncedAt,
		})
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		state := files[path]
		if state.encoding != "" {
			if status.AssumedFiles++; status.AssumedFiles <= wire.MaxStatusFiles {
				status.Assumed = append(status.Assumed, wire.AssumedFile{Path: path, Encoding: state.encoding})
			}
		}
		reasons := append([]string{state.reason}, state.lines.reasons...)
		if reason := first(reasons...); reason != "" {
			if status.SkippedFiles++; status.SkippedFiles <= wire.MaxStatusFiles {
				status.Skipped = append(status.Skipped, wire.SkippedFile{Path: path, Reason: reason})
			}
		}
	}
	return status, nil
}

func countByRoot(roots map[string]rootState, files map[string]fileState) map[string]int {
	counts := map[string]int{}
	owners := map[string]string{} // by folder: many files share one
	for file, state := range files {
		if state.documents == 0 {
			continue
		}
		if _, isRoot := roots[file]; isRoot {
			counts[file] += state.documents
			continue
		}
		folder := file[:max(0, strings.LastIndexByte(file, '/'))]
		root, known := owners[folder]
		if !known {
			root = owner(roots, folder+"/")
			owners[folder] = root
		}
		counts[root] += state.documents
	}
	return counts
}

// Sets are the names of the document sets that files are put in as they are added or synchronised, in order.
func Sets(ctx context.Context, idx index.Index) ([]string, error) {
	roots, err := loadRoots(ctx, idx)
	if err != nil {
		return nil, err
	}
	sets := map[string]bool{}
	for _, root := range roots {
		if root.Set != "" {
			sets[root.Set] = true
		}
	}
	return slices.Sorted(maps.Keys(sets)), nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
