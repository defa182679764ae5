package ui

import (
	"fmt"
	"log"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/ui/target"
)

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
			texts := make([]string, len(value))
			for i, text := range value {
				texts[i] = printable(text)
			}
			a.Value = slog.AnyValue(texts)
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
