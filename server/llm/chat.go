package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sashabaranov/go-openai"

	"quarry/client/wire"
	"quarry/internal/guard"
)

const (
	// temperature is close to 0, so that the same question is understood the same way each time. The library omits 0.
	temperature = 0.01
	// thinkingRoom is added to the limit of replies for models that count thinking as part of the reply.
	thinkingRoom = 2048 // tokens
)

// chat is one model of a provider.
type chat struct {
	*endpoint
	model       string
	unsupported atomic.Uint32 // parameters that the server refused so far
}

// Parameters that some models refuse.
const (
	noTemperature   uint32 = 1 << iota // temperature
	completionBound                    // max_tokens: the model wants max_completion_tokens, which includes thinking
	noStreamUsage                      // stream_options with include_usage
)

// Name implements Chat.
func (c *chat) Name() string { return c.name + "/" + c.model }

// Complete implements Chat.
func (c *chat) Complete(ctx context.Context, request Request) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	text, usage := "", Usage{}
	attempts, err := c.call(ctx, func(ctx context.Context) error {
		return c.withFallbacks(request, false, func(form openai.ChatCompletionRequest) error {
			answer, err := c.client.CreateChatCompletion(ctx, form)
			if err != nil {
				return err
			}
			if len(answer.Choices) > 0 {
				text = answer.Choices[0].Message.Content
			}
			usage = usageOf(&answer.Usage)
			return nil
		})
	})
	usage = withEstimates(usage, attempts, request, text, err)
	if err != nil {
		return Reply{Usage: usage}, err
	}
	if text = withoutThinking(text); strings.TrimSpace(text) == "" {
		return Reply{Usage: usage}, c.failed(ErrUnusable, "it is empty")
	}
	return Reply{Text: text, Usage: usage}, nil
}

// withFallbacks sends a request, again without a parameter that the server refused.
func (c *chat) withFallbacks(request Request, stream bool, send func(openai.ChatCompletionRequest) error) error {
	for {
		omitted := c.unsupported.Load()
		err := send(c.requestFor(request, stream, omitted))
		refused := refusedParameter(err)
		if refused == 0 || omitted&refused != 0 {
			return err
		}
		c.unsupported.Or(refused)
	}
}

// requestFor returns the request in the library's form.
func (c *chat) requestFor(request Request, stream bool, omitted uint32) openai.ChatCompletionRequest {
	form := openai.ChatCompletionRequest{Model: c.model, Stream: stream}
	for _, m := range request.Messages {
		form.Messages = append(form.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	if omitted&noTemperature == 0 {
		form.Temperature = temperature
	}
	switch {
	case request.MaxTokens <= 0:
	case omitted&completionBound == 0:
		//lint:ignore SA1019 Ollama and older servers know no other name for it
		form.MaxTokens = request.MaxTokens
	default:
		form.MaxCompletionTokens = request.MaxTokens + thinkingRoom
	}
	if stream && omitted&noStreamUsage == 0 {
		form.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return form
}

// refusedParameter returns the parameter that a request was refused for, or 0.
func refusedParameter(err error) uint32 {
	var refused *Error
	switch {
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated):
		return completionBound
	case errors.Is(err, openai.ErrReasoningModelLimitationsOther), errors.Is(err, openai.ErrReasoningSamplingUnsupported):
		return noTemperature
	case !errors.As(err, &refused):
		return 0
	case refused.Status != http.StatusBadRequest && refused.Status != http.StatusUnprocessableEntity:
		return 0
	case strings.Contains(refused.Message, "max_completion_tokens"):
		return completionBound
	case strings.Contains(refused.Message, "temperature"):
		return noTemperature
	case strings.Contains(refused.Message, "stream_options"):
		return noStreamUsage
	}
	return 0
}

// mostTokens is more than one call can use: greater counts are ignored.
const mostTokens = 10_000_000

func usageOf(sent *openai.Usage) Usage {
	if sent == nil {
		return Usage{}
	}
	believable := func(n int) int {
		if n < 0 || n > mostTokens {
			return 0
		}
		return n
	}
	return Usage{Prompt: believable(sent.PromptTokens), Completion: believable(sent.CompletionTokens)}
}

// withEstimates fills in what the server did not report: a quarter of the bytes of the prompt and of the reply. Calls
// that were refused cost nothing; calls that broke off cost the prompt and the reply so far.
func withEstimates(usage Usage, attempts int, request Request, text string, err error) Usage {
	usage.Calls = attempts
	if attempts == 0 || errors.Is(err, ErrBusy) || errors.Is(err, ErrRefused) || errors.Is(err, ErrUnavailable) {
		return Usage{Calls: attempts}
	}
	if usage.Prompt == 0 {
		for _, m := range request.Messages {
			usage.Prompt += estimate(m.Content)
		}
	}
	if usage.Completion == 0 {
		usage.Completion = estimate(text)
	}
	return usage
}

// estimate returns a rough count of tokens.
func estimate(text string) int { return (len(text) + 3) / 4 }

// lastEvents bounds the wait for the end of a stream whose reply is complete.
const lastEvents = time.Second

// Stream implements Chat.
func (c *chat) Stream(ctx context.Context, request Request, delta func(string) error) (Reply, error) {
	limited, cancel := context.WithTimeout(ctx, c.config.StreamTimeout)
	defer cancel()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	s := &streamed{delta: delta, pause: c.config.Pause, stop: stop}
	attempts, err := c.call(limited, func(ctx context.Context) error {
		return c.withFallbacks(request, true, func(form openai.ChatCompletionRequest) error {
			events, err := c.client.CreateChatCompletionStream(ctx, form)
			if err != nil {
				return err
			}
			defer func() { _ = events.Close() }() // nothing was written
			return s.receive(events)
		})
	})
	usage := withEstimates(s.usage, attempts, request, s.raw.String(), err)
	text := s.text.String()
	switch {
	case s.refused != nil:
		err = s.refused
	case err == nil && strings.TrimSpace(text) == "":
		err = c.failed(ErrUnusable, "it is empty")
	}
	return Reply{Text: text, Usage: usage}, err
}

// streamed is the state of a streamed reply.
type streamed struct {
	delta func(string) error
	pause time.Duration
	stop  context.CancelCauseFunc

	thinking thinking
	raw      strings.Builder // everything received
	text     strings.Builder // passed to delta
	usage    Usage
	finished bool  // the reply is complete
	refused  error // returned by delta
}

var errRefusedByCaller = errors.New("canceled by the caller")

// receive reads events to their end.
func (s *streamed) receive(events *openai.ChatCompletionStream) error {
	var watch *time.Timer // starts with the first piece: before it, a model reads the prompt, which takes time
	for {
		var event openai.ChatCompletionStreamResponse
		line, err := events.RecvRaw()
		if err == nil {
			err = wire.Unmarshal(line, &event)
		}
		if watch == nil {
			watch = time.AfterFunc(s.pause, guard.Func(func() { s.stop(errPaused) }, s.stop))
			defer watch.Stop()
		}
		switch {
		case err != nil && s.finished: // the text is complete; at worst the usage is missing
			return s.emit(s.thinking.rest())
		case err != nil:
			return streamError(err)
		}
		if event.Usage != nil {
			s.usage = usageOf(event.Usage)
		}
		if err := s.handleChoices(event.Choices); err != nil {
			return err
		}
		watch.Reset(s.pause)
		if s.finished {
			watch.Reset(min(s.pause, lastEvents))
		}
	}
}

// handleChoices handles the pieces of one event. Only the first of several replies is used.
func (s *streamed) handleChoices(choices []openai.ChatCompletionStreamChoice) error {
	for _, choice := range choices {
		if choice.Index != 0 {
			continue
		}
		s.raw.WriteString(choice.Delta.Content)
		if s.raw.Len() > maxReply {
			return tooLarge()
		}
		if err := s.emit(s.thinking.pass(choice.Delta.Content)); err != nil {
			return err
		}
		s.finished = s.finished || choice.FinishReason != ""
	}
	return nil
}

// emit passes a piece to the caller.
func (s *streamed) emit(piece string) error {
	if piece == "" {
		return nil
	}
	s.text.WriteString(piece)
	if s.refused = s.delta(piece); s.refused != nil {
		return errRefusedByCaller
	}
	return nil
}

// streamError distinguishes an early end from malformed events.
func streamError(err error) error {
	var sent *openai.APIError
	switch {
	case errors.As(err, &sent): // the server's message may contain the key, which is not known here
		return &Error{Kind: ErrUnavailable, Message: "it failed while answering"}
	case isTooLarge(err):
		return tooLarge()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Kind: ErrUnusable, Message: "it was cut off"}
	}
	return err
}

// Some models write their thinking before the reply, between these tags, unless the server removes it.
const (
	thinkingBegins = "<think>"
	thinkingEnds   = "</think>"
)

// thinking removes a model's thinking from its reply, however the reply is split into pieces. The zero value is ready.
type thinking struct {
	held  string // not known to be part of the reply yet; of thinking, only the tags and what may be the end of one
	reply bool   // everything that follows is part of it
}

// pass reads the next piece and returns what is known to belong to the reply.
func (t *thinking) pass(piece string) string {
	if t.reply {
		return piece
	}
	t.held += piece
	text := trimSpace(t.held)
	inside, thinks := strings.CutPrefix(text, thinkingBegins)
	if !thinks {
		if strings.HasPrefix(thinkingBegins, text) {
			return ""
		}
		return t.all()
	}
	_, after, ended := strings.Cut(inside, thinkingEnds)
	if !ended {
		t.held = thinkingBegins + inside[max(0, len(inside)-len(thinkingEnds)+1):]
		return ""
	}
	if t.held = trimSpace(after); t.held == "" {
		t.held = thinkingBegins + thinkingEnds
		return ""
	}
	return t.all()
}

// rest returns the pending text at the end. Unfinished thinking is no reply.
func (t *thinking) rest() string {
	if strings.HasPrefix(trimSpace(t.held), thinkingBegins) {
		return ""
	}
	return t.all()
}

func (t *thinking) all() string {
	text := t.held
	t.reply, t.held = true, ""
	return text
}

func trimSpace(text string) string { return strings.TrimLeft(text, " \t\r\n") }

// withoutThinking removes the thinking from a complete reply.
func withoutThinking(text string) string {
	var t thinking
	return t.pass(text) + t.rest()
}
