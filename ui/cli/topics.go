package cli

import (
	"embed"
	"fmt"
	"strings"

	"quarry/config"
)

//go:embed help/topics/*.txt
var topicFiles embed.FS

// helpTopics are the subjects of help beside the commands, with a line about each.
func helpTopics() [][2]string {
	return [][2]string{{"configuration", "Keys of the configuration file"}, {"environment", "Environment variables"},
		{"exit-codes", "Exit codes"}, {"query", "The query language"}}
}

// topicText returns the help of a subject; "" for an unknown one.
func topicText(name string) string {
	written, err := topicFiles.ReadFile("help/topics/" + name + ".txt")
	if err != nil {
		return ""
	}
	switch name {
	case "exit-codes":
		codes := []int{ExitSuccess, ExitGeneral, ExitUsage, ExitNotConfigured, ExitAuth, ExitUnreachable, ExitRateLimited, ExitTimeout,
			ExitServer, ExitNotAvailable, ExitInterrupted}
		var b strings.Builder
		for _, code := range codes {
			fmt.Fprintf(&b, "%-4d %s\n", code, exitMeaning(code))
		}
		return fmt.Sprintf(string(written), b.String())
	case "configuration":
		var b strings.Builder
		for _, key := range config.Keys() {
			fmt.Fprintf(&b, "%s\n    %s\n    Value: %s", key.Path, key.About, key.Values)
			if key.Default != "" {
				fmt.Fprintf(&b, " (default: %s)", key.Default)
			}
			b.WriteString("\n")
		}
		return fmt.Sprintf(string(written), strings.TrimSuffix(b.String(), "\n"))
	}
	return string(written)
}

func topicList() string {
	var lines []string
	for _, topic := range helpTopics() {
		lines = append(lines, fmt.Sprintf("%-16s %s", topic[0], topic[1]))
	}
	return strings.Join(lines, "\n")
}
