//go:build !linux

package scaletest

import (
	"errors"
	"os/exec"
)

// Isolated reports whether this process has a network of its own, which only Linux has.
func Isolated() bool { return false }

// Isolate fails: a process cannot have a network of its own here.
func Isolate() (code int, isolated bool, err error) {
	return 1, false, errors.New("the tests of distributed libraries need the network namespaces of Linux")
}

func dieWithParent(*exec.Cmd) {}

func asUser(*exec.Cmd, int, int) {}
