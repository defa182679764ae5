package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// stopTime bounds the request that stops the server's answer. It is part of unwindTime.
const stopTime = 30 * time.Millisecond

type askOptions struct {
	searchOptions        // of which ask has only the agent
	Prompt        string `flag:"prompt" usage:"the question (<TEXT>), in place of the argument"`
	Session       string `flag:"session" usage:"continue the conversation with this <ID> (see --json)"`
}

func (a *app) askCommand() *cobra.Command {
	options := &askOptions{}
	is := traits{class: reads, guests: true, arguments: cobra.NoFileCompletions, json: askSchemas}
	command := a.targetCommand("ask QUESTION…", "Answer a question from the search results", is,
		func(ctx context.Context, choice target.Choice, arguments []string) {
			a.ask(ctx, choice, arguments, options)
		})
	flags := command.Flags()
	options.given = flags.Changed
	agentFlags(flags, &options.searchOptions, "ask")
	bindFlags(flags, options)
	return command
}

// conversation is a question and the chat session it belongs to.
type conversation struct {
	question  string
	choice    target.Choice
	session   string // as far as it is known
	incognito bool   // as the server confirmed
}

// answerPrinter prints an answer as it comes.
type answerPrinter interface {
	packet(wire.ChatPacket)
	// end prints what is left, also of an answer that failed or was given up.
	end(answer *wire.ChatAnswer, failure error)
}

func (a *app) ask(ctx context.Context, choice target.Choice, arguments []string, options *askOptions) {
	if options.given("prompt") && len(arguments) > 0 {
		refuse("Give only one of them.", "the question is given twice: as an argument and with --prompt")
	}
	words, piped := a.question(ctx, arguments, options)
	message, search := a.planAsk(words, piped, options, choice)
	a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) {
		checks := a.checkFilters(ctx, c, search, choice)
		request := chatRequest(message, options.Session, search[0].request, a.private())
		a.noteIgnored(ctx, c, request.Filters)
		defer a.removeOldCopies()
		about := &conversation{question: cmp.Or(words, piped), choice: choice, session: options.Session}
		err := a.streamAnswer(ctx, c, request, about)
		a.noteAfter(ctx, checks, request, about)
		guard.Check(err)
	})
}

// streamAnswer asks the question and prints the answer as it comes.
func (a *app) streamAnswer(ctx context.Context, c *client.Client, request wire.ChatRequest, about *conversation) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	status := &statusLine{app: a}
	var printer answerPrinter = a.newAskText(about)
	if a.flags.JSON {
		printer = &askJSON{about, a.newCutEvents()}
	}
	var unprintable error
	answer, err := c.Ask(ctx, request, func(packet wire.ChatPacket) {
		if packet.Type == wire.ChatSessionCreated {
			about.session, about.incognito = packet.SessionID, packet.Incognito
		}
		status.follow(packet)
		if unprintable == nil {
			if unprintable = guard.Ended(func() { printer.packet(packet) }); unprintable != nil {
				giveUp() // nobody reads on
			}
		}
	})
	status.end()
	if client.KindOf(err) == client.Canceled && err != nil {
		c.StopAnswer(ctx, about.session, stopTime)
	}
	if unprintable == nil && answer != nil {
		unprintable = guard.Ended(func() { printer.end(answer, err) })
	}
	if unprintable != nil {
		return unprintable
	}
	return a.askFailure(err, about)
}

// askFailure explains an error, and offers the search where no model answers.
func (a *app) askFailure(err error, about *conversation) error {
	reply, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	instead := "quarry search " + config.ShellQuote(firstLine(about.question)) + a.targetFlags()
	plainly := instead + " --no-query-expansion --no-document-selection"
	failure := &Failure{What: text.OneLine(err.Error()), Err: err}
	switch {
	case reply.Kind == client.BadRequest && strings.Contains(reply.Reason, "No default LLM model"):
		failure.Code, failure.What = ExitUsage, "the server has no language model"
		failure.Do = "Ask the administrator to configure one, or search: " + instead
		if reply.Local {
			failure.Code, failure.What = ExitNotConfigured, "no language model is configured"
			failure.Do = "Set llm in the configuration (docs/models.md), or search: " + instead
		}
	case isUsedUp(reply):
		failure.Code, failure.Do = ExitRateLimited, "Ask after midnight UTC, or search without the model: "+plainly
	// Within the answer: the model failed.
	case reply.Status == 0 && reply.Code != "" && reply.Kind != client.Canceled && reply.Kind != client.Auth &&
		reply.Kind != client.NotAvailable:
		failure.Code, failure.Do = exitCodeOfKind(reply.Kind), "search without the model: "+plainly
		if remedy, _, _ := strings.Cut(reply.Remedy(), "; quarry search needs none"); remedy != "" {
			failure.Do = remedy + "; or " + failure.Do
		}
	case reply.Status == http.StatusNotFound && reply.Code == "" && strings.EqualFold(reply.Reason, "Not Found"):
		failure.Code, failure.What, failure.Do = ExitNotAvailable, "this server cannot answer questions",
			"Search instead: "+instead+"; if that finds no route either, correct api_prefix"
	default:
		return err
	}
	return failure
}

// isUsedUp reports whether the day's budget of a language model is used up, before the answer or while it was written.
func isUsedUp(reply *client.Error) bool {
	return reply.Code == "BUDGET_EXCEEDED" ||
		reply.Status == http.StatusTooManyRequests && strings.Contains(reply.Reason, "budget of language model")
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

// question returns the words of the question and the piped input.
func (a *app) question(ctx context.Context, arguments []string, options *askOptions) (words, piped string) {
	words = strings.Join(arguments, " ")
	if options.given("prompt") {
		words = options.Prompt
	}
	if words == "-" {
		words = ""
	}
	words = strings.TrimSpace(words)
	if !a.io.InTTY && a.io.In != nil {
		piped = strings.TrimSpace(guard.Must(a.piped(ctx)))
	}
	switch {
	case words == "" && piped == "":
		refuse(`Example: quarry ask "how do we roll back a deploy?"`, "no question")
	case !utf8.ValidString(words) || !utf8.ValidString(piped):
		refuse("Use UTF-8; add files with quarry add FILE", "the question is not valid UTF-8")
	}
	return words, piped
}

// planAsk returns the message and, as for what is checked as it is for a search, its only query. It takes the filters
// out of the words, as search does. What is piped in is text, whatever it looks like, and stands behind a blank line.
func (a *app) planAsk(words, piped string, options *askOptions,
	choice target.Choice) (message string, search []plannedQuery) {
	parsed := client.ParseQuery(words, a.now())
	if piped == "" {
		requireWords(parsed, words)
	}
	if options.Session != "" {
		if parsed.Agent != "" {
			refuse("Omit the agent: a conversation keeps its own.", "--session and agent: exclude each other")
		}
		choice.Agent = wire.Agent{}
	}
	planned := a.planQuery(parsed, words, a.flagRequest(&options.searchOptions), &options.searchOptions, choice)
	message = words
	if len(parsed.Chips) > 0 {
		message = parsed.WithoutFilters()
	}
	if message != "" && piped != "" {
		message += "\n\n"
	}
	return message + piped, []plannedQuery{planned}
}

// chatRequest is the question, in a session or as the first of a new one.
func chatRequest(message, session string, search wire.SearchRequest, incognito bool) wire.ChatRequest {
	request := wire.ChatRequest{Message: message, ChatSessionID: session}
	if session == "" {
		request.ChatSessionInfo = &wire.ChatSessionInfo{Incognito: incognito}
		if search.PersonaID != nil {
			request.ChatSessionInfo.PersonaID = *search.PersonaID
		}
	}
	request.Filters = client.ChatFilters(search)
	return request
}

// noteIgnored notes filters that the server ignores.
func (a *app) noteIgnored(ctx context.Context, c *client.Client, filters *wire.ChatFilters) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	for _, note := range c.IgnoredInChat(ctx, filters) {
		a.note("%s", note.Text)
	}
}

// noteAfter prints the notes that belong to an answer.
func (a *app) noteAfter(ctx context.Context, checks *filterCheck, request wire.ChatRequest, about *conversation) {
	if info := request.ChatSessionInfo; info != nil && info.Incognito && about.session != "" && !about.incognito {
		a.note("private is set, but this server keeps the conversation (%s)", about.session)
	}
	if len(checks.wanted) == 0 {
		return
	}
	outcomes := []outcome{{response: &wire.SearchResponse{}}}
	checks.annotate(ctx, outcomes)
	for _, note := range outcomes[0].response.Notes {
		a.note("%s", note.Text)
	}
}

// requireWords refuses a text in which there is nothing to search for.
func requireWords(parsed client.Query, text string) {
	switch {
	case parsed.HasWords():
		return
	case len(parsed.Chips) > 0:
		refuse("Add words to search for.", "%q has filters but no words", text)
	case len(parsed.Exclude) > 0:
		refuse("Add words to search for.", "%q only excludes words", text)
	}
	refuse(`Example: quarry search "how do we roll back a deploy"`, "%q has no words to search for", text)
}

const (
	maxPiped = 10 << 20 // bytes
	pipeWait = 2 * time.Second
)

// piped reads standard input to its end. A pipe that says nothing for a while is passed over, so that a command in a
// script never hangs on one that nobody closes.
func (a *app) piped(ctx context.Context) (string, error) {
	var content []byte
	begun, done := make(chan struct{}), make(chan error, 1)
	guard.Go(func() {
		var err error
		content, err = readPiped(a.io.In, begun)
		done <- err
	}, func(err error) { done <- err })
	timer := time.NewTimer(pipeWait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-begun:
			begun = nil // there is something: it may take its time
			timer.Stop()
		case <-timer.C:
			a.note("standard input sent nothing for %s; ignored (close it with < /dev/null)", pipeWait)
			return "", nil
		case err := <-done:
			switch {
			case err != nil:
				return "", fmt.Errorf("read standard input: %w", err)
			case len(content) > maxPiped:
				return "", usage("Send less, or index the file: quarry add FILE", "standard input is larger than 10 MB")
			}
			return string(content), nil
		}
	}
}

// readPiped reads at most one byte more than is allowed. It closes begun after the first byte.
func readPiped(from io.Reader, begun chan<- struct{}) ([]byte, error) {
	reader := bufio.NewReader(io.LimitReader(from, maxPiped+1))
	if _, err := reader.Peek(1); err == nil {
		close(begun)
	}
	return io.ReadAll(reader)
}
