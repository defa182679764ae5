package field

import (
	"slices"
	"strings"
	"testing"
)

func TestJoinPlace(t *testing.T) {
	t.Parallel()
	deep := JoinPlace(strings.Split(strings.Repeat("folder/", 200), "/")...)
	for _, test := range []struct {
		names []string
		want  string
	}{
		{nil, ""}, {[]string{"", " "}, ""}, {[]string{"handbook", "people"}, "handbook/people"},
		{[]string{" acme ", "", "a/b", "c\nd"}, "acme/a%2Fb/c d"},
		{[]string{strings.Repeat("x", 600), "below"}, ""}, // not the place of what is below
	} {
		if got := JoinPlace(test.names...); got != test.want {
			t.Errorf("%q: %q", test.names, got)
		}
	}
	if n := len(PlaceNames(deep)); n != mostNames || len(PlacesTo(deep)) != n {
		t.Errorf("a place of %d names", n)
	}
	if got := PlaceNames("/acme/a%2Fb/"); !slices.Equal(got, []string{"acme", "a/b"}) {
		t.Errorf("%q", got)
	}
}

// What a place's names are joined to, they are read from again, whatever they are.
func FuzzJoinPlace(f *testing.F) {
	f.Add("handbook", "people/ops")
	f.Add(" \x00", "%2F")
	f.Fuzz(func(t *testing.T, a, b string) {
		place := JoinPlace(a, b)
		if again := JoinPlace(PlaceNames(place)...); again != place {
			t.Errorf("%q is %q again", place, again)
		}
		for _, above := range PlacesTo(place) {
			if !isInPlace(place, above) || !isInPlace(place, "/"+above) {
				t.Errorf("%q is not in %q", place, above)
			}
		}
	})
}

func TestPlaceInSource(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		source, link, metadata, want string
	}{
		{"slack", "https://acme.slack.com/archives/C1/p2", "Channel=deploys", "#deploys"},
		{"slack", "https://acme.slack.com/archives/C1/p2", "channel=#deploys", "#deploys"},
		{"confluence", "https://wiki.acme.example/spaces/ENG/pages/7", "team=infra", "ENG"},
		{"confluence", "https://wiki.acme.example/spaces/ENG/pages/7", "Wiki Space Name=Engineering,parents=Runbooks", "Engineering/Runbooks"},
		{"github", "https://github.com/acme/infra/blob/main/docs/ops/deploy.md", "", "acme/infra/docs/ops"},
		{"github", "https://github.com/acme/infra/blob/main/README.md", "repo=acme/infra", "acme/infra"},
		{"gitlab", "https://gitlab.acme.example/acme/infra/-/issues/3", "", "acme/infra"},
		{"github", "https://github.com/acme/infra/pull/3", "repo=infra", "infra"},
		{"google_drive", "https://docs.google.com/document/d/1/edit", "folder=People/Leave", "People/Leave"},
		{"google_drive", "https://docs.google.com/document/d/1/edit", "", ""},
		{"web", "https://www.acme.example/docs/ops/deploy.html?x=1", "", "acme.example/docs/ops"},
		{"web", "https://acme.example", "", "acme.example"}, {"web", "://", "", ""}, {"web", "https://acme.example/v1.2/a", "", "acme.example/v1.2"},
		{"linear", "", "team=infra", "infra"}, {"linear", "", "project=Q/A,team=infra", "Q%2FA"},
		{"imap", "", "mailbox= ,folder=/Work/2024/", "Work/2024"},
	} {
		metadata := map[string][]string{}
		for pair := range strings.SplitSeq(test.metadata, ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				metadata[key] = []string{value}
			}
		}
		if got := JoinPlace(PlaceInSource(test.source, test.link, metadata)...); got != test.want {
			t.Errorf("%s %s %s: %q", test.source, test.link, test.metadata, got)
		}
	}
}
