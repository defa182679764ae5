// Coldstart times whole runs of the program, from exec to exit: `version` and `search` in turn, so that the noise of the
// machine falls on both alike, and adding a folder for the first and for the second time. It fails when a median is over
// its budget.
//
//	coldstart BINARY FOLDER
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

const (
	pairs = 60
	adds  = 5

	searchBudget = 10 * time.Millisecond // beyond version
	addBudget    = time.Second
	syncBudget   = 100 * time.Millisecond
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: coldstart BINARY FOLDER")
	}
	binary, err := filepath.Abs(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := measure(binary, os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func measure(binary, folder string) error {
	scratch, err := os.MkdirTemp("", "coldstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := timeAdds(binary, folder, scratch); err != nil {
		return err
	}
	home := filepath.Join(scratch, "0")
	var versions, searches, differences []time.Duration
	for range pairs {
		version, err := run(binary, home, "version")
		if err != nil {
			return err
		}
		search, err := run(binary, home, "search", "how do I expense a laptop")
		if err != nil {
			return err
		}
		versions, searches = append(versions, version), append(searches, search)
		differences = append(differences, search-version)
	}
	report("version", versions)
	report("search", searches)
	return within(searchBudget, report("search − version, pair by pair (budget 10 ms)", differences), "search")
}

func within(budget, median time.Duration, what string) error {
	if median > budget {
		return fmt.Errorf("%s takes %v, over its budget of %v", what, median, budget)
	}
	return nil
}

func timeAdds(binary, folder, scratch string) error {
	var first, second []time.Duration
	for i := range adds {
		home := filepath.Join(scratch, fmt.Sprint(i))
		for _, times := range []*[]time.Duration{&first, &second} {
			took, err := run(binary, home, "add", "--quiet", folder)
			if err != nil {
				return err
			}
			*times = append(*times, took)
		}
	}
	return errors.Join(
		within(addBudget, report("add, first run (budget 1 s)", first), "the first add"),
		within(syncBudget, report("add, nothing changed (budget 100 ms)", second), "the second add"),
	)
}

func run(binary, home string, args ...string) (time.Duration, error) {
	command := exec.Command(binary, args...)
	command.Env = []string{"HOME=" + home, "QUARRY_HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH")}
	start := time.Now()
	if out, err := command.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return time.Since(start), nil
}

// report prints a row and returns the median.
func report(what string, times []time.Duration) time.Duration {
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	fmt.Printf("%-48s p50 %8.1f ms   p95 %8.1f ms\n", what, ms(times[len(times)/2]), ms(times[len(times)*95/100]))
	return times[len(times)/2]
}
