package slack

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Bounds of one message.
const (
	maxText        = 32 << 10 // bytes; Slack's own bound is some 40,000 characters
	maxAttachments = 5
	maxName        = 100 // characters
	maxLink        = 2000
)

// identifiers matches Slack's identifiers. They become part of stored names.
func identifiers() *regexp.Regexp { return regexp.MustCompile(`^[A-Z0-9]{1,32}$`) }

// resultsOf returns the messages that pass the filters as results, in their order.
func resultsOf(messages []slack.SearchMessage, q query) []wire.SearchResult {
	known := people(messages)
	identifier := identifiers()
	var results []wire.SearchResult
	for _, m := range messages {
		at, dated := timeOf(m.Timestamp)
		if !dated || !identifier.MatchString(m.Channel.ID) || !q.admits(m, at) || len(results) == wanted {
			continue
		}
		author := authorOf(m, known)
		stamp := at.Format(time.RFC3339)
		result := wire.SearchResult{
			Title: channelOf(m) + " · " + author, Content: textOf(m, known), Link: linkOf(m.Permalink), SourceType: sourceType,
			UpdatedAt: &stamp, DocumentID: "slack:" + m.Channel.ID + ":" + m.Timestamp, ChunkCount: 1,
			DocumentType: documentType, Authors: []string{author},
			Metadata: map[string]wire.Metadata{channelKey: wire.One(strings.TrimPrefix(channelOf(m), "#"))},
		}
		if result.Content != "" {
			results = append(results, result)
		}
	}
	return results
}

// people returns the names of the messages' authors, by user id.
func people(messages []slack.SearchMessage) map[string]string {
	known := map[string]string{}
	for _, m := range messages {
		if name := plain(m.Username); name != "" && m.User != "" {
			known[m.User] = name
		}
	}
	return known
}

func authorOf(m slack.SearchMessage, known map[string]string) string {
	return cmp.Or(plain(m.Username), plain(m.User), "somebody")
}

// channelOf names the channel of a message. Slack names direct messages by the other user's id.
func channelOf(m slack.SearchMessage) string {
	name := plain(m.Channel.Name)
	switch {
	case m.Channel.IsMPIM || strings.HasPrefix(name, "mpdm-"):
		return "Group message"
	case strings.HasPrefix(m.Channel.ID, "D") || name == "":
		return "Direct message"
	}
	return "#" + name
}

// admits applies the filters that Slack does not apply exactly.
func (q query) admits(m slack.SearchMessage, at time.Time) bool {
	if !q.since.IsZero() && at.Before(q.since) || !q.until.IsZero() && at.After(q.until) {
		return false
	}
	isAuthor := func(asked string) bool { return strings.EqualFold(asked, m.User) || sameName(asked, m.Username) }
	if len(q.authors) > 0 && !slices.ContainsFunc(q.authors, isAuthor) {
		return false
	}
	return len(q.channels) == 0 || slices.ContainsFunc(q.channels, func(asked string) bool {
		return strings.EqualFold(asked, m.Channel.Name)
	})
}

// sameName compares a requested name or address with a Slack name: "Jo Ortiz" and jo.ortiz@acme.com match jo.ortiz, and
// so does one of its words.
func sameName(asked, name string) bool {
	split := func(s string) []string {
		s, _, _ = strings.Cut(strings.ToLower(s), "@")
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ._-", r) })
	}
	words, has := split(asked), split(name)
	return len(words) > 0 && (slices.Equal(words, has) || len(words) == 1 && slices.Contains(has, words[0]))
}

var timestamp = regexp.MustCompile(`^\d{1,10}\.\d{1,9}$`)

// timeOf parses a message timestamp: seconds, a dot, and a counter.
func timeOf(ts string) (time.Time, bool) {
	if !timestamp.MatchString(ts) {
		return time.Time{}, false
	}
	since, err := time.ParseDuration(ts + "s")
	return time.Unix(0, int64(since)).UTC(), err == nil
}

func linkOf(permalink string) *string {
	u, err := url.Parse(permalink)
	if err != nil || len(permalink) > maxLink || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil
	}
	link := u.String()
	return &link
}

// textOf returns the message as Markdown: its text and its attachments.
func textOf(m slack.SearchMessage, known map[string]string) string {
	parts := []string{markdown(m.Text, known)}
	if m.Text == "" {
		parts = append(parts, blocksOf(m.Blocks, known)...)
	}
	for _, a := range m.Attachments[:min(len(m.Attachments), maxAttachments)] {
		title := plain(a.Title)
		if title != "" && a.TitleLink != "" {
			title = markdown("<"+strings.NewReplacer("<", "", ">", "", "|", "").Replace(a.TitleLink)+"|"+escape(title)+">", nil)
		}
		text := a.Text
		if text == "" && title == "" && a.Pretext == "" {
			text = a.Fallback
		}
		parts = append(parts, markdown(a.Pretext, known), title, markdown(text, known))
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return text.Clip(strings.Join(parts, "\n\n"), maxText)
}

// blocksOf returns the texts of the blocks, for messages without a text.
func blocksOf(blocks slack.Blocks, known map[string]string) []string {
	var texts []string
	for _, block := range blocks.BlockSet {
		var text *slack.TextBlockObject
		switch b := block.(type) {
		case *slack.SectionBlock:
			text = b.Text
		case *slack.HeaderBlock:
			text = b.Text
		}
		if text != nil {
			texts = append(texts, markdown(text.Text, known))
		}
		if len(texts) == maxAttachments {
			break
		}
	}
	return texts
}
