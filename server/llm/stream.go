package llm

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"quarry/client/wire"
	"quarry/internal/guard"
)

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
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Kind: ErrUnusable, Message: "it was cut off"}
	}
	return err
}
