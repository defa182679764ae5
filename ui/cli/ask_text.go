package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// askText prints an answer as text while it comes: links of citations become their numbers, whose documents are listed
// at the end. On a terminal lines are wrapped.
type askText struct {
	app   *app
	about *asked
	out   *capped
	links *citationLinks
	flow  *flow // nil: lines stay as they are
	last  byte  // of what was written
}

func (a *app) newAskText(about *asked) *askText {
	p := &askText{app: a, about: about, links: newCitationLinks(), out: &capped{app: a, limit: a.maxOutput()}}
	if a.io.OutTTY {
		citation := regexp.MustCompile(`\[\d{1,3}\]`)
		p.flow = &flow{width: max(10, min(a.io.columns(), widestText)), style: func(word string) string {
			return citation.ReplaceAllStringFunc(word, func(mark string) string { return a.style.Number.Render(mark) })
		}}
	}
	return p
}

func (p *askText) packet(packet wire.ChatPacket) error {
	if packet.Type != wire.ChatMessageDelta {
		return nil
	}
	return p.write(p.links.write(packet.Content))
}

func (p *askText) write(text string) error {
	if p.flow != nil {
		text = p.flow.write(text)
	}
	return p.put(text)
}

func (p *askText) put(text string) error {
	if text == "" {
		return nil
	}
	p.last = text[len(text)-1]
	return p.out.write(text)
}

func (p *askText) end(answer *wire.ChatAnswer, failure error) error {
	if err := p.write(p.links.held); err != nil {
		return err
	}
	if p.flow != nil {
		if err := p.put(p.flow.close()); err != nil {
			return err
		}
	}
	rest := p.sources(answer)
	if p.last != '\n' && p.last != 0 {
		rest = "\n" + rest
	}
	if err := p.put(rest); err != nil {
		return err
	}
	if failure == nil && len(answer.Citations) == 0 && len(answer.Documents) > 0 {
		p.app.note("the answer cites none of the %d documents found; to list them: quarry search %s%s",
			len(answer.Documents), config.ShellQuote(firstLine(p.about.question)), p.app.targetFlags())
	}
	if failure == nil && answer.Stopped {
		p.app.note("the answer was stopped")
	}
	return p.out.finish(p.app.private())
}

// sources lists what the answer cites.
func (p *askText) sources(answer *wire.ChatAnswer) string {
	cited := citedSources(answer)
	if len(cited) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	if p.flow == nil {
		b.WriteString("Sources:\n")
	}
	for _, source := range cited {
		b.WriteString(p.source(source))
	}
	return b.String()
}

func (p *askText) source(source askSource) string {
	id := text.OneLine(source.DocumentID)
	title, link := cmp.Or(text.OneLine(source.Title), id), cmp.Or(text.OneLine(deref(source.URL)), id)
	number := fmt.Sprintf("[%d]", source.CitationID)
	if p.flow == nil {
		return fmt.Sprintf("%s %s — %s\n", number, title, link)
	}
	style := p.app.style
	about := []string{style.Title.Render(title)}
	if source.SourceType != "" {
		about = append(about, style.Source.Render(client.SourceName(source.SourceType)))
	}
	if age := passage.Age(deref(source.UpdatedAt), p.app.now()); age != "" {
		about = append(about, age)
	}
	indent := strings.Repeat(" ", max(textIndent, len(number)+1))
	first := style.Number.Render(number) + indent[len(number):] + strings.Join(about, " · ")
	return ansi.Truncate(first, max(10, min(p.app.io.columns(), widestText)), "…") + "\n" + indent + style.Muted.Render(link) + "\n"
}

// citationLinks turns [[1]](link) into [1] while a text comes.
type citationLinks struct {
	whole, begun *regexp.Regexp
	held         string
}

// longestLink bounds what is held back to find out whether it is a citation, in bytes.
const longestLink = 4 << 10

func newCitationLinks() *citationLinks {
	return &citationLinks{whole: regexp.MustCompile(`\[\[(\d{1,3})\]\]\([^) \n]*\)`),
		begun: regexp.MustCompile(`\[(\[(\d{1,3}(\](\](\([^) \n]*)?)?)?)?)?$`)}
}

func (l *citationLinks) write(piece string) string {
	rest, out := l.held+piece, ""
	if found := l.whole.FindAllStringIndex(rest, -1); found != nil {
		end := found[len(found)-1][1]
		rest, out = rest[end:], l.shorten(rest[:end])
	}
	ready := len(rest)
	if at := l.begun.FindStringIndex(rest); at != nil && len(rest)-at[0] < longestLink {
		ready = at[0]
	}
	l.held = rest[ready:]
	return out + rest[:ready]
}

func (l *citationLinks) shorten(links string) string {
	return l.whole.ReplaceAllStringFunc(links, func(link string) string {
		if len(link) > longestLink {
			return link[:2] + l.shorten(link[2:])
		}
		return link[1 : strings.IndexByte(link, ']')+1]
	})
}

// capped prints text up to a limit and remembers all of it.
type capped struct {
	app   *app
	limit int // bytes; 0: none
	all   strings.Builder
	size  int // of what was printed
}

func (c *capped) write(piece string) error {
	over := c.all.Len() > c.size
	c.all.WriteString(piece)
	if over {
		return nil
	}
	if c.limit > 0 {
		piece = text.Clip(piece, c.limit-c.size)
	}
	c.size += len(piece)
	return c.app.print([]byte(piece))
}

// finish prints the trailer of a cut answer, in the words of Onyx's CLI.
func (c *capped) finish(private bool) error {
	total := c.all.Len()
	if total == c.size {
		return nil
	}
	trailer := fmt.Sprintf("\n\n--- response truncated (%d bytes total) ---\n", total)
	if path := c.app.keepCopy("ask", "txt", []byte(ansi.Strip(c.all.String())), private); path != nil {
		place := config.ShellQuote(*path)
		trailer += fmt.Sprintf("Full response: %s\nExplore: grep -n WORD %s\nExplore: tail -n 50 %s\n", *path, place, place)
	} else {
		trailer += "Full response: not kept; to print everything: --max-output 0\n"
	}
	return c.app.print([]byte(trailer))
}
