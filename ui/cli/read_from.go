package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"quarry/client/wire"
)

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
}

type savedResult struct {
	CitationID *int    `json:"citation_id"`
	Ref        string  `json:"ref"`
	DocumentID string  `json:"document_id"`
	URL        *string `json:"url"`
	Link       *string `json:"link"` // of a raw answer
	Origin     string  `json:"origin"`
}

// refFrom finds the reference of a citation number in a saved search, and where it was found.
func (a *app) refFrom(path, citationText string) (ref, origin string, err error) {
	number, err := strconv.Atoi(citationText)
	if err != nil || number < 1 {
		return "", "", usage("Give the number of a result's citation, like 2.", "%q is not a citation number", citationText)
	}
	results, err := a.savedResults(path)
	if err != nil {
		return "", "", err
	}
	for _, result := range results {
		if result.CitationID == nil || *result.CitationID != number {
			continue
		}
		if ref := cmp.Or(result.Ref, result.DocumentID); ref != "" {
			return ref, result.Origin, nil
		}
		return "", "", withoutID(result)
	}
	return "", "", usage("Look at the citation_id of its results.", "the saved search has no citation %d", number)
}

// withoutID explains a result of a server that gives no document ids.
func withoutID(result savedResult) error {
	do := "Search on a server that names documents, or ask for more content with --limit."
	if link := cmp.Or(deref(result.URL), deref(result.Link)); link != "" {
		do = "Open it instead: " + link
	}
	return &Failure{Code: ExitNotAvailable, Do: do,
		What: "the server that was searched does not say which document this is"}
}

func (a *app) savedResults(path string) ([]savedResult, error) {
	from := a.io.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, &Failure{Code: ExitUsage, What: fmt.Sprintf("--from: %v", err), Do: "Check the path.", Err: err}
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	limited := &io.LimitedReader{R: from, N: maxSavedSearch + 1}
	results, err := decodeSaved(limited)
	if limited.N <= 0 {
		return nil, usage("Save a smaller search (--limit).", "the saved search is larger than 64 MiB")
	}
	if err != nil {
		return nil, usage("Save one with: quarry search … --json > FILE", "--from %s is not a saved search: %v", path, err)
	}
	return results, nil
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
		for _, search := range saved.Searches {
			results = append(results, search.Results...)
			if search.Response != nil {
				results = append(results, search.Response.Results...)
			}
		}
	}
}
