package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// askText prints an answer as text while it comes: links of citations become their numbers, whose documents are listed
// at the end. On a terminal lines are wrapped.
type askText struct {
	app   *app
	about *conversation
	out   *capped
	links citationLinks
	wrap  *wordWrapper // nil: lines stay as they are
	last  byte         // of what was written
}

func (a *app) newAskText(about *conversation) *askText {
	p := &askText{app: a, about: about, out: &capped{app: a, limit: a.limit()}}
	if a.io.OutTTY {
		citation := regexp.MustCompile(`\[\d{1,3}\]`)
		p.wrap = &wordWrapper{width: max(10, min(a.io.columns(), widestText)), style: func(word string) string {
			return citation.ReplaceAllStringFunc(word, func(mark string) string { return a.style.Number.Render(mark) })
		}}
	}
	return p
}

func (p *askText) packet(packet wire.ChatPacket) {
	if packet.Type == wire.ChatMessageDelta {
		p.write(p.links.write(packet.Content))
	}
}

func (p *askText) write(text string) {
	if p.wrap != nil {
		text = p.wrap.write(text)
	}
	p.put(text)
}

func (p *askText) put(text string) {
	if text != "" {
		p.last = text[len(text)-1]
		p.out.write(text)
	}
}

func (p *askText) end(answer *wire.ChatAnswer, failure error) {
	p.write(p.links.held)
	if p.wrap != nil {
		p.put(p.wrap.close())
	}
	rest := p.sources(answer)
	if p.last != '\n' && p.last != 0 {
		rest = "\n" + rest
	}
	p.put(rest)
	if failure == nil && len(answer.Citations) == 0 && len(answer.Documents) > 0 {
		p.app.note("the answer cites none of the %d documents found; to list them: quarry search %s%s",
			len(answer.Documents), config.ShellQuote(firstLine(p.about.question)), p.app.targetFlags())
	}
	if failure == nil && answer.Stopped {
		p.app.note("the answer was stopped")
	}
	p.out.finish()
}

// sources lists what the answer cites.
func (p *askText) sources(answer *wire.ChatAnswer) string {
	cited := answer.Cited(true)
	if len(cited) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	if p.wrap == nil {
		b.WriteString("Sources:\n")
	}
	for _, source := range cited {
		b.WriteString(p.source(source))
	}
	return b.String()
}

func (p *askText) source(source wire.SearchResult) string {
	id := text.OneLine(source.DocumentID)
	title, link := cmp.Or(text.OneLine(source.Title), id),
		text.OneLine(cmp.Or(source.Citation, text.OrEmpty(source.Link), id))
	number := "[" + passage.Citation(source) + "]"
	if p.wrap == nil {
		return number + " " + passage.Reference(source) + "\n"
	}
	style := p.app.style
	about := text.Join(" · ", style.Title.Render(title), style.Source.Render(wire.SourceName(source.SourceType)),
		passage.Age(text.OrEmpty(source.UpdatedAt), p.app.now()))
	indent := strings.Repeat(" ", max(textIndent, len(number)+1))
	first := style.Number.Render(number) + indent[len(number):] + about
	return ansi.Truncate(first, max(10, min(p.app.io.columns(), widestText)), "…") + "\n" + indent +
		style.Muted.Render(link) + "\n"
}

// citationLinks turns [[1]](link) into [1] while a text comes.
type citationLinks struct{ held string }

var begunLink = pattern.Lazy(`\[(\[(\d{1,3}(\](\](\(([^()\s]|\([^()\s]*\))*(\([^()\s]*)?)?)?)?)?)?$`)

func (l *citationLinks) write(piece string) string {
	rest := l.held + piece
	ready := len(rest)
	if at := begunLink().FindStringIndex(rest); at != nil && len(rest)-at[0] < passage.LongestCitation {
		ready = at[0]
	}
	l.held = rest[ready:]
	return passage.Numbered(rest[:ready])
}

// capped prints text up to a limit and remembers all of it.
type capped struct {
	app   *app
	limit bound
	all   strings.Builder
	size  int // bytes of what was printed
}

func (c *capped) write(piece string) {
	over := c.all.Len() > c.size
	c.all.WriteString(piece)
	switch {
	case over:
		return
	case c.limit.inTokens:
		fitting := text.ClipTokens(c.all.String(), max(1, c.limit.most-trailerTokens))
		piece = fitting[min(c.size, len(fitting)):]
	case c.limit.isSet():
		piece = text.Clip(piece, c.limit.most-c.size)
	}
	c.size += len(piece)
	c.app.print(piece)
}

// trailerTokens of a limit are kept for the line that says what was cut.
const trailerTokens = 12

// finish prints the trailer of a cut answer, in the words of Onyx's CLI.
func (c *capped) finish() {
	total := c.all.Len()
	switch {
	case total == c.size:
		return
	case c.limit.inTokens:
		c.app.print("\n[cut: " + text.Number(total) + " bytes in all]\n")
		return
	}
	trailer := fmt.Sprintf("\n\n--- response truncated (%d bytes total) ---\n", total)
	if path := c.app.keepCopy("ask", "txt", ansi.Strip(c.all.String())); path != nil {
		place := config.ShellQuote(*path)
		trailer += fmt.Sprintf("Full response: %s\nExplore: grep -n WORD %s\nExplore: tail -n 50 %s\n", *path,
			place, place)
	} else {
		trailer += "Full response: not kept; to print everything: --max-output 0\n"
	}
	c.app.print(trailer)
}

// askJSON prints a line for each event, as Onyx's CLI does, and at the end one with the whole answer, version 2.
type askJSON struct {
	about  *conversation
	events cutEvents
}

// askSource is a document that an answer cites: a wire.CitedResult.
type askSource any

// askLine is a line of the JSON of ask.
type askLine struct {
	Type  string `json:"type"`
	Event any    `json:"event"`
}

// lineUnknown is the type of a line that passes on a packet of an unknown type.
const lineUnknown = "unknown"

type createdEvent struct {
	SessionID string `json:"chat_session_id" jsonschema:"argument of --session"`
	Incognito bool   `json:"incognito,omitempty" jsonschema:"the session is not stored"`
}

type messagesEvent struct {
	MessageID     int `json:"reserved_assistant_message_id"`
	UserMessageID int `json:"user_message_id"`
}

type unknownEvent struct {
	Placement *wire.ChatPlacement `json:"placement"`
	RawData   json.RawMessage     `json:"raw_data" jsonschema:"the packet as received"`
}

type failureEvent struct {
	Error string `json:"error"`
	Code  string `json:"error_code"`
}

// answerEvent is in the last line: the whole answer.
type answerEvent struct {
	Answer         string      `json:"answer" jsonschema:"Markdown with citations like [[1]](url)"`
	Sources        []askSource `json:"sources" jsonschema:"documents that the answer cites"`
	DocumentsFound int         `json:"documents_found"`
	SessionID      string      `json:"chat_session_id" jsonschema:"argument of --session"`
	MessageID      int         `json:"message_id"`
	Complete       bool        `json:"complete" jsonschema:"false after a failure or a stop"`
	Searched       []string    `json:"searched" jsonschema:"profile that was asked"`
	Schema         int         `json:"schema" jsonschema:"version of this format"`
}

func (p *askJSON) packet(packet wire.ChatPacket) {
	switch {
	case packet.Type == wire.ChatSessionCreated:
		p.line(packet.Type, createdEvent{packet.SessionID, packet.Incognito}, false)
	case packet.Type == wire.ChatMessageIDs:
		p.line(packet.Type, messagesEvent{packet.MessageID, packet.UserMessageID}, false)
	case slices.Contains(knownPackets(), packet.Type):
		p.known(packet)
	default:
		p.line(lineUnknown, unknownEvent{packet.Placement, packet.Raw}, false)
	}
}

// known prints a packet of a type whose events keep their name.
func (p *askJSON) known(packet wire.ChatPacket) {
	event := map[string]any{}
	var fields map[string]json.RawMessage
	guard.While("read an event", wire.Unmarshal(packet.Raw, &fields))
	for name, value := range fields {
		switch {
		case name == "type":
		case name == "final_documents":
			event["documents"] = value
		default:
			event[name] = value
		}
	}
	event["placement"] = packet.Placement
	p.line(packet.Type, event, packet.Type == wire.ChatStop)
}

// knownPackets returns the types whose events keep their name.
func knownPackets() []string {
	return []string{wire.ChatSearchStart, wire.ChatSearchQueries, wire.ChatSearchFilters, wire.ChatSearchDocuments,
		wire.ChatMessageStart, wire.ChatMessageDelta, wire.ChatCitation, wire.ChatReasoningStart,
		wire.ChatReasoningDelta, wire.ChatReasoningDone, wire.ChatSectionEnd, wire.ChatHeartbeat, wire.ChatError,
		wire.ChatStop, "open_url_start", "image_generation_start", "python_tool_start", "file_reader_start",
		"custom_tool_start", "deep_research_plan_start", "deep_research_plan_delta", "research_agent_start",
		"intermediate_report_start", "intermediate_report_delta"}
}

func (p *askJSON) end(answer *wire.ChatAnswer, failure error) {
	if reply, ok := errors.AsType[*client.Error](failure); ok && reply.Kind != client.Canceled {
		p.line(wire.ChatError, failureEvent{reply.Reason, reply.Code}, true)
	}
	sources := exslices.CastFunc(answer.Cited(true),
		func(r wire.SearchResult) askSource { return wire.CitedResult.Of(&r) })
	summary := answerEvent{answer.Text, sources, len(answer.Documents), p.about.session, answer.MessageID,
		failure == nil && !answer.Stopped, []string{p.about.choice.Profile}, schemaVersion}
	p.line(lineSummary, summary, false)
	p.events.end()
}

func (p *askJSON) line(kind string, event any, needed bool) {
	p.events.print(askLine{kind, event}, needed)
}
