//go:build unix

// Screens makes the pictures of the documentation: gallery.md with its pictures, and demo.svg, a minute of use, in a folder.
//
//	screens FOLDER
//
// It runs in the root of the repository, whose documentation is among the files that the pictures show.
//
// The program runs in processes of this tool, with a clock that stands still, so that ages are the same in each run. Times
// that were measured are replaced by fixed ones.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"quarry/tools/screens/gallery"
	"quarry/ui"
)

func main() {
	log.SetFlags(0)
	if text, ok := os.LookupEnv(gallery.Clock); ok {
		os.Exit(program(text))
	}
	if len(os.Args) != 2 {
		log.Fatal("usage: screens FOLDER")
	}
	if err := gallery.Write(os.Args[1], "."); err != nil {
		log.Fatal(err)
	}
}

// program is the program itself at a fixed time.
func program(text string) int {
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		log.Print(err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return ui.Run(ctx, ui.Process{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Arguments: os.Args[1:], Env: os.Environ(),
		Now: func() time.Time { return now }})
}
