//go:build unix

// Package gallery makes the pictures of the documentation: it runs the program behind a terminal, drives it with keys, and
// draws the screen as SVG. The tests of it need no link with the program.
package gallery

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

const (
	limit = 20 * time.Second       // for anything to appear
	quiet = 300 * time.Millisecond // nothing more is painted after such a pause
	// Clock is the variable with the time for a process that is the program.
	Clock = "SCREENS_CLOCK"
)

// today returns the date of the pictures.
func today() time.Time { return time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC) }

// Write makes all pictures and the page in a folder, of a repository's own files among others. The program is the
// executable that runs, with Clock set: the pictures of both looks and the demo are made at the same time, as making them
// is waiting for the most part. Without a client for SSH those of visitors are left as they are.
func Write(folder, repository string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	pictures := filepath.Join(folder, "gallery")
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return err
	}
	var making sync.WaitGroup
	looks := []look{darkLook(), lightLook()}
	wrong := make([]error, len(looks))
	for i, look := range looks {
		making.Go(func() {
			if err := writeScenes(repository, pictures, look); err != nil {
				wrong[i] = fmt.Errorf("%s: %w", look.name, err)
			}
		})
	}
	frames, err := record(darkLook())
	making.Wait()
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return errors.Join(os.WriteFile(filepath.Join(folder, "demo.svg"), []byte(draw(frames, darkLook())), 0o644),
		os.WriteFile(filepath.Join(folder, "gallery.md"), []byte(page()), 0o644))
}

// writeScenes makes the pictures of the gallery in one look.
func writeScenes(repository, folder string, look look) error {
	m, err := newMachine(look, 120, 36)
	if err != nil {
		return err
	}
	defer m.close()
	_, missing := exec.LookPath("ssh")
	if missing == nil {
		err = m.serve()
	}
	if err := errors.Join(err, m.addFiles(repository)); err != nil {
		return err
	}
	for _, s := range yesterdaysSearches() {
		if _, err := m.play(today().AddDate(0, 0, -1), s); err != nil {
			return fmt.Errorf("before the first picture: %w", err)
		}
	}
	for _, s := range scenes() {
		if s.at == visitor && missing != nil {
			log.Printf("%s is not made: %v", pictureName(s, look), missing)
			continue
		}
		frames, err := m.play(today(), s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		last := frames[len(frames)-1:]
		if err := os.WriteFile(filepath.Join(folder, pictureName(s, look)), []byte(draw(last, look)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pictureName(s scene, l look) string { return s.name + "-" + l.name + ".svg" }

// record makes the frames of the demo.
func record(look look) ([]frame, error) {
	m, err := newMachine(look, 120, 32)
	if err != nil {
		return nil, err
	}
	defer m.close()
	return m.play(today(), scene{steps: demo()})
}

// machine is a machine of somebody who uses the program: folders without a history, a terminal, and a model.
type machine struct {
	look          look
	width, height int
	home          string
	model         *model
	server        *exec.Cmd // that is visited over SSH; nil: there is none
	port          string    // of it
}

func newMachine(look look, width, height int) (*machine, error) {
	home, err := os.MkdirTemp("", "screens-")
	if err != nil {
		return nil, err
	}
	m := &machine{look: look, width: width, height: height, home: home, model: newModel()}
	err = os.MkdirAll(filepath.Join(home, "quarry"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "quarry", "config.yaml"), []byte(m.model.config()), 0o600)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *machine) close() {
	m.model.close()
	if m.server != nil {
		_ = m.server.Process.Kill() // what it has ends with the folder
		_ = m.server.Wait()
	}
	_ = os.RemoveAll(m.home) // of the temporary folder
}

// play runs the program, does the steps of a scene, and returns a frame for each, the first without a key.
func (m *machine) play(now time.Time, s scene) (frames []frame, err error) {
	arguments := map[place][]string{company: {"--sample"}, own: {}, visitor: m.visit()}[s.at]
	wait := firstResult
	if s.query == "" {
		wait = " documents in "
	} else {
		arguments = append(arguments, s.query)
	}
	cmd, err := m.program(now, arguments...)
	if err != nil {
		return nil, err
	}
	if s.at == visitor {
		visit := exec.Command("ssh", arguments...)
		visit.Env, cmd = cmd.Env, visit
	}
	t, err := terminal.Run(cmd, terminal.Options{Width: m.width, Height: m.height, Background: m.look.background})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	for _, s := range append([]step{{wait: wait, hold: 2 * time.Second}}, s.steps...) {
		if s.said > 0 {
			m.model.say(s.said)
		}
		if err := t.Press(strings.Fields(s.keys)...); err != nil {
			return nil, err
		}
		shown := func(screen string) bool {
			return strings.Contains(screen, s.wait) && (s.gone == "" || !strings.Contains(screen, s.gone))
		}
		if !t.Wait(limit, shown) {
			return nil, fmt.Errorf("%q is missing, or %s still there, after %q; the screen is\n%s", s.wait, cmp.Or(s.gone, "nothing"), s.keys, t.Text())
		}
		settle(t)
		frames = append(frames, frameOf(t, s))
	}
	if err := t.Press("ctrl+c"); err != nil {
		return nil, err
	}
	return frames, t.Err() // what is remembered is written by then
}

// settle waits for a pause in the output: there is no other sign that a screen is finished.
func settle(t *terminal.Command) {
	for before := -1; before != t.BytesWritten(); {
		before = t.BytesWritten()
		time.Sleep(quiet)
	}
}

// frame is a screen, the cursor on it, and for how long the demo shows it.
type frame struct {
	cells   [][]terminal.Cell
	x, y    int
	visible bool
	shown   time.Duration
	still   bool // for who wants no animation
}

func frameOf(t *terminal.Command, s step) frame {
	f := frame{cells: t.Cells(), shown: s.hold, still: s.still}
	f.x, f.y, f.visible = t.Cursor()
	fixTimings(f.cells)
	return f
}
