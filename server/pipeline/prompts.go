package pipeline

import (
	"embed"
	"strings"

	"quarry/internal/text"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Tokens that each piece of foreign text may take in a prompt.
const (
	questionTokens = 1024
	turnTokens     = 512
	historyTokens  = 4096
	titleTokens    = 64
	passageTokens  = 3 * 512
	aroundTokens   = 2 * 512
)

// maxReply bounds the part of a reply that is read, in bytes.
const maxReply = 32 << 10

// cleanReply returns the part of a reply that is read.
func cleanReply(reply string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text.Clip(reply, maxReply), ""))
}
