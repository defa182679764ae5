package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
	"quarry/ui/target"
)

// stopTime bounds the request that stops the server's answer. It is part of unwindTime.
const stopTime = 30 * time.Millisecond

type askOptions struct {
	searchOptions // of which ask has only the agent
	prompt        string
	session       string
}

func (a *app) askCommand() *cobra.Command {
	options := &askOptions{}
	command := a.targetCommand("ask QUESTION…", "Answer a question from the search results",
		func(ctx context.Context, choice target.Choice, arguments []string) error {
			return a.ask(ctx, choice, arguments, options)
		})
	flags := command.Flags()
	options.given = flags.Changed
	flags.StringVar(&options.prompt, "prompt", "", "the question (`TEXT`), in place of the argument")
	agentFlags(flags, &options.searchOptions, "ask")
	flags.StringVar(&options.session, "session", "", "continue the conversation with this `ID` (see --json)")
	a.completeAskFlags(command)
	return command
}

// asked is a question that is being answered.
type asked struct {
	question  string
	choice    target.Choice
	session   string // as far as it is known
	incognito bool   // as the server confirmed
}

// answerPrinter prints an answer as it comes.
type answerPrinter interface {
	packet(wire.ChatPacket) error
	// end prints what is left, also of an answer that failed or was given up.
	end(answer *wire.ChatAnswer, failure error) error
}

func (a *app) ask(ctx context.Context, choice target.Choice, arguments []string, options *askOptions) error {
	if options.given("prompt") && len(arguments) > 0 {
		return usage("Give only one of them.", "the question is given twice: as an argument and with --prompt")
	}
	words, piped, err := a.question(ctx, arguments, options)
	if err != nil {
		return err
	}
	plan, err := a.planAsk(words, piped, options, choice)
	if err != nil {
		return err
	}
	return a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) error {
		checks, err := a.checkFilters(ctx, c, plan.search, choice)
		if err != nil {
			return err
		}
		request := plan.request(options.session, a.private())
		a.noteIgnored(ctx, c, request.Filters)
		defer a.removeOldCopies()
		about := &asked{question: cmp.Or(words, piped), choice: choice, session: options.session}
		err = a.printAsked(ctx, c, request, about)
		a.noteAfter(ctx, checks, request, about)
		return err
	})
}

// printAsked puts the question and prints the answer.
func (a *app) printAsked(ctx context.Context, c *client.Client, request wire.ChatRequest, about *asked) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	status := &statusLine{app: a}
	var printer answerPrinter = a.newAskText(about)
	if a.flags.json { // a limit holds only if it was asked for: each line is whole by itself, and the answer comes last
		printer = &askJSON{app: a, about: about, limit: max(0, a.flags.maxOutput)}
	}
	var unprintable error
	answer, err := c.Ask(ctx, request, func(packet wire.ChatPacket) {
		if packet.Type == wire.ChatSessionCreated {
			about.session, about.incognito = packet.SessionID, packet.Incognito
		}
		status.follow(packet)
		if unprintable == nil {
			if unprintable = printer.packet(packet); unprintable != nil {
				giveUp() // nobody reads on
			}
		}
	})
	status.end()
	if client.KindOf(err) == client.Canceled && err != nil {
		a.stopAnswer(c, about.session)
	}
	if unprintable != nil {
		return unprintable
	}
	if answer != nil {
		if printed := printer.end(answer, err); printed != nil {
			return printed
		}
	}
	return a.askFailure(err, about)
}

// stopAnswer asks the server to stop the answer. Errors do not matter.
func (a *app) stopAnswer(c *client.Client, session string) {
	if session == "" || c.Local() { // in this process the answer has ended already
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = c.StopChat(ctx, session) // it notices by itself, too, when the connection is gone
}

// askFailure explains an error, and offers the search where no model answers.
func (a *app) askFailure(err error, about *asked) error {
	reply, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	instead := "quarry search " + config.ShellQuote(firstLine(about.question)) + a.targetFlags()
	plainly := instead + " --no-query-expansion --no-document-selection"
	failure := &Failure{What: text.OneLine(err.Error()), Err: err}
	switch {
	case reply.Status == http.StatusBadRequest && strings.Contains(reply.Reason, "No default LLM model"):
		failure.Code, failure.What = ExitUsage, "the server has no language model"
		failure.Do = "Ask the administrator to configure one, or search: " + instead
		if reply.Local {
			failure.Code, failure.What = ExitNotConfigured, "no language model is configured"
			failure.Do = "Set llm in the configuration (docs/models.md), or search: " + instead
		}
	case isUsedUp(reply):
		failure.Code, failure.Do = ExitRateLimited, "Ask after midnight UTC, or search without the model: "+plainly
	case reply.Status == 0 && reply.Code != "" && reply.Kind != client.Canceled: // within the answer: the model failed
		failure.Code, failure.Do = exitCodeOfKind(reply.Kind), "Ask again later, or search without the model: "+plainly
	case reply.Status == http.StatusNotFound && reply.Code == "" && strings.EqualFold(reply.Reason, "Not Found"):
		failure.Code, failure.What, failure.Do = ExitNotAvailable, "this server cannot answer questions", "Search instead: "+instead
	default:
		return err
	}
	return failure
}

// isUsedUp reports whether the day's budget of a language model is used up, before the answer or while it was written.
func isUsedUp(reply *client.Error) bool {
	return reply.Code == "BUDGET_EXCEEDED" || reply.Status == http.StatusTooManyRequests && strings.Contains(reply.Reason, "budget of language model")
}

// firstLine is a question without what was piped in.
func firstLine(question string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(question), "\n")
	runes := []rune(line)
	return strings.TrimSpace(string(runes[:min(len(runes), 200)]))
}

// follow says what is going on until the answer begins.
func (s *statusLine) follow(packet wire.ChatPacket) {
	switch packet.Type {
	case wire.ChatSearchStart:
		s.show("Searching…")
	case wire.ChatSearchQueries:
		s.show("Searching: " + strings.Join(packet.Queries, " · "))
	case wire.ChatSearchDocuments:
		if n := len(packet.Documents); n > 0 {
			s.show("Reading " + text.Count(n, "document") + "…")
		}
	case wire.ChatReasoningStart:
		s.show("Thinking…")
	case wire.ChatMessageDelta:
		s.end()
	}
}
