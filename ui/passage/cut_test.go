package passage

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ markdown, want string }{
		"outside of marks": {"Ask **early**. {Ask twice.} Go.", "Ask twice."},
		"emphasis":         {"Now: **In a hurry?{** Pause the canary.}", "**In a hurry?** Pause the canary."},
		"its end":          {"{Pause **the} canary** now.", "Pause **the canary**"},
		"code and links":   {"Run `kwctl {status` and see [the} runbook](https://a/b) now.", "`kwctl status` and see [the runbook](https://a/b)"},
		"a lone mark":      {"2 * 3 {is 6.} Fine.", "is 6."},
		"quotes":           {"> {**In a hurry?** Pause,\n> roll back.}\n", "> **In a hurry?** Pause,\n> roll back."},
		"within code":      {"Set:\n\n```sh\nA=1\n{B=2}\n```\n\nDone.", "```sh\nB=2\n```"},
		"out of code":      {"Set:\n\n```sh\nA={1\n```\n\nDone.} Go.", "```sh\nA=1\n```\n\nDone."},
		"below code":       {"```sh\nA=1\n{```\n\nDone.}", "\nDone."},
		"into code":        {"{Set:\n\n```sh\nA}=1\nB=2\n```\n", "Set:\n\n```sh\nA=1\n```"},
		"a row":            {"Costs:\n\n| what | most |\n|---|---|\n| desk | 300 |\n| moni{tor | 40}0 |\n\nEnd.", "| what | most |\n|---|---|\n| monitor | 400 |"},
		"a header":         {"| what | most |\n{|---|---|\n| desk | 300 |}\n", "| what | most |\n|---|---|\n| desk | 300 |"},
		"a whole table":    {"{| what | most |\n|---|---|\n| desk | 300 |}\n", "| what | most |\n|---|---|\n| desk | 300 |"},
	} {
		from := strings.IndexByte(test.markdown, '{')
		to := strings.IndexByte(test.markdown, '}') - 1
		markdown := strings.NewReplacer("{", "", "}", "").Replace(test.markdown)
		if got := Cut(markdown, from, to); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}
