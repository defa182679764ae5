//go:build unix

// Sshload measures a server that people reach over SSH: how soon those who come in see something while many do, what
// each takes in memory and, when nobody types, in CPU time, how soon a key is answered and with how many bytes, what
// coming and going leaves behind, and what a visitor who floods the server costs the others. It starts the built binary
// itself, on the sample library or on one of the caller's, and comes in as anybody may, with the client library that the
// server's own is made of, the cipher that OpenSSH chooses, and a terminal that answers what it is asked.
//
//	sshload [-scenario NAMES] [-library DIR] BINARY
//
// Visitors and server share the machine: the CPU time of both is told, and what everything else took. It exits with 1
// when a budget is missed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quarry/tools/measure"
)

// bench is what is measured, and how much of it.
type bench struct {
	binary, library string
	home            string // of everything that the server writes
	sessions        int
	within          time.Duration
	idle            time.Duration
	keys            int
	warm, cycles    int
}

// scenario is one kind of use, and the figures that it gives.
type scenario struct {
	name, what string
	measure    func(*bench) ([]measure.Figure, error)
}

func scenarios() []scenario {
	return []scenario{
		{"typing", "one visitor types", (*bench).measureTyping},
		{"crowd", "many come in, search, read, and leave their terminals open", (*bench).measureCrowd},
		{"flood", "one visitor floods the server while another types", (*bench).measureFlood},
		{"screens", "many have terminals larger than is drawn, and resize them", (*bench).measureScreens},
		{"cycles", "visitors come and go, one after the other", (*bench).measureCycles},
	}
}

func main() {
	log.SetFlags(0)
	b := &bench{}
	names := flag.String("scenario", "typing,crowd,flood,screens,cycles", "scenarios to run, separated by commas")
	flag.StringVar(&b.library, "library", "", "folder of the library that is served; the sample library otherwise")
	flag.IntVar(&b.sessions, "sessions", 200, "visitors at once")
	flag.DurationVar(&b.within, "within", 20*time.Second, "in which they all arrive")
	flag.DurationVar(&b.idle, "idle", 20*time.Second, "how long they are watched while nobody types")
	flag.IntVar(&b.keys, "keys", 60, "how many keys are typed, at least")
	flag.IntVar(&b.warm, "warm", 200, "visits before those of which is asked what they leave behind")
	flag.IntVar(&b.cycles, "cycles", 500, "visits of which is asked what they leave behind")
	judge := flag.Bool("judge", true, "fail when a budget is missed")
	flag.Parse()
	if flag.NArg() != 1 || b.sessions < 1 || b.cycles < 2 || b.warm < 1 || b.keys < 1 || b.within <= 0 || b.idle <= 0 {
		log.Fatal("usage: sshload [flags] BINARY (-h tells the flags)")
	}
	held, err := b.run(strings.Split(*names, ","), flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if !held && *judge {
		os.Exit(1)
	}
}

// run measures the chosen scenarios, and tells whether all budgets held.
func (b *bench) run(names []string, binary string) (held bool, err error) {
	if b.binary, err = filepath.Abs(binary); err != nil {
		return false, err
	}
	if b.home, err = os.MkdirTemp("", "sshload-"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.home)) }()
	held = true
	for _, name := range names {
		i := slices.IndexFunc(scenarios(), func(s scenario) bool { return s.name == name })
		if i < 0 {
			return false, fmt.Errorf("no scenario is named %q", name)
		}
		chosen := scenarios()[i]
		figures, err := chosen.measure(b)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		ok, err := measure.Print(os.Stdout, name+": "+chosen.what, figures)
		if err != nil {
			return false, err
		}
		held = held && ok
	}
	return held, nil
}
