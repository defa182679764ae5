package ssh

import (
	"slices"
	"strings"
	"unicode"
)

// commandNames are the words that start a command; other text is a query.
func commandNames() []string {
	return []string{"search", "ask", "read", "sources", "agents", "document-sets", "tags", "version", "help", "mcp",
		"add", "remove", "sync", "status", "serve", "admin", "configure", "validate-config", "completion", "install-skill",
		"skill", "man"}
}

// arguments splits the command line of ssh, which joins its arguments. A query is kept as it is, because quotes and minus
// signs have a meaning in it; a command is split as a shell does.
func arguments(line string) []string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	flagged := slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "--") })
	if !flagged && !strings.HasPrefix(words[0], "-") && !commands(words) {
		if slices.Contains(commandNames(), words[0]) {
			return []string{"--", strings.TrimSpace(line)}
		}
		if strings.ContainsAny(line, `"'`) || slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }) {
			return []string{"--", strings.TrimSpace(line)}
		}
		return words
	}
	return split(line)
}

// commands reports whether words are a command with its arguments. Some commands have none: "sources of revenue" is a
// query.
func commands(words []string) bool {
	switch words[0] {
	case "sources", "agents", "document-sets", "tags", "version", "status", "mcp":
		return len(words) == 1
	case "help":
		return len(words) == 1 || len(words) == 2 && slices.Contains(commandNames(), words[1])
	case "read":
		return len(words) <= 2
	}
	return slices.Contains(commandNames(), words[0])
}

// split splits a line at spaces. Quotes group words if they start a word or a flag's value; an apostrophe within a word
// does not. An unclosed quote is a character. A backslash escapes the next character, except in single quotes.
func split(line string) []string {
	var words []string
	runes := []rune(line)
	for i := 0; i < len(runes); {
		if unicode.IsSpace(runes[i]) {
			i++
			continue
		}
		var word strings.Builder
		for i < len(runes) && !unicode.IsSpace(runes[i]) {
			opens := word.Len() == 0 || strings.HasSuffix(word.String(), "=")
			end := -1
			if c := runes[i]; opens && (c == '"' || c == '\'') {
				end = closing(runes, i)
			}
			switch {
			case end >= 0:
				word.WriteString(unescaped(runes[i+1:end], runes[i]))
				i = end + 1
			case runes[i] == '\\' && i+1 < len(runes):
				word.WriteRune(runes[i+1])
				i += 2
			default:
				word.WriteRune(runes[i])
				i++
			}
		}
		words = append(words, word.String())
	}
	return words
}

// closing returns the position of the closing quote for the one at start, or -1.
func closing(runes []rune, start int) int {
	for i := start + 1; i < len(runes); i++ {
		switch {
		case runes[i] == '\\' && runes[start] == '"':
			i++
		case runes[i] == runes[start]:
			return i
		}
	}
	return -1
}

func unescaped(text []rune, quote rune) string {
	if quote == '\'' {
		return string(text)
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\') {
			i++
		}
		out.WriteRune(text[i])
	}
	return out.String()
}
