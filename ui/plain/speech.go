package plain

import (
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

const (
	excerptLines   = 3
	excerptColumns = 100
)

// summary is a result in a list: its number and title, its source, and an excerpt.
func (s *session) summary(at int) string {
	r := s.results[at]
	lines := []string{fmt.Sprintf("%d. %s", at+1, passage.Title(r)), s.about(r)}
	if first, again := s.sameDocument(at); again {
		lines[1] = fmt.Sprintf("The same document as result %d.", first+1)
	}
	if lack := passage.Lacking(r); lack != "" {
		lines[1] += " " + text.Sentence(lack)
	}
	var said []string
	for _, line := range passage.Excerpt(r, passage.Words(s.query), excerptLines, excerptColumns) {
		if line.Text != "" {
			said = append(said, text.Ended(spokenLine(line)))
		}
	}
	return text.Join("\n", append(lines, text.Shorten(strings.Join(said, " "), excerptLines*excerptColumns))...)
}

// sameDocument finds an earlier result of the same document.
func (s *session) sameDocument(at int) (first int, again bool) {
	key := passage.DocumentKey(s.results[at])
	first = slices.IndexFunc(s.results[:at], func(r wire.SearchResult) bool { return passage.DocumentKey(r) == key })
	return first, first >= 0
}

// about is "Confluence, 8 months ago, by Jo Ortiz."
func (s *session) about(r wire.SearchResult) string {
	by, from := "", ""
	if len(r.Authors) > 0 {
		last := len(r.Authors) - 1
		names := strings.Join(r.Authors[:last], ", ")
		if last > 0 {
			names += " and "
		}
		by = "by " + paint.Line(names+r.Authors[last])
	}
	if len(s.Beside) > 0 {
		from = "from " + paint.Line(r.Origin)
	}
	age := passage.Age(text.OrEmpty(r.UpdatedAt), s.Now())
	return text.Ended(text.Join(", ", wire.SourceName(r.SourceType), age, by, from))
}

// read prints the whole passage of a result.
func (s *session) read(at int) {
	s.head(at)
	s.say(strings.Join(spoken(s.results[at].Content), "\n"))
	s.end(at)
}

// raw prints a passage as Markdown.
func (s *session) raw(at int) {
	s.head(at)
	s.say(strings.Trim(s.results[at].Content, "\n"))
	s.end(at)
}

// head prints the title and source of a passage.
func (s *session) head(at int) {
	r := s.results[at]
	s.say(fmt.Sprintf("Result %d: %s", at+1, text.Ended(passage.Title(r))))
	s.say(s.about(r))
	if len(r.HeadingPath) > 0 {
		s.say("Under: " + text.Ended(paint.Line(strings.Join(r.HeadingPath, ", "))))
	}
	if related := passage.Related(r); related != "" {
		s.say(text.Sentence(paint.Line(related)))
	}
}

// end prints that a passage is over, and the commands for it.
func (s *session) end(at int) {
	n := at + 1
	if s.results[at].DocumentID == "" {
		s.say(fmt.Sprintf("End of result %d. Type cite %d or open %d.", n, n, n))
		return
	}
	s.say(fmt.Sprintf("End of result %d. Type e %d for more of the document, cite %d or open %d.", n, n, n, n))
}

// printChunks prints passages of a document.
func (s *session) printChunks(at int, found *wire.DocumentChunks) {
	if len(found.Chunks) == 0 {
		s.say("The document has no more text.")
		return
	}
	s.head(at)
	first, last := found.Chunks[0].ChunkInd, found.Chunks[len(found.Chunks)-1].ChunkInd
	total := max(found.Document.ChunkCount, last+1, s.results[at].ChunkCount)
	s.say(fmt.Sprintf("Passages %d to %d of %d.", first+1, last+1, total))
	for _, chunk := range found.Chunks {
		s.say(strings.Join(spoken(chunk.Text()), "\n"))
	}
	if first == 0 && last+1 >= total {
		s.say("End of the document.")
		return
	}
	s.say(fmt.Sprintf("Type e %d again for more.", at+1))
}

// cite prints a citation to paste, with the number of the result in the list.
func (s *session) cite(at int) {
	r, number := s.results[at], at+1
	r.CitationID = &number
	_ = s.write(s.Out, paint.Text(passage.Cite(r))+"\n") // unbroken, for copying
}

// open prints the link of a result. quarry does not open it: users of a screen reader have their own tools.
func (s *session) open(at int) {
	r := s.results[at]
	if r.Link == nil || *r.Link == "" {
		s.fail(fmt.Sprintf("result %d has no link", at+1), fmt.Sprintf("Type %d to read it, or cite %d", at+1, at+1))
		return
	}
	_ = s.write(s.Out, paint.Line(*r.Link)+"\n")
}

func remedyByLink(r wire.SearchResult) string {
	if r.Link == nil || *r.Link == "" {
		return "Read the passage by its number"
	}
	return "Open its link: " + *r.Link
}

// spoken turns Markdown into lines that sound like what they say: no marks are read out, and code is announced, because
// inside it every sign counts.
func spoken(content string) []string {
	var lines []string
	code := false
	announce := func(is bool) {
		if is && !code {
			lines = append(lines, "Code:")
		} else if code && !is {
			lines = append(lines, "End of code.")
		}
		code = is
	}
	for _, line := range passage.Lines(content) {
		announce(line.Kind == passage.Code)
		lines = append(lines, spokenLine(line))
	}
	announce(false)
	return lines
}

// spokenLine returns what a line says.
func spokenLine(line passage.Line) string {
	switch line.Kind {
	case passage.Headline:
		return text.Ended(line.Text)
	case passage.Row:
		return text.Ended(strings.ReplaceAll(line.Text, " · ", ", "))
	}
	switch lead := strings.ToLower(line.Lead); {
	case strings.Contains(lead, "[x]"):
		return "done: " + line.Text
	case strings.Contains(lead, "[ ]"):
		return "to do: " + line.Text
	}
	return line.Text
}
