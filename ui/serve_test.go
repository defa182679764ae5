package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestTheLogInJSON: a collector of logs reads each line by itself, from the first to the last.
func TestTheLogInJSON(t *testing.T) {
	p := newPerson(t)
	p.run(0, "add", filepath.Dir(p.write("notes/deploy.md", "# Deploying\n\nWe roll back with deployctl rollback.\n")))
	log, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, Process{In: written, Out: written, Err: written, Env: p.env, Version: "1.2.3",
			Arguments: []string{"serve", "--json", "--http", "127.0.0.1:0"}})
		written.Close()
	}()
	var said []string
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, Address string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Address == "" {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		said = append(said, line.Msg)
		stop()
	}
	if code := <-ended; code != 0 || len(said) != 2 || said[0] != "listening" || said[1] != "stopping" {
		t.Errorf("exit code %d, said %v", code, said)
	}
}
