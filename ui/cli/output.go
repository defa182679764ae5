package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// schemaVersion counts the incompatible changes of the JSON that commands print. Keys are only ever added within one
// version; a reader ignores what it does not know.
const schemaVersion = 1

// encodeJSON prints as Onyx's CLI does: two spaces, and <, > and & escaped.
func encodeJSON(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return append(text, '\n'), nil
}

// cut says how much of an answer is kept.
type cut struct {
	shown   int         // results (of each query) that stay
	content int         // bytes of content that each of them keeps; less than 0: all
	note    *truncation // what is said about it; nil when nothing was cut
}

// whole keeps everything.
func whole() cut { return cut{shown: 1 << 30, content: -1} }

// truncation tells in an answer that it was cut, with the keys of Onyx's CLI.
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
type answer interface {
	// most is the largest number of results of one query.
	most() int
	// count tells how many results there are under a cut.
	count(shown int) int
	// encode renders what a cut leaves.
	encode(cut) ([]byte, error)
}

// cutTo renders an answer in at most limit bytes: first whole results go, then the end of the first one's content at
// a character's boundary, at last every result. What is then left is printed whatever its size, because output that
// does not parse helps nobody. note tells what is known beforehand: sizes and the place of the copy.
func cutTo(a answer, limit int, note truncation) ([]byte, error) {
	note.Truncated = true
	note.TotalResults = a.count(a.most())
	render := func(shown, content int) ([]byte, error) {
		told := note
		told.ShownResults = a.count(shown)
		told.ContentTruncated = content >= 0
		return a.encode(cut{shown: shown, content: content, note: &told})
	}
	text, err := largest(1, a.most(), limit, func(n int) ([]byte, error) { return render(n, -1) })
	if text != nil || err != nil {
		return text, err
	}
	if a.most() > 0 {
		text, err = largest(0, note.TotalBytes, limit, func(n int) ([]byte, error) { return render(1, n) })
		if text != nil || err != nil {
			return text, err
		}
	}
	return render(0, -1)
}

// largest finds the longest rendering within limit for a number in [low, high]; nil when none fits. Renderings grow
// with the number.
func largest(low, high, limit int, render func(int) ([]byte, error)) ([]byte, error) {
	var best []byte
	for low <= high {
		middle := low + (high-low)/2
		text, err := render(middle)
		switch {
		case err != nil:
			return nil, err
		case len(text) <= limit:
			best, low = text, middle+1
		default:
			high = middle - 1
		}
	}
	return best, nil
}

// printAnswer prints an answer, cut to the run's limit. kind names the copy's file; neverCut is --raw.
func (a *app) printAnswer(kind string, value answer, private, neverCut bool) error {
	text, err := value.encode(whole())
	if err != nil {
		return err
	}
	limit := a.maxOutput()
	if limit > 0 && len(text) > limit && !neverCut {
		note := truncation{TotalBytes: len(text)}
		note.FullResponsePath = a.keepCopy(kind, "json", text, private)
		note.Hint = cutHint(note.FullResponsePath)
		total := len(text)
		if text, err = cutTo(value, limit, note); err != nil {
			return err
		}
		a.tellCut(total, note.FullResponsePath)
	}
	return a.print(text)
}

// printPlain prints text that is no JSON, cut at a character's boundary.
func (a *app) printPlain(kind, extension string, text []byte, private bool) error {
	limit := a.maxOutput()
	if limit > 0 && len(text) > limit {
		path := a.keepCopy(kind, extension, text, private)
		total := len(text)
		text = clipBytes(text, limit)
		a.tellCut(total, path)
	}
	return a.print(text)
}

// printLines prints lines of which each is whole by itself, and drops lines from the end to fit.
func (a *app) printLines(kind, extension string, lines [][]byte, private bool) error {
	text := bytes.Join(lines, nil)
	limit := a.maxOutput()
	if limit > 0 && len(text) > limit {
		path := a.keepCopy(kind, extension, text, private)
		total, size, kept := len(text), 0, 0
		for kept < len(lines) && size+len(lines[kept]) <= limit {
			size += len(lines[kept])
			kept++
		}
		text = bytes.Join(lines[:kept], nil)
		a.tellCut(total, path)
	}
	return a.print(text)
}

func (a *app) print(text []byte) error {
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

func cutHint(path *string) string {
	if path == nil {
		return "Ask for less (--limit, --source), or for all of it with --max-output 0."
	}
	return "The complete answer is in full_response_path; --max-output 0 prints all of it."
}

func (a *app) tellCut(total int, path *string) {
	if path == nil {
		a.say("response truncated (%d bytes total); --max-output 0 prints all of it", total)
		return
	}
	a.say("response truncated (%d bytes total); full response: %s", total, *path)
}

// clipBytes keeps at most limit bytes and never half a character.
func clipBytes(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// rows is a list that is printed as a JSON array. A cut drops rows; an array has no place to say so, which is why
// standard error does.
type rows[T any] []T

func (r rows[T]) most() int           { return len(r) }
func (r rows[T]) count(shown int) int { return min(shown, len(r)) }

func (r rows[T]) encode(c cut) ([]byte, error) {
	kept := append([]T{}, r[:min(c.shown, len(r))]...)
	return encodeJSON(kept)
}
