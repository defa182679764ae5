package config

import (
	"errors"
	"strings"
	"testing"
)

func TestSavingAModel(t *testing.T) {
	local := NewModel{Provider: "local", BaseURL: "http://localhost:11434/v1", Model: "small"}
	hosted := NewModel{Provider: "hosted", BaseURL: "https://models.acme.com/v1", Model: "large", Key: NewSecret("sk-typed")}
	kept := "# mine\nllm: # models\n  default: hosted # now\n  budget: 5000\n  providers:\n    # paid\n    hosted: {base_url: 'https://models.acme.com/v1', models: tiny, key: sk-old}\ntheme: dark # at night\n"
	tests := map[string]struct {
		file         string
		model        NewModel
		key, models  string
		keepComments bool
	}{
		"into nothing":      {"", local, "", "small", false},
		"beside another":    {kept, local, "", "small", true},
		"another model":     {kept, NewModel{Provider: "hosted", BaseURL: hosted.BaseURL, Model: "large"}, "sk-old", "tiny,large", true},
		"another key":       {kept, hosted, "sk-typed", "tiny,large", true},
		"the same model":    {kept, NewModel{Provider: "hosted", BaseURL: hosted.BaseURL, Model: "tiny"}, "sk-old", "tiny", true},
		"another server":    {kept, NewModel{Provider: "hosted", BaseURL: "https://other.acme.com/v1", Model: "large"}, "", "large", true},
		"an empty group":    {"llm:\n", hosted, "sk-typed", "large", false},
		"without providers": {"llm: {budget: 7}\n", hosted, "sk-typed", "large", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			paths := write(t, test.file)
			if err := loadFrom(t, paths).SaveModel(test.model); err != nil {
				t.Fatal(err)
			}
			c, text := loadFrom(t, paths), read(t, paths.ConfigFile)
			saved := c.LLM.Providers[test.model.Provider]
			if c.LLM.Default != test.model.Provider+"/"+test.model.Model || saved.BaseURL != test.model.BaseURL ||
				saved.Key.Reveal() != test.key || strings.Join(saved.Models, ",") != test.models {
				t.Errorf("saved %+v, key %q in\n%s", c.LLM, saved.Key.Reveal(), text)
			}
			for _, comment := range []string{"# mine", "llm: # models", "# now", "# paid", "theme: dark # at night", "budget: 5000"} {
				if test.keepComments && !strings.Contains(text, comment) {
					t.Errorf("%q is missing in\n%s", comment, text)
				}
			}
		})
	}
}

func TestModelsThatAreNotSaved(t *testing.T) {
	good := NewModel{Provider: "local", BaseURL: "http://localhost:1/v1", Model: "m"}
	for name, change := range map[string]func(*NewModel){
		"name": func(m *NewModel) { m.Provider = "A B" }, "address": func(m *NewModel) { m.BaseURL = "ftp://x" },
		"no address": func(m *NewModel) { m.BaseURL = "" }, "no model": func(m *NewModel) { m.Model = "" },
		"key": func(m *NewModel) { m.Key = NewSecret("two words\n") },
	} {
		m, paths := good, write(t, "theme: dark\n")
		change(&m)
		if err := loadFrom(t, paths).SaveModel(m); err == nil || read(t, paths.ConfigFile) != "theme: dark\n" {
			t.Errorf("%s: %v, and the file is\n%s", name, err, read(t, paths.ConfigFile))
		}
	}
	paths := write(t, "theme: dark\n")
	c := loadFrom(t, paths)
	c.readOnly = true
	if err := c.SaveModel(good); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
}
