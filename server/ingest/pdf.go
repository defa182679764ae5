package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/pdf"
	"quarry/server/ingest/worker"
)

// levelOfPages is the level of the headings of pages, below those of all entries of a table of contents.
const levelOfPages = 6

// fromPDF reads a PDF file: a section for each page, below the entry of the table of contents that it belongs to. The
// link of a passage names its page, and its headings show it.
func fromPDF(r *fileReader, data []byte) extracted {
	var document pdf.Document
	err := r.pdf(data, document.Add)
	if read := len(document.Texts); read > 0 && err != nil && r.ctx.Err() == nil &&
		!errors.Is(err, worker.ErrNoWorker) {
		r.leaveOut(fmt.Sprintf("pages %d to %d", read+1, max(read+1, document.Pages)), err)
		err = nil
	}
	for _, page := range document.Lost {
		r.leaveOut(fmt.Sprintf("page %d", page), errors.New("it is damaged"))
	}
	guard.Check(err)
	return fromPages(document)
}

// remotePDF sends what a process finds in a file.
func (r *fileReader) remotePDF(data []byte, send func(pdf.Message) error) error {
	if r.readers == nil {
		return worker.ErrNoWorker
	}
	_, err := r.do(job{Work: workPDF, Data: data}, func(part answer) error { return send(part.Page) })
	return err
}

func fromPages(document pdf.Document) extracted {
	e := extracted{meta: pdfMeta(document.Message)}
	var body strings.Builder
	entries := document.Outline
	var headings []block // of the next page with text
	for i, page := range document.Texts {
		for ; len(entries) > 0 && entries[0].Page <= i; entries = entries[1:] {
			if entries[0].Page >= 0 {
				headings = append(headings, block{Kind: kindHeading, Level: min(entries[0].Level+2, levelOfPages-1),
					Title: oneLine(entries[0].Title, longestHeading), Slug: pageSlug(i)})
			}
		}
		text := strings.Trim(cleanText(pageText(page)), "\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		at := body.Len()
		headings = append(headings,
			block{Kind: kindHeading, Level: levelOfPages, Title: fmt.Sprintf("Page %d", i+1), Slug: pageSlug(i)})
		shift(headings, at)
		e.blocks = append(e.blocks, headings...)
		headings = nil
		body.WriteString(text + "\n\n")
		e.blocks = append(e.blocks, paragraphs(text+"\n\n", at, kindProse)...)
	}
	switch e.body = body.String(); {
	case e.body != "":
	case len(document.Texts) == 0:
		guard.Abort(errEmpty)
	default:
		guard.Abort(errors.New("its pages contain no text, only pictures; " +
			"read it with a program for text recognition (OCR) first"))
	}
	return e
}

func pageSlug(index int) string { return fmt.Sprintf("page=%d", index+1) }

// pageText joins words that were hyphenated at the end of a line, which the engine marks.
func pageText(page string) string {
	const hyphen = "\x02"
	page = strings.NewReplacer("\r\n", "\n", "\uFFFE", hyphen).Replace(page)
	var out strings.Builder
	for {
		before, after, found := strings.Cut(page, hyphen)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		after = strings.TrimPrefix(after, "\n")
		if next, _ := utf8.DecodeRuneInString(after); !unicode.IsLower(next) { // a name, such as Lucene-BM25
			out.WriteByte('-')
		}
		page = after
	}
}

func pdfMeta(m pdf.Message) meta {
	out := meta{Type: "pdf", Title: pdfTitle(m.Title)}
	out.Authors = addNames(nil, m.Authors, ";")
	out.CreatedAt = pdfDate(m.Created)
	out.UpdatedAt = cmp.Or(pdfDate(m.Modified), out.CreatedAt)
	out.addField("keywords", splitTags(m.Keywords), true)
	out.addField("description", []string{m.Subject}, false)
	return out
}

// pdfTitle returns a title, unless a program put the name of a file there.
func pdfTitle(title string) string {
	title = oneLine(title, longestTitle)
	if _, file, found := strings.Cut(title, "Microsoft Word - "); found {
		title = file
	}
	extension := strings.ToLower(path.Ext(title))
	if strings.EqualFold(title, "untitled") ||
		len(extension) > 2 && len(extension) < 6 && !strings.Contains(extension, " ") {
		return ""
	}
	return title
}

// pdfDate parses D:20240102030405+01'00', of which all but the year may be missing or wrong.
func pdfDate(date string) time.Time {
	const year, day = 4, 8 // digits
	date = strings.NewReplacer("D:", "", "'", "").Replace(date)
	at, ok := dates.Parse(date[:min(len(date), day)] + " " + date[min(len(date), day):])
	if !ok {
		at, _ = dates.Parse(date[:min(len(date), year)])
	}
	return at
}
