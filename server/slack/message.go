package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
)

// Bounds of one message.
const (
	maxText        = 192 << 10 // bytes; Slack's own bounds are some 40,000 characters, and 50 blocks of 3,000
	maxAttachments = 100
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
		author := cmp.Or(plain(m.Username), plain(m.User), "somebody")
		stamp := at.Format(time.RFC3339)
		result := wire.SearchResult{
			Title: channelOf(m) + " · " + author, Content: searchedText(m, known), Link: linkOf(m.Permalink),
			SourceType: sourceType,
			UpdatedAt:  &stamp, DocumentID: "slack:" + m.Channel.ID + ":" + m.Timestamp, ChunkCount: 1,
			DocumentType: documentType, Place: placeOf(m), Authors: []string{author},
			Metadata: map[string]wire.Metadata{ChannelKey: wire.One(strings.TrimPrefix(channelOf(m), "#"))},
		}
		if result.Content != "" {
			results = append(results, result)
		}
	}
	return results
}

// searchedText returns the text of a message that the library of Slack has decoded.
func searchedText(m slack.SearchMessage, known map[string]string) string {
	blocks, _ := json.Marshal(m.Blocks.BlockSet) // what was decoded can be encoded
	attachments, _ := json.Marshal(m.Attachments)
	said, _ := textOf(m.Text, blocks, attachments, known) // of a longer message the beginning is a result
	return said
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

// placeOf returns the place of a message, as of a document with the channel as its tag.
func placeOf(m slack.SearchMessage) string {
	channel := []string{strings.TrimPrefix(channelOf(m), "#")}
	return field.PlaceOf(sourceType, "", map[string][]string{ChannelKey: channel})
}

// admits applies the filters that Slack does not apply exactly.
func (q query) admits(m slack.SearchMessage, at time.Time) bool {
	if !q.since.IsZero() && at.Before(q.since) || !q.until.IsZero() && at.After(q.until) {
		return false
	}
	for id, has := range map[field.ID]func(asked string) bool{
		field.Author: func(asked string) bool {
			return strings.EqualFold(asked, m.User) || sameName(asked, m.Username)
		},
		field.Tag:   func(asked string) bool { return strings.EqualFold(channelIn(asked), m.Channel.Name) },
		field.Place: func(asked string) bool { return field.Of(field.Place).Matches(placeOf(m), asked) },
	} {
		if only := q.only[id]; len(only) > 0 && !slices.ContainsFunc(only, has) ||
			slices.ContainsFunc(q.never[id], has) {
			return false
		}
	}
	return true
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

var timestamp = pattern.Lazy(`^\d{1,10}\.\d{1,9}$`)

// timeOf parses a message timestamp: seconds, a dot, and a counter.
func timeOf(ts string) (time.Time, bool) {
	if !timestamp().MatchString(ts) {
		return time.Time{}, false
	}
	since, err := time.ParseDuration(ts + "s")
	return time.Unix(0, int64(since)).UTC(), err == nil
}

func linkOf(permalink string) *string {
	u, err := url.Parse(permalink)
	if err != nil || len(permalink) > maxLink || u.Host == "" || u.User != nil ||
		u.Scheme != "https" && u.Scheme != "http" {
		return nil
	}
	link := u.String()
	return &link
}

// textOf returns a message as Markdown: its text, its blocks and its attachments, and what is beyond their bounds.
func textOf(said string, blocks, attachments json.RawMessage, known map[string]string) (message string, lost []string) {
	var others []string
	var list []map[string]any
	if len(attachments) > 0 && wire.Unmarshal(attachments, &list) != nil {
		others = blocksOf(attachments, known)
	}
	for _, attached := range list[:min(len(list), maxAttachments)] {
		others = append(others, attachmentOf(attached, known)...)
	}
	if len(list) > maxAttachments {
		lost = append(lost, fmt.Sprintf("attachments after the first %d", maxAttachments))
	}
	inBlocks := blocksOf(blocks, known)
	if strings.Contains(strings.Join(slices.Concat(inBlocks, others), ""), tooDeep) {
		lost = append(lost, "deeply nested blocks")
	}
	parts := slices.Concat(withBlocks(markdown(said, known), inBlocks), others)
	message = strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n\n")
	isCut := strings.Contains(message, tooLong)
	message = strings.NewReplacer(tooDeep, "", tooLong, "").Replace(message)
	if isCut || len(message) > maxText {
		lost = append(lost, fmt.Sprintf("what is beyond %d KB", maxText>>10))
	}
	return text.Clip(message, maxText), lost
}

// clipped returns at most maxText bytes of a text for people, and tooLong behind them if there are more.
func clipped(said string) string {
	said = visible(said)
	if clip := text.Clip(said, maxText); len(clip) < len(said) {
		return clip + tooLong
	}
	return said
}

// attachmentOf returns the texts of an attachment: the old form of blocks, or a link's preview. Its text for
// notifications counts where there is no other.
func attachmentOf(a map[string]any, known map[string]string) []string {
	title := linked(plain(textIn(a, "title")), textIn(a, "title_link"))
	texts := []string{plain(textIn(a, "author_name")), markdown(textIn(a, "pretext"), known), title,
		markdown(textIn(a, "text"), known)}
	fields, _ := a["fields"].([]any)
	for _, field := range fields {
		if field, isField := field.(map[string]any); isField {
			name := plain(textIn(field, "title"))
			texts = append(texts, strings.TrimPrefix(name+": ", ": ")+markdown(textIn(field, "value"), known))
		}
	}
	texts = append(texts, blockTexts(a["blocks"], known, 0)...)
	texts = append(texts, blockTexts(a["message_blocks"], known, 0)...)
	if strings.TrimSpace(strings.Join(texts, "")) == "" {
		texts = append(texts, markdown(textIn(a, "fallback"), known))
	}
	return append(texts, plain(textIn(a, "footer")))
}

// linked returns a title as a Markdown link.
func linked(title, target string) string {
	if title == "" || target == "" {
		return title
	}
	return markdown("<"+strings.NewReplacer("<", "", ">", "", "|", "").Replace(target)+"|"+escape(title)+">", nil)
}

const (
	fence = "```"
	// Characters for private use that stand for marks, and for finished parts, while a message is converted.
	bold, struck, firstPart = '\uE000', '\uE001', '\U000F0000'
)

var (
	parts      = pattern.Lazy("\n?```(?s:.*?)```|`[^`\n]*`|<[^>\n]*>?")
	references = pattern.Lazy(`<[^>\n]*>`)
	quotes     = pattern.Lazy(`(?m)^&gt;(?:&gt;&gt;)? *`)
	boldText   = sync.OnceValue(func() *regexp.Regexp { return emphasis('*') })
	struckText = sync.OnceValue(func() *regexp.Regexp { return emphasis('~') })
)

// emphasis matches text between marks that are not inside words.
func emphasis(mark rune) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(`(?m)(^|[^\pL\pN])\M([^\sM]|[^\sM].*?\S)\M($|[^\pL\pN])`, "M",
		string(mark)))
}

// markdown converts Slack's mrkdwn to Markdown: *bold*, ~struck~, <https://example.com|a link>, <@U1>, &lt;. names has
// the names of users by id.
func markdown(message string, names map[string]string) string {
	var done []string
	message = parts().ReplaceAllStringFunc(clipped(message), func(part string) string {
		start, end := "", ""
		code, isCode := strings.CutPrefix(strings.TrimPrefix(part, "\n"), fence)
		switch inside, isClosed := strings.CutSuffix(part, ">"); {
		case isCode && strings.Trim(code, "` \t\n") == "":
			return part[:strings.IndexByte(part, '`')]
		case isCode:
			start, end = "\n", "\n"
			part = fence + "\n" + strings.Trim(unwrapped(strings.TrimSuffix(code, fence), names), "\n") + "\n" + fence
		case part[0] == '`':
			part = unwrapped(part, names)
		case isClosed:
			part = reference(inside[1:], names)
		default:
			part = prose(part)
		}
		done = append(done, part)
		return start + string(firstPart+rune(len(done)-1)) + end
	})
	replace := func(sign string, pattern func() *regexp.Regexp, with string) {
		if strings.Contains(message, sign) { // most messages have none, and exports have many messages
			message = pattern().ReplaceAllString(message, with)
		}
	}
	replace("&gt;", quotes, "> ")
	for range 2 { // neighbours share the character between them
		replace("*", boldText, "$1"+string(bold)+"$2"+string(bold)+"$3")
		replace("~", struckText, "$1"+string(struck)+"$2"+string(struck)+"$3")
	}
	var out strings.Builder
	for _, r := range prose(message) {
		switch {
		case r == bold:
			out.WriteString("**")
		case r == struck:
			out.WriteString("~~")
		case r >= firstPart && int(r-firstPart) < len(done):
			out.WriteString(done[r-firstPart])
		default:
			out.WriteRune(r)
		}
	}
	return strings.TrimSpace(out.String())
}

// reference converts what is between < and >: a link, a user, a channel, or a command such as !here.
func reference(inside string, names map[string]string) string {
	target, label, _ := strings.Cut(inside, "|")
	label = prose(label)
	switch {
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
		return target[:1] + strings.TrimPrefix(cmp.Or(label, names[target[1:]], target[1:]), target[:1])
	case strings.HasPrefix(target, "!"):
		return command(target[1:], label)
	}
	return link(entities(target), label)
}

// command converts a group mention or a date.
func command(target, label string) string {
	name, _, _ := strings.Cut(target, "^")
	if name == "date" {
		return label
	}
	return "@" + strings.TrimPrefix(cmp.Or(label, name), "@")
}

// link returns a Markdown link, or the label if the target is no web address.
func link(target, label string) string {
	u, err := url.Parse(target)
	if err != nil || u.User != nil && u.Scheme != "mailto" || len(target) > maxLink {
		return label
	}
	switch u.Scheme {
	case "mailto", "tel":
		return cmp.Or(label, u.Opaque)
	case "http", "https":
	default:
		return cmp.Or(label, target)
	}
	target = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "\n", "").Replace(target)
	if bare := strings.NewReplacer("https://", "", "http://", ""); label == "" ||
		bare.Replace(label) == bare.Replace(target) {
		return target
	}
	return "[" + strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(label) + "](" + target + ")"
}

// unwrapped converts code: emphasis stays as it is, links become their labels.
func unwrapped(code string, names map[string]string) string {
	return entities(references().ReplaceAllStringFunc(code, func(part string) string {
		target, label, _ := strings.Cut(part[1:len(part)-1], "|")
		if target != "" && strings.Contains("@#!", target[:1]) {
			return reference(part[1:len(part)-1], names)
		}
		return cmp.Or(label, target)
	}))
}

// entities decodes the three characters that Slack escapes.
func entities(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, "&lt;", "<"), "&gt;", ">"), "&amp;", "&")
}

// prose decodes them in text that is not code, where people paste the entity of a space.
func prose(text string) string { return strings.ReplaceAll(entities(text), "&nbsp;", " ") }

// escape encodes them.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// visible removes invisible characters, such as Slack's marks around matched words.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Co, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}

// plain returns foreign text on one line of at most maxName characters.
func plain(s string) string {
	s = text.OneLine(visible(text.Clip(s, 4*maxName)))
	if utf8.RuneCountInString(s) > maxName {
		return text.Shorten(s, maxName-1)
	}
	return s
}

// hostOf returns the workspace of a link to a file or message.
func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil || linkOf(link) == nil || u.Scheme != "https" || !strings.HasSuffix(u.Host, ".slack.com") ||
		!strings.HasPrefix(u.Path, "/files/") && !strings.HasPrefix(u.Path, "/archives/") {
		return ""
	}
	return u.Host
}
