package ingest

import (
	"errors"
	"path"
	"strings"
)

// TextOf reads the text of a file that somebody hands over by itself: of a page its Markdown, of anything else that is
// text the text, cleaned. The error says in the words of a skipped file why it cannot be read.
func TextOf(name string, data []byte) (text string, err error) {
	if len(data) > largestFile {
		return "", errors.New(reasonTooLarge)
	}
	if reason := mismatch(data); reason != "" {
		return "", errors.New(reason)
	}
	format, _ := formatOf(path.Base(name))
	if text, _, err = decodeText(data, format == formatHTML); err != nil {
		return "", err
	}
	if format == formatHTML {
		if _, body, err := newHTMLReader().read(text); err == nil {
			text = cleanText(body)
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", errEmpty
	}
	return text, nil
}
