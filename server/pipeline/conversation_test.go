package pipeline

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

func said(turns ...string) []wire.Message {
	var messages []wire.Message
	for _, t := range turns {
		kind, text, _ := strings.Cut(t, ": ")
		messages = append(messages, wire.Message{Type: kind, Message: text})
	}
	return messages
}

func TestBefore(t *testing.T) {
	cases := []struct {
		name    string
		history []wire.Message
		want    []string
	}{
		{"no history", nil, nil},
		{"the question alone", said("user: and on staging?"), nil},
		{"a conversation", said("user: how do we deploy?", "assistant: with the tool", "user: And on  staging?"),
			[]string{"user: how do we deploy?", "assistant: with the tool"}},
		{"what comes after the question is not before it", said("user: a", "assistant: b", "user: and on staging?", "assistant: c"),
			[]string{"user: a", "assistant: b"}},
		{"a last message that is not the question belongs to the conversation", said("user: a", "assistant: b", "user: c"),
			[]string{"user: a", "assistant: b", "user: c"}},
		{"only what was said", said("system: be kind", "user: a", "tool_call_response: {}", "user_reminder: mind",
			"assistant: b", "user: and on staging?"), []string{"user: a", "assistant: b"}},
		{"sides alternate, and the user begins", said("assistant: hello", "user: a", "user: b", "assistant: c", "assistant: d",
			"user: and on staging?"), []string{"user: a\n\nb", "assistant: c\n\nd"}},
		{"no message of the user", said("assistant: hello"), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range earlierTurns(wire.SearchRequest{Query: "and on staging?", MessageHistory: c.history}) {
				got = append(got, m.Type+": "+m.Message)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBeforeIsBounded(t *testing.T) {
	var history []wire.Message
	for range 40 {
		history = append(history, said("user: "+strings.Repeat("long ", 2000), "assistant: "+strings.Repeat("长", 2000))...)
	}
	turns := earlierTurns(wire.SearchRequest{Query: "x", MessageHistory: append(history, said("user: x")...)})
	total := 0
	for _, m := range turns {
		total += text.EstimateTokens(m.Message)
	}
	if total > historyTokens || total < historyTokens/2 || turns[0].Type != llm.RoleUser {
		t.Errorf("%d turns of %d tokens, the first of %s", len(turns), total, turns[0].Type)
	}
}

func TestUserTurns(t *testing.T) {
	for _, c := range []struct {
		history []wire.Message
		want    []string
	}{
		{nil, []string{"q"}},
		{said("user: a", "assistant: b", "user: Q"), []string{"a", "q"}},
		{said("user: a", "user: c"), []string{"a", "c", "q"}},
		{said("user: 1", "user: 2", "user: 3", "user: 4", "user: 5", "user: 6", "user: q"), []string{"3", "4", "5", "6", "q"}},
	} {
		if got := userTurns(wire.SearchRequest{Query: "q", MessageHistory: c.history}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
