package pipeline

import (
	"embed"
	"strings"

	"quarry/internal/text"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// The tokens that each piece of foreign text may take in a prompt.
const (
	questionTokens = 1024
	turnTokens     = 512
	historyTokens  = 4096
	titleTokens    = 64
	passageTokens  = 3 * 512
	aroundTokens   = 2 * 512
)

// maxReply bounds how much of a reply is read, in bytes.
const maxReply = 32 << 10

// spoken is what of a reply is read.
func cleanReply(reply string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text.Clip(reply, maxReply), ""))
}
