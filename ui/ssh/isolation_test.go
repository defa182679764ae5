package ssh_test

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	gossh "golang.org/x/crypto/ssh"

	"quarry/internal/testkit/screentest/terminal"
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

// reads opens the passage of a person that only they may see, and gives the colours of its code.
func (p *person) reads() string {
	p.t.Helper()
	p.Send("plan of " + p.name)
	quiet()
	p.press("enter")
	for range 3 { // the own passage may not be the first
		if quiet(); strings.Contains(p.Text(), "The plan of "+p.name+", which is to win.") {
			return p.code()
		}
		p.press("j")
	}
	p.t.Fatalf("%s does not find the own plan:\n%s", p.name, p.Text())
	return ""
}

func TestTwoPeopleNeverSeeEachOthersAnything(t *testing.T) {
	c := newCompany(t)
	keys := map[string]gossh.Signer{}
	var lines []string
	for _, name := range []string{"jo", "ann"} {
		signer, line := key(t)
		keys[name], lines = signer, append(lines, fmt.Sprintf(`user="%s@acme.com" %s`, name, line))
	}
	path := keysFile(t, lines...)
	inside := func(name string, test func(t *testing.T, visit func(name string) *person)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
					inMemory(options)
					options.Keys = path
				})
				test(t, func(name string) *person {
					if name == "jo" {
						return newPerson(t, h, name, color.Black, 120, 40, keys[name])
					}
					return newPerson(t, h, name, color.White, 90, 50, keys[name])
				})
			})
		})
	}
	alone := map[string]string{} // the colours that each sees who is alone here
	for name := range keys {
		inside(name+" alone", func(_ *testing.T, visit func(string) *person) { alone[name] = visit(name).reads() })
	}
	if alone["jo"] == "" || alone["jo"] == alone["ann"] {
		t.Fatalf("code is coloured alike on dark and light:\n%s", alone["jo"])
	}
	for _, names := range [][2]string{{"jo", "ann"}, {"ann", "jo"}} { // whoever comes first sets nothing for the other
		inside(names[0]+" first", func(t *testing.T, visit func(string) *person) {
			first, second := visit(names[0]), visit(names[1])
			if first.reads() != alone[first.name] || second.reads() != alone[second.name] {
				t.Error("the colours of code are not those of a person who is alone")
			}
			visitTogether(t, first, second, alone[second.name])
			again := visit(first.name) // the same person again begins anew, at the home
			if quiet(); !strings.Contains(again.Text(), "type to search") || strings.Contains(again.Text(), "Recent") ||
				strings.Contains(again.Text(), "plan of "+second.name) {
				t.Errorf("a new session knows of another:\n%s", again.Text())
			}
			for _, p := range []*person{first, second} {
				apart(t, p, map[string]string{"jo": "ann", "ann": "jo"}[p.name])
			}
		})
	}
}

// visitTogether has two people, each of whom reads a passage, do what could reach the other.
func visitTogether(t *testing.T, first, second *person, code string) {
	t.Helper()
	first.press("y")
	first.sees("sent to your terminal's clipboard")
	first.press("T")
	first.sees("mono: no colours")
	first.press("down", "down", "enter") // a theme of one's own
	first.sees("theme: light")
	second.Send("\x06") // ctrl+f
	second.sees("Sources")
	second.press("esc")
	second.sees("y cite")
	first.press("/")
	first.Send("\x15everybody")
	first.sees("The plan of everybody")
	first.press("enter", "u")
	first.sees("plan of " + first.name)
	if quiet(); second.code() != code {
		t.Error("the other's theme changed")
	}
	if len(second.Clipboard()) != 0 || len(first.Clipboard()) != 1 || !strings.Contains(first.Clipboard()[0], "The plan of "+first.name) {
		t.Errorf("clipboards: %q, %q", first.Clipboard(), second.Clipboard())
	}
	second.press("u") // nothing was changed there yet
	second.press("y")
	second.sees("sent to your terminal's clipboard")
}

// apart looks for another person in all that one was sent.
func apart(t *testing.T, p *person, other string) {
	t.Helper()
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

// Many search at the same time, each as themselves.
func TestManySearchAtOnce(t *testing.T) {
	c := newCompany(t)
	jo, joLine := key(t)
	ann, annLine := key(t)
	h := open(t, target.Request{Library: c.folder}, func(options *ssh.Options) {
		options.Keys, options.Open = keysFile(t, `user="jo@acme.com" `+joLine, `user="ann@acme.com" `+annLine), true
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
