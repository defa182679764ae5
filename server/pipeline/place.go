package pipeline

import (
	"cmp"
	"strconv"
	"strings"

	"quarry/internal/text"
	"quarry/server/index"
)

// placeOf returns the headings above a byte of a chunk, and the link to that place. Those of the chunk are of its
// beginning, and small sections share a chunk.
func placeOf(d index.Stored, number int, chunk index.Chunk, at int) (headings []string, link string) {
	var path []index.Heading
	rest, within := chunk.Text[:at+len(firstLine(chunk.Text[at:]))], false
	for _, h := range d.Outline {
		if h.Chunk > number {
			break
		}
		if h.Chunk == number {
			below, found := belowHeading(rest, h.Text)
			if !found {
				continue
			}
			rest, within = below, true
		}
		for len(path) > 0 && path[len(path)-1].Level >= h.Level {
			path = path[:len(path)-1]
		}
		path = append(path, h)
	}
	if own := len(chunk.Headings) - 1; !within || own >= 0 && chunk.Headings[own] == path[len(path)-1].Text {
		return chunk.Headings, chunk.Link
	}
	for i, h := range path {
		if i > 0 || h.Level > 1 || h.Text != d.Title {
			headings = append(headings, h.Text)
		}
	}
	return headings, linkTo(d, number, chunk, path[len(path)-1])
}

// linkTo returns the link of a chunk with the anchor of another heading in it; without an anchor if that is not known.
func linkTo(d index.Stored, number int, chunk index.Chunk, wanted index.Heading) string {
	address, own, anchored := strings.Cut(chunk.Link, "#")
	if wanted.Link != "" || !anchored {
		return cmp.Or(wanted.Link, chunk.Link)
	}
	anchors, to, known := map[string]int{}, "", false
	for _, h := range d.Outline {
		slug := text.Slug(h.Text)
		anchor := slug
		if n := anchors[slug]; n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		anchors[slug]++
		known = known || h.Chunk <= number && anchor == own
		if h == wanted {
			to = anchor
		}
	}
	if !known || to == "" { // the document has anchors of its own
		return address
	}
	return address + "#" + to
}

// belowHeading returns what follows the first heading with a text in Markdown.
func belowHeading(markdown, heading string) (below string, found bool) {
	wanted := text.Letters(heading)
	for markdown != "" {
		line := firstLine(markdown)
		markdown = strings.TrimPrefix(markdown[len(line):], "\n")
		underline := strings.TrimSpace(firstLine(markdown))
		isHeading := strings.HasPrefix(strings.TrimLeft(line, " "), "#") ||
			underline != "" && strings.Trim(underline, "=") == "" ||
			len(underline) > 1 && strings.Trim(underline, "-") == "" || strings.HasPrefix(line, "**") // over a message
		if isHeading && strings.HasPrefix(text.Letters(line), wanted) {
			return markdown, true
		}
	}
	return "", false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
