//go:build unix

package gallery

import (
	"encoding/json"
	"fmt"
	"regexp"

	"quarry/internal/testkit/llmtest"
)

// answer is what the scripted model says, in the pieces in which it comes.
func answer() []string {
	return []string{
		"Pause the canary and roll back. ", "You need **nobody's permission** for that [1].\n\n",
		"```bash\nkwctl canary pause --all\n", "kwctl rollback tempwatch --to v4.11.6\n", "kwctl rollback status --watch\n```\n\n",
		"It takes 12–15 minutes for Tempwatch, 4 for Harbour [1].\n\n",
		"- If the migration guard refuses, the on-call primary and a second engineer decide [1].\n",
		"- Revert in git on the same day, or Tuesday's release brings it back [1].\n",
	}
}

// model is a scripted language model on this machine. It answers one question, piece by piece as the script goes on.
type model struct {
	server *llmtest.Server
	pieces chan string
	said   int // pieces
}

// newModel starts a model. What a search asks of it changes nothing: it searches for the question as it is, and takes the
// first results.
func newModel() *model {
	m := &model{server: llmtest.New(), pieces: make(chan string, len(answer()))}
	for prompt, reply := range map[string]llmtest.Answer{
		"Turn this question into one query":  llmtest.Reply(question),
		"Write one to three keyword queries": llmtest.Reply(question),
		"Which of these sources":             llmtest.Text("[]"),
		"updated (START, END)":               llmtest.Text("updated (None, None)"),
		"section_id of the passages":         llmtest.Text("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"),
		"Answer with one digit":              llmtest.Text("1"),
		"You name conversations":             llmtest.Text("Rolling back a deploy"),
		"You answer questions":               llmtest.Stream(m.pieces),
	} {
		m.server.On(llmtest.Containing(prompt), reply)
	}
	return m
}

func (m *model) close() { m.server.Close() }

// config is the configuration with this model.
func (m *model) config() string {
	return fmt.Sprintf("llm:\n  default: scripted/model\n  providers:\n    scripted:\n      base_url: %s\n      models: [model]\n",
		m.server.BaseURL())
}

// say lets the model say its answer as far as a piece.
func (m *model) say(upTo int) {
	for ; m.said < upTo; m.said++ {
		m.pieces <- answer()[m.said]
	}
	if m.said == len(answer()) {
		close(m.pieces)
	}
}

// question is the question in a prompt.
func question(asked llmtest.Request) string {
	found := regexp.MustCompile(`<question>(".*")</question>`).FindStringSubmatch(asked.Text())
	var text string
	if found == nil || json.Unmarshal([]byte(found[1]), &text) != nil {
		return ""
	}
	return text
}
