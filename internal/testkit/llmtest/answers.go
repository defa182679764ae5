package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Answer writes an answer. It may use the request's context to notice that the client left or the server is closed.
type Answer func(w http.ResponseWriter, r *http.Request, asked Request)

type closingKey struct{}

// withClosing ends a request's context with the server, too: a handler that waits would keep it from closing.
func withClosing(ctx context.Context, closing <-chan struct{}) context.Context {
	return context.WithValue(ctx, closingKey{}, closing)
}

// gone waits until the client leaves or the server is closed.
func gone(r *http.Request) {
	closing, _ := r.Context().Value(closingKey{}).(<-chan struct{})
	select {
	case <-r.Context().Done():
	case <-closing:
	}
}

// Text answers well, as a stream of words if requested, and reports one token per word.
func Text(text string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, asked Request) {
		usage := &usage{len(strings.Fields(asked.Text())), len(strings.Fields(text))}
		if asked.Stream {
			if !asked.StreamOptions.IncludeUsage {
				usage = nil
			}
			stream(w, pieces(text), "stop", usage)
			return
		}
		whole(w, text, usage)
	}
}

// Reply computes a text from the request, and answers it as Text does.
func Reply(compute func(Request) string) Answer {
	return func(w http.ResponseWriter, r *http.Request, asked Request) { Text(compute(asked))(w, r, asked) }
}

// WithoutUsage answers well, but does not tell what it cost.
func WithoutUsage(text string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, asked Request) {
		if asked.Stream {
			stream(w, pieces(text), "stop", nil)
			return
		}
		whole(w, text, nil)
	}
}

// After answers late: as the next answer does, once the time is over. A client that leaves gets nothing.
func After(delay time.Duration, next Answer) Answer {
	return func(w http.ResponseWriter, r *http.Request, asked Request) {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		left := make(chan struct{})
		go func() { gone(r); close(left) }()
		select {
		case <-timer.C:
			next(w, r, asked)
		case <-left:
		}
	}
}

// Held answers as the next answer does, once the channel is closed.
func Held(release <-chan struct{}, next Answer) Answer {
	return func(w http.ResponseWriter, r *http.Request, asked Request) {
		left := make(chan struct{})
		go func() { gone(r); close(left) }()
		select {
		case <-release:
			next(w, r, asked)
		case <-left:
		}
	}
}

// Stream answers with pieces as they come, until there are no more or the client leaves.
func Stream(pieces <-chan string) Answer {
	return func(w http.ResponseWriter, r *http.Request, _ Request) {
		left := make(chan struct{})
		go func() { gone(r); close(left) }()
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case piece, open := <-pieces:
				if !open {
					stream(w, nil, "stop", nil)
					return
				}
				if !delta(w, piece) {
					return
				}
			case <-left:
				return
			}
		}
	}
}

// Hang answers nothing until the client leaves.
func Hang() Answer { return func(_ http.ResponseWriter, r *http.Request, _ Request) { gone(r) } }

// HangAfter begins an answer and never ends it: a stream stops after the text, a whole answer in the middle of it.
func HangAfter(text string) Answer {
	return func(w http.ResponseWriter, r *http.Request, asked Request) {
		begun(w, text, asked)
		gone(r)
	}
}

// Half begins an answer and breaks the connection off in the middle.
func Half(text string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, asked Request) {
		begun(w, text, asked)
		panic(http.ErrAbortHandler)
	}
}

// EndsEarly is a stream that ends properly, but before the model said that it is done.
func EndsEarly(text string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, asked Request) { begun(w, text, asked) }
}

// Raw answers with a status and a body as they are given.
func Raw(status int, contentType, body string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // a client that left gets no error
	}
}

// Garbage answers 200 with what is no answer.
func Garbage() Answer { return Raw(http.StatusOK, "application/json", "\x00\xffnot { json") }

// Status refuses with a status and a reason.
func Status(code int, reason string) Answer {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": reason, "type": "scripted"}})
	if err != nil {
		panic(err) // a map of texts can be written
	}
	return Raw(code, "application/json", string(body))
}

// Busy refuses with 429 and what Retry-After says; without the header if that is empty.
func Busy(retryAfter string) Answer {
	return func(w http.ResponseWriter, r *http.Request, asked Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		Status(http.StatusTooManyRequests, "too many requests")(w, r, asked)
	}
}

// Redirect points elsewhere.
func Redirect(code int, location string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(code)
	}
}

// Large answers with a text of so many bytes.
func Large(bytes int) Answer { return Text(strings.Repeat("x", bytes)) }

// DefaultDimensions is the length of a server's vectors unless set.
const DefaultDimensions = 64

// Vectors answers requests for vectors with those of Vector.
func Vectors(dimensions int) Answer {
	return func(w http.ResponseWriter, _ *http.Request, asked Request) {
		type vector struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		data, tokens := []vector{}, 0
		for i, text := range asked.Input {
			data = append(data, vector{"embedding", i, Vector(text, dimensions)})
			tokens += len(strings.Fields(text))
		}
		send(w, map[string]any{"object": "list", "model": asked.Model, "data": data,
			"usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
	}
}

// Vector is a vector of length 1 that follows from the text alone: the sum of one direction for each word, so that
// texts with words in common are near to each other.
func Vector(text string, dimensions int) []float32 {
	sum := make([]float64, dimensions)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range append(words, "") { // a text without words has a direction, too
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(word)) // never fails
		random := rand.New(rand.NewPCG(hash.Sum64(), 1))
		weight := 1.0
		if word == "" {
			weight = 0.01
		}
		for i := range sum {
			sum[i] += weight * random.NormFloat64()
		}
	}
	square := 0.0
	for _, x := range sum {
		square += x * x
	}
	vector := make([]float32, dimensions)
	for i, x := range sum {
		vector[i] = float32(x / math.Sqrt(square))
	}
	return vector
}

// listed answers a request for the list of models.
func listed(models []string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) {
		data := []any{}
		for _, name := range models {
			data = append(data, map[string]string{"id": name, "object": "model"})
		}
		send(w, map[string]any{"object": "list", "data": data})
	}
}

type usage struct{ prompt, completion int }

func (u *usage) wire() map[string]int {
	return map[string]int{"prompt_tokens": u.prompt, "completion_tokens": u.completion, "total_tokens": u.prompt + u.completion}
}

func whole(w http.ResponseWriter, text string, usage *usage) {
	answer := map[string]any{"id": "scripted", "object": "chat.completion", "choices": []any{map[string]any{
		"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": text}}}}
	if usage != nil {
		answer["usage"] = usage.wire()
	}
	send(w, answer)
}

func send(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a client that left gets no error
}

// stream sends a reply in pieces.
func stream(w http.ResponseWriter, pieces []string, finish string, usage *usage) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, ": a comment, as servers send them to keep a connection open\n\n")
	for _, piece := range pieces {
		if !delta(w, piece) {
			return
		}
	}
	if finish == "" {
		return
	}
	event(w, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{}, "finish_reason": finish}}})
	if usage != nil {
		event(w, map[string]any{"choices": []any{}, "usage": usage.wire()})
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// delta sends a piece of a reply.
func delta(w http.ResponseWriter, piece string) bool {
	return event(w, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": piece}}}})
}

// event sends one event, and reports whether the client still takes them.
func event(w http.ResponseWriter, value any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of texts and numbers can be written
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// begun sends the beginning of an answer.
func begun(w http.ResponseWriter, text string, asked Request) {
	if asked.Stream {
		stream(w, pieces(text), "", nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":`+strconv.Quote(text))
	_ = http.NewResponseController(w).Flush()
}

// pieces cuts a text after each word.
func pieces(text string) []string { return strings.SplitAfter(text, " ") }
