package panel

import (
	"cmp"
	"slices"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Chats lists earlier conversations with their names and ages. Its owner asks for them, and opens the chosen one. The
// zero value is empty.
type Chats struct {
	Static
	// Private marks that what is asked here is not kept.
	Private bool

	sessions []wire.ChatSession
	more     bool   // there are older ones
	doing    string // the running operation; empty: nothing
	problem  string
	remedy   string
	Choice
	moved bool // since conversations were added
	now   time.Time
}

// Open empties the panel, which waits for conversations from now on.
func (p *Chats) Open(now time.Time) {
	*p = Chats{Private: p.Private, doing: "loading", now: now}
}

// Add appends a page of conversations, the latest first, and records whether older ones exist.
func (p *Chats) Add(sessions []wire.ChatSession, more bool) {
	all := append(p.sessions, sessions...)
	p.sessions = exslices.DeduplicateUnsortedFunc(all, func(s wire.ChatSession) string { return s.ID })
	p.Of(len(p.sessions))
	p.more = more && len(sessions) > 0
	p.doing, p.problem, p.remedy, p.moved = "", "", "", false
}

// Rename shows the new name of a conversation.
func (p *Chats) Rename(id, name string) {
	p.doing = ""
	for i := range p.sessions {
		if p.sessions[i].ID == id {
			p.sessions[i].Name = &name
		}
	}
}

// Remove takes a conversation out of the list.
func (p *Chats) Remove(id string) {
	p.doing = ""
	p.sessions = slices.DeleteFunc(p.sessions, func(s wire.ChatSession) bool { return s.ID == id })
	p.Of(len(p.sessions))
}

// Doing shows the running operation.
func (p *Chats) Doing(what string) {
	p.doing, p.problem, p.remedy = what, "", ""
}

// Fail shows an error and its hint.
func (p *Chats) Fail(problem, remedy string) {
	p.doing, p.problem, p.remedy = "", problem, remedy
}

// Chosen is the conversation that the choice is on.
func (p *Chats) Chosen() (wire.ChatSession, bool) {
	if p.At >= len(p.sessions) {
		return wire.ChatSession{}, false
	}
	return p.sessions[p.At], true
}

// Wanted gives the time before which older conversations are to be asked for, once the choice comes near the end of
// those that are known; empty: none are wanted.
func (p *Chats) Wanted() string {
	if !p.more || !p.moved || p.doing != "" || p.problem != "" || p.At < len(p.sessions)-max(1, p.rows) {
		return ""
	}
	return p.sessions[len(p.sessions)-1].TimeUpdated
}

// Move implements Panel.
func (p *Chats) Move(lines int) {
	p.moved = true
	p.Choice.Move(lines)
}

// Page implements Panel.
func (p *Chats) Page(pages int) {
	p.moved = true
	p.Choice.Page(pages)
}

// Title implements Panel.
func (p *Chats) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render("Earlier conversations"), th.Muted.Render(p.count())
}

// View implements Panel.
func (p *Chats) View(width, height int, th theme.Theme) Body {
	body := Body{Lines: p.notice(width, th)}
	p.Rows(&body, height, func(i int, chosen bool) string { return p.row(p.sessions[i], chosen, width, th) })
	return body
}

func (p *Chats) count() string {
	switch {
	case p.doing != "":
		return p.doing
	case len(p.sessions) == 0:
		return ""
	case p.more:
		return "latest " + text.Number(len(p.sessions))
	}
	return text.Number(len(p.sessions))
}

// notice is shown above the rows: an error, or that there are no conversations.
func (p *Chats) notice(width int, th theme.Theme) []string {
	lines := append(Wrapped(p.problem, 0, width, th.Error), Wrapped(p.remedy, 0, width, th.Muted)...)
	switch {
	case len(p.sessions) > 0 || p.doing != "" || p.problem != "":
		return lines
	case p.Private:
		return Wrapped("No conversations: private mode stores none", 0, width, th.Muted)
	}
	return Wrapped("No conversations yet. Questions are stored here unless private is set.", 0, width, th.Muted)
}

// leastName is how many columns of a name there are beside an age.
const leastName = 8

// row is the name of a conversation and its age.
func (p *Chats) row(session wire.ChatSession, chosen bool, width int, th theme.Theme) string {
	name := cmp.Or(paint.Line(text.OrEmpty(session.Name)), "(no name)")
	age := passage.Age(session.TimeUpdated, p.now)
	if width < 60 {
		age = passage.ShortAge(session.TimeUpdated, p.now)
	}
	return Row(" "+paint.Beside(th.Text.Render(name), th.Muted.Render(age), leastName, width-3), chosen, width, th)
}
