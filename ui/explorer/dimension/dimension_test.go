package dimension

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

func places(values ...string) (level []wire.FacetValue) {
	for _, value := range values {
		level = append(level, wire.FacetValue{Value: value, Count: 1})
	}
	return level
}

// Places divide a library of which one source has more than nine tenths, unless somebody chose the other.
func TestFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sources, places []wire.FacetValue
		flipped, want   bool
	}{
		"one source":           {[]wire.FacetValue{{Value: "file", Count: 3}}, places("a", "b"), false, true},
		"more than nine of 10": {[]wire.FacetValue{{Value: "file", Count: 91}, {Value: "imap", Count: 9}}, places("a"), false, true},
		"nine of 10":           {[]wire.FacetValue{{Value: "file", Count: 90}, {Value: "imap", Count: 10}}, places("a"), false, false},
		"several, flipped":     {[]wire.FacetValue{{Value: "file", Count: 2}, {Value: "imap", Count: 1}}, places("a"), true, true},
		"one, flipped":         {[]wire.FacetValue{{Value: "file", Count: 3}}, places("a"), true, false},
		"no places":            {[]wire.FacetValue{{Value: "file", Count: 3}}, nil, true, false},
		"nothing":              {nil, nil, false, false},
	} {
		if got := For(wire.Facets{Sources: test.sources, Places: test.places}, test.flipped); got.IsPlace() != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	deep := ByPlace(places("handbook/people", "/handbook/teams", "slack"))
	for name, test := range map[string]struct {
		by           Dimension
		source, in   string
		value, names string
	}{
		"a source":             {Dimension{}, "file", "handbook/people", "file", "File › handbook › people"},
		"a channel":            {Dimension{}, "slack", "slack/#deploys", "slack", "Slack › #deploys"},
		"a place of the level": {deep, "file", "handbook/people", "handbook/people", "people"},
		"below it":             {deep, "file", "handbook/teams/infra", "handbook/teams", "teams › infra"},
		"above it":             {deep, "file", "handbook", "handbook", "handbook"},
		"a longer name":        {deep, "file", "handbook/people-ops", "handbook/people-ops", "people-ops"},
		"a source as place":    {deep, "slack", "slack/#deploys", "slack", "Slack › #deploys"},
		"no place":             {deep, "gmail", "", "gmail", "Gmail"},
		"a slash in a name":    {deep, "file", "handbook/people/a%2Fb", "handbook/people", "people › a/b"},
	} {
		r := wire.SearchResult{SourceType: test.source, Place: test.in}
		lead, below := test.by.Path(r)
		if got := strings.Join(append([]string{lead}, below...), " › "); got != test.names || test.by.Value(r) != test.value {
			t.Errorf("%s: %q of %q, want %q of %q", name, got, test.by.Value(r), test.names, test.value)
		}
	}
}

func TestMeans(t *testing.T) {
	t.Parallel()
	by := ByPlace(nil)
	for _, test := range []struct {
		by            Dimension
		filter, value string
		want          bool
	}{
		{by, "people", "handbook/people", true}, {by, "/people", "handbook/people", false}, {by, "/x/people", "/x/people", true},
		{by, "handbook", "handbook/people", false}, {Dimension{}, "a", "b/a", false}, {Dimension{}, "slack", "slack", true},
	} {
		if got := test.by.Means(test.filter, test.value); got != test.want {
			t.Errorf("%q, %q: %v", test.filter, test.value, got)
		}
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	for first, want := range map[string]string{"": "", "hb": "/", "/hb": "/", "hb/docs": "/hb", "/hb/docs/a": "/hb/docs"} {
		var level []wire.FacetValue
		if first != "" {
			level = []wire.FacetValue{{Value: first, Count: 1}}
		}
		if got := ByPlace(level).Level(); got != want {
			t.Errorf("%q: %q, not %q", first, got, want)
		}
	}
}
