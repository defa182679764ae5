package slack

import (
	"strings"
	"testing"
)

func section(elements string) string {
	return `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[` + elements + `]}]}`
}

// TestTextsOfBlocks reads each kind of block.
func TestTextsOfBlocks(t *testing.T) {
	names := map[string]string{"U1": "Ana", "C1": "ops"}
	for block, want := range map[string]string{
		`{"type":"header","text":{"type":"plain_text","text":"A <b> & c"}}`: "A <b> & c",
		`{"type":"section","text":{"type":"mrkdwn","text":"*bold* <https://x.example|here>"},"fields":[{"type":"mrkdwn","text":"one"},{"type":"plain_text","text":"two"}],"accessory":{"type":"button","text":{"type":"plain_text","text":"Open"},"value":"x1","action_id":"y"}}`: "**bold** [here](https://x.example)\n\none\n\ntwo\n\nOpen",
		`{"type":"context","elements":[{"type":"mrkdwn","text":"by <@U1>"},{"type":"image","image_url":"https://x","alt_text":"a crane"}]}`:                                                                                                                                       "by @Ana\n\na crane",
		`{"type":"image","title":{"type":"plain_text","text":"The crane"},"image_url":"https://x","alt_text":"from above"}`:                                                                                                                                                       "The crane\n\nfrom above",
		`{"type":"video","title":{"type":"plain_text","text":"Film"},"description":{"type":"plain_text","text":"of it"},"author_name":"Bo","provider_name":"x"}`:                                                                                                                  "Bo\n\nFilm\n\nof it",
		`{"type":"markdown","text":"# As *it* is"}`: "# As *it* is", `{"type":"divider"}`: "", `{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Approve"}},{"type":"static_select","placeholder":{"type":"plain_text","text":"Pick"},"options":[{"text":{"type":"plain_text","text":"Red"},"value":"r"}]}]}`: "Approve\n\nRed\n\nPick",
		`{"type":"input","label":{"type":"plain_text","text":"Name"},"element":{"type":"plain_text_input","initial_value":"x"},"hint":{"type":"plain_text","text":"Full"}}`:                                                                                                                                                                          "Name\n\nFull",
		`{"type":"table","rows":[[{"type":"raw_text","text":"Crane"},{"type":"raw_text","text":"a|b"}],[{"type":"raw_text","text":"Quay"},` + section(`{"type":"text","text":"40"}`) + `]]}`:                                                                                                                                                         "| Crane | a\\|b |\n|---|---|\n| Quay | 40 |",
		section(`{"type":"text","text":"Hi "},{"type":"user","user_id":"U1"},{"type":"text","text":" in "},{"type":"channel","channel_id":"C1"},{"type":"text","text":" "},{"type":"broadcast","range":"here"},{"type":"emoji","name":"tada"},{"type":"text","text":" big","style":{"bold":true}},{"type":"text","text":"x","style":{"code":true}}`): "Hi @Ana in #ops @here:tada: big`x`",
		section(`{"type":"link","url":"https://x.example/a|b","text":"the plan"},{"type":"text","text":" "},{"type":"date","timestamp":1,"fallback":"1 March"},{"type":"usergroup","usergroup_id":"S1"},{"type":"color","value":"#fff"},{"type":"new","text":"thing"}`):                                                                              "[the plan](https://x.example/a%7Cb) 1 March@subteam#fffthing",
		section(`{"type":"text","text":"bold","style":{"bold":true}},{"type":"text","text":" and "},{"type":"text","text":"gone","style":{"strike":true}}`):                                                                                                                                                                                          "**bold** and ~~gone~~",
		`{"type":"rich_text","elements":[{"type":"rich_text_list","style":"bullet","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]}]},{"type":"rich_text_list","style":"ordered","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"first"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"second"}]}]},` +
			`{"type":"rich_text_quote","elements":[{"type":"text","text":"a\nb"}]},{"type":"rich_text_preformatted","elements":[{"type":"text","text":"rm *x* <y>"}]}]}`: "  - one\n\n1. first\n2. second\n\n> a\n> b\n\n```\nrm *x* <y>\n```",
		`{"type":"alert","text":{"type":"mrkdwn","text":"of later"},"inner":{"deep":[{"type":"mrkdwn","text":"found too"}]}}`: "of later\n\nfound too", `7`: "", `{"type":7,"text":{"type":"mrkdwn"}}`: "",
	} {
		got, _ := textOf("", []byte("["+block+"]"), nil, names)
		if got != want {
			t.Errorf("%s:\n%q, want\n%q", block, got, want)
		}
	}
}

// TestTextBesideBlocks shows what a person wrote once, and what programs write whole.
func TestTextBesideBlocks(t *testing.T) {
	for name, test := range map[string]struct{ text, blocks, attachments, want string }{
		"of a person":      {"The *quay* is closed, <@U1>", section(`{"type":"text","text":"The "},{"type":"text","text":"quay","style":{"bold":true}},{"type":"text","text":" is closed, "},{"type":"user","user_id":"U1"}`), "", "The **quay** is closed, @U1"},
		"a group's name":   {"Please have a look at the crane now <!subteam^S1|@ops>", section(`{"type":"text","text":"Please have a look at the crane now "},{"type":"usergroup","usergroup_id":"S1"}`), "", "Please have a look at the crane now @ops"},
		"of a program":     {"New incident", `{"type":"header","text":{"type":"plain_text","text":"Pump 7"}}`, "", "New incident\n\nPump 7"},
		"its text in it":   {"Pump 7 failed", `{"type":"header","text":{"type":"plain_text","text":"Pump 7 failed"}},{"type":"section","text":{"type":"mrkdwn","text":"at the quay"}}`, "", "Pump 7 failed\n\nat the quay"},
		"attachments":      {"", "", `[{"fallback":"none","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"in blocks"}}]},{"fallback":"only this"},{"author_name":"Bo","pretext":"before","title":"T","title_link":"https://x.example","text":"said","fields":[{"title":"Height","value":40},7],"footer":"foot"}]`, "in blocks\n\nonly this\n\nBo\n\nbefore\n\n[T](https://x.example)\n\nsaid\n\nHeight: 40\n\nfoot"},
		"a shared message": {"", "", `[{"message_blocks":[{"team":"T1","message":{"blocks":[` + section(`{"type":"text","text":"of another"}`) + `]}}]}]`, "of another"},
		"not what it is":   {"kept", `{"a":`, `{"text":{"type":"mrkdwn","text":"found"}}`, "kept\n\nfound"},
		"many attachments": {"", "", "[" + strings.Repeat(`{"text":"x"},`, 30) + `{"text":"the last"}]`, strings.Repeat("x\n\n", 30) + "the last"},
	} {
		blocks := ""
		if test.blocks != "" {
			blocks = "[" + test.blocks + "]"
		}
		if got, _ := textOf(test.text, []byte(blocks), []byte(test.attachments), nil); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestBoundsOfMessages: what is beyond the bounds of a message is named.
func TestBoundsOfMessages(t *testing.T) {
	attachments := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`{"text":"a"},`, n), ",") + "]" }
	nested := func(n int) string {
		return "[" + strings.Repeat(`{"elements":[`, n) + `{"type":"mrkdwn","text":"inner"}` + strings.Repeat("]}", n) + "]"
	}
	block := func(kind string, n int) string {
		return `[{"type":"` + kind + `","text":"` + strings.Repeat("y", n) + `"}]`
	}
	for _, c := range []struct{ said, blocks, attachments, want string }{
		{strings.Repeat("x", maxText), "", attachments(1), "what is beyond 192 KB"}, {"x", nested(3), attachments(maxAttachments), ""},
		{"x", "", attachments(maxAttachments + 1), "attachments after the first 100"}, {"x", nested(deepestBlock), "", "deeply nested blocks"},
		{strings.Repeat("x", maxText+1), "", "", "what is beyond 192 KB"},
		{"", block("markdown", maxText+1), "", "what is beyond 192 KB"}, {"x", block("mrkdwn", maxText+1), "", "what is beyond 192 KB"},
		{"", block("plain_text", maxText), "", ""}, {"", "", block("mrkdwn", maxText+1), "what is beyond 192 KB"},
	} {
		if got, lost := textOf(c.said, []byte(c.blocks), []byte(c.attachments), nil); strings.Join(lost, "; ") != c.want || strings.ContainsAny(got, tooDeep+tooLong) {
			t.Errorf("%q, want %q", lost, c.want)
		}
	}
}
