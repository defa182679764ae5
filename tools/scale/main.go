// Scale runs a command beside servers of its own: PostgreSQL, whose database QUARRY_POSTGRES names in the command's
// environment, and Weaviate, whose address QUARRY_WEAVIATE is. Both start empty and end with the command, in a network
// that nothing else on the machine reaches. QUARRY_WEAVIATE_BIN is the path of weaviate-server.
//
//	scale [-nodes N] COMMAND [ARGUMENT…]
//
// As a test binary is such a command, it serves as the -exec of go test: go test -exec "scale -nodes 3" PACKAGE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"quarry/internal/testkit/scaletest"
)

func main() {
	log.SetFlags(0)
	nodes := flag.Int("nodes", 1, "nodes of Weaviate; 0: none")
	postgres := flag.Bool("postgres", true, "start PostgreSQL")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: scale [-nodes N] [-postgres=false] COMMAND [ARGUMENT…]")
	}
	code, isolated, err := scaletest.Isolate()
	if err == nil && isolated {
		code, err = run(*nodes, *postgres, flag.Args())
	}
	if err != nil {
		log.Print("scale: ", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run starts the servers and the command, and returns its exit code.
func run(nodes int, postgres bool, command []string) (code int, failed error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	environment := os.Environ()
	if postgres {
		server, err := scaletest.StartPostgres(ctx)
		if err != nil {
			return 1, err
		}
		defer func() { failed = errors.Join(failed, server.Stop()) }()
		environment = append(environment, "QUARRY_POSTGRES="+server.URL)
	}
	if nodes > 0 {
		cluster, err := scaletest.StartWeaviate(ctx, nodes)
		if err != nil {
			return 1, err
		}
		defer func() { failed = errors.Join(failed, cluster.Stop()) }()
		environment = append(environment, "QUARRY_WEAVIATE="+cluster.URL())
	}
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr, child.Env = os.Stdin, os.Stdout, os.Stderr, environment
	err := child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(1, exit.ExitCode()), nil
	}
	if err != nil {
		return 1, fmt.Errorf("run %s: %w", command[0], err)
	}
	return 0, nil
}
