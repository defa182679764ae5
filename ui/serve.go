package ui

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/internal/guard"
	"quarry/ui/mcp"
	"quarry/ui/ssh"
	"quarry/ui/target"
)

// hostKeyFile is the host key's in the data folder.
const hostKeyFile = "ssh_host_ed25519_key"

// serve answers the API, visitors over SSH, or both, until ctx ends. What fails ends the other, too.
func (r *run) serve(ctx context.Context, options target.ServeOptions) error {
	host, err := r.host()
	if err != nil {
		return err
	}
	host.Log = logger(options)
	host.MakeVectors()
	defer catchDefaultLog(host.Log)()
	if options.LogJSON { // every line is an object then, also that one
		options.Listening = func(at target.Listening) {
			attributes := []slog.Attr{slog.String("protocol", "http"), slog.String("address", at.Address)}
			if at.Fingerprint != "" {
				attributes = []slog.Attr{slog.String("protocol", "ssh"), slog.String("address", at.Address),
					slog.String("host_key", at.Fingerprint)}
			}
			host.Log.LogAttrs(ctx, slog.LevelInfo, "listening", attributes...)
		}
	}
	options.MCP = func(w http.ResponseWriter, request *http.Request, caller *client.Client) {
		mcp.ServeHTTP(w, request, mcp.Options{Client: caller, Version: r.process.Version,
			Guest: true, Connector: strings.HasSuffix(request.URL.Path, "/connector"),
			Broke: guard.Log(host.Log, "answer an agent")})
	}
	options.Request.Terminal = false // the sample library is served only if a flag asks for it
	served, err := host.OpenServed(ctx, options)
	if err != nil {
		return err
	}
	defer served.Close()
	// During the graceful shutdown a second Ctrl-C ends the program at once.
	hurry := context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	defer hurry()
	var listeners []func(context.Context) error
	if options.HTTP != "" {
		listeners = append(listeners, func(ctx context.Context) error {
			return served.ListenHTTP(ctx, options.HTTP,
				func(at net.Addr) { options.Listening(target.Listening{Address: at.String()}) })
		})
	}
	if options.SSH.Address != "" {
		visits := sshOptions(host, served, options)
		garbage := newGarbage()
		defer garbage.setVisitors(0)
		visits.Visitors = garbage.setVisitors
		visits.Version = r.process.Version
		listeners = append(listeners, func(ctx context.Context) error {
			if options.HTTP == "" { // which prepares by itself
				if err := served.Prepare(ctx); err != nil {
					return err
				}
			}
			return ssh.Serve(ctx, visits, func(address, fingerprint string) {
				options.Listening(target.Listening{Address: address, Fingerprint: fingerprint})
			})
		})
	}
	return runAll(ctx, listeners)
}

// runAll runs all functions until ctx ends or one fails.
func runAll(ctx context.Context, all []func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(all))
	for _, run := range all {
		guard.Go(func() {
			defer stop()
			ended <- run(ctx)
		}, func(err error) { ended <- err })
	}
	var failed []error
	for range all {
		failed = append(failed, <-ended)
	}
	return errors.Join(failed...)
}

// sshOptions are what the command line says, and where it says nothing the configuration.
func sshOptions(host *target.Host, served *target.Served, options target.ServeOptions) ssh.Options {
	asked, configured := options.SSH, host.Config.SSH
	if asked.Keys == "" && !asked.Token && !asked.Open {
		asked.Keys, asked.Token, asked.Open = configured.AuthorizedKeys, configured.Token, configured.Open
	}
	if asked.HostKey == "" {
		asked.HostKey = filepath.Join(host.Paths.Data, hostKeyFile)
	}
	visits := ssh.Options{
		SSHOptions: asked, People: served, Where: visitorsLabel(served), Agent: served.Choice.Agent, Log: host.Log,
		Meter: served.VisitMeter(), NoModel: withoutModel(host, served.Choice),
	}
	if served.Choice.Kind == target.KindSample {
		visits.Examples = sampleExamples()
	}
	return visits
}

// visitorsLabel names what is served for visitors over SSH.
func visitorsLabel(served *target.Served) string {
	switch served.Choice.Kind {
	case target.KindSample:
		return "the sample library"
	case target.KindRemote:
		return hostOf(served.Choice.ServerURL)
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		return "the library on " + name
	}
	return "this library"
}

// garbage decides how much of it may gather, in percent of what is in use, by how many visitors are in. What is in use
// by hundreds is mostly what their screens show; a small part of that is still room enough to work in, and much to
// save. With few of them it would be no room: a server that also answers searches over HTTP would be busy with nothing
// but collecting.
type garbage struct {
	mutex      sync.Mutex
	usual, now int // percent
}

func newGarbage() *garbage {
	usual := debug.SetGCPercent(100) // which is how it is asked for
	debug.SetGCPercent(usual)
	return &garbage{usual: usual, now: usual}
}

// percent that may gather among so many visitors.
func (g *garbage) percent(visitors int) int {
	most := g.usual
	switch {
	case visitors >= 100:
		most = 15
	case visitors >= 30:
		most = 50
	}
	return min(g.usual, most) // also if the operator turned collecting off, which is below 0
}

// setVisitors sets the percentage for a number of visitors. Setting it stops the program for a moment, so it is set
// only if it changes.
func (g *garbage) setVisitors(visitors int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if wanted := g.percent(visitors); wanted != g.now {
		debug.SetGCPercent(wanted)
		g.now = wanted
	}
}

// longestLogged bounds one text of a log line, in bytes; a stack of many frames fits.
const longestLogged = 16 << 10

// logger writes to standard error, where operators and service managers look for it.
func logger(options target.ServeOptions) *slog.Logger {
	handling := &slog.HandlerOptions{ReplaceAttr: printableAttr}
	switch {
	case options.Log == nil:
		return slog.New(slog.DiscardHandler)
	case options.LogJSON:
		return slog.New(slog.NewJSONHandler(options.Log, handling))
	}
	return slog.New(slog.NewTextHandler(options.Log, handling))
}

// catchDefaultLog sends what libraries write to the default loggers of slog and log to a logger, until undone.
func catchDefaultLog(to *slog.Logger) (undo func()) {
	before, writer, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(to)
	return func() {
		slog.SetDefault(before)
		log.SetOutput(writer)
		log.SetFlags(flags)
	}
}

// printableAttr makes every text of a log line printable, whoever sent it: requests, visitors' programs, files, errors
// and panics that quote them. slog applies it to all that is logged, the message included.
func printableAttr(_ []string, a slog.Attr) slog.Attr {
	a.Key = printable(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(printable(a.Value.String()))
	case slog.KindAny:
		switch value := a.Value.Any().(type) {
		case *slog.Source, slog.Level: // of the handler's own
		case []string:
			a.Value = slog.AnyValue(exslices.CastFunc(value, printable))
		default:
			a.Value = slog.StringValue(printable(fmt.Sprint(value)))
		}
	}
	return a
}

// printable writes what is not printable as an escape, so that a log can be read on a terminal and shows what was sent:
// control characters, among them those above ASCII, direction marks, invisible characters, and what is no UTF-8. Line
// ends and tabs stay: both formats escape them.
func printable(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		if b.Len()+width > longestLogged {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, text[at])
		case r == '\n', r == '\t', strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		at += width
	}
	return b.String()
}
