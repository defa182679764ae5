package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/internal/text"
)

// schemaVersion counts the incompatible changes of the JSON that commands print. Keys are only ever added within one
// version; a reader ignores what it does not know.
const schemaVersion = 1

// encodeJSON prints as Onyx's CLI does: two spaces, and <, > and & escaped.
func encodeJSON(value any) ([]byte, error) {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return append(encoded, '\n'), nil
}

// object is a JSON object with its keys in order.
type object []field

// field is a key with its value. A key that ends in "?" is left out with a zero value. A list or a map that is missing is
// empty.
type field struct {
	key   string
	value any
}

// and appends more fields if they are given.
func (o object) and(given bool, more object) object {
	if !given {
		return o
	}
	return append(o, more...)
}

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	written := []byte{'{'}
	for _, f := range o {
		key, isOptional := strings.CutSuffix(f.key, "?")
		switch value := reflect.ValueOf(f.value); {
		case isOptional && value.IsZero():
			continue
		case value.Kind() == reflect.Slice && value.IsNil():
			f.value = []any{}
		case value.Kind() == reflect.Map && value.IsNil():
			f.value = object{}
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		if len(written) > 1 {
			written = append(written, ',')
		}
		written = append(strconv.AppendQuote(written, key), ':')
		written = append(written, value...)
	}
	return append(written, '}'), nil
}

// cut says how much of an answer is kept.
type cut struct {
	shown   int         // results (of each query) that stay
	content int         // bytes of content that each of them keeps; less than 0: all
	note    *truncation // what is said about it; nil when nothing was cut
}

// whole keeps everything.
func whole() cut { return cut{shown: 1 << 30, content: -1} }

// truncation describes how an answer was cut, with the keys of Onyx's CLI.
type truncation struct {
	Truncated        bool    `json:"truncated"`
	TotalResults     int     `json:"total_results"`
	ShownResults     int     `json:"shown_results"`
	TotalBytes       int     `json:"total_bytes"`
	ContentTruncated bool    `json:"content_truncated"`
	FullResponsePath *string `json:"full_response_path"` // null: no copy was kept
	Hint             string  `json:"hint"`
}

// answer is output that can be cut and is still whole output of its kind.
type answer struct {
	sizes  []int // numbers of results, of each query
	encode func(cut) ([]byte, error)
}

// most returns the largest number of results of one query.
func (a answer) most() int { return slices.Max(append(a.sizes, 0)) }

// count returns the number of results if each query shows at most shown.
func (a answer) count(shown int) (total int) {
	for _, size := range a.sizes {
		total += min(shown, size)
	}
	return total
}

// cutTo renders an answer in at most limit bytes: first whole results go, then the end of the first one's content at
// a character's boundary, at last every result. What is then left is printed whatever its size, because output that
// does not parse helps nobody. note has the sizes and the path of the copy.
func cutTo(a answer, limit int, note truncation) ([]byte, error) {
	note.Truncated = true
	note.TotalResults = a.count(a.most())
	render := func(shown, content int) ([]byte, error) {
		described := note
		described.ShownResults = a.count(shown)
		described.ContentTruncated = content >= 0
		return a.encode(cut{shown: shown, content: content, note: &described})
	}
	best, err := largest(1, a.most(), limit, func(n int) ([]byte, error) { return render(n, -1) })
	if best == nil && err == nil && a.most() > 0 {
		best, err = largest(0, note.TotalBytes, limit, func(n int) ([]byte, error) { return render(1, n) })
	}
	if best != nil || err != nil {
		return best, err
	}
	return render(0, -1)
}

// largest finds the longest rendering within limit for a number in [low, high]; nil when none fits. Renderings grow
// with the number.
func largest(low, high, limit int, render func(int) ([]byte, error)) ([]byte, error) {
	var best []byte
	for low <= high {
		middle := low + (high-low)/2
		rendered, err := render(middle)
		switch {
		case err != nil:
			return nil, err
		case len(rendered) <= limit:
			best, low = rendered, middle+1
		default:
			high = middle - 1
		}
	}
	return best, nil
}

// printAnswer prints an answer, cut to the run's limit. kind names the copy's file.
func (a *app) printAnswer(kind string, value answer, private bool) error {
	encoded, err := value.encode(whole())
	if err != nil {
		return err
	}
	return a.printCut(kind, "json", encoded, private, func(limit int, path *string) ([]byte, error) {
		return cutTo(value, limit, truncation{TotalBytes: len(encoded), FullResponsePath: path, Hint: cutHint(path)})
	})
}

// printPlain prints text that is no JSON, cut at a character's boundary.
func (a *app) printPlain(kind, extension, plain string, private bool) error {
	return a.printCut(kind, extension, []byte(plain), private, func(limit int, _ *string) ([]byte, error) {
		return []byte(text.Clip(plain, limit)), nil
	})
}

// printLines prints lines of which each is whole by itself, and drops lines from the end to fit.
func (a *app) printLines(kind, extension, lines string, private bool) error {
	return a.printCut(kind, extension, []byte(lines), private, func(limit int, _ *string) ([]byte, error) {
		return []byte(lines[:strings.LastIndexByte(lines[:limit], '\n')+1]), nil
	})
}

// printCut prints output. Where that is larger than the run's limit, shorten makes what is printed; path is that of the
// complete copy, nil for none.
func (a *app) printCut(kind, extension string, whole []byte, private bool,
	shorten func(limit int, path *string) ([]byte, error)) error {
	limit := a.maxOutput()
	if limit <= 0 || len(whole) <= limit {
		return a.print(whole)
	}
	path := a.keepCopy(kind, extension, whole, private)
	short, err := shorten(limit, path)
	if err != nil {
		return err
	}
	if path == nil {
		a.say("response truncated (%d bytes total); to print everything: --max-output 0", len(whole))
	} else {
		a.say("response truncated (%d bytes total); full response: %s", len(whole), *path)
	}
	return a.print(short)
}

// printJSON prints a value that is never cut.
func (a *app) printJSON(value any) error {
	encoded, err := encodeJSON(value)
	if err != nil {
		return err
	}
	return a.print(encoded)
}

func (a *app) print(output []byte) error {
	if _, err := a.out.Write(output); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

func cutHint(path *string) string {
	if path == nil {
		return "Reduce the results (--limit, --source), or print everything: --max-output 0"
	}
	return "full_response_path has the complete answer. To print everything: --max-output 0"
}

// rowsAnswer is a list that is printed as a JSON array. A cut drops rows; an array has no place to say so, which is why
// standard error does.
func rowsAnswer[T any](rows []T) answer {
	return answer{[]int{len(rows)}, func(c cut) ([]byte, error) { return encodeJSON(firstOf(rows, c.shown)) }}
}

// firstOf returns a copy of the first items of a list; JSON shows one without items as [].
func firstOf[T any](list []T, most int) []T { return append([]T{}, list[:min(most, len(list))]...) }

// Complete copies of output that was cut lie in the temporary directory, for their owner only, for a day.
const (
	copyPrefix = "quarry-"
	copyMark   = ".response."
	copyAge    = 24 * time.Hour
	mostCopies = 10_000 // entries of the directory that are looked at
)

// keepCopy stores what was not printed and returns the path; nil when nothing is to be kept or it cannot be. A full
// disk must not cost the user the part that fits.
func (a *app) keepCopy(kind, extension string, whole []byte, private bool) *string {
	if private || a.io.TempDir == "" {
		return nil
	}
	path, err := writeCopy(a.io.TempDir, kind, extension, whole)
	if err != nil {
		a.note("cannot keep a complete copy: %v", err)
		return nil
	}
	return &path
}

func writeCopy(dir, kind, extension string, whole []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, copyPrefix+kind+"-*"+copyMark+extension) // creates with mode 0600
	if err != nil {
		return "", fmt.Errorf("create a copy: %w", err)
	}
	_, err = file.Write(whole)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// removeOldCopies removes copies that are older than a day. Only regular files of this user with the name of a copy are
// touched; a link that somebody else put into a shared directory is left alone. Failing is harmless: the next run
// tries again.
func (a *app) removeOldCopies() {
	if a.io.TempDir == "" {
		return
	}
	dir, err := os.Open(a.io.TempDir)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(mostCopies)
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, copyPrefix) || !strings.Contains(name, copyMark) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && ownedByUs(info) && a.now().Sub(info.ModTime()) >= copyAge {
			_ = os.Remove(filepath.Join(a.io.TempDir, name))
		}
	}
}
