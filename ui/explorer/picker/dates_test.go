package picker

import (
	"strings"
	"testing"
	"time"

	"quarry/client"
)

func TestReadDates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		state   readingState
		filters string // of a whole one, else a part of what is said
		says    string
	}{
		{"", empty, "", ""},
		{"   ", empty, "", ""},
		{"2026-01-15", whole, "since:2026-01-15 until:2026-01-15", "15 Jan 2026"},
		{"2026-01", whole, "since:2026-01-01 until:2026-01-31", "January 2026"},
		{"2024-02", whole, "since:2024-02-01 until:2024-02-29", "February 2024"},
		{"2026", whole, "since:2026-01-01 until:2026-12-31", "2026"},
		{"9999", whole, "since:9999-01-01 until:9999-12-31", "9999"},
		{"30d", whole, "within:30d", "last 30 days"},
		{"1Y", whole, "within:1y", "past year"},
		{"2w", whole, "within:2w", "last 2 weeks"},
		{"2026-01..2026-03", whole, "since:2026-01-01 until:2026-03-31", "Jan – Mar 2026"},
		{"2025-11 .. 2026-03-05", whole, "since:2025-11-01 until:2026-03-05", "1 Nov 2025 – 5 Mar 2026"},
		{"2024..2025", whole, "since:2024-01-01 until:2025-12-31", "2024 – 2025"},
		{"2026-01..", whole, "since:2026-01-01", "since 1 Jan 2026"},
		{"..2026-01", whole, "until:2026-01-31", "until 31 Jan 2026"},
		{"since:2026-01 until:2026-03-15", whole, "since:2026-01-01 until:2026-03-15", "1 Jan – 15 Mar 2026"},
		{"until:2025", whole, "until:2025-12-31", "until 31 Dec 2025"},
		{"within:7d", whole, "within:7d", "last 7 days"},
		{"today", whole, "since:2026-11-21 until:2026-11-21", "21 Nov 2026"},
		{"yesterday", whole, "since:2026-11-20 until:2026-11-20", "20 Nov 2026"},
		{"March 2026", whole, "since:2026-03-01 until:2026-03-31", "March 2026"},
		{"sep 2025", whole, "since:2025-09-01 until:2025-09-30", "September 2025"},
		{"2026-", whole, "since:2026-01-01 until:2026-12-31", "2026"},
		{"2026-3", whole, "since:2026-03-01 until:2026-03-31", "March 2026"},
		{"2026-3-7", whole, "since:2026-03-07 until:2026-03-07", "7 Mar 2026"},

		{"2", begun, "", "four digits"},
		{"30", begun, "", "30d"},
		{"202", begun, "", "four digits"},
		{"2026-0", begun, "", "2026-01-15"},
		{"2026-01-0", begun, "", "2026-01-15"},
		{"2026-01.", begun, "", "two dots"},
		{"..", begun, "", "date"},
		{"2026..2", begun, "", "2026-01-15"},
		{"since:", begun, "", "since:"},
		{"since:20", begun, "", "2026-01-15"},
		{"since:2026 un", begun, "", "until:"},
		{"within:30", begun, "", "30d"},
		{"si", begun, "", "since:"},
		{"mar", begun, "", "add a year"},
		{"mar 20", begun, "", "add a year"},
		{"tod", begun, "", "a date"},

		{"2026-13", wrong, "", "month 13"},
		{"2026-00", wrong, "", "month 00"},
		{"0000", wrong, "", "year 0000"},
		{"2026-02-30", wrong, "", "February 2026 has 28 days"},
		{"2026-01-15-3", wrong, "", "not a date"},
		{"2026-03..2026-01", wrong, "", "ends before"},
		{"since:2026 until:2025", wrong, "", "ends before"},
		{"99999d", wrong, "", "100 years"},
		{"0d", wrong, "", "100 years"},
		{"1234567", wrong, "", "four digits"},
		{"within:30d since:2026", wrong, "", "cannot be combined"},
		{"since:2026 within:30d", wrong, "", "cannot be combined"},
		{"within:soon", wrong, "", "30d"},
		{"source:slack", wrong, "", "source:"},
		{"since:2026 slack", wrong, "", "slack"},
		{"next week", wrong, "", "not a date"},
		{"2026x", wrong, "", "not a date"},
		{"日本", wrong, "", "not a date"},
		{strings.Repeat("x", 5000), wrong, "", "not a date"},
	}
	for _, test := range tests {
		got := readDates(test.text, clock())
		if got.state != test.state {
			t.Errorf("%q is read as %v %q, want %v", test.text, got.state, got.why, test.state)
			continue
		}
		says := got.why
		if got.state == whole {
			says = got.span.String()
			if filters := strings.Join(got.span.filters(), " "); filters != test.filters {
				t.Errorf("%q means %q, want %q", test.text, filters, test.filters)
			}
			if says != test.says {
				t.Errorf("%q is told as %q, want %q", test.text, says, test.says)
			}
		}
		if !strings.Contains(says, test.says) || len(says) > 120 {
			t.Errorf("%q says %q, want something about %q", test.text, says, test.says)
		}
	}
}

// Whatever is read as whole is read by the query in the same way.
func FuzzReadDates(f *testing.F) {
	for _, seed := range []string{"2026", "2026-01..2026-03", "30d", "since:2026-01 until:2026", "within:1y", "march 2026", "..0001", "9999-12-31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := readDates(text, clock())
		if got.state != whole {
			if (got.state == empty) != (strings.TrimSpace(text) == "" || got.why == "") || !got.span.any() && got.why == "" {
				t.Fatalf("%q: %+v", text, got)
			}
			return
		}
		since, until := got.span.bounds(clock())
		query := strings.Join(got.span.filters(), " ")
		read := client.ParseQuery(query, clock())
		if !read.Since.Equal(since) || !read.Until.Equal(until) || read.Text != "" {
			t.Fatalf("%q means %v to %v, its filter %q %v to %v", text, since, until, query, read.Since, read.Until)
		}
		if got.span.String() == "" {
			t.Fatalf("%q is told as nothing", text)
		}
	})
}

func TestSpansAreTold(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                       "any time",
		"within:30d":             "last 30 days",
		"within:030D":            "last 30 days",
		"within:1w":              "past week",
		"since:2026-01-01":       "since 1 Jan 2026",
		"until:2026-03-31T10:30": "until 31 Mar 2026 10:30",
		"since:2026-01-01T10:30 until:2026-01-31": "1 Jan 2026 10:30 – 31 Jan 2026",
		"within:30d until:2026-11-01":             "22 Oct 2026 14:30 – 1 Nov 2026",
		"since:2025-01-01 until:2026-12-31":       "2025 – 2026",
		"since:2025-12-01 until:2026-01-31":       "Dec 2025 – Jan 2026",
	} {
		if got := spanOf(client.ParseQuery(query, clock())).String(); got != want {
			t.Errorf("%q is told as %q, want %q", query, got, want)
		}
	}
}

func TestDaysEndWithTheirLastMoment(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	want := time.Date(2026, 3, 31, 23, 59, 59, 999_999_000, time.UTC)
	if got := days(day, day); !got.until.Equal(want) || !got.since.Equal(day) {
		t.Errorf("%v to %v", got.since, got.until)
	}
}
