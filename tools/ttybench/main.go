//go:build unix

// Ttybench measures the built program as a person meets it: through a pseudo-terminal with an emulated terminal behind
// it, which answers what the program asks. It types keys, and counts the time and the bytes until the answer is painted.
// Beside every figure stands its budget; an empty program on the same library, and fzf where it is installed, run in the
// same minute, since a machine that is busy is slow for all.
//
//	ttybench [-scenario NAMES] [-library DIR] BINARY
//
// It exits with 1 when a budget is missed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quarry/tools/measure"
)

// bench is what is measured, and how long.
type bench struct {
	binary, empty, library string
	cols, rows             int
	runs, keys, previews   int
	idle                   time.Duration
	home                   string
	extra                  []string // environment of one scenario
}

func main() {
	log.SetFlags(0)
	b := &bench{}
	names := flag.String("scenario", "all", "scenarios to run, separated by commas; list prints them")
	flag.StringVar(&b.library, "library", "", "folder of a library to search in; the scenarios of large libraries need it")
	flag.StringVar(&b.empty, "empty", "", "the built empty program (built from ./tools/ttybench/empty otherwise)")
	flag.IntVar(&b.cols, "cols", 120, "columns of the terminal")
	flag.IntVar(&b.rows, "rows", 40, "rows of the terminal")
	flag.IntVar(&b.runs, "runs", 30, "how often the program is started")
	flag.IntVar(&b.keys, "keys", 60, "how many keys are typed and how often the selection is moved, at least")
	flag.IntVar(&b.previews, "previews", 1000, "how many results are looked at before memory is read")
	flag.DurationVar(&b.idle, "idle", 5*time.Second, "how long an idle program is watched")
	judge := flag.Bool("judge", true, "fail when a budget is missed")
	flag.Parse()
	if *names == "list" {
		list(os.Stdout)
		return
	}
	if flag.NArg() != 1 {
		log.Fatal("usage: ttybench [flags] BINARY (-h lists the flags)")
	}
	held, err := b.run(*names, flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if !held && *judge {
		os.Exit(1)
	}
}

func list(out io.Writer) {
	for _, s := range scenarios() {
		fmt.Fprintf(out, "%-14s %s\n", s.name, s.what)
	}
}

// run measures the chosen scenarios and reports whether all budgets held.
func (b *bench) run(names, binary string) (held bool, err error) {
	chosen, err := b.choose(names)
	if err != nil {
		return false, err
	}
	if b.binary, err = filepath.Abs(binary); err != nil {
		return false, err
	}
	if b.home, err = os.MkdirTemp("", "ttybench-"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.home)) }()
	if b.empty == "" {
		b.empty = filepath.Join(b.home, "empty")
		if out, err := exec.Command("go", "build", "-o", b.empty, "./tools/ttybench/empty").CombinedOutput(); err != nil {
			return false, fmt.Errorf("build the empty program: %w\n%s", err, out)
		}
	}
	held = true
	for _, s := range chosen {
		figures, err := s.measure(b)
		if errors.Is(err, errTooSmall) { // no budget held, which is judged like one that did not
			fmt.Printf("\n%s: %v\n", s.name, err)
			held = false
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", s.name, err)
		}
		ok, err := measure.Print(os.Stdout, s.name+": "+s.what, figures)
		if err != nil {
			return false, err
		}
		held = held && ok
	}
	return held, nil
}

// choose finds scenarios by their names. All leaves out those that need a library when there is none.
func (b *bench) choose(names string) ([]scenario, error) {
	var chosen []scenario
	if names == "all" {
		for _, s := range scenarios() {
			if !s.library || b.library != "" {
				chosen = append(chosen, s)
			}
		}
		return chosen, nil
	}
	known := scenarios()
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(known, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario is named %q; -scenario list prints them", name)
		}
		if known[i].library && b.library == "" {
			return nil, fmt.Errorf("the scenario %s needs -library", name)
		}
		chosen = append(chosen, known[i])
	}
	return chosen, nil
}

// environ keeps the caller's own configuration and history out of the figures.
func (b *bench) environ() []string {
	in := func(name string) string { return filepath.Join(b.home, name) }
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "TMPDIR=" + b.home, "LANG=C.UTF-8", "TERM=xterm-256color",
		"COLORTERM=truecolor", "XDG_CONFIG_HOME=" + in("config"), "XDG_DATA_HOME=" + in("data"),
		"XDG_STATE_HOME=" + in("state"), "XDG_CACHE_HOME=" + in("cache"), "QUARRY_HOME=" + in("library"),
		"QUARRY_EMBEDDINGS_MODE=off",
	}
}
