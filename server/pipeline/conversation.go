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

// before gives the conversation before the question, as turns: what stands before the last message of the user, and
// that message too where it is not the question itself. The types of messages are the names of the roles.
func earlierTurns(s wire.SearchRequest) []llm.Message {
	history := s.MessageHistory
	last := lastOfUser(history)
	if last >= 0 && sameQuery(history[last].Message, s.Query) {
		last--
	}
	var turns []llm.Message
	for _, m := range history[:last+1] {
		if m.Type == llm.RoleUser || m.Type == llm.RoleAssistant {
			turns = append(turns, llm.Message{Role: m.Type, Content: m.Message})
		}
	}
	return llm.Turns(turns, historyTokens, turnTokens)
}

func lastOfUser(history []wire.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Type == llm.RoleUser {
			return i
		}
	}
	return -1
}

// userTurns are the last turns of the user, bounded, the question last.
func userTurns(s wire.SearchRequest) []string {
	turns := []string{text.ClipTokens(s.Query, questionTokens)}
	for i := lastOfUser(s.MessageHistory); i >= 0 && len(turns) < maxUserTurns; i-- {
		m := s.MessageHistory[i]
		if m.Type != llm.RoleUser || strings.TrimSpace(m.Message) == "" || len(turns) == 1 && sameQuery(m.Message, s.Query) {
			continue
		}
		turns = append(turns, text.ClipTokens(m.Message, turnTokens))
	}
	slices.Reverse(turns)
	return turns
}
