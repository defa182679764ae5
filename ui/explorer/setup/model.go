package setup

import (
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/line"
)

// Model is a language model of the library on this machine, as it was typed or is configured.
type Model struct {
	BaseURL string // of the OpenAI-compatible API, with its version
	Name    string
	Key     string // empty: none, or the configured one
	// HasKey is set if a key is configured for this address.
	HasKey bool
}

// The items of the page that sets up a model.
const (
	endpointField = iota
	modelField
	keyField
	modelButton
)

// modelForm is what is typed about a model.
type modelForm struct {
	endpoint, name, key line.Editor
	status              *wire.ModelStatus // nil: not known
}

// open shows the configured model.
func (f *modelForm) open(m Model) {
	*f = modelForm{status: f.status}
	f.endpoint.Limit, f.name.Limit, f.key.Limit = longestAddress, longestAddress, longestToken
	f.endpoint.SetText(m.BaseURL)
	f.name.SetText(m.Name)
}

func (f *modelForm) typed() Model {
	return Model{BaseURL: strings.TrimSpace(f.endpoint.Text()), Name: strings.TrimSpace(f.name.Text()),
		Key: strings.TrimSpace(f.key.Text())}
}

// ModelStatus sets what models used today.
func (w *Wizard) ModelStatus(status wire.ModelStatus) { w.model.status = &status }

// aboutModel describes the configured model among the choices.
func (w *Wizard) aboutModel() string {
	about := w.input.Model.Name
	if about == "" {
		return "none yet: it answers questions, rewrites queries and selects the best passages"
	}
	if s := w.model.status; s != nil && s.Budget > 0 {
		about += " · " + w.modelUse()
	}
	return about
}

// modelItems lists the fields of the form.
func (w *Wizard) modelItems() []item {
	key := "paste it (hidden); empty if it needs none"
	if w.input.Model.HasKey && w.model.typed().BaseURL == w.input.Model.BaseURL {
		key = "the configured key is kept"
	}
	return []item{
		{title: "Endpoint", about: "http://localhost:11434/v1", editor: &w.model.endpoint, enter: w.advance,
			missing: "missing address", remedy: "Type the address of an OpenAI-compatible API, with its version"},
		{title: "Model", about: "empty lists those of the endpoint", editor: &w.model.name, enter: w.advance,
			asked: true},
		{title: "Key", about: key, editor: &w.model.key, masked: true, enter: w.advance},
		{title: w.connectLabel("Test the model", "Asking the model…"), enter: w.advance},
	}
}

// blamedModelField is the field to correct after a failed test of a model.
func blamedModelField(problem string) int {
	switch problem {
	case wire.ModelKey:
		return keyField
	case wire.ModelUnknown:
		return modelField
	}
	return endpointField
}

// modelUse is "1,234 of 2,000,000 tokens used today".
func (w *Wizard) modelUse() string {
	switch s := w.model.status; {
	case s == nil:
		return ""
	case s.Budget > 0:
		return fmt.Sprintf("%s of %s tokens used today (UTC)", text.Number(s.TokensToday), text.Number(s.Budget))
	}
	return "No daily limit, so tokens are not counted (llm.budget)."
}
