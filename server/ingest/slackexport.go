package ingest

import (
	"path"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/slack"
)

const slackSource = "slack"

var slackExport = container{kind: "Slack export", source: slackSource, is: isSlackExport, claims: slack.InExport, read: readSlackExport}

func isSlackExport(l layout) bool { return slack.IsExport(l, l.entries) }

func readSlackExport(r *fileReader, c *collector, files *innerFiles) error {
	export, err := slack.OpenExport(files.read, files.names)
	if err != nil {
		return err
	}
	return export.Conversations(files.names, func(conversation slack.Conversation) error {
		doc, err := r.conversation(c.task.file, conversation)
		if err != nil {
			return c.problem(0, err)
		}
		return c.add(doc, 0)
	}, func(err error) error { return c.problem(0, err) })
}

// conversation returns the document of a conversation. Its passages link to the message with which they begin.
func (r *fileReader) conversation(file foundFile, c slack.Conversation) (index.Document, error) {
	channel := c.Channel
	doc := index.Document{
		ID:        fileID(file.path) + "!" + escapePath(channel.ID+"/"+c.ID),
		Source:    slackSource,
		Type:      typeOf("", slackSource),
		Title:     oneLine(c.Title, longestTitle),
		Link:      c.Messages[0].Link,
		Path:      []string{channel.Name},
		CreatedAt: c.Messages[0].At,
		UpdatedAt: c.Messages[len(c.Messages)-1].At,
		Metadata:  addField(nil, slack.ChannelKey, []string{strings.TrimPrefix(channel.Name, "#")}, false),
		Access:    []string{AccessPublic},
	}
	if doc.Link == "" {
		doc.Link = fileLink(file.path)
		if len(file.inner) > 0 {
			doc.Link = fileLink(path.Join(file.path, c.File))
		}
	}
	if channel.Private {
		access := wire.ExternalAccess{UserGroupIDs: []string{channel.ID}}
		for _, member := range channel.Members {
			access.UserEmails = append(access.UserEmails, member.Email)
		}
		doc.Access = ingestionAccess(&access, slackSource)
	}
	body, blocks, starts := r.messages(c.Messages)
	made := chunked(body, blocks, doc.Title, doc.Link)
	doc.Chunks = made.chunks
	if len(doc.Chunks) == 0 {
		return doc, errEmpty
	}
	for i := range doc.Chunks {
		at, _ := slices.BinarySearch(starts, made.places[i].Start+1)
		doc.Chunks[i].Link = c.Messages[max(0, at-1)].Link
	}
	for _, m := range c.Messages {
		doc.Authors = addPerson(doc.Authors, index.Person{Name: oneLine(m.Author.Name, longestValue), Email: email(m.Author.Email)})
	}
	return doc, nil
}

// messages returns the text of messages, each below its author and time, and where they start.
func (r *fileReader) messages(messages []slack.Message) (body string, blocks []block, starts []int) {
	var out strings.Builder
	for _, m := range messages {
		start := out.Len()
		starts = append(starts, start)
		out.WriteString("**" + oneLine(m.Author.Name, longestValue) + "** · " + m.At.UTC().Format("2006-01-02 15:04") + "\n\n")
		message := block{kind: kindContainer, start: start, children: []block{{kind: kindProse, start: start, end: out.Len()}}}
		text := strings.TrimSpace(cleanText(m.Text)) + "\n\n"
		parsed := r.markdown.parse(text)
		shift(parsed, out.Len())
		withoutHeadings(parsed)
		message.children = append(message.children, parsed...)
		out.WriteString(text)
		message.end = out.Len()
		blocks = append(blocks, message)
	}
	return out.String(), blocks, starts
}

// withoutHeadings turns headings into prose: those of a message do not structure the conversation.
func withoutHeadings(blocks []block) {
	for i := range blocks {
		if blocks[i].kind == kindHeading {
			blocks[i].kind = kindProse
		}
		withoutHeadings(blocks[i].children)
	}
}
