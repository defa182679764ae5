package pipeline

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
)

func TestCandidateSources(t *testing.T) {
	seen := []string{"confluence", "jira", "slack", "Not a\nname"}
	for _, c := range []struct{ asked, want []string }{
		{nil, []string{"confluence", "jira", "slack"}},
		{[]string{"slack", "github", "jira"}, []string{"jira", "slack"}},
		{[]string{"github"}, nil},
	} {
		request := Request{Sources: seen, Search: wire.SearchRequest{Filters: wire.Filters{Sources: c.asked}}}
		if got := candidateSources(request); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.asked, got, c.want)
		}
	}
}

func TestParseSources(t *testing.T) {
	candidates := []string{"google_drive", "imap", "slack"}
	for reply, want := range map[string]struct {
		sources []string
		ok      bool
	}{
		"[slack]":                              {[]string{"slack"}, true},
		"[slack, imap]":                        {[]string{"slack", "imap"}, true},
		`["Slack", 'google_drive', slack]`:     {[]string{"slack", "google_drive"}, true},
		"[Google Drive, Email]":                {[]string{"google_drive", "imap"}, true},
		"Not [imap] but, on balance, [slack].": {[]string{"slack"}, true},
		"[]":                                   {nil, true},
		"[notion, hr_secrets]":                 {nil, true},
		"[slack, hr_secrets]":                  {[]string{"slack"}, true},
		"[slack, imap, google_drive]":          {nil, true}, // all of them are no limit
		"slack":                                {nil, false},
		"]slack[":                              {nil, false},
		"":                                     {nil, false},
	} {
		got, ok := parseSources(reply, candidates)
		if !slices.Equal(got, want.sources) || ok != want.ok {
			t.Errorf("%s: got %v %v, want %v", reply, got, ok, want)
		}
	}
}

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

func endOf(y, m, d int) time.Time { return day(y, m, d+1).Add(-time.Microsecond) }

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 5, 31, 15, 4, 5, 0, time.UTC)
	for reply, want := range map[string]struct {
		window
		ok bool
	}{
		"updated (2025-03-01, None)":                           {window{since: day(2025, 3, 1)}, true},
		"updated (2025-03-01, 2025-03-31)":                     {window{day(2025, 3, 1), endOf(2025, 3, 31)}, true},
		"(None, 2024-12-31)":                                   {window{until: endOf(2024, 12, 31)}, true},
		"updated (-P7D, None)":                                 {window{since: day(2026, 5, 24)}, true},
		"updated (-P2W, None)":                                 {window{since: day(2026, 5, 17)}, true},
		"updated (-P3M, -P1M)":                                 {window{day(2026, 2, 28), endOf(2026, 4, 30)}, true},
		"updated (-P1Y, none)":                                 {window{since: day(2025, 5, 31)}, true},
		"updated (-P0D, None)":                                 {window{since: day(2026, 5, 31)}, true},
		"updated ('2025-03-01', `None`)":                       {window{since: day(2025, 3, 1)}, true},
		"updated (None, None)":                                 {window{}, true},
		"updated (2026-06-01, None)":                           {window{}, true},                         // still to come
		"updated (2026-06-01, 2026-05-01)":                     {window{until: endOf(2026, 5, 1)}, true}, // so is this start
		"updated (2025-01-01, 2026-05-31)":                     {window{since: day(2025, 1, 1)}, true},   // today is not over
		"updated (2025-01-01, 2030-01-01)":                     {window{since: day(2025, 1, 1)}, true},
		"updated (2025-03-02, 2025-03-01)":                     {window{}, true},
		"created (2025-03-01, 2025-04-01)":                     {window{since: day(2025, 3, 1)}, true}, // it may have changed since
		"created (None, 2025-04-01)":                           {window{}, true},
		"I see (two, parts) there: updated (2025-03-01, None)": {window{since: day(2025, 3, 1)}, true},
		"updated (2025-02-30, None)":                           {window{}, false},
		"updated (last week, None)":                            {window{}, false},
		"updated (-P5X, None)":                                 {window{}, false},
		"updated (-P-5D, None)":                                {window{}, false},
		"updated (-P99999D, None)":                             {window{}, false},
		"updated (-P36500Y, None)":                             {window{}, false},
		"updated (-P, None)":                                   {window{}, false},
		"updated 2025-03-01":                                   {window{}, false},
		"None":                                                 {window{}, false},
		"":                                                     {window{}, false},
	} {
		got, ok := parseTime(reply, now)
		if got != want.window || ok != want.ok {
			t.Errorf("%s: got %v %v, want %v", reply, got, ok, want)
		}
	}
}

func TestInferredTimeStaysWithinTheCallers(t *testing.T) {
	jan, feb, mar, apr := day(2025, 1, 1), day(2025, 2, 1), day(2025, 3, 1), day(2025, 4, 1)
	for _, c := range []struct {
		name                  string
		inferred, outer, want window
	}{
		{"nothing set", window{feb, mar}, window{}, window{feb, mar}},
		{"both narrow", window{feb, mar}, window{jan, apr}, window{feb, mar}},
		{"the start says nothing more", window{jan, mar}, window{feb, apr}, window{until: mar}},
		{"the end says nothing more", window{feb, apr}, window{jan, mar}, window{since: feb}},
		{"nothing more at all", window{jan, apr}, window{feb, mar}, window{}},
		{"apart", window{since: mar, until: apr}, window{jan, feb}, window{}},
		{"before the caller's start", window{until: jan}, window{since: feb}, window{}},
		{"after the caller's end", window{since: mar}, window{until: feb}, window{}},
		{"one moment is left", window{since: feb}, window{until: feb}, window{since: feb}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.inferred.within(c.outer)
			if got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			span := got.and(c.outer)
			if span.since.Before(c.outer.since) || !c.outer.until.IsZero() && (span.until.IsZero() || span.until.After(c.outer.until)) {
				t.Errorf("%v leaves %v", span, c.outer)
			}
		})
	}
}

func TestFiltersOfTheModel(t *testing.T) {
	now := day(2026, 6, 1)
	request := Request{Now: now, Search: wire.SearchRequest{
		Filters: wire.Filters{Sources: []string{"slack", "jira"}}, TimeCutoff: &wire.Time{Time: day(2025, 1, 1)},
	}}
	limit := inferred{[]string{"jira"}, window{until: day(2026, 1, 1)}}
	want := []wire.AppliedFilter{
		{Field: "sources", Value: "jira", SetBy: "model"},
		{Field: "time_cutoff", Value: "2025-01-01T00:00:00Z", SetBy: "user"},
		{Field: "time_until", Value: "2026-01-01T00:00:00Z", SetBy: "model"},
	}
	if got := appliedFilters(request, limit); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	f := filterWithin(request, limit)
	if !slices.Equal(f.Any[field.Source], limit.sources) || !f.Since.Equal(day(2025, 1, 1)) || !f.Until.Equal(day(2026, 1, 1)) || f.KeepUndated {
		t.Errorf("filter %+v", f)
	}
	limit = inferred{window: window{since: day(2026, 1, 1)}}
	if got := appliedFilters(request, limit)[2]; got.SetBy != "model" || got.Value != "2026-01-01T00:00:00Z" {
		t.Errorf("got %v", got)
	}
	// The zero limit leaves everything as the caller set it.
	if got := filterWithin(request, inferred{}); !reflect.DeepEqual(got, Filter(request)) {
		t.Errorf("got %+v", got)
	}
}

func FuzzParseSources(f *testing.F) {
	f.Add("[slack, [jira]]")
	f.Fuzz(func(t *testing.T, reply string) {
		candidates := []string{"google_drive", "jira", "slack"}
		got, _ := parseSources(cleanReply(reply), candidates)
		if len(got) >= len(candidates) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
			t.Fatalf("got %v", got)
		}
		for _, s := range got {
			if !slices.Contains(candidates, s) {
				t.Fatalf("%q was never offered", s)
			}
		}
	})
}

func FuzzParseTime(f *testing.F) {
	f.Add("updated (2025-03-01, None)", int64(1_780_000_000))
	f.Add("created (-P3M, -P1W)", int64(0))
	f.Fuzz(func(t *testing.T, reply string, seconds int64) {
		now := time.Unix(seconds%4_000_000_000, 0).UTC()
		got, ok := parseTime(cleanReply(reply), now)
		if !ok && got != (window{}) {
			t.Fatalf("%v of a reply that cannot be read", got)
		}
		if got.since.After(now) || !got.until.IsZero() && (got.since.After(got.until) || !got.until.Before(now)) {
			t.Fatalf("%v as of %v", got, now)
		}
	})
}
