package worker

import (
	"errors"
	"os"
)

// connect returns our ends of the pipes to a process, and those of the process.
func connect() (in, out, stdin, stdout *os.File, err error) {
	stdin, in, err = os.Pipe()
	if err == nil {
		if out, stdout, err = os.Pipe(); err != nil {
			err = errors.Join(err, in.Close(), stdin.Close())
		}
	}
	return in, out, stdin, stdout, err
}
