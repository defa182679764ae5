package reader

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"quarry/client"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Link is a link in the text that can be opened.
type Link struct {
	Number  int // which is shown behind it
	Text    string
	Address string
	line    int // of the layout, which shows the number; -1 before it is known
}

// Anchor returns the anchor of a link to a part of the document itself; "" for other links.
func (r *Reader) Anchor(link Link) string {
	target, err := url.Parse(link.Address)
	self, selfErr := url.Parse(text.OrEmpty(r.document.Link))
	if err != nil || selfErr != nil {
		return ""
	}
	anchor := target.Fragment
	target.Fragment, target.RawFragment, self.Fragment, self.RawFragment = "", "", "", ""
	if *target != *self {
		return ""
	}
	return anchor
}

// Links returns the links of the text that was rendered so far, by number, and the index of the first one in view.
func (r *Reader) Links() (links []Link, first int) {
	r.update()
	shown := 0 // number of the first one in view
	for _, p := range r.laidOut() {
		for _, link := range p.layout.links {
			if shown == 0 && p.start+link.line >= r.top {
				shown = link.Number
			}
			links = append(links, link)
		}
	}
	slices.SortStableFunc(links, func(a, b Link) int { return a.Number - b.Number })
	links = slices.CompactFunc(links, func(a, b Link) bool { return a.Number == b.Number })
	return links, max(0, slices.IndexFunc(links, func(link Link) bool { return link.Number == shown }))
}

// HasLinks reports whether there are links in the text that was rendered so far.
func (r *Reader) HasLinks() bool {
	return slices.ContainsFunc(r.laidOut(), func(p *piece) bool { return len(p.layout.links) > 0 })
}

// resolve returns the address of a link in the text, and whether it may be opened. Of files only documents and pictures
// are: to open another file may run it.
func (u unit) resolve(target string) (address string, ok bool) {
	if strings.TrimSpace(target) == "" {
		return "", false
	}
	address, public := passage.Resolve(u.base, target)
	return address, public || u.files && passage.Openable(address, true) && isDocument(address)
}

func isDocument(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	return text.IsAmong(strings.ToLower(path.Ext(parsed.Path)),
		".md .markdown .mdx .txt .text .rst .org .adoc .asciidoc .log "+
			".csv .tsv .json .yaml .yml .html .htm .pdf .docx .xlsx .pptx .odt .ods .odp .epub .png .jpg .jpeg .gif "+
			".webp .svg .bmp")
}

// maxLinkText is the width of a link's text in a list, in columns.
const maxLinkText = 60

// numbered gives a link its number, and shows it behind the link.
func (in inline) numbered(link ast.Node, text, address string) {
	if !in.unit.interactive {
		return
	}
	number := in.firstLink + len(in.links)
	in.links = append(in.links, Link{number, text, address, -1})
	shown := in.made(note(linkNumber, number) + in.theme.Muted.Render(in.theme.LinkNumber(number)))
	link.Parent().InsertAfter(link.Parent(), link, shown)
}

// textOf returns the text in a node, on one line.
func (r *renderer) textOf(node ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if text, isText := n.(*ast.Text); isText && entering {
			for _, run := range unescaped(string(text.Value(r.source)), true) {
				out.WriteString(run)
			}
			if text.SoftLineBreak() || text.HardLineBreak() {
				out.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return paint.Short(client.Sanitize(out.String()), maxLinkText)
}
