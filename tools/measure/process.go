package measure

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Memory is what a process holds, and the most that it has held, in megabytes.
type Memory struct{ Resident, Anonymous, Peak float64 }

// MemoryOf reads the memory of a process from /proc.
func MemoryOf(pid int) (Memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of the program: %w", err)
	}
	var m Memory
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			m.Resident = kilobytes / 1024
		case "VmHWM:":
			m.Peak = kilobytes / 1024
		case "RssAnon:":
			m.Anonymous = kilobytes / 1024
		}
	}
	return m, nil
}

// FilesOf counts the open files of a process, connections among them.
func FilesOf(pid int) (int, error) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, fmt.Errorf("read the open files of the program: %w", err)
	}
	return len(files), nil
}

// RunningOf is the time that the threads of a process have been running, as the scheduler counts it: the ticks of CPUOf
// are too coarse for a program that idles.
func RunningOf(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("read the time of the program: no threads of %d", pid)
	}
	var total time.Duration
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // a thread that has just ended
		}
		if fields := strings.Fields(string(stat)); len(fields) > 0 {
			nanoseconds, _ := strconv.ParseInt(fields[0], 10, 64)
			total += time.Duration(nanoseconds)
		}
	}
	return total, nil
}

// tick is the unit of /proc.
const tick = 10 * time.Millisecond

// Busy is the time that the machine's processors were not free; 0 where the system does not tell.
func Busy() time.Duration {
	const idle, waiting = 4, 5 // the fields that are free time
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	sum := 0
	for i, field := range strings.Fields(first) {
		if i == 0 || i == idle || i == waiting || i > 8 { // guests are counted in what comes before
			continue
		}
		ticks, _ := strconv.Atoi(field)
		sum += ticks
	}
	return time.Duration(sum) * tick
}

// CPUOf is the time that a process has computed; 0 where the system does not tell.
func CPUOf(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // after the name, which may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// FolderBytes returns the sum of the sizes of all files below a folder.
func FolderBytes(folder string) (sum int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
