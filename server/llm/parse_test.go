package llm

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
)

func TestMessagesOfServers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"no such model","code":404}}`: "no such model",
		`{"error":"model 'x' not found"}`:                  "model 'x' not found",
		`{"message":"slow down"}`:                          "slow down",
		`{"detail":"Not Found"}`:                           "Not Found",
		`{"detail":[{"msg":"field required"}]}`:            "field required",
		`{"error":{"message":["a","b"]}}`:                  "a; b",
		`{"error":{"message":"a\nb\u0007 \u202ec"}}`:       "a b c",
		`{"error":{"message":"your key sk-1234 is bad"}}`:  "your key [secret] is bad",
		`{"error":{"message":"sk-\u000012\u000034"}}`:      "sk- 12 34",
		`<html>`: "", ``: "", `null`: "", `[]`: "",
	} {
		if got := cleanMessage(wire.Reason([]byte(body)), "sk-1234"); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add(500, "3", `{"error":{"message":"no"}}`, "sk-1")
	f.Add(429, "Sat, 01 Aug 2026 12:00:00 GMT", `{"detail":"sk-1"}`, "sk-1")
	f.Fuzz(func(t *testing.T, status int, after, body, key string) {
		e := refusal(status, http.Header{"Retry-After": {after}}, []byte(body), key)
		if !utf8.ValidString(e.Message) || utf8.RuneCountInString(e.Message) > maxMessage ||
			strings.ContainsFunc(e.Message, unicode.IsControl) || e.RetryAfter < 0 || e.RetryAfter > 24*time.Hour {
			t.Errorf("%+v", e)
		}
		if len(key) >= 8 && !strings.Contains("[secret]", key) && strings.Contains(e.Message, key) {
			t.Errorf("the key is in %q", e.Message)
		}
	})
}

func TestThinkingIsTakenOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "",
		"Yes":                                "Yes",
		" Yes":                               " Yes",
		"<think>Hm</think>Yes":               "Yes",
		"\n <think>\nHm\n</think>\n\n Yes\n": "Yes\n",
		"<think></think>":                    "",
		"<think>Hm":                          "",
		"<thi":                               "<thi",
		"<thing>Yes":                         "<thing>Yes",
		"Yes <think>Hm</think>":              "Yes <think>Hm</think>",
		"<think>a</thin</think>b</think>":    "b</think>",
		"[THINK]Hm[/THINK]\nYes":             "Yes", "<thinking>Hm</thinking>Yes": "Yes", "◁think▷Hm◁/think▷Yes": "Yes", "<think>a</think><think>b</think>Yes": "Yes",
		"<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes": "Yes", "<|channel|>final<|message|>Yes": "Yes",
		"<|begin_of_thought|>Hm<|end_of_thought|>\n<|begin_of_solution|>Yes": "Yes", "<|inner_prefix|>Hm<|inner_suffix|>Yes": "Yes", "<longcat_think>Hm</longcat_think>\nYes": "Yes",
		"<|START_THINKING|>Hm<|END_THINKING|><|START_RESPONSE|>Yes": "Yes", "<|channel|>": "<|channel|>", "[THINKING] Yes": "[THINKING] Yes",
	} {
		if got, isBegun := withoutThinking(text); got != want || isBegun {
			t.Errorf("%q: %q, %v, want %q", text, got, isBegun, want)
		}
	}
	for text, want := range map[string]string{"Hm\n</think>\n\nYes": "Yes", "Hm[/THINK]Yes": "Yes", "Hm</think>": "", "</think>Yes": "Yes", "Hm</think><|START_RESPONSE|>Yes": "Yes"} {
		if got, isBegun := withoutThinking(text); got != want || !isBegun {
			t.Errorf("%q: %q, %v, want %q", text, got, isBegun, want)
		}
	}
}

// TestThinkingThatThePromptBegins: a whole reply shows that the prompt begins the thinking, and of the streamed reply that
// follows only what comes after it is passed on, or all if it does not think.
func TestThinkingThatThePromptBegins(t *testing.T) {
	t.Parallel()
	for streamed, want := range map[string]string{"They ask. It may be\n</think>\n\nThe heath.": "The heath.", "The heath.": "The heath.", "<think>Hm</think>The heath.": "The heath."} {
		server, p := scripted(t, nil)
		server.On(llmtest.Any(), llmtest.Text("They ask for a place.\n</think>\n\nwhere?"), llmtest.Text(streamed))
		chat := chatOf(t, p)
		reply, err := chat.Complete(t.Context(), question)
		if err != nil || reply.Text != "where?" {
			t.Errorf("%q, %v", reply.Text, err)
		}
		got := ""
		reply, err = chat.Stream(t.Context(), question, func(s string) error { got += s; return nil })
		if err != nil || reply.Text != want || got != want {
			t.Errorf("%q: %q, %q, %v", streamed, reply.Text, got, err)
		}
	}
}

// FuzzThinking: however a reply is cut into pieces, the same of it is left.
func FuzzThinking(f *testing.F) {
	f.Add("<think>Hm</think>Yes", []byte{1, 5, 3})
	f.Add(" <thin</think>", []byte{0, 1})
	f.Add("Hm</think><|START_RESPONSE|>Yes", []byte{3, 8, 8, 8})
	f.Add("<|channel|>analysis<|message|>a<|channel|>final<|message|>b", []byte{8, 8, 8, 8, 8})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		want, isBegun := withoutThinking(text)
		pieces := thinking{isBegun: isBegun}
		got, left := "", text
		for _, cut := range cuts {
			n := min(int(cut)%9, len(left))
			got += pieces.pass(left[:n])
			left = left[n:]
		}
		got += pieces.pass(left) + pieces.rest()
		if got != want {
			t.Errorf("%q cut as %v: %q, want %q", text, cuts, got, want)
		}
		if !strings.HasSuffix(text, got) {
			t.Errorf("%q of %q is not its end", got, text)
		}
	})
}
