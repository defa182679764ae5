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

func readSlackExport(r *fileReader, c *collector, files *innerFiles) error {
	export := slack.OpenExport(files.read, files.names)
	export.LeaveOut = r.leaveOut
	return export.Conversations(files.names, func(conversation slack.Conversation) error {
		var err error
		conversation.Messages, err = withoutSecrets(c, conversation.Title, conversation.Messages, func(m slack.Message) string { return m.Text })
		if err != nil || len(conversation.Messages) == 0 {
			return err
		}
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
		author := index.Person{Name: oneLine(m.Author.Name, longestValue), Email: email(m.Author.Email)}
		messages = append(messages, threadMessage{at: m.At, authors: []index.Person{author}, link: m.Link, body: body, blocks: blocks})
	}
	return r.threadDocument(doc, messages, false), nil
}
