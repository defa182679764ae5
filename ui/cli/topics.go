package cli

import (
	"embed"
	"fmt"
	"strings"

	"go.mau.fi/util/exslices"

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
		return fmt.Sprintf(string(written), exitCodeList(parseExits("remote"))+"\n")
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
	return strings.Join(exslices.CastFunc(helpTopics(), func(topic [2]string) string {
		return fmt.Sprintf("%-16s %s", topic[0], topic[1])
	}), "\n")
}
