package pipeline

import (
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

// maxUserTurns is the number of user messages that scopes are read from (Onyx: MAX_SOURCE_FILTER_USER_TURNS).
const maxUserTurns = 5

// earlierTurns returns the conversation before the question: the messages up to the user's last one, which is left out
// if it is the question itself. The types of messages are the names of the roles.
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

// userTurns returns the user's last messages, bounded, with the question last.
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
