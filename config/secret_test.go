package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretsNeverPrint(t *testing.T) {
	const hidden = "onyx_pat_hunter2"
	type holder struct {
		Public  Secret
		private Secret
		Pointer *Secret
		Map     map[string]Secret
	}
	s := NewSecret(hidden)
	c := load(t, strings.ReplaceAll(everything, "onyx_pat_secret", hidden))
	for name, value := range map[string]any{
		"secret": s, "pointer": &s, "holder": holder{s, s, &s, map[string]Secret{"a": s}}, "slice": []Secret{s},
		"config": c, "config value": *c, "profile": c.Profiles["work"],
		"environment": ReadEnvironment(env("ONYX_PAT", hidden)), "onyx cli": OnyxCLI{Token: s},
		"request":      NewProfile{Profile: c.Profiles["work"], Typed: s},
		"token source": FixedToken(s, "ONYX_PAT"), "error": &Error{Err: errors.New("x")},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3s", "%T"} {
			fmt.Fprintf(&out, verb, value)
		}
		if text, err := json.Marshal(value); err == nil {
			out.Write(text)
		}
		if name != "token source" && name != "error" {
			if text, err := yaml.Marshal(value); err == nil {
				out.Write(text)
			}
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "value", value)
		text := out.String()
		for _, leak := range []string{hidden, fmt.Sprintf("%x", hidden), "hunter2"} {
			if strings.Contains(text, leak) {
				t.Errorf("%s prints its secret: %s", name, text)
			}
		}
	}
	if got := fmt.Sprint(s); got != redacted {
		t.Errorf("prints as %q", got)
	}
	if got := fmt.Sprintf("%v|%s", Secret{}, NewSecret("")); got != "|" {
		t.Errorf("the empty secret prints as %q", got)
	}
	if s.Reveal() != hidden || !NewSecret("").IsZero() || s.IsZero() {
		t.Error("Reveal or IsZero")
	}
}
