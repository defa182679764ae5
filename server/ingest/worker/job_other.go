//go:build !windows

package worker

import "os"

func confine(*os.Process) (release func()) { return func() {} }
