package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/ui/target"
)

// askPlan is a question with what narrows the search for its answer.
type askPlan struct {
	message string
	search  []plannedQuery // one, for what is checked as it is for a search
}

// question returns the words of the question and the piped input.
func (a *app) question(ctx context.Context, arguments []string, options *askOptions) (words, piped string, err error) {
	words = strings.Join(arguments, " ")
	if options.given("prompt") {
		words = options.prompt
	}
	if words == "-" {
		words = ""
	}
	words = strings.TrimSpace(words)
	if !a.io.InTTY && a.io.In != nil {
		if piped, err = a.piped(ctx); err != nil {
			return "", "", err
		}
		piped = strings.TrimSpace(piped)
	}
	switch {
	case words == "" && piped == "":
		return "", "", usage(`Example: quarry ask "how do we roll back a deploy?"`, "no question")
	case !utf8.ValidString(words) || !utf8.ValidString(piped):
		return "", "", usage("Use UTF-8; add files with quarry add FILE", "the question is not valid UTF-8")
	}
	return words, piped, nil
}

// planAsk takes the filters out of the words, as search does. What is piped in is text, whatever it looks like, and
// stands behind a blank line.
func (a *app) planAsk(words, piped string, options *askOptions, choice target.Choice) (askPlan, error) {
	parsed := client.ParseQuery(words, a.now())
	if piped == "" {
		if err := requireWords(parsed, words); err != nil {
			return askPlan{}, err
		}
	}
	if options.session != "" {
		if parsed.Agent != "" {
			return askPlan{}, usage("Omit the agent: a conversation keeps its own.", "--session and agent: exclude each other")
		}
		choice.Agent = config.Agent{}
	}
	flags, err := a.flagRequest(&options.searchOptions)
	if err != nil {
		return askPlan{}, err
	}
	planned, err := a.planQuery(parsed, words, flags, &options.searchOptions, choice)
	if err != nil {
		return askPlan{}, err
	}
	message := words
	if len(parsed.Chips) > 0 {
		message = parsed.WithoutFilters()
	}
	if message != "" && piped != "" {
		message += "\n\n"
	}
	return askPlan{message: message + piped, search: []plannedQuery{planned}}, nil
}

// request is the question, in a session or as the first of a new one.
func (p askPlan) request(session string, incognito bool) wire.ChatRequest {
	search := p.search[0].request
	request := wire.ChatRequest{Message: p.message, ChatSessionID: session}
	if session == "" {
		request.ChatSessionInfo = &wire.ChatSessionInfo{Incognito: incognito}
		if search.PersonaID != nil {
			request.ChatSessionInfo.PersonaID = *search.PersonaID
		}
	}
	if filters := client.ChatFilters(search); !filters.Empty() {
		request.Filters = filters
	}
	return request
}

// noteIgnored notes filters that the server ignores.
func (a *app) noteIgnored(ctx context.Context, c *client.Client, filters *wire.ChatFilters) {
	if filters == nil || len(filters.Authors)+len(filters.DocumentTypes)+len(filters.Phrases)+len(filters.Exclude) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	features, err := c.Features(ctx)
	if err != nil {
		return // asking the question reports the error
	}
	for _, note := range client.IgnoredInChat(features, filters) {
		a.note("%s", note.Text)
	}
}

// noteAfter prints the notes that belong to an answer.
func (a *app) noteAfter(ctx context.Context, checks *filterCheck, request wire.ChatRequest, about *asked) {
	if info := request.ChatSessionInfo; info != nil && info.Incognito && about.session != "" && !about.incognito {
		a.note("private is set, but this server keeps the conversation (%s)", about.session)
	}
	if len(checks.wanted) == 0 {
		return
	}
	told := []outcome{{response: &wire.SearchResponse{}}}
	checks.annotate(ctx, told)
	for _, note := range told[0].response.Notes {
		a.note("%s", note.Text)
	}
}

// requireWords refuses a text in which there is nothing to search for.
func requireWords(parsed client.Query, text string) error {
	switch {
	case parsed.HasWords():
		return nil
	case len(parsed.Chips)+len(parsed.Exclude) > 0:
		return usage("Add words to search for.", "%q has filters but no words", text)
	}
	return usage(`Example: quarry search "how do we roll back a deploy"`, "%q has no words to search for", text)
}

const (
	maxPiped = 10 << 20 // bytes
	pipeWait = 2 * time.Second
)

// piped reads standard input to its end. A pipe that says nothing for a while is passed over, so that a command in a
// script never hangs on one that nobody closes.
func (a *app) piped(ctx context.Context) (string, error) {
	type read struct {
		text []byte
		err  error
	}
	begun, done := make(chan struct{}), make(chan read, 1)
	guard.Go(func() {
		text, err := readPiped(a.io.In, begun)
		done <- read{text, err}
	}, func(err error) { done <- read{err: err} })
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
		case got := <-done:
			switch {
			case got.err != nil:
				return "", fmt.Errorf("read standard input: %w", got.err)
			case len(got.text) > maxPiped:
				return "", usage("Send less, or index the file: quarry add FILE", "standard input is larger than 10 MB")
			}
			return string(got.text), nil
		}
	}
}

// readPiped reads at most one byte more than is allowed. It closes begun after the first byte.
func readPiped(from io.Reader, begun chan<- struct{}) ([]byte, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(from, first); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	close(begun)
	rest, err := io.ReadAll(io.LimitReader(from, maxPiped))
	return append(first, rest...), err
}
