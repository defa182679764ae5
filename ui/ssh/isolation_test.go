package ssh_test

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"quarry/ui/explorer/screentest/terminal"
	"quarry/ui/ssh"
	"quarry/ui/target"
)

// person is somebody at a terminal, of whom every byte that was sent to it is kept.
type person struct {
	*visit
	conn  *gossh.Client
	name  string
	mutex sync.Mutex
	sent  bytes.Buffer
}

func (p *person) all() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.sent.String()
}

func newPerson(t *testing.T, h *house, name string, background color.Color, width, height int, signer gossh.Signer, env ...string) *person {
	t.Helper()
	p := &person{name: name, conn: h.mustConnect(gossh.PublicKeys(signer))}
	p.visit = sitAt(t, p.conn, terminal.Options{Width: width, Height: height, Background: background, Tap: func(output []byte) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.sent.Write(output)
	}}, "", append(env, "COLORTERM=truecolor")...)
	p.sees("type to search")
	return p
}

// code are the colours of a block of code, as far as it can be seen.
func (p *person) code() string {
	p.t.Helper()
	var styles strings.Builder
	p.sees("func win()")
	for y, line := range strings.Split(p.Text(), "\n") {
		at := strings.Index(line, "func win()")
		if at < 0 {
			continue
		}
		at = len([]rune(line[:at]))
		for x := at; x < at+25; x++ {
			cell := p.Cell(x, y)
			fmt.Fprintf(&styles, "%s %v %v\n", cell.Text, cell.Style.Foreground, cell.Style.Bold)
		}
	}
	return styles.String()
}

// reads opens the passage of a person that only they may see.
func (p *person) reads() string {
	p.t.Helper()
	p.Send("plan of " + p.name)
	p.sees("The plan of " + p.name)
	p.press("enter")
	p.sees("y cite")
	for range 3 { // the own passage may not be the first
		if strings.Contains(p.Text(), "The plan of "+p.name+", which is to win.") && strings.Contains(p.Text(), "func win()") {
			break
		}
		p.press("j")
	}
	return p.code()
}

func TestTwoPeopleNeverSeeEachOthersAnything(t *testing.T) {
	c := newCompany(t)
	jo, joLine := key(t)
	ann, annLine := key(t)
	path := keysFile(t, `user="jo@acme.com" `+joLine, `user="ann@acme.com" `+annLine)
	serve := func(t *testing.T) *house {
		return open(t, target.Request{Library: c.folder}, func(options *ssh.Options) { options.AuthorizedKeys = path })
	}
	dark, light := color.Color(color.Black), color.Color(color.White)
	// What each sees who is alone here.
	var alone [2]string
	t.Run("alone", func(t *testing.T) {
		alone[0] = newPerson(t, serve(t), "jo", dark, 120, 40, jo).reads()
	})
	t.Run("alone", func(t *testing.T) {
		alone[1] = newPerson(t, serve(t), "ann", light, 90, 50, ann).reads()
	})
	if alone[0] == "" || alone[0] == alone[1] {
		t.Fatalf("code is coloured alike on dark and light:\n%s", alone[0])
	}
	for _, first := range []string{"jo", "ann"} { // whoever comes first sets nothing for the other
		t.Run(first+" first", func(t *testing.T) {
			h := serve(t)
			var a, b *person
			if first == "jo" {
				a = newPerson(t, h, "jo", dark, 120, 40, jo)
				b = newPerson(t, h, "ann", light, 90, 50, ann)
			} else {
				b = newPerson(t, h, "ann", light, 90, 50, ann)
				a = newPerson(t, h, "jo", dark, 120, 40, jo)
			}
			two := map[string]*person{"jo": a, "ann": b}
			order := []*person{two[first], two[map[string]string{"jo": "ann", "ann": "jo"}[first]]}
			seen := map[string]string{}
			for _, p := range order {
				seen[p.name] = p.reads()
			}
			if seen["jo"] != alone[0] || seen["ann"] != alone[1] {
				t.Error("the colours of code are not those of a person who is alone")
			}
			order[0].press("y")
			order[0].sees("sent to your terminal's clipboard")
			order[0].press("T") // a theme of one's own
			order[1].press("f")
			order[1].sees("Sources")
			order[1].press("esc")
			order[1].sees("y cite")
			order[0].press("/")
			order[0].Send("\x15everybody")
			order[0].sees("The plan of everybody")
			order[0].press("enter", "u")
			order[0].sees("plan of " + order[0].name)
			if got := order[1].code(); got != seen[order[1].name] {
				t.Error("the other's theme changed")
			}
			if len(order[1].Clipboard()) != 0 || len(order[0].Clipboard()) != 1 || !strings.Contains(order[0].Clipboard()[0], "The plan of "+order[0].name) {
				t.Errorf("clipboards: %q, %q", order[0].Clipboard(), order[1].Clipboard())
			}
			order[1].press("u") // nothing was changed there yet
			order[1].press("y")
			order[1].sees("sent to your terminal's clipboard")
			third := newPerson(t, h, "jo", dark, 100, 30, jo) // the same person again begins anew
			if text := third.Text(); strings.Contains(text, "The plan of") || strings.Contains(text, "plan of jo") {
				t.Errorf("a new session knows of another:\n%s", text)
			}
			for _, p := range order {
				other := map[string]string{"jo": "ann", "ann": "jo"}[p.name]
				if strings.Contains(p.all(), "plan of "+other) || strings.Contains(p.Title(), "plan of "+other) || strings.Contains(strings.Join(p.Clipboard(), ""), "of "+other) {
					t.Errorf("%s sees what is %s's:\n%s", p.name, other, p.Text())
				}
				width, height := p.Size()
				if want := map[string][2]int{"jo": {120, 40}, "ann": {90, 50}}[p.name]; want != [2]int{width, height} {
					t.Errorf("%s has %d x %d", p.name, width, height)
				}
				p.press("esc", "esc", "ctrl+c")
				if code := p.leaves(); code != 0 {
					t.Errorf("exit %d", code)
				}
			}
		})
	}
}

// Many search at the same time, each as themselves.
func TestManySearchAtOnce(t *testing.T) {
	c := newCompany(t)
	jo, joLine := key(t)
	ann, annLine := key(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
		options.AuthorizedKeys, options.Open = keysFile(t, `user="jo@acme.com" `+joLine, `user="ann@acme.com" `+annLine), true
		options.Limits.PerPerson = 100
	})
	var group sync.WaitGroup
	for _, who := range []struct {
		auth  gossh.AuthMethod
		finds string
	}{{gossh.PublicKeys(jo), "[everybody jo]"}, {gossh.PublicKeys(ann), "[ann everybody]"},
		{gossh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return nil, nil }), "[everybody]"}} {
		for range 4 {
			conn := h.mustConnect(who.auth)
			group.Go(func() {
				for range 10 {
					if documents, refused := found(t, conn); fmt.Sprint(documents) != who.finds {
						t.Errorf("found %v (%s), want %s", documents, refused, who.finds)
					}
				}
			})
		}
	}
	group.Wait()
}
