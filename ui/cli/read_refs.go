package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// reference is a document or a passage as an argument of read names it.
type reference struct {
	written string
	ref     string // of a saved search, else what was written
	origin  string // profile that it was found in; "" if unknown
}

// references reads the arguments: citation numbers of a saved search if there is one, else what was printed or pasted.
func (a *app) references(arguments []string, from string) []reference {
	if from == "" {
		return exslices.CastFunc(arguments, func(typed string) reference { return reference{typed, typed, ""} })
	}
	var numbers []int
	for _, argument := range arguments {
		number, err := strconv.Atoi(strings.Trim(argument, "[]"))
		if err != nil || number < 1 {
			refuse("Give a citation number, like 2.", "%q is not a citation number", argument)
		}
		numbers = append(numbers, number)
	}
	results := a.savedResults(from)
	return exslices.CastFunc(numbers, func(number int) reference { return refOf(results, number) })
}

// refOf finds the reference of a citation number in a saved search, and where it was found.
func refOf(results []savedResult, number int) reference {
	for _, result := range results {
		if result.CitationID == nil || *result.CitationID != number {
			continue
		}
		if ref := cmp.Or(result.Ref, result.ShortRef, result.DocumentID); ref != "" {
			return reference{ref, ref, result.Origin}
		}
		guard.Abort(withoutID(result))
	}
	refuse("See citation_id in the saved search.", "the saved search has no citation %d", number)
	return reference{}
}

// choiceOf returns where to read a reference: in the profile that it was found in, if that has a name.
func (a *app) choiceOf(r reference, choice target.Choice) target.Choice {
	if r.origin == "" || r.origin == choice.Profile || a.request().Explicit() {
		return choice
	}
	there, err := a.decideTarget(target.Request{Profile: r.origin})
	if err != nil {
		return choice
	}
	return there
}

// spellings lists the refs that an argument can mean, the likeliest first: itself, the link of a document without its
// fragment, the document of a file. No file is opened, and none is meant over SSH.
func (a *app) spellings(argument string) (refs []string, fragment string) {
	refs, fragment = client.Spellings(argument)
	address, isFile := strings.CutPrefix(refs[len(refs)-1], "file://")
	switch {
	case a.program.Guest || !isFile && (len(refs) > 1 || strings.HasPrefix(argument, "file:")):
		return refs, fragment
	case isFile:
		path, err := url.PathUnescape(strings.TrimPrefix(address, "localhost"))
		if drive := filepath.VolumeName(strings.TrimPrefix(path, "/")); drive != "" { // Windows
			path = path[1:]
		}
		if err != nil {
			return refs, fragment
		}
		return slices.Insert(refs, 1, "file:"+path), fragment
	}
	path, err := filepath.Abs(a.io.path(argument))
	if err != nil {
		return refs, ""
	}
	return append(refs, "file:"+filepath.ToSlash(path)), ""
}

// located is a document, and the passages of it if some were named.
type located struct {
	client.Place
	fragment string // of a link
}

// locate finds what an argument means. The error is that of the first spelling.
func (a *app) locate(ctx context.Context, c *client.Client, argument string) located {
	refs, fragment := a.spellings(argument)
	return located{guard.Must(c.Find(ctx, refs)), fragment}
}

const maxSavedSearch = 64 << 20 // bytes

// savedSearch is any of the shapes that search prints: an answer, several, or a line of NDJSON.
type savedSearch struct {
	savedResult
	Results  []savedResult `json:"results"`
	Searches []struct {
		Results  []savedResult `json:"results"`
		Response *struct {
			Results []savedResult `json:"results"`
		} `json:"response"`
	} `json:"searches"`
	Event *struct { // the last line of ask
		Sources []savedResult `json:"sources"`
	} `json:"event"`
}

// savedResult is a result under the names of search, or of the server where its answer is raw.
type savedResult struct {
	wire.SearchResult
	URL *string `json:"url"`
}

// withoutID explains a result of a server that gives no document ids.
func withoutID(result savedResult) error {
	do := "Open the link of the result."
	if link := cmp.Or(text.OrEmpty(result.URL), text.OrEmpty(result.Link)); link != "" {
		do = "Open: " + link
	}
	return fail(ExitNotAvailable, do, "this server does not send document ids")
}

func (a *app) savedResults(path string) []savedResult {
	results, err := decodeSaved(bytes.NewReader(a.readFlagFile("from", path, maxSavedSearch)))
	if err != nil {
		refuse("Save one: quarry search QUERY --json > FILE", "--from %s is not a saved search: %v", path, err)
	}
	return results
}

// decodeSaved reads one JSON value after the other.
func decodeSaved(from io.Reader) ([]savedResult, error) {
	decoder := wire.NewDecoder(from)
	var results []savedResult
	for values := 0; ; values++ {
		var saved savedSearch
		err := decoder.Decode(&saved)
		switch {
		case errors.Is(err, io.EOF) && values > 0:
			return results, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty")
		case err != nil:
			return nil, err
		}
		if saved.CitationID != nil {
			results = append(results, saved.savedResult)
		}
		results = append(results, saved.Results...)
		if saved.Event != nil {
			results = append(results, saved.Event.Sources...)
		}
		for _, search := range saved.Searches {
			results = append(results, search.Results...)
			if search.Response != nil {
				results = append(results, search.Response.Results...)
			}
		}
	}
}
