package passage

import (
	"strings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

// Provenance is where a document comes from, when it changed and who wrote it, as far as the server told:
// "Confluence · 2026-09-21 · Jo Ortiz".
func Provenance(r wire.SearchResult) string {
	parts := []string{client.SourceName(r.SourceType)}
	if r.UpdatedAt != nil {
		parts = append(parts, Day(*r.UpdatedAt))
	}
	return strings.Join(append(parts, r.Authors...), " · ")
}

// Cite is a result's citation as one line of Markdown, the title being a link where the server gave one and the ref
// standing at the end where it gave none:
//
//	[2] [Runbook: rolling back a release](https://wiki.acme.com/1042), Confluence · 2026-09-21 · Jo Ortiz
//
// The number is that of the search; a document that got none is cited without.
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

// Quote is a result's whole content as a Markdown quotation with its citation below. Where more was read than the
// result holds, the caller puts that in place of the content.
func Quote(r wire.SearchResult) string {
	quoted := Blockquote(r.Content)
	if quoted == "" {
		return Cite(r) + "\n"
	}
	return quoted + "\n\n— " + Cite(r) + "\n"
}

// Blockquote puts the quotation mark of Markdown before every line of a text, whose blank ends go. It ends without a
// line end, and is empty for a text that is.
func Blockquote(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// escaped keeps characters of a text from being read as Markdown. Underscores stay: inside words they mean nothing, and
// names of things are full of them.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "`", "\\`", "<", `\<`).Replace(text)
}

// linkTarget writes an address so that it ends where the parenthesis around it does.
func linkTarget(link string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C").Replace(link)
}
