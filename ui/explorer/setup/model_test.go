package setup

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

// modelled is a wizard on the page of the model.
func modelled(input Input) *Wizard {
	w := &Wizard{}
	w.Open(input)
	w.Move(2)
	w.Enter()
	return w
}

func TestSettingUpAModel(t *testing.T) {
	t.Parallel()
	w := &Wizard{}
	w.Open(Input{Sample: true})
	says(t, w, "Set up a language model", "none yet")
	w.Move(2)
	w.Enter()
	says(t, w, "Endpoint", "Model", "Key", "Test the model", "http://localhost:11434/v1")
	if got := w.Enter(); got.Kind != None {
		t.Errorf("without an address: %+v", got)
	}
	says(t, w, "missing address")
	w.Edit(enter("http://127.0.0.1:1/v1 "))
	if got := w.Enter(); got.Kind != None || w.focus != modelField {
		t.Errorf("after the address: %+v, field %d", got, w.focus)
	}
	w.Edit(enter("small"))
	w.Next()
	w.Edit(enter("sk-secret"))
	got := w.Enter()
	if got.Kind != Test || got.Model == nil || *got.Model != (Model{BaseURL: "http://127.0.0.1:1/v1", Name: "small", Key: "sk-secret"}) {
		t.Fatalf("the test is %+v", got)
	}
	says(t, w, "Asking the model…")
	if strings.Contains(shown(w), "sk-secret") {
		t.Errorf("the key is shown:\n%s", shown(w))
	}
	w.Tested(Tested{Model: *got.Model, Steps: []Step{{"model", Passed, "replied in 12 ms, 9 tokens"}}})
	says(t, w, "replied in 12 ms, 9 tokens", "Save and use")
	got = w.Enter()
	if got.Kind != Save || got.Model == nil || got.Model.Name != "small" {
		t.Fatalf("saving is %+v", got)
	}
	w.Saved("Saved as local/small.")
	says(t, w, "now use small", "Saved as local/small.", "Search now")
	if w.model.key.Text() != "" {
		t.Error("the form keeps the key")
	}
}

// The field that is to blame has the focus, and a changed one is tested again.
func TestAModelThatFails(t *testing.T) {
	t.Parallel()
	for problem, field := range map[string]int{
		wire.ModelKey: keyField, wire.ModelUnknown: modelField, wire.ModelUnreachable: endpointField, wire.ModelTimeout: endpointField,
	} {
		w := modelled(Input{Model: Model{BaseURL: "http://127.0.0.1:1/v1", Name: "small", HasKey: true}})
		says(t, w, "the configured key is kept")
		if got := w.Enter(); got.Kind != Test {
			t.Fatalf("%s: %+v", problem, got)
		}
		w.Tested(Tested{ModelProblem: problem, Problem: "it failed", Remedy: "Do something"})
		says(t, w, "it failed", "Do something", "Test the model")
		if w.focus != field {
			t.Errorf("%s: the focus is on %d, want %d", problem, w.focus, field)
		}
		w.focus = endpointField
		w.Edit(enter("x"))
		if strings.Contains(shown(w), "it failed") || strings.Contains(shown(w), "key is kept") {
			t.Errorf("the address was changed:\n%s", shown(w))
		}
	}
}

func TestTokensOfToday(t *testing.T) {
	t.Parallel()
	w := modelled(Input{Model: Model{BaseURL: "http://127.0.0.1:1/v1", Name: "small"}})
	if strings.Contains(shown(w), "okens") {
		t.Errorf("nothing is known yet:\n%s", shown(w))
	}
	w.ModelStatus(wire.ModelStatus{Model: "local/small", TokensToday: 1234, Budget: 2_000_000})
	says(t, w, "1,234 of 2,000,000 tokens used today")
	w.Back()
	says(t, w, "small · 1,234 of 2,000,000 tokens used today")
	w.ModelStatus(wire.ModelStatus{Model: "local/small"})
	w.Move(2)
	w.Enter()
	says(t, w, "No daily limit")
}

// The only model that an endpoint lists is filled in, and a name that was typed stays.
func TestTheOnlyModelIsFilledIn(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"": "only", "other": "other"} {
		w := modelled(Input{Model: Model{BaseURL: "http://127.0.0.1:1/v1", Name: typed}})
		w.focus = modelButton
		w.Enter()
		w.Tested(Tested{Model: Model{Name: "only"}, ModelProblem: wire.ModelUnknown, Problem: "no model is chosen", Remedy: "Enter tests it"})
		if got := w.model.typed().Name; got != want || w.focus != modelField {
			t.Errorf("%q became %q, focus %d", typed, got, w.focus)
		}
	}
}
