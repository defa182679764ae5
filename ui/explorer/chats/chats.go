// Package chats is the list of earlier conversations: their names and ages. It draws and keeps state; whoever owns it
// asks for them, and opens what is chosen.
package chats

import (
	"time"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Panel is the panel. Its zero value is empty.
type Panel struct {
	// Private tells that what is asked here is not kept.
	Private bool

	sessions []wire.ChatSession
	more     bool   // there are older ones
	doing    string // what is under way; empty: nothing
	problem  string
	remedy   string
	at, top  int
	page     int // rows when it was last drawn
	now      time.Time
	version  uint64
	cache    paint.Cache[key]
}

type key struct {
	version       uint64
	width, height int
	theme, hints  string
}

// Open empties the panel, which waits for conversations from now on.
func (p *Panel) Open(now time.Time) {
	*p = Panel{version: p.version + 1, doing: "loading", now: now}
}

// Add appends a page of conversations, the latest first, and tells whether there are older ones.
func (p *Panel) Add(sessions []wire.ChatSession, more bool) {
	known := map[string]bool{}
	for _, session := range p.sessions {
		known[session.ID] = true
	}
	for _, session := range sessions {
		if !known[session.ID] {
			p.sessions = append(p.sessions, session)
		}
	}
	p.more = more && len(sessions) > 0
	p.doing, p.problem, p.remedy = "", "", ""
	p.version++
}

// Doing tells what is under way.
func (p *Panel) Doing(what string) {
	p.doing, p.problem, p.remedy = what, "", ""
	p.version++
}

// Fail tells what went wrong, and what to do about it.
func (p *Panel) Fail(problem, remedy string) {
	p.doing, p.problem, p.remedy = "", problem, remedy
	p.version++
}

// Chosen is the conversation that the choice is on.
func (p *Panel) Chosen() (wire.ChatSession, bool) {
	if p.at >= len(p.sessions) {
		return wire.ChatSession{}, false
	}
	return p.sessions[p.at], true
}

// Wanted gives the time before which older conversations are to be asked for, once the choice comes near the end of
// those that are known; empty: none are wanted.
func (p *Panel) Wanted() string {
	if !p.more || p.doing != "" || p.problem != "" || p.at < len(p.sessions)-max(1, p.page) {
		return ""
	}
	return p.sessions[len(p.sessions)-1].TimeUpdated
}

// Move moves the choice by lines, stopping at the ends.
func (p *Panel) Move(lines int) {
	p.at = max(0, min(p.at+lines, len(p.sessions)-1))
	p.version++
}

// Page moves the choice by a page down (1) or up (-1).
func (p *Panel) Page(direction int) { p.Move(direction * max(1, p.page-1)) }

// View draws the panel, height lines of width columns.
func (p *Panel) View(width, height int, th theme.Theme, hints string) []string {
	return p.cache.Lines(key{p.version, width, height, th.Name, hints}, func() []string {
		return p.draw(width, height, th, hints)
	})
}

func (p *Panel) draw(width, height int, th theme.Theme, hints string) []string {
	if height <= 0 {
		return nil
	}
	lines := []string{paint.Fit(" "+th.Title.Render("Earlier conversations")+th.Muted.Render(p.count()), width)}
	var below []string
	if hints != "" && height >= 5 {
		below = append(below, " "+th.Muted.Render(hints))
	}
	body := p.said(width, th)
	p.page = max(0, height-1-len(below)-len(body))
	if len(p.sessions) > 0 {
		p.top = max(0, min(p.top, p.at), p.at-p.page+1)
		for i := p.top; i < min(p.top+p.page, len(p.sessions)); i++ {
			body = append(body, p.row(p.sessions[i], i == p.at, width, th))
		}
	}
	for i := range height - 1 - len(below) {
		text := ""
		if i < len(body) {
			text = body[i]
		}
		lines = append(lines, paint.Fit(text, width))
	}
	for _, text := range below {
		lines = append(lines, paint.Fit(text, width))
	}
	return lines
}

func (p *Panel) count() string {
	switch {
	case p.doing != "":
		return " · " + p.doing
	case len(p.sessions) == 0:
		return ""
	case p.more:
		return " · the latest " + paint.Number(len(p.sessions))
	}
	return " · " + paint.Number(len(p.sessions))
}

// said is what stands above the rows: that something failed, or that there are none.
func (p *Panel) said(width int, th theme.Theme) []string {
	var lines []string
	add := func(text string, style func(...string) string) {
		if text == "" {
			return
		}
		for _, part := range paint.Wrap(paint.Line(text), max(1, width-2)) {
			lines = append(lines, " "+style(part))
		}
	}
	add(p.problem, th.Error.Render)
	add(p.remedy, th.Muted.Render)
	if len(p.sessions) == 0 && p.doing == "" && p.problem == "" {
		none := "there are none yet: what is asked is kept here, unless the configuration says private"
		if p.Private {
			none = "there are none: what is asked from here is kept nowhere"
		}
		add(none, th.Muted.Render)
	}
	return lines
}

// row is the name of a conversation and its age.
func (p *Panel) row(session wire.ChatSession, chosen bool, width int, th theme.Theme) string {
	const gap = 2
	name := "(no name)"
	if session.Name != nil && paint.Line(*session.Name) != "" {
		name = paint.Line(*session.Name)
	}
	age := passage.Age(session.TimeUpdated, p.now)
	if width < 60 {
		age = passage.ShortAge(session.TimeUpdated, p.now)
	}
	mark := "  "
	if chosen {
		mark = th.Prompt.Render("▌") + " "
	}
	room := width - 2 - gap - paint.Width(age)
	if room < 8 {
		age, room = "", width-2
	}
	row := mark + th.Text.Render(paint.Fit(name, max(0, room)))
	if age != "" {
		row += paint.Blank(gap-1) + th.Muted.Render(age) + " "
	}
	if !chosen {
		return row
	}
	return paint.Under(paint.Fit(row, width), th.Selected)
}
