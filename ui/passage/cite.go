package passage

import (
	"strings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

// Provenance returns source, date and authors of a result, as far as they are known: "Confluence · 2026-09-21 · Jo
// Ortiz".
func Provenance(r wire.SearchResult) string {
	parts := []string{client.SourceName(r.SourceType)}
	if r.UpdatedAt != nil {
		parts = append(parts, Day(*r.UpdatedAt))
	}
	return strings.Join(append(parts, r.Authors...), " · ")
}

// Cite returns the citation of a result as one line of Markdown. The title is a link if the server sent one; otherwise the
// ref is at the end:
//
//	[2] [Runbook: rolling back a release](https://wiki.acme.com/1042), Confluence · 2026-09-21 · Jo Ortiz
//
// Results without a citation number are cited without it.
func Cite(r wire.SearchResult) string {
	var out strings.Builder
	if r.CitationID != nil {
		out.WriteString("[" + Citation(r) + "] ")
	}
	link := ""
	if r.Link != nil {
		link = text.OneLine(*r.Link)
	}
	if link != "" {
		out.WriteString("[" + escaped(Title(r)) + "](" + linkTarget(link) + ")")
	} else {
		out.WriteString(escaped(Title(r)))
	}
	if about := text.OneLine(Provenance(r)); about != "" {
		out.WriteString(", " + escaped(about))
	}
	if link == "" && r.Ref != "" {
		out.WriteString(" `" + strings.ReplaceAll(text.OneLine(r.Ref), "`", "'") + "`")
	}
	return out.String()
}

// Quote returns the content of a result as a Markdown quote, followed by its citation. The caller replaces the content
// if it has read more of the document.
func Quote(r wire.SearchResult) string {
	quoted := Blockquote(r.Content)
	if quoted == "" {
		return Cite(r) + "\n"
	}
	return quoted + "\n\n— " + Cite(r) + "\n"
}

// Blockquote returns a text as a Markdown quote, without blank lines at its ends and without a final line end.
func Blockquote(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// escaped escapes the characters that Markdown would interpret. Underscores stay: they mean nothing inside words.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "`", "\\`", "<", `\<`).Replace(text)
}

// linkTarget escapes an address for the parentheses of a Markdown link.
func linkTarget(link string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C").Replace(link)
}
