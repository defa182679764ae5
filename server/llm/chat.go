package llm

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"
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
