// Command quarry searches company knowledge: an Onyx server, or files on this machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"quarry/server/encoder/builtin"
	"quarry/ui"
)

// version is set by the linker.
var version = "development"

func main() {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		ending = append(ending, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	defer stop()
	// A reader that closes the pipe must end a write with an error, not end the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	executable, _ := os.Executable() // without it, PDF files are skipped with a reason
	os.Exit(ui.Run(ctx, ui.Process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Arguments: os.Args[1:], Env: os.Environ(), Version: version,
		Commit: buildSetting("vcs.revision"), Date: buildSetting("vcs.time"), Executable: executable,
		Model: builtin.Model(),
	}))
}

// buildSetting returns what the Go toolchain recorded under key, or "" if it recorded nothing.
func buildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
