package text

import (
	"fmt"
	"runtime"
	"strings"
	"unicode"
)

// CommandWords splits a command line at white space outside of quotation marks, and, where backslashes are not in
// paths, not at escaped white space. Nothing else in it has a meaning.
func CommandWords(line string) (words []string, err error) {
	var word strings.Builder
	quote, begun, isEscaped := rune(0), false, false
	for _, r := range line + " " {
		switch {
		case isEscaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			begun, isEscaped = true, false
		case r == '\\' && quote != '\'' && runtime.GOOS != "windows":
			isEscaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && unicode.IsSpace(r):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quotation mark %c is not closed", quote)
	}
	return words, nil
}
