package explorer

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestSizeOfATerminal(t *testing.T) {
	for name, test := range map[string]struct {
		size, want tea.WindowSizeMsg
		env        []string
	}{
		"known":              {tea.WindowSizeMsg{Width: 100, Height: 40}, tea.WindowSizeMsg{Width: 100, Height: 40}, []string{"LINES=9", "COLUMNS=9"}},
		"unknown":            {tea.WindowSizeMsg{}, tea.WindowSizeMsg{Width: 80, Height: 24}, nil},
		"of variables":       {tea.WindowSizeMsg{}, tea.WindowSizeMsg{Width: 132, Height: 50}, []string{"LINES=50", "COLUMNS=132"}},
		"of one variable":    {tea.WindowSizeMsg{Width: 7}, tea.WindowSizeMsg{Width: 80, Height: 50}, []string{"LINES=50"}},
		"of nonsense":        {tea.WindowSizeMsg{}, tea.WindowSizeMsg{Width: 80, Height: 24}, []string{"LINES=-3", "COLUMNS=many"}},
		"of too large a one": {tea.WindowSizeMsg{}, tea.WindowSizeMsg{Width: 80, Height: 24}, []string{"LINES=99999999", "COLUMNS=1001"}},
	} {
		if got := (Terminal{Env: test.env}).sized(test.size); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
