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

// lastEvents is how long the end of a reply is awaited that has told that it is complete.
const lastEvents = time.Second

// Stream hands over the reply as it comes.
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

// streamed is a reply on its way.
type streamed struct {
	delta func(string) error
	pause time.Duration
	stop  context.CancelCauseFunc

	thinking thinking
	raw      strings.Builder // all that came
	text     strings.Builder // what was handed over of it
	usage    Usage
	finished bool  // the model said that it is done
	refused  error // what delta returned
}

var errRefusedByCaller = errors.New("the caller took no more")

// receive reads events to their end.
func (s *streamed) receive(events *openai.ChatCompletionStream) error {
	var watch *time.Timer // from the first piece on: before it a model reads, which takes its time
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
		case err != nil && s.finished: // all of the text is there; at worst its usage is missing
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

// take handles the pieces of one event. Of several replies the first counts.
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

// hand gives a piece to the caller.
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

// cutOff tells an end that came too early from events that nobody understands.
func streamError(err error) error {
	var sent *openai.APIError
	switch {
	case errors.As(err, &sent): // its words might hold the key, which is not known here
		return &Error{Kind: ErrUnavailable, Message: "it failed in the middle of the answer"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Kind: ErrUnusable, Message: "it was cut off"}
	}
	return err
}
