package wire

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"slack", "confluence", "google_drive", "web", "Eng", "gitlab", "github"}
	for value, want := range map[string]string{
		"slak": "slack", "salck": "slack", "Slack": "slack", "confluense": "confluence", "googel_drvie": "google_drive",
		"wbe": "web", "eng": "Eng", "githb": "github", "gitlub": "gitlab", "xyz": "", "": "", "e": "", "w": "",
		strings.Repeat("a", 1000): "", "zendesk": "",
	} {
		if got := Nearest(value, known); got != want {
			t.Errorf("%q is near %q, want %q", value, got, want)
		}
	}
	if Nearest("x", nil) != "" {
		t.Error("nothing is known")
	}
}
