package ingest

import (
	"path"
	"strings"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/slack"
)

const slackSource = "slack"

var slackExport = container{kind: "Slack export", source: slackSource, is: isSlackExport, claims: slack.InExport, read: readSlackExport}

func isSlackExport(l layout) bool { return slack.IsExport(l, l.entries) }

func readSlackExport(c *collector) error {
	export := slack.OpenExport(c.content, c.names)
	export.LeaveOut = c.leaveOut
	return export.Conversations(c.names, func(conversation slack.Conversation) error {
		text := func(m slack.Message) string { return m.Text }
		conversation.Messages = withoutSecrets(c, conversation.Title, conversation.Messages, text)
		if len(conversation.Messages) > 0 {
			c.add(c.conversation(c.task.file, conversation), 0)
		}
		return c.ctx.Err()
	}, func(err error) error {
		c.problem(0, err)
		return c.ctx.Err()
	})
}

// conversation returns the document of a conversation. Its passages link to the message with which they begin.
func (r *fileReader) conversation(file foundFile, c slack.Conversation) index.Document {
	channel := c.Channel
	doc := index.Document{
		ID:       fileID(file.path) + "!" + escapePath(channel.ID+"/"+c.ID),
		Source:   slackSource,
		Type:     typeOf("", slackSource),
		Title:    oneLine(c.Title, longestTitle),
		Link:     c.Messages[0].Link,
		Path:     []string{channel.Name},
		Place:    field.JoinPlace(channel.Name),
		Metadata: addField(nil, slack.ChannelKey, []string{strings.TrimPrefix(channel.Name, "#")}, false),
		Access:   []string{AccessPublic},
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
	var messages []threadMessage
	for _, m := range c.Messages {
		body := strings.TrimSpace(cleanText(m.Text)) + "\n\n"
		blocks := r.markdown.parse(body)
		withoutHeadings(blocks)
		authors := []index.Person{person(m.Author.Name, m.Author.Email)}
		messages = append(messages, threadMessage{m.At, authors, m.Link, body, blocks})
	}
	return r.threadDocument(doc, messages, false)
}
