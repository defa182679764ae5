// Inits measures what the packages linked into a binary do before main starts: every run of every command pays for it.
//
//	inits BINARY                 prints the slowest packages and the sum, in milliseconds (the least of ten runs)
//	inits -list FILE BINARY      fails when a package allocates more often than its line in FILE allows; packages
//	                             without a line may allocate 100 times
//	inits -write FILE BINARY     writes the list from what is seen now
//
// Times are for people; only the allocations are held to a list, because they do not depend on the machine.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	runs     = 10
	unlisted = 100 // allocations
	headroom = 4   // a written list allows a quarter more than was seen
)

// initialisation is what one package did.
type initialisation struct {
	name   string
	ms     float64
	allocs int
}

func main() {
	log.SetFlags(0)
	list := flag.String("list", "", "hold the allocations against this list")
	written := flag.String("write", "", "write the list")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: inits [-list FILE | -write FILE] BINARY")
	}
	packages, sum, err := measure(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	switch {
	case *written != "":
		err = write(*written, packages)
	case *list != "":
		err = check(*list, packages)
	default:
		print(packages, sum)
	}
	if err != nil {
		log.Fatal(err)
	}
}

var line = regexp.MustCompile(`^init (\S+) @\S+ ms, (\S+) ms clock, \d+ bytes, (\d+) allocs$`)

// measure traces the binary and keeps the run with the smallest sum.
func measure(binary string) (best []initialisation, sum float64, err error) {
	for i := range runs {
		command := exec.Command(binary, "help")
		command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var trace bytes.Buffer
		command.Stderr = &trace
		if err := command.Run(); err != nil {
			return nil, 0, fmt.Errorf("run %s: %w", binary, err)
		}
		packages, total := parse(trace.String())
		if len(packages) == 0 {
			return nil, 0, fmt.Errorf("%s printed no trace of its initialisation", binary)
		}
		if i == 0 || total < sum {
			best, sum = packages, total
		}
	}
	slices.SortFunc(best, func(a, b initialisation) int { return cmp.Compare(b.ms, a.ms) })
	return best, sum, nil
}

func parse(trace string) (packages []initialisation, sum float64) {
	for _, text := range strings.Split(trace, "\n") {
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		ms, _ := strconv.ParseFloat(m[2], 64) // the runtime's own format
		allocs, _ := strconv.Atoi(m[3])
		packages = append(packages, initialisation{m[1], ms, allocs})
		sum += ms
	}
	return packages, sum
}

func print(packages []initialisation, sum float64) {
	for _, p := range packages[:min(len(packages), 12)] {
		fmt.Printf("%8.2f ms %7d allocations  %s\n", p.ms, p.allocs, p.name)
	}
	fmt.Printf("%8.2f ms in all of %d packages (budget 20 ms)\n", sum, len(packages))
}

func check(path string, packages []initialisation) error {
	allowed, err := read(path)
	if err != nil {
		return err
	}
	var over []string
	for _, p := range packages {
		limit, listed := allowed[p.name]
		if !listed {
			limit = unlisted
		}
		if p.allocs > limit {
			over = append(over, fmt.Sprintf("%s allocates %d times at start, %s allows %d", p.name, p.allocs, path, limit))
		}
	}
	if over != nil {
		return fmt.Errorf("%s", strings.Join(over, "\n"))
	}
	fmt.Printf("the initialisation of %d packages stays within %s\n", len(packages), path)
	return nil
}

func read(path string) (map[string]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	allowed := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var name string
		var allocs int
		if _, err := fmt.Sscan(lines.Text(), &name, &allocs); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		allowed[name] = allocs
	}
	return allowed, nil
}

func write(path string, packages []initialisation) error {
	slices.SortFunc(packages, func(a, b initialisation) int { return cmp.Compare(a.name, b.name) })
	var text strings.Builder
	for _, p := range packages {
		if p.allocs > unlisted {
			fmt.Fprintf(&text, "%s %d\n", p.name, p.allocs+p.allocs/headroom)
		}
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
