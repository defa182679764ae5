package ingest

import (
	"path"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/slack"
)

const slackSource = "slack"

var slackExport = container{kind: "Slack export", source: slackSource, is: isSlackExport, claims: slack.InExport,
	read: readSlackExport}

func isSlackExport(l layout) bool { return slack.IsExport(l, l.entries) }

func readSlackExport(c *collector) {
	export := slack.OpenExport(c.content, c.names)
	export.LeaveOut = c.leaveOut
	export.Conversations(c.names, func(conversation slack.Conversation, err error) {
		if err != nil {
			c.problem(0, err)
		}
		text := func(m slack.Message) string { return m.Text }
		conversation.Messages = withoutSecrets(c, conversation.Title, conversation.Messages, text)
		if len(conversation.Messages) > 0 {
			c.addConversation(conversation)
		}
		c.check()
	})
}

// addConversation adds the document of a conversation. Its passages link to the message with which they begin.
func (c *collector) addConversation(said slack.Conversation) {
	channel := said.Channel
	link := said.Messages[0].Link
	if link == "" && len(c.task.file.inner) > 0 {
		link = fileLink(path.Join(c.task.file.path, said.File))
	}
	doc := c.conversation(slackSource, channel.ID+"/"+said.ID, said.Title, link, []string{channel.Name})
	doc.Metadata = addField(nil, slack.ChannelKey, []string{strings.TrimPrefix(channel.Name, "#")}, false)
	if channel.Private {
		emails := exslices.CastFunc(channel.Members, func(member slack.Person) string { return member.Email })
		access := wire.ExternalAccess{UserGroupIDs: []string{channel.ID}, UserEmails: emails}
		doc.Access = ingestionAccess(&access, slackSource)
	}
	var messages []threadMessage
	for _, m := range said.Messages {
		body := strings.TrimSpace(cleanText(m.Text)) + "\n\n"
		blocks := c.markdown.parse(body)
		withoutHeadings(blocks)
		authors := []index.Person{person(m.Author.Name, m.Author.Email)}
		messages = append(messages, threadMessage{m.At, authors, m.Link, body, blocks})
	}
	c.add(c.threadDocument(doc, messages, false), 0)
}
