//go:build unix

// Screens makes the pictures of the README: it runs the built program behind a terminal, drives it with keys, and writes
// what stands on the screen as SVG, once for a dark terminal and once for a light one.
//
//	screens [-query TEXT] [-keys NAMES] [-wait TEXT] BINARY FOLDER
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

const (
	limit = 10 * time.Second       // for anything to appear
	quiet = 400 * time.Millisecond // nothing more is painted after such a pause
)

// shot is what is driven to the picture.
type shot struct {
	binary     string
	query      string
	keys       []string
	wait       string
	cols, rows int
}

func main() {
	log.SetFlags(0)
	var s shot
	flag.StringVar(&s.query, "query", "how do we roll back a deploy", "what is searched for")
	keys := flag.String("keys", "", "keys to press then, separated by spaces")
	flag.StringVar(&s.wait, "wait", " 1  ", "text that must be there before the keys, and after them")
	flag.IntVar(&s.cols, "cols", 120, "columns")
	flag.IntVar(&s.rows, "rows", 36, "rows")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: screens [flags] BINARY FOLDER (-h tells the flags)")
	}
	s.keys = strings.Fields(*keys)
	var err error
	if s.binary, err = filepath.Abs(flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
	for _, look := range []look{darkLook(), lightLook()} {
		if err := s.write(look, filepath.Join(flag.Arg(1), "screen-"+look.name+".svg")); err != nil {
			log.Fatalf("%s: %v", look.name, err)
		}
	}
}

// write takes the picture into a file.
func (s shot) write(look look, path string) error {
	picture, err := s.take(look)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(draw(picture, look)), 0o644)
}

// picture is a screen, and the cursor on it.
type picture struct {
	cells   [][]terminal.Cell
	x, y    int
	visible bool
}

// take runs the program in folders of its own, so that no history of the caller is in the picture.
func (s shot) take(look look) (p picture, err error) {
	home, err := os.MkdirTemp("", "screens-")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	cmd := exec.Command(s.binary, "--sample", s.query)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "TERM=xterm-256color",
		"COLORTERM=truecolor", "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_STATE_HOME=" + home,
		"XDG_CACHE_HOME=" + home, "QUARRY_HOME=" + filepath.Join(home, "library"),
	}
	t, err := terminal.Run(cmd, terminal.Options{Width: s.cols, Height: s.rows, Background: look.background})
	if err != nil {
		return p, err
	}
	defer t.Close()
	if err := s.drive(t); err != nil {
		return p, err
	}
	p.cells = t.Cells()
	p.x, p.y, p.visible = t.Cursor()
	maskTimings(p.cells)
	return p, nil
}

// drive waits for the results, presses the keys, and waits until nothing moves any more.
func (s shot) drive(t *terminal.Command) error {
	seen := func(screen string) bool { return strings.Contains(screen, s.wait) }
	if !t.Wait(limit, seen) {
		return fmt.Errorf("%q did not appear; the screen is\n%s", s.wait, t.Text())
	}
	settle(t)
	for _, key := range s.keys {
		if err := t.Press(key); err != nil {
			return err
		}
		settle(t)
	}
	if !t.Wait(limit, seen) {
		return fmt.Errorf("%q is gone after the keys; the screen is\n%s", s.wait, t.Text())
	}
	return nil
}

// settle waits for a pause in the output: there is no other sign that a screen is finished.
func settle(t *terminal.Command) {
	for before := -1; before != t.BytesWritten(); {
		before = t.BytesWritten()
		time.Sleep(quiet)
	}
}

// maskTimings replaces the times that a search took, which differ from run to run, by ones of the same width.
func maskTimings(cells [][]terminal.Cell) {
	timing := regexp.MustCompile(`[0-9]+([.,][0-9]+)? ms`)
	for _, row := range cells {
		var line strings.Builder
		for _, cell := range row {
			line.WriteString(cmp.Or(oneByte(cell.Text), "?"))
		}
		for _, at := range timing.FindAllStringIndex(line.String(), -1) {
			mask(row[at[0]:at[1]])
		}
	}
}

// mask makes "237 ms" into "114 ms".
func mask(timing []terminal.Cell) {
	digit := "4"
	for x := len(timing) - 1; x >= 0; x-- {
		if text := timing[x].Text; text >= "0" && text <= "9" {
			timing[x].Text, digit = digit, "1"
		}
	}
}

// oneByte keeps columns and bytes in step.
func oneByte(text string) string {
	if len(text) == 1 {
		return text
	}
	return ""
}
