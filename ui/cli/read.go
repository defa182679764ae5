package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

const (
	maxAround        = 99       // chunks on each side, so that a passage is one request
	maxDocumentBytes = 64 << 20 // of a whole document
)

type readOptions struct {
	around int
	from   string
}

func (a *app) readCommand() *cobra.Command {
	options := readOptions{}
	command := a.targetCommand("read REF", "Print a passage or a whole document",
		func(ctx context.Context, choice target.Choice, arguments []string) error {
			return a.read(ctx, choice, arguments[0], options)
		})
	command.Flags().IntVar(&options.around, "around", 0,
		"print `K` more passages before and after, at most 99")
	command.Flags().StringVar(&options.from, "from", "",
		"take REF as a citation number of a saved search: a JSON `FILE`, or - for standard input")
	return command
}

// reading is what read prints.
type reading struct {
	document wire.DocumentInfo
	chunks   []wire.Chunk
	whole    bool
	searched []string
}

func (a *app) read(ctx context.Context, choice target.Choice, ref string, options readOptions) (err error) {
	if err := checkRange("around", options.around, 0, maxAround); err != nil {
		return err
	}
	if options.from != "" {
		origin := ""
		if ref, origin, err = a.refFrom(options.from, ref); err != nil {
			return err
		}
		if origin != "" && origin != choice.Profile && !a.request().Explicit() {
			// Found in another profile: read it there, if that has a name.
			if there, err := a.decideTarget(target.Request{Profile: origin}); err == nil {
				choice = there
			}
		}
	}
	if choice.Kind == target.KindSlack {
		return &Failure{Code: ExitNotAvailable, What: "Slack cannot show the text around a message", Do: "Open the link of the result."}
	}
	return a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) error {
		stop := a.busy("Reading…")
		found, err := fetchReading(ctx, c, ref, options)
		stop()
		if err != nil {
			return fmt.Errorf("read %s: %w", ref, err)
		}
		found.searched = []string{choice.Profile}
		if lost := found.damaged(); lost > 0 {
			a.note("the document is damaged: %s cannot be read", text.Count(lost, "passage"))
		}
		defer a.removeOldCopies()
		switch {
		case a.flags.json:
			return a.printAnswer("read", found.answer(), a.private())
		case a.io.OutTTY:
			return a.print([]byte(a.readingText(found)))
		}
		return a.printPlain("read", "md", found.markdown(), a.private())
	})
}

// fetchReading gets the passage that a ref names, or the whole document. An id that exists whole wins over the reading
// of its end as a passage's number.
func fetchReading(ctx context.Context, c *client.Client, ref string, options readOptions) (*reading, error) {
	id, chunk, passage := wire.SplitRef(ref)
	if passage {
		_, err := c.Chunks(ctx, ref, 0, 0)
		if client.KindOf(err) == client.NotAvailable {
			return fetchPassage(ctx, c, id, chunk, options.around)
		}
		if err != nil {
			return nil, err
		}
	}
	first, err := c.Chunks(ctx, ref, 0, wire.MaxChunksPerRequest-1)
	if err != nil {
		return nil, err
	}
	if options.around > 0 {
		return nil, usage("Omit --around, or give the reference of a passage (DOCUMENT_ID#N).", "--around requires a passage; %q is a document", ref)
	}
	return wholeDocument(ctx, c, ref, first)
}

func fetchPassage(ctx context.Context, c *client.Client, id string, chunk, around int) (*reading, error) {
	found, err := c.Chunks(ctx, id, max(0, chunk-around), chunk+around)
	if err != nil {
		return nil, err
	}
	if len(found.Chunks) == 0 {
		return nil, &Failure{Code: ExitNotAvailable, Do: "Read the whole document: quarry read " + config.ShellQuote(id),
			What: fmt.Sprintf("the document has %s; there is no number %d", text.Count(found.Document.ChunkCount, "passage"), chunk)}
	}
	return &reading{document: found.Document, chunks: found.Chunks}, nil
}

// wholeDocument fetches what the first request left.
func wholeDocument(ctx context.Context, c *client.Client, id string, first *wire.DocumentChunks) (*reading, error) {
	found := &reading{document: first.Document, chunks: first.Chunks, whole: true}
	size := 0
	for _, chunk := range found.chunks {
		size += len(chunk.Content)
	}
	for len(found.chunks) > 0 {
		next := found.chunks[len(found.chunks)-1].ChunkInd + 1
		if next >= found.document.ChunkCount {
			break
		}
		more, err := c.Chunks(ctx, id, next, min(next+wire.MaxChunksPerRequest, found.document.ChunkCount)-1)
		if err != nil {
			return nil, err
		}
		if len(more.Chunks) == 0 || more.Chunks[0].ChunkInd < next {
			return nil, errors.New("the server stopped in the middle of the document")
		}
		for _, chunk := range more.Chunks {
			size += len(chunk.Content)
		}
		if size > maxDocumentBytes {
			return nil, &Failure{Code: ExitNotAvailable, What: "the document is larger than 64 MiB",
				Do: "Read a part of it: quarry read 'DOCUMENT_ID#N' --around 20"}
		}
		found.chunks = append(found.chunks, more.Chunks...)
	}
	return found, nil
}

// answer returns the JSON of read, version 1: {"document", "chunks", "whole_document", "searched", "schema", "truncation"?}.
func (r *reading) answer() answer {
	return answer{[]int{len(r.chunks)}, func(c cut) ([]byte, error) {
		kept := firstOf(r.chunks, c.shown)
		if c.content >= 0 && len(kept) > 0 {
			kept[0].Content = text.Clip(kept[0].Content, c.content)
		}
		document := r.document
		if c.note != nil && len(kept) < len(r.chunks) {
			document.Outline = []wire.OutlineHeading{} // of what is not there
		}
		return encodeJSON(object{{"document", document}, {"chunks", kept}, {"whole_document", r.whole && len(kept) == len(r.chunks)},
			{"searched", r.searched}, {"schema", schemaVersion}, {"truncation?", c.note}})
	}}
}

// damaged is the number of chunks that cannot be read.
func (r *reading) damaged() (n int) {
	for _, chunk := range r.chunks {
		if chunk.Damaged {
			n++
		}
	}
	return n
}

// about is the line below the title.
func (r *reading) about() string {
	var parts []string
	if r.document.SourceType != "" {
		parts = append(parts, client.SourceName(r.document.SourceType))
	}
	if r.document.UpdatedAt != nil {
		parts = append(parts, passage.Day(*r.document.UpdatedAt))
	}
	if len(r.document.Authors) > 0 {
		parts = append(parts, text.OneLine(strings.Join(r.document.Authors, ", ")))
	}
	if !r.whole && len(r.chunks) > 0 {
		first, last := r.chunks[0].ChunkInd+1, r.chunks[len(r.chunks)-1].ChunkInd+1
		if first == last {
			parts = append(parts, fmt.Sprintf("passage %d of %d", first, r.document.ChunkCount))
		} else {
			parts = append(parts, fmt.Sprintf("passages %d to %d of %d", first, last, r.document.ChunkCount))
		}
	}
	return strings.Join(parts, " · ")
}

func (r *reading) title() string {
	return cmp.Or(text.OneLine(r.document.Title), text.OneLine(r.document.ID))
}

func (r *reading) body() string {
	passages := exslices.CastFunc(r.chunks, func(chunk wire.Chunk) string { return strings.Trim(chunk.Text(), "\n") })
	return strings.Join(passages, "\n\n") + "\n"
}

func (r *reading) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", r.title())
	if about := r.about(); about != "" {
		fmt.Fprintf(&b, "%s\n", about)
	}
	if link := text.OrEmpty(r.document.Link); link != "" {
		fmt.Fprintf(&b, "<%s>\n", text.OneLine(link))
	}
	if b.Len() > len(r.title())+len("# \n\n") {
		b.WriteString("\n")
	}
	return b.String() + r.body()
}

// readingText is markdown for a person: the same text, wrapped, under a styled head.
func (a *app) readingText(r *reading) string {
	width := max(10, min(a.io.columns(), widestText))
	var b strings.Builder
	b.WriteString(a.style.Title.Render(ansi.Truncate(r.title(), width, "…")) + "\n")
	if about := r.about(); about != "" {
		b.WriteString(a.style.Muted.Render(ansi.Truncate(about, width, "…")) + "\n")
	}
	if link := text.OrEmpty(r.document.Link); link != "" {
		b.WriteString(a.style.Muted.Render(text.OneLine(link)) + "\n")
	}
	b.WriteString("\n" + wrapMarkdown(strings.ReplaceAll(r.body(), "\t", "    "), width))
	return b.String()
}

// wrapMarkdown wraps Markdown but for what loses its meaning with other line breaks: code and the rows of tables.
func wrapMarkdown(markdown string, width int) string {
	f := &wordWrapper{width: width, style: func(word string) string { return word }}
	return f.write(markdown) + f.close()
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
		return "", "", usage("Give a citation number, like 2.", "%q is not a citation number", citationText)
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
	return "", "", usage("See citation_id in the saved search.", "the saved search has no citation %d", number)
}

// withoutID explains a result of a server that gives no document ids.
func withoutID(result savedResult) error {
	do := "Open the link of the result."
	if link := cmp.Or(text.OrEmpty(result.URL), text.OrEmpty(result.Link)); link != "" {
		do = "Open: " + link
	}
	return &Failure{Code: ExitNotAvailable, Do: do,
		What: "this server does not send document ids"}
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
		return nil, usage("Save fewer results (--limit).", "the saved search is larger than 64 MiB")
	}
	if err != nil {
		return nil, usage("Save one: quarry search QUERY --json > FILE", "--from %s is not a saved search: %v", path, err)
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
