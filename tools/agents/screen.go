//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

// firstResults are those that somebody looks at before anything is pressed.
const firstResults = 5

// explore returns the explorer's screen with the results of a question.
func (m machine) explore(question string) (string, error) {
	explorer, err := terminal.Run(m.command("--library", m.library, "--", question), terminal.Options{Width: 120, Height: 36})
	if err != nil {
		return "", err
	}
	defer explorer.Close()
	counted := regexp.MustCompile(`╭ Results ─.* \d+ documents?`)
	if !explorer.Wait(time.Minute, counted.MatchString) {
		return "", fmt.Errorf("no results; the screen is\n%s", explorer.Text())
	}
	return explorer.Text(), nil
}

var (
	numbered = regexp.MustCompile(`^[▌ ]\s*(\d+)  `)
	bar      = regexp.MustCompile(`^▌?\s+`)
)

// firstRows returns the text of the first results of a screen, without its line breaks.
func firstRows(screen string) string {
	var rows strings.Builder
	results := 0
	for line := range strings.Lines(screen) {
		_, row, _ := strings.Cut(line, "│")
		row, _, inList := strings.Cut(row, "│")
		switch {
		case strings.HasPrefix(line, "╭ Results"):
			rows.Reset() // above it is the query
			results = 0
		case strings.HasPrefix(line, "╰") && results > 0:
			return rows.String()
		case inList && numbered.MatchString(row):
			results++
		}
		if inList && results <= firstResults {
			rows.WriteString(strings.TrimSpace(bar.ReplaceAllString(row, "")) + " ")
		}
	}
	return rows.String()
}
