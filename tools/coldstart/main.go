// Coldstart times whole runs of the program, from exec to exit: `version` and `search` in turn, so that the noise of the
// machine falls on both alike, and adding a folder for the first and for the second time, and how soon a watched change is found. It exits with 1 when a budget
// is missed.
//
//	coldstart [-judge=false] BINARY FOLDER MARKDOWN FILES
//
// MARKDOWN is a folder of 31 MB in 4,415 files, FILES one of 100,000 small files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"quarry/tools/measure"
)

const (
	pairs = 60
	adds  = 5
)

func main() {
	log.SetFlags(0)
	judge := flag.Bool("judge", true, "fail when a budget is missed")
	flag.Parse()
	if flag.NArg() != 4 {
		log.Fatal("usage: coldstart [-judge=false] BINARY FOLDER MARKDOWN FILES")
	}
	held, err := measureRuns(flag.Arg(0), flag.Arg(1), flag.Arg(2), flag.Arg(3))
	if err != nil {
		log.Fatal(err)
	}
	if !held && *judge {
		os.Exit(1)
	}
}

func measureRuns(binary, folder, markdown, files string) (held bool, err error) {
	if binary, err = filepath.Abs(binary); err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "coldstart-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	first, second, err := timeAdds(binary, folder, scratch)
	if err != nil {
		return false, err
	}
	large, _, err := timeAdds(binary, markdown, filepath.Join(scratch, "markdown"))
	if err != nil {
		return false, err
	}
	size, err := relativeSize(filepath.Join(scratch, "markdown", "0"), markdown)
	if err != nil {
		return false, err
	}
	many, sync, err := timeSync(binary, files, filepath.Join(scratch, "files"))
	if err != nil {
		return false, err
	}
	watched, err := timeWatch(binary, filepath.Join(scratch, "watched"))
	if err != nil {
		return false, err
	}
	var versions, searches, differences []float64
	for range pairs {
		home := filepath.Join(scratch, "0")
		version, err := run(binary, home, "version")
		if err != nil {
			return false, err
		}
		search, err := run(binary, home, "search", "how do I expense a laptop")
		if err != nil {
			return false, err
		}
		versions, searches, differences = append(versions, version), append(searches, search), append(differences, search-version)
	}
	return measure.Print(os.Stdout, "whole runs", []measure.Figure{
		measure.New("add, first run", "ms", first, measure.P50(1000)),
		measure.New("add, nothing changed", "ms", second, measure.P50(100)),
		measure.New("add 31 MB of Markdown in 4,415 files", "ms", large, measure.P50(2500)),
		measure.One("its library on disk ÷ text", "×", size, measure.Most(1)),
		measure.One("add 100,000 small files", "ms", many),
		measure.New("sync them, nothing changed", "ms", sync, measure.P50(2000)),
		measure.New("a watched change, found by a search", "ms", watched, measure.P50(1000)),
		measure.New("version", "ms", versions),
		measure.New("search", "ms", searches),
		measure.New("search − version, pair by pair", "ms", differences, measure.P50(10)),
	})
}

func timeAdds(binary, folder, scratch string) (first, second []float64, err error) {
	for i := range adds {
		home := filepath.Join(scratch, fmt.Sprint(i))
		for _, times := range []*[]float64{&first, &second} {
			took, err := run(binary, home, "add", "--quiet", folder)
			if err != nil {
				return nil, nil, err
			}
			*times = append(*times, took)
		}
	}
	return first, second, nil
}

// relativeSize is the size of a library relative to the files that were added to it.
func relativeSize(library, files string) (float64, error) {
	disk, err := measure.FolderBytes(library)
	if err != nil {
		return 0, err
	}
	text, err := measure.FolderBytes(files)
	return float64(disk) / float64(text), err
}

func timeSync(binary, folder, home string) (add float64, sync []float64, err error) {
	if add, err = run(binary, home, "add", "--quiet", folder); err != nil {
		return 0, nil, err
	}
	for range adds {
		took, err := run(binary, home, "sync", "--quiet")
		if err != nil {
			return 0, nil, err
		}
		sync = append(sync, took)
	}
	return add, sync, nil
}

// run returns the milliseconds from exec to exit.
func run(binary, home string, args ...string) (float64, error) {
	start := time.Now()
	if out, err := command(context.Background(), binary, home, args...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return measure.Milliseconds(time.Since(start)), nil
}

func command(ctx context.Context, binary, home string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = []string{"HOME=" + home, "QUARRY_HOME=" + home, "XDG_CONFIG_HOME=" + home, "QUARRY_EMBEDDINGS_MODE=off", "PATH=" + os.Getenv("PATH")}
	return c
}
