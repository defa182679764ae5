package llm

import (
	"bufio"
	"bytes"
	"cmp"
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
	// beginsThinking is set when a whole reply showed that the prompt begins the model's thinking.
	beginsThinking atomic.Bool
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
	text, usage, cut := "", Usage{}, ""
	attempts, err := c.call(ctx, func(ctx context.Context) error {
		return c.withFallbacks(request, false, func(form openai.ChatCompletionRequest) error {
			var got answer
			if err := c.fetch(ctx, chatPath, form, &got); err != nil {
				return err
			}
			if text = ""; len(got.Choices.value) > 0 {
				first := got.Choices.value[0].value
				text, cut = first.text(), first.FinishReason.cut()
			}
			usage = usageOf(got.Usage.value)
			return nil
		})
	})
	usage = withEstimates(usage, attempts, request, text, err)
	if err != nil {
		return Reply{Usage: usage}, err
	}
	text, isBegun := withoutThinking(text)
	if isBegun {
		c.beginsThinking.Store(true)
	}
	if strings.TrimSpace(text) == "" {
		return Reply{Usage: usage}, c.failed(ErrUnusable, "it is empty")
	}
	return Reply{Text: text, Usage: usage, Cut: cut}, nil
}

// withFallbacks sends a request, again without a parameter that the server refused.
func (c *chat) withFallbacks(request Request, stream bool, send func(openai.ChatCompletionRequest) error) error {
	for {
		omitted := c.unsupported.Load()
		form := c.requestFor(request, stream, omitted)
		err := openai.NewReasoningValidator().Validate(form)
		if err == nil {
			err = send(form)
		}
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
		form.Messages = append(form.Messages, openai.ChatCompletionMessage{Role: m.Type, Content: m.Message})
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
	case errors.Is(err, openai.ErrReasoningModelLimitationsOther),
		errors.Is(err, openai.ErrReasoningSamplingUnsupported):
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

func usageOf(sent tokens) Usage {
	return Usage{Prompt: max(0, int(sent.Prompt)), Completion: max(0, int(sent.Completion))}
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
			usage.Prompt += estimate(m.Message)
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
	s := &streamed{delta: delta, pause: c.config.Pause, stop: stop,
		thinking: thinking{isBegun: c.beginsThinking.Load()}}
	attempts, err := c.call(limited, func(ctx context.Context) error {
		return c.withFallbacks(request, true, func(form openai.ChatCompletionRequest) error {
			response, err := c.post(ctx, chatPath, form, streamMedia)
			if err != nil {
				return err
			}
			defer response.Body.Close() // nothing was written
			if strings.HasPrefix(response.Header.Get("Content-Type"), wire.MediaTypeJSON) {
				return s.whole(response.Body)
			}
			return s.receive(&events{in: bufio.NewReader(response.Body)})
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
	return Reply{Text: text, Usage: usage, Cut: s.cut}, err
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
	finished bool   // the reply is complete
	cut      string // why it is not whole
	broken   []byte // events that cannot be read: programs cut them into lines
	refused  error  // returned by delta
}

var errRefusedByCaller = errors.New("canceled by the caller")

// whole reads the answer of a server that does not stream.
func (s *streamed) whole(body io.Reader) error {
	data, err := io.ReadAll(body)
	if err == nil {
		err = s.event(data)
	}
	if err != nil {
		return streamError(err)
	}
	return s.end()
}

// end passes the pending text at the end.
func (s *streamed) end() error {
	if len(s.broken) > 0 {
		s.cut = cmp.Or(s.cut, "a part of it cannot be read")
	}
	return s.emit(s.thinking.rest())
}

// receive reads events to their end.
func (s *streamed) receive(from *events) error {
	var watch *time.Timer // starts with the first piece: before it, a model reads the prompt, which takes time
	for {
		data, err := from.next()
		if watch == nil {
			watch = time.AfterFunc(s.pause, guard.Func(func() { s.stop(errPaused) }, s.stop))
			defer watch.Stop()
		}
		if s.finished = s.finished || from.isDone; err != nil && s.finished { // at worst the usage is missing
			return s.end()
		}
		if err == nil {
			err = s.event(data)
		}
		if err != nil {
			return streamError(err)
		}
		watch.Reset(s.pause)
		if s.finished {
			watch.Reset(min(s.pause, lastEvents))
		}
	}
}

// event reads the pieces of one event. Only the first of several replies is used.
func (s *streamed) event(data []byte) error {
	var got answer
	err := wire.Unmarshal(data, &got)
	if joined := append(s.broken, data...); err != nil && len(s.broken) > 0 && wire.Unmarshal(joined, &got) == nil {
		err, s.broken = nil, nil
	} else if err != nil {
		if len(s.broken) > 0 || bytes.HasPrefix(data, []byte("{")) { // others are signs of life
			s.broken = joined
		}
		return nil
	}
	if got.Error {
		return errSent
	}
	if sent := usageOf(got.Usage.value); sent != (Usage{}) {
		s.usage = sent
	}
	for _, choice := range got.Choices.value {
		if choice.value.Index != 0 {
			continue
		}
		piece := choice.value.text()
		s.raw.WriteString(piece)
		if s.raw.Len() > maxReply {
			return tooLarge()
		}
		if err := s.emit(s.thinking.pass(piece)); err != nil {
			return err
		}
		s.finished = s.finished || choice.value.FinishReason != ""
		s.cut = cmp.Or(s.cut, choice.value.FinishReason.cut())
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
	switch {
	case errors.Is(err, errSent): // the server's message may contain the key, which is not known here
		return &Error{Kind: ErrUnavailable, Message: "it failed while answering"}
	case isTooLarge(err):
		return tooLarge()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Kind: ErrUnusable, Message: "it was cut off"}
	}
	return err
}
