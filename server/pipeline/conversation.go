package pipeline

import (
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

// maxUserTurns is how many of a person's turns the scopes are decided by (Onyx: MAX_SOURCE_FILTER_USER_TURNS).
const maxUserTurns = 5

// The types of messages that were said.
const (
	typeUser      = "user"
	typeAssistant = "assistant"
)

// before gives the conversation before the question, as turns: what stands before the last message of the user, and
// that message too where it is not the question itself. The newest turns that fit are kept; two of one side in a row
// become one, and the first is the user's, since models insist on both.
func before(s wire.SearchRequest) []llm.Message {
	history := s.MessageHistory
	last := lastOfUser(history)
	if last < 0 {
		return nil
	}
	if sameQuery(history[last].Message, s.Query) {
		last--
	}
	var turns []llm.Message
	room := historyTokens
	for i := last; i >= 0; i-- {
		role := roleOf(history[i].Type)
		content := text.ClipTokens(strings.TrimSpace(history[i].Message), turnTokens)
		if role == "" || content == "" {
			continue
		}
		if room -= text.EstimateTokens(content); room < 0 {
			break
		}
		if n := len(turns) - 1; n >= 0 && turns[n].Role == role {
			turns[n].Content = content + "\n\n" + turns[n].Content
			continue
		}
		turns = append(turns, llm.Message{Role: role, Content: content})
	}
	if n := len(turns); n > 0 && turns[n-1].Role == llm.RoleAssistant {
		turns = turns[:n-1]
	}
	slices.Reverse(turns)
	return turns
}

func lastOfUser(history []wire.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Type == typeUser {
			return i
		}
	}
	return -1
}

func roleOf(messageType string) string {
	switch messageType {
	case typeUser:
		return llm.RoleUser
	case typeAssistant:
		return llm.RoleAssistant
	}
	return ""
}

// userTurns are the last turns of the user, bounded, the question last.
func userTurns(s wire.SearchRequest) []string {
	turns := []string{text.ClipTokens(s.Query, questionTokens)}
	for i := lastOfUser(s.MessageHistory); i >= 0 && len(turns) < maxUserTurns; i-- {
		m := s.MessageHistory[i]
		if m.Type != typeUser || strings.TrimSpace(m.Message) == "" || len(turns) == 1 && sameQuery(m.Message, s.Query) {
			continue
		}
		turns = append(turns, text.ClipTokens(m.Message, turnTokens))
	}
	slices.Reverse(turns)
	return turns
}
