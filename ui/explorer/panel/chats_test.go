package panel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

func today() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func sessions(from, to int) []wire.ChatSession {
	var all []wire.ChatSession
	for i := from; i < to; i++ {
		name := fmt.Sprintf("Conversation %d", i)
		all = append(all, wire.ChatSession{ID: name, Name: &name, TimeUpdated: today().AddDate(0, 0, -i).Format(time.RFC3339)})
	}
	return all
}

func TestPagesFollowTheChoice(t *testing.T) {
	t.Parallel()
	var p Chats
	p.Open(today())
	screen := func() string { return textOf(&p, 60, 12) }
	if text := screen(); !strings.Contains(text, "loading") || p.Wanted() != "" {
		t.Error(text)
	}
	p.Add(sessions(0, 30), true)
	if text := screen(); !strings.Contains(text, "▌ Conversation 0") || !strings.Contains(text, "latest 30") || p.Wanted() != "" {
		t.Error(text)
	}
	p.Move(1000)
	if chosen, ok := p.Chosen(); !ok || *chosen.Name != "Conversation 29" || p.Wanted() != chosen.TimeUpdated {
		t.Errorf("%+v, %s", chosen, p.Wanted())
	}
	p.Doing("loading more")
	if p.Wanted() != "" {
		t.Error("older ones are asked for twice")
	}
	p.Add(sessions(28, 40), false) // two of them are known
	if text := screen(); !strings.Contains(text, "▌ Conversation 29") || !strings.Contains(text, "─ 40 ╮") || p.Wanted() != "" {
		t.Error(text)
	}
	p.Fail("the server is gone", "try later")
	if text := screen(); !strings.Contains(text, "the server is gone") || !strings.Contains(text, "▌ Conversation 29") {
		t.Error(text)
	}
}

func TestChatsFillTheirRectangle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"plain words", "回滚发布的运行手册", "👩‍👩‍👧‍👦 family", strings.Repeat("x", 300), "", "tab\tand\nline"}
	for range 600 {
		var p Chats
		p.Open(today())
		all := sessions(0, random.IntN(40))
		for i := range all {
			all[i].Name = &names[random.IntN(len(names))]
		}
		p.Add(all, random.IntN(2) == 0)
		if random.IntN(4) == 0 {
			p.Fail(names[random.IntN(len(names))], names[random.IntN(len(names))])
		}
		p.Move(random.IntN(50))
		requireFilled(t, &p, random)
	}
}
