package slack

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

func TestIsExport(t *testing.T) {
	for names, want := range map[string]bool{
		"users.json channels.json general/2024-03-01.json":         true,
		"users.json dms.json D1/2024-03-01.json x.txt":             true,
		"users.json channels.json":                                 false,
		"users.json channels.json 2024-03-01.json":                 false,
		"users.json channels.json general/2024-13-01.json":         false,
		"users.json channels.json general/2024-03-01.json/x":       false,
		"users.json integration_logs.json general/2024-03-01.json": false,
		"channels.json general/2024-03-01.json":                    false,
		"a/users.json a/channels.json a/general/2024-03-01.json":   false,
	} {
		folder := fstest.MapFS{}
		for name := range strings.FieldsSeq(names) {
			folder[name] = &fstest.MapFile{}
		}
		var entries []string
		found, _ := folder.ReadDir(".")
		for _, entry := range found {
			if entries = append(entries, entry.Name()); entry.IsDir() {
				entries[len(entries)-1] += "/"
			}
		}
		if got := IsExport(folder, entries); got != want {
			t.Errorf("%s: %v", names, got)
		}
	}
}

// TestHostOfTheWorkspace takes the address of most links: a message may link to another workspace.
func TestHostOfTheWorkspace(t *testing.T) {
	file := func(host string) string {
		return `{"files":[{"permalink":"` + host + `/files/U1/F1/x"}]}`
	}
	for _, c := range []struct{ messages, want string }{
		{file("https://acme.slack.com"), "acme.slack.com"},
		{file("https://other.slack.com") + "," + file("https://acme.slack.com") + "," + file("https://acme.slack.com"), "acme.slack.com"},
		{file("https://evil.example") + "," + file("http://acme.slack.com") + "," + file("https://x@acme.slack.com"), ""},
		{`{"permalink":"https://acme.slack.com/archives/C1/p1"}`, "acme.slack.com"},
		{`{"text":"https://acme.slack.com/archives/C1/p1"}`, ""},
	} {
		e := OpenExport(func(string) ([]byte, error) { return []byte("[" + c.messages + "]"), nil }, []string{"general/2024-03-01.json"})
		if e.host != c.want {
			t.Errorf("%s: %q", c.messages, e.host)
		}
	}
}

// TestLongConversationIsContinued cuts a conversation between messages, under ids of its own.
func TestLongConversationIsContinued(t *testing.T) {
	message := `{"ts":"1709280000.%","text":"` + strings.Repeat("word ", 6_000) + `"}`
	var messages []string
	for i := range 3 * maxConversation / (2 * len(message)) {
		messages = append(messages, strings.Replace(message, "%", strings.Repeat("1", 1+i%9), 1))
	}
	var ids []string
	total := 0
	read(t, "["+strings.Join(messages, ",")+"]", "[]", func(c Conversation) {
		ids = append(ids, c.ID)
		total += len(c.Messages)
	})
	if len(ids) != 2 || ids[0] != "2024-03-01" || !strings.HasPrefix(ids[1], "2024-03-01+") || total != len(messages) {
		t.Errorf("%q with %d of %d messages", ids, total, len(messages))
	}
}

// TestTitleHasTheDaysOfTheMessages dates a conversation as its messages are, in UTC, not as the export names its files.
func TestTitleHasTheDaysOfTheMessages(t *testing.T) {
	for messages, want := range map[string]string{
		`{"ts":"1709337600.1","text":"after midnight"}`:                               "#general · 2024-03-02",
		`{"ts":"1709337600.1","text":"after"},{"ts":"1709337599.1","text":"before"}`:  "#general · 2024-03-01 – 2024-03-02",
		`{"ts":"1709337600.1","text":"a&amp;nbsp;thread","thread_ts":"1709337600.1"}`: "#general · a thread",
	} {
		read(t, "["+messages+"]", "[]", func(c Conversation) {
			if c.Title != want {
				t.Errorf("%q, want %q", c.Title, want)
			}
		})
	}
}

// read reads an export of one day in a public channel.
func read(t *testing.T, day, users string, use func(Conversation)) {
	t.Helper()
	files := map[string]string{"users.json": users, "channels.json": `[{"id":"C1","name":"general"}]`, "general/2024-03-01.json": day}
	e := OpenExport(func(name string) ([]byte, error) { return []byte(files[name]), nil }, []string{"channels.json", "general/2024-03-01.json"})
	e.Conversations([]string{"general/2024-03-01.json"}, func(c Conversation, err error) {
		if err == nil {
			use(c)
		}
	})
}

// TestPeopleOfOtherWorkspaces names people who are in no list by what their messages, and those of others, say of them.
func TestPeopleOfOtherWorkspaces(t *testing.T) {
	files := map[string]string{
		"users.json": `[{"id":"U1","profile":{"real_name":"Ana Ortiz","email":"ana@acme.com"}},7]`, "org_users.json": `[{"id":"U2","real_name":"Bo Org"}]`,
		"channels.json": `[{"id":"C1","name":"general"},{"id":"C2","name":"ops"}]`, "dms.json": `[{"id":"D7","members":["U1","U9"]}]`, "groups.json": `{"no":"list"}`,
		"general/2024-03-01.json": `[{"user":"U1","ts":"1709280000.1","text":"<@U9> and <@U8>, with <@U2>, in <#C2>"},{"user":"U1","ts":"bad"},{"user":"U1","ts":"1709280001.1","reply_count":"3","text":"odd"},
			{"user":"U1","ts":"1709280002.1","text":"shared","attachments":[{"author_id":"U8","author_name":"Dee Shared","text":"of another"}]}]`,
		"D7/2024-03-01.json": `[{"user":"U9","user_profile":{"real_name":"Cleo Vance"},"ts":"1709280000.1","text":"hello"}]`,
	}
	names := slices.Sorted(maps.Keys(files))
	e := OpenExport(func(name string) ([]byte, error) { return []byte(files[name]), nil }, names)
	said, problems := "", ""
	e.Conversations([]string{"general/2024-03-01.json", "D7/2024-03-01.json"}, func(c Conversation, err error) {
		if err != nil {
			problems += err.Error() + "\n"
			return
		}
		said += c.Title + "\n"
		for _, m := range c.Messages {
			said += m.Author.Name + ": " + m.Text + "\n"
		}
	})
	for _, want := range []string{"@Cleo Vance and @Dee Shared, with @Bo Org, in #ops", "Messages of Ana Ortiz, Cleo Vance", "Cleo Vance: hello", "Dee Shared\n\nof another"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	for _, want := range []string{"users.json: 1 of its 2 entries cannot be read", "groups.json: it is not a list", "general/2024-03-01.json: 1 of its 4 entries", "1 message without a valid time"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is not in\n%s", want, problems)
		}
	}
}

func FuzzExport(f *testing.F) {
	f.Add(`[{"user":"U1","ts":"1709280000.1","text":"<@U1> *b*","thread_ts":"1709280000.1","attachments":[{"title":"x"}],"blocks":[{}]}]`,
		`[{"id":"U1","profile":{"real_name":"Ana"}}]`)
	f.Add(`[{"ts":"1709280000.1","file":{"name":"x","permalink":"https://acme.slack.com/files/x"}},{"ts":1}]`, `[]`)
	f.Add(`[{"user":"U9","ts":"1709280000.1","text":"","user_profile":{"real_name":"Bo"},"blocks":`+strings.Repeat(`[{"elements":`, 30)+`"x"`+strings.Repeat("}]", 30)+`,"attachments":[`+strings.Repeat(`{"text":"a"},`, 101)+`{}]}]`, `[]`)
	f.Add(`[{"ts":"99999999999.1","text":"\u001b[31m\u202e"}]`, `[{"id":"U1","name":"\n"}]`)
	f.Fuzz(func(t *testing.T, day, users string) {
		read(t, day, users, func(c Conversation) {
			if c.ID == "" || c.Title == "" || len(c.Messages) == 0 {
				t.Errorf("%+v", c)
			}
			for i, m := range c.Messages {
				if m.Text == "" || m.Author.Name == "" || strings.ContainsAny(m.Author.Name+c.Title, "\n\x1b") || !utf8.ValidString(m.Text) ||
					m.At.Year() < 1970 || i > 0 && m.At.Before(c.Messages[i-1].At) {
					t.Errorf("%+v", m)
				}
			}
		})
	})
}
