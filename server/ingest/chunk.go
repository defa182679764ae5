package ingest

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"quarry/internal/text"
	"quarry/server/index"
)

const (
	// chunkLimit is the maximum size of a chunk, in tokens.
	chunkLimit = 512
	// smallSection is the size, in tokens, below which sections share a chunk.
	smallSection = 128
	// shortestCut is a size, in bytes, that fits into a chunk whatever the text is.
	shortestCut = 2 * chunkLimit
	// mostHeadings bounds the outline of a document.
	mostHeadings = 10_000
)

// chunker cuts one document. Chunk texts are slices of the source including the white space after them, so that the
// joined texts read like the document. Only code and tables that are cut get an additional fence or header.
type chunker struct {
	source string
	link   string // of the document
	title  string // left out of heading paths as a first-level heading

	chunks  []index.Chunk
	places  []index.Position // of the chunks in source, without white space around them
	outline []index.Heading
	slugs   map[string]int
	path    []openHeading // headings of the current position
	serial  int           // of the last heading
	current openChunk
}

type openHeading struct {
	serial, level int
	title, slug   string
}

// openChunk is the chunk being filled.
type openChunk struct {
	open           bool
	start, end     int
	tokens         int
	prefix, suffix string
	headingsOnly   bool
	whole          bool          // starts with its section
	section        []openHeading // in which it starts
	headings       []string
	slug           string
}

// chunked cuts source, which blocks cover, into chunks. Their links are link with a heading's anchor.
func chunked(source string, blocks []block, title, link string) *chunker {
	c := &chunker{source: source, link: link, title: title, slugs: map[string]int{}}
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n].Kind != kindHeading {
			n++
		}
		c.section(blocks[:n])
		blocks = blocks[n:]
	}
	c.flush()
	if last := len(c.chunks) - 1; last >= 0 {
		c.chunks[last].Text = strings.TrimRight(c.chunks[last].Text, " \t\n")
	}
	return c
}

// section adds a heading, if there is one, and the blocks up to the next.
func (c *chunker) section(blocks []block) {
	if blocks[0].Kind == kindHeading {
		c.enter(blocks[0])
	}
	if cur := &c.current; cur.open && !cur.headingsOnly {
		if !cur.whole || cur.tokens >= smallSection || !related(cur.section, c.path) ||
			cur.tokens+c.size(blocks[0].Start, blocks[len(blocks)-1].End) > chunkLimit {
			c.flush()
		}
	}
	for i := range blocks {
		c.addBlock(&blocks[i], i == 0)
	}
}

// related reports whether next is under the same parent heading as first, at any depth.
func related(first, next []openHeading) bool {
	parent := len(first) - 1
	for i := range parent {
		if i >= len(next) || next[i].serial != first[i].serial {
			return false
		}
	}
	return true
}

func (c *chunker) enter(heading block) {
	c.serial++
	keep := len(c.path)
	for keep > 0 && c.path[keep-1].level >= heading.Level {
		keep--
	}
	slug := heading.Slug
	if slug == "" {
		slug = c.uniqueSlug(heading.Title)
	}
	c.path = append(slices.Clip(c.path[:keep]),
		openHeading{serial: c.serial, level: heading.Level, title: heading.Title, slug: slug})
}

func (c *chunker) addBlock(b *block, first bool) {
	size := c.size(b.Start, b.End)
	fits := c.current.tokens+size <= chunkLimit
	if b.Kind == kindHeading {
		if !fits {
			c.flush()
		}
		if len(c.outline) <= mostHeadings && b.Title != "" {
			c.outline = append(c.outline, index.Heading{Level: b.Level, Text: b.Title, Chunk: len(c.chunks)})
		}
		fits = size <= chunkLimit
	}
	uncuttable := b.Kind == kindCode || b.Kind == kindTable
	switch {
	case fits:
		c.extend(b.Start, b.End, size, b.Kind, first)
	case size <= chunkLimit && (!c.current.headingsOnly || uncuttable):
		c.flush()
		c.extend(b.Start, b.End, size, b.Kind, first)
	default:
		c.split(b, first)
	}
}

// split adds a block that does not fit, piece by piece.
func (c *chunker) split(b *block, first bool) {
	switch b.Kind {
	case kindContainer:
		for i := range b.Children {
			c.addBlock(&b.Children[i], first && i == 0)
		}
	case kindTable, kindCode:
		c.addRepeating(b, first)
	case kindLines:
		c.addSpans(lineSpans(c.source, b.Start, b.End), b.Kind, first)
	default:
		c.addSpans(sentenceSpans(c.source, b.Start, b.End), b.Kind, first)
	}
}

func (c *chunker) addSpans(spans []span, kind blockKind, first bool) {
	for i, s := range c.cut(spans, chunkLimit) {
		size := c.size(s.start, s.end)
		if c.current.tokens+size > chunkLimit {
			c.flush()
		}
		c.extend(s.start, s.end, size, kind, first && i == 0)
	}
}

// cut cuts the spans of more than limit tokens.
func (c *chunker) cut(spans []span, limit int) []span {
	var cut []span
	for _, s := range spans {
		if c.size(s.start, s.end) <= limit {
			cut = append(cut, s)
		} else {
			cut = append(cut, wordSpans(c.source, s.start, s.end, limit)...)
		}
	}
	return cut
}

// addRepeating adds the lines of code or a table and repeats the fence or header in each chunk.
func (c *chunker) addRepeating(b *block, first bool) {
	prefix, suffix := c.frame(b)
	if prefix == "" {
		c.addSpans(lineSpans(c.source, b.Start, b.End), kindLines, first)
		return
	}
	if c.current.open && !c.current.headingsOnly && c.current.tokens > chunkLimit-smallSection {
		c.flush()
	}
	head, tail := text.EstimateTokens(prefix), text.EstimateTokens(suffix)+1
	for i, s := range c.rows(b, chunkLimit-2*head-2*tail-16) {
		size := c.size(s.start, s.end)
		if c.current.tokens+size+tail > chunkLimit {
			if i > 0 {
				c.current.suffix = suffix
			}
			c.flush()
			if i > 0 {
				c.current.prefix, c.current.tokens = prefix, head
			}
		}
		c.extend(s.start, s.end, size, b.Kind, first && i == 0)
	}
}

// frame returns what encloses each part of a cut block; both are empty if it is too large to be repeated.
func (c *chunker) frame(b *block) (prefix, suffix string) {
	opening := c.source[b.Start:b.Body]
	if b.Kind == kindTable {
		if b.Body-b.Start > shortestCut/2 || text.EstimateTokens(opening) > chunkLimit/4 {
			return "", ""
		}
		return opening, ""
	}
	at := strings.IndexAny(opening, "`~")
	if at < 0 || len(opening) > 160 {
		return "", ""
	}
	marker := fenceMarker(opening[at:])
	if marker == "" || len(marker) > 32 {
		return "", ""
	}
	// In a list the fence follows the item's marker, which must not be repeated.
	indent := strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, opening[:at])
	prefix = indent + strings.TrimRight(opening[at:], " \t\n") + "\n"
	return prefix, indent + marker + "\n"
}

// rows returns the lines of a block. The first includes the opening and the last the closing line; lines of more than
// limit tokens are cut.
func (c *chunker) rows(b *block, limit int) []span {
	spans := c.cut(lineSpans(c.source, b.Body, b.End), limit)
	if len(spans) == 0 {
		return []span{{b.Start, b.End}}
	}
	spans[0].start = b.Start
	last := len(spans) - 1
	for last > 0 && strings.TrimSpace(c.source[spans[last].start:spans[last].end]) == "" &&
		spans[last].end-spans[last-1].start < 32 {
		spans[last-1].end = spans[last].end
		spans, last = spans[:last], last-1
	}
	closing := strings.TrimLeft(c.source[spans[last].start:spans[last].end], " \t>")
	if b.Kind == kindCode && last > 0 && len(closing) < 40 && fenceMarker(closing) != "" {
		spans[last-1].end = spans[last].end
		spans = spans[:last]
	}
	return spans
}

// size estimates the tokens of a piece of the source; it returns more than chunkLimit for pieces that are clearly too
// large.
func (c *chunker) size(start, end int) int {
	if end-start > 4*chunkLimit {
		return chunkLimit + 1
	}
	return text.EstimateTokens(c.source[start:end])
}

// extend adds the next piece to the current chunk.
func (c *chunker) extend(start, end, size int, kind blockKind, first bool) {
	cur := &c.current
	if !cur.open {
		cur.open, cur.start, cur.headingsOnly, cur.whole = true, start, true, first
		cur.section = c.path
	}
	if cur.headingsOnly {
		cur.headings, cur.slug = c.headings()
		cur.headingsOnly = kind == kindHeading
	}
	cur.end = end
	cur.tokens += size
}

func (c *chunker) headings() (titles []string, slug string) {
	for i, h := range c.path {
		slug = h.slug
		if i == 0 && h.level == 1 && h.title == c.title || h.title == "" {
			continue
		}
		titles = append(titles, h.title)
	}
	return titles, slug
}

// flush ends the current chunk.
func (c *chunker) flush() {
	cur := c.current
	c.current = openChunk{}
	if !cur.open {
		return
	}
	text := c.source[cur.start:cur.end]
	if strings.TrimSpace(text) == "" {
		return
	}
	text = strings.TrimLeft(text, "\n")
	bare := strings.TrimRight(text, " \t\n")
	start := cur.end - len(text)
	c.places = append(c.places, index.Position{Start: start, End: start + len(bare)})
	switch gap := text[len(bare):]; strings.Count(gap, "\n") {
	case 0:
		text = bare + gap[:min(1, len(gap))]
	case 1:
		text = bare + "\n"
	default:
		text = bare + "\n\n"
	}
	if cur.suffix != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if cur.prefix != "" || cur.suffix != "" {
		text = cur.prefix + text + cur.suffix
	}
	chunk := index.Chunk{Text: text, Headings: cur.headings}
	if cur.slug != "" && c.link != "" && !strings.Contains(c.link, "#") {
		chunk.Link = c.link + "#" + cur.slug
	}
	c.chunks = append(c.chunks, chunk)
}

// span is a byte range of a source.
type span struct{ start, end int }

// longestRun bounds runs without letters and digits for the sentence rules, which take quadratic time.
const longestRun = 24

// lineSpans cuts after newlines.
func lineSpans(source string, start, end int) []span {
	shortest := 0
	if end-start >= largeSource {
		shortest = shortestPiece
	}
	return spansUntil(start, end, func(at int) int { return lineEnd(source[:end], min(at+shortest, end)) })
}

// spansUntil cuts at the ends that next returns.
func spansUntil(start, end int, next func(start int) int) []span {
	var spans []span
	for start < end {
		at := next(start)
		spans = append(spans, span{start, at})
		start = at
	}
	return spans
}

// sentenceSpans cuts at sentences as Unicode defines them. A newline in a paragraph does not end a sentence.
func sentenceSpans(source string, start, end int) []span {
	var spans []span
	masked := sentences.FromBytes(maskForSentences(source[start:end]))
	for masked.Next() {
		spans = append(spans, span{start + masked.Start(), start + masked.End()})
	}
	return spans
}

// maskForSentences returns a text of the same length and with the same sentences: newlines are spaces, and long runs of
// spaces and punctuation are letters.
func maskForSentences(text string) []byte {
	masked := []byte(text)
	run := 0
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			run = 0
		case run >= longestRun:
			for j := range width {
				masked[i+j] = 'x'
			}
		case r == '\n' || r == '\t':
			masked[i] = ' '
			run++
		default:
			run++
		}
		i += width
	}
	return masked
}

// wordSpans cuts into pieces of at most limit tokens, between words where possible.
func wordSpans(source string, start, end, limit int) []span {
	return spansUntil(start, end, func(at int) int { return wordsEnd(source, at, end, max(limit, 4)) })
}

func wordsEnd(source string, start, end, limit int) int {
	words, inWord, afterSpace := 0, false, 0
	for i := start; i < end; {
		r, width := utf8.DecodeRuneInString(source[i:end])
		switch {
		case text.IsCJK(r):
			words++
			inWord = false
		case unicode.IsSpace(r):
			inWord = false
		case !inWord:
			words++
			inWord = true
		}
		if words > limit || (i+width-start+3)/4 > limit {
			if afterSpace > start {
				return afterSpace
			}
			return i
		}
		i += width
		if unicode.IsSpace(r) {
			afterSpace = i
		}
	}
	return end
}

// uniqueSlug returns the anchor of a heading as on GitHub, with a number after repeated ones.
func (c *chunker) uniqueSlug(title string) string {
	slug := text.Slug(title)
	if len(c.slugs) >= mostHeadings {
		return slug
	}
	n, taken := c.slugs[slug]
	c.slugs[slug] = n + 1
	if taken {
		slug += "-" + strconv.Itoa(n)
	}
	return slug
}
