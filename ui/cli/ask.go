package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/ui/target"
)

// stopTime is how long an interrupted command tries to tell the server to stop. It is part of unwindTime.
const stopTime = 30 * time.Millisecond

type askOptions struct {
	prompt        string
	agentID       int
	agentIDGiven  bool
	agent         string
	session       string
	promptIsGiven bool
}

func (a *app) askCommand() *cobra.Command {
	options := &askOptions{}
	command := &cobra.Command{
		Use:   "ask <question>",
		Short: "Answer a question from the search results",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			options.agentIDGiven = command.Flags().Changed("agent-id")
			options.promptIsGiven = command.Flags().Changed("prompt")
			return a.ask(command.Context(), arguments, options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.prompt, "prompt", "", "the question (`TEXT`), in place of the argument")
	flags.IntVar(&options.agentID, "agent-id", 0, "ask the agent with this number (`N`)")
	flags.StringVar(&options.agent, "agent", "", "ask the agent of this name (`NAME`)")
	flags.StringVar(&options.session, "session", "", "go on with the conversation of this `ID`, which --json tells")
	a.completeAskFlags(command)
	return command
}

// asked is a question that is being answered.
type asked struct {
	question  string
	choice    target.Choice
	session   string // as far as it is known
	incognito bool   // as far as the server told
}

// answerPrinter prints an answer as it comes.
type answerPrinter interface {
	packet(wire.ChatPacket) error
	// end prints what is left, also of an answer that failed or was given up.
	end(answer *wire.ChatAnswer, failure error) error
}

func (a *app) ask(ctx context.Context, arguments []string, options *askOptions) error {
	choice, err := a.decide()
	if err != nil {
		return err
	}
	if err := checkAskFlags(arguments, options); err != nil {
		return err
	}
	words, piped, err := a.question(ctx, arguments, options)
	if err != nil {
		return err
	}
	plan, err := a.planAsk(words, piped, options, choice)
	if err != nil {
		return err
	}
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	session, err := a.open(ctx, choice)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	checks, err := a.checkFilters(ctx, session.Client, plan.search, choice)
	if err != nil {
		return err
	}
	request := plan.request(options.session, a.private())
	a.noteIgnored(ctx, session.Client, request.Filters)
	defer a.forgetCopies()
	about := &asked{question: cmp.Or(words, piped), choice: choice, session: options.session}
	err = a.printAsked(ctx, session.Client, request, about)
	a.afterwards(ctx, checks, request, about)
	return err
}

// printAsked puts the question and prints the answer.
func (a *app) printAsked(ctx context.Context, c *client.Client, request wire.ChatRequest, about *asked) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	status := a.statusLine()
	var printer answerPrinter
	switch {
	case a.flags.json:
		printer = &askJSON{app: a, about: about, limit: a.askLimit()}
	default:
		printer = a.newAskText(about)
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
	status.clear()
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

// stopAnswer tells the server that nobody waits for the answer any more. It is not worth waiting for.
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
	var reply *client.Error
	if !errors.As(err, &reply) {
		return err
	}
	instead := "quarry search " + config.ShellQuote(firstLine(about.question)) + a.targetFlags()
	switch {
	case reply.Status == http.StatusBadRequest && strings.Contains(reply.Reason, "No default LLM model"):
		failure := &Failure{Code: ExitUsage, What: "the server has no language model that could answer", Err: err,
			Do: "Ask its administrator to configure one; the search works without: " + instead}
		if reply.Local {
			failure.Code, failure.What = ExitNotConfigured, "no language model is configured that could answer"
			failure.Do = "Name one under llm in the configuration (docs/models.md); the search works without: " + instead
		}
		return failure
	case usedUp(reply):
		return &Failure{Code: ExitRateLimited, What: oneLine(err.Error()), Err: err,
			Do: "Ask after midnight UTC; until then the search works without the model: " + instead +
				" --no-query-expansion --no-document-selection"}
	case reply.Status == 0 && reply.Code != "" && reply.Kind != client.Canceled: // told within the answer: the model failed
		return &Failure{Code: exitCodeOfKind(reply.Kind), What: oneLine(err.Error()), Err: err,
			Do: "Ask again later; the search works without the model: " + instead + " --no-query-expansion --no-document-selection"}
	case reply.Status == http.StatusNotFound && reply.Code == "" && strings.EqualFold(reply.Reason, "Not Found"):
		return &Failure{Code: ExitNotAvailable, What: "this server answers no questions", Do: "Search instead: " + instead,
			Err: err}
	}
	return err
}

// usedUp tells that the day's budget of a language model is used up, before the answer or while it was written.
func usedUp(reply *client.Error) bool {
	return reply.Code == "BUDGET_EXCEEDED" || reply.Status == http.StatusTooManyRequests && strings.Contains(reply.Reason, "budget of language model")
}

// firstLine is a question without what was piped in.
func firstLine(question string) string {
	const longest = 200
	line, _, _ := strings.Cut(strings.TrimSpace(question), "\n")
	if runes := []rune(line); len(runes) > longest {
		line = string(runes[:longest])
	}
	return strings.TrimSpace(line)
}

func checkAskFlags(arguments []string, options *askOptions) error {
	switch {
	case options.promptIsGiven && len(arguments) > 0:
		return usage("Give one of them.", "the question is given twice: as an argument and with --prompt")
	case options.agentIDGiven && options.agent != "":
		return usage("Give one of them.", "--agent and --agent-id exclude each other")
	case options.agentIDGiven && options.agentID < 0:
		return usage("quarry agents lists the numbers.", "--agent-id %d is not the number of an agent", options.agentID)
	case options.session != "" && (options.agentIDGiven || options.agent != ""):
		return usage("Leave the agent out: a conversation keeps its own.", "--session and an agent exclude each other")
	}
	return nil
}

// askLimit bounds lines of JSON only where that was asked for: each is whole by itself, and the answer comes last.
func (a *app) askLimit() int {
	if a.flags.maxOutput > 0 {
		return a.flags.maxOutput
	}
	return 0
}

// statusLine tells a person what is going on until the answer begins.
type statusLine struct {
	app   *app
	on    bool
	shown bool
	over  bool
}

func (a *app) statusLine() *statusLine {
	return &statusLine{app: a, on: a.io.ErrTTY && !a.flags.quiet && !a.io.isDumb()}
}

func (s *statusLine) follow(packet wire.ChatPacket) {
	switch packet.Type {
	case wire.ChatSearchStart:
		s.show("Searching…")
	case wire.ChatSearchQueries:
		s.show("Searching: " + strings.Join(packet.Queries, " · "))
	case wire.ChatSearchDocuments:
		if n := len(packet.Documents); n == 1 {
			s.show("Reading 1 document…")
		} else if n > 1 {
			s.show(fmt.Sprintf("Reading %d documents…", n))
		}
	case wire.ChatReasoningStart:
		s.show("Thinking…")
	case wire.ChatMessageDelta:
		s.clear()
		s.over = true
	}
}

func (s *statusLine) show(text string) {
	if !s.on || s.over {
		return
	}
	s.shown = true
	_, _ = fmt.Fprint(s.app.err, clearLine+s.app.errs().Muted.Render(ansi.Truncate(printable(oneLine(text)), max(1, s.app.io.columns()-1), "…")))
}

func (s *statusLine) clear() {
	if s.shown {
		s.shown = false
		_, _ = fmt.Fprint(s.app.err, clearLine)
	}
}
