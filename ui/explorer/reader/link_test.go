package reader

import "testing"

func TestALinkIsShortenedFromItsMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		link string
		room int
		want string
	}{
		{"https://www.wiki.example/a/b/", 40, "wiki.example/a/b"},
		{"https://wiki.example/spaces/platform/runbooks/rolling-back", 44, "wiki.example/…/runbooks/rolling-back"},
		{"https://wiki.example/spaces/platform/runbooks/rolling-back", 28, "wiki.example/…/rolling-back"},
		{"https://wiki.example/spaces/platform/runbooks/rolling-back", 20, "wiki.example/…"},
		{"mailto:jo@acme.com", 40, "jo@acme.com"},
		{"file:///home/jo/my%20notes/lantern.md#brass", 60, "/home/jo/my notes/lantern.md"},
		{"file:///home/jo/my%20notes/lantern.md#brass", 24, "…/jo/my notes/lantern.md"},
		{"FILE:///a/b%1b%5b31m.md", 60, "/a/b.md"},
		{"file:///a/100%.md", 60, "/a/100%.md"},
		{"https://wiki.example/" + "x/y//", 12, "wiki.example/…"},
	} {
		if got := shortLink(c.link, c.room); got != c.want {
			t.Errorf("%s in %d columns: %q, want %q", c.link, c.room, got, c.want)
		}
	}
}
