package passage

import (
	"strings"
	"testing"
	"time"

	"quarry/client"
)

func TestFindWords(t *testing.T) {
	for _, test := range []struct {
		query, content string
		want           string // marked words
	}{
		{"roll back", "We Rolled it BACK, backwards.", "Rolled BACK"},
		{"how to do it", "to do how", "to do how"},
		{"how much vacation", "How much? Vacations!", "Vacations"},
		{"C", "C is a language, Cobol too", "C"},
		{"time off can", "Candidates of the office: #timeoff, time off", "time off"},
		{"times", "it is time", "time"},
		{"ロールバック", "本番へのロールバックは承認", "ロールバック"},
		{`"exact phrase"`, "an exact phrase", "exact phrase"},
		{"naïve", "Naïve bayes", "Naïve"},
		{"nothing", "something", ""},
	} {
		words := Words(client.ParseQuery(test.query, today()))
		var marked []string
		for _, span := range FindWords(test.content, words) {
			marked = append(marked, test.content[span[0]:span[1]])
		}
		if got := strings.Join(marked, " "); got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.query, test.content, got, test.want)
		}
	}
}

func TestAge(t *testing.T) {
	for moment, want := range map[string]string{
		"2026-08-22T08:00:00Z": "today", "2026-08-21T08:00:00Z": "yesterday", "2026-08-18": "4 days ago", "2026-07-18": "5 weeks ago",
		"2026-01-18": "7 months ago", "2025-08-20": "12 months ago", "2024-08-18": "2 years ago", "2020-01-18": "6 years ago",
		"2027-01-01": "2027-01-01", "not a date": "", "": "",
	} {
		if got := Age(moment, today()); got != want {
			t.Errorf("%s: %q, want %q", moment, got, want)
		}
	}
}

func today() time.Time { return time.Date(2026, 8, 22, 12, 0, 0, 0, time.UTC) }

func TestShortAge(t *testing.T) {
	for moment, want := range map[string]string{
		"2026-08-22T08:00:00Z": "today", "2026-08-21T08:00:00Z": "1 d", "2026-08-19": "3 d", "2026-07-18": "5 w", "2026-06-10": "2 mo",
		"2026-01-18": "7 mo", "2025-08-20": "1 y", "2020-01-18": "6 y", "2027-01-01": "2027-01-01", "not a date": "", "": "",
	} {
		if got := ShortAge(moment, today()); got != want {
			t.Errorf("%s: %q, want %q", moment, got, want)
		}
	}
}
