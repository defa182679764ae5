package ingest

import (
	"cmp"
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

// encode writes a rootState or a fileState.
func encode(state any) string {
	data, err := json.Marshal(state)
	if err != nil {
		return "" // strings and numbers always encode
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
	Print     string   `json:"print,omitempty"` // of its inode: size and times
	Config    string   `json:"config,omitempty"`
	Hash      string   `json:"hash,omitempty"` // of its content
	Documents int      `json:"documents,omitempty"`
	Flag      string   `json:"flag,omitempty"`
	Reason    string   `json:"reason,omitempty"`    // why it is skipped
	OwnDates  bool     `json:"own_dates,omitempty"` // no document has its date from the file's time: a new time changes nothing
	Lines     badLines `json:"lines,omitzero"`
	Foreign   int      `json:"foreign,omitempty"`  // documents that it holds and others own
	Encoding  string   `json:"encoding,omitempty"` // that its text was assumed to have; empty: UTF-8, or declared
}

// badLines are the lines of a JSONL file that gave no document.
type badLines struct {
	Count   int      `json:"count"`
	Reasons []string `json:"reasons"` // of the first of them, with their numbers
}

// mostRemembered is how many reasons of lines are kept with a file.
const mostRemembered = 20

// add counts one more line, and returns the reason to report.
func (l *badLines) add(number int, problem string) (reason string) {
	reason = fmt.Sprintf("line %d: %s", number, problem)
	if l.Count++; len(l.Reasons) < mostRemembered {
		l.Reasons = append(l.Reasons, reason)
	}
	return reason
}

// listed returns the reasons to report for a file that is not read again.
func (l *badLines) listed() []string {
	if further := l.Count - len(l.Reasons); further > 0 {
		return append(slices.Clip(l.Reasons), fmt.Sprintf("further lines: %d", further))
	}
	return l.Reasons
}

// decodeFile reads a fileState; one that cannot be read is zero. Earlier versions separated the fields by tabs: those
// that say whether the file changed and what was removed are read.
func decodeFile(text string) (s fileState) {
	if fields := strings.Split(text, "\t"); len(fields) > 6 {
		documents, err := strconv.Atoi(fields[4])
		if err != nil {
			return fileState{}
		}
		return fileState{Print: fields[1], Config: fields[2], Hash: fields[3], Documents: documents, Flag: fields[5],
			Reason: fields[6]}
	}
	if wire.Unmarshal([]byte(text), &s) != nil {
		return fileState{}
	}
	return s
}

// fingerprint changes when a file does, as far as its inode can tell.
func fingerprint(info fs.FileInfo) string {
	inode, changed, _ := statIdentity(info)
	var parts []string
	for _, n := range []int64{info.Size(), info.ModTime().UnixNano(), inode, changed} {
		parts = append(parts, strconv.FormatInt(n, 36))
	}
	return strings.Join(parts, ".")
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
			files[file] = decodeFile(value)
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

// below is path as it is named from folder, which it lies in; "" if it is folder itself.
func below(folder, path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
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
		if state.Encoding != "" {
			if status.AssumedFiles++; status.AssumedFiles <= wire.MaxStatusFiles {
				status.Assumed = append(status.Assumed, wire.AssumedFile{Path: path, Encoding: state.Encoding})
			}
		}
		reasons := append([]string{state.Reason}, state.Lines.Reasons...)
		if reason := cmp.Or(reasons...); reason != "" {
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
		if state.Documents == 0 {
			continue
		}
		if _, isRoot := roots[file]; isRoot {
			counts[file] += state.Documents
			continue
		}
		folder := file[:max(0, strings.LastIndexByte(file, '/'))]
		root, known := owners[folder]
		if !known {
			root = owner(roots, folder+"/")
			owners[folder] = root
		}
		counts[root] += state.Documents
	}
	return counts
}

// Sets are the names of the document sets that files are put in as they are added or synchronised, in order.
func Sets(ctx context.Context, idx index.Index) ([]string, error) {
	roots, err := loadRoots(ctx, idx)
	if err != nil {
		return nil, err
	}
	var sets []string
	for _, root := range roots {
		if root.Set != "" {
			sets = append(sets, root.Set)
		}
	}
	slices.Sort(sets)
	return slices.Compact(sets), nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
