//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memory is what a process holds, in megabytes.
type memory struct{ resident, anonymous float64 }

// memoryOf reads the memory of a process from /proc.
func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, fmt.Errorf("read the memory of the program: %w", err)
	}
	var m memory
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			m.resident = kilobytes / 1024
		case "RssAnon:":
			m.anonymous = kilobytes / 1024
		}
	}
	return m, nil
}

// cpuOf is the time that the threads of a process have been running, as the scheduler counts it: the clock ticks of
// /proc/PID/stat are too coarse for a program that idles.
func cpuOf(pid int) (time.Duration, error) {
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
