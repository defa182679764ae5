package ui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
	"quarry/ui/cli"
	"quarry/ui/explorer/setup"
)

// configuredModel returns the default model of the configuration.
func (s *settings) configuredModel() setup.Model {
	models := s.llm.Load()
	if models == nil || models.Default == "" {
		return setup.Model{}
	}
	name, model, _ := strings.Cut(models.Default, "/")
	provider := models.Providers[name]
	if model == "" && len(provider.Models) > 0 {
		model = provider.Models[0]
	}
	return setup.Model{BaseURL: provider.BaseURL, Name: model, HasKey: !provider.Key.IsZero()}
}

// testModel asks a model for one word. Without the name of one it lists those of the endpoint.
func (s *settings) testModel(ctx context.Context, typed setup.Model) (setup.Tested, error) {
	started := time.Now()
	host, err := s.run.fresh()
	if err != nil {
		return setup.Tested{}, err
	}
	found := setup.Tested{Model: typed}
	address, err := wire.ServerURL(typed.BaseURL)
	if err != nil {
		found.Problem, found.Remedy = "the address "+err.Error(),
			"Type the address of the API with its version, such as http://localhost:11434/v1"
		return found, nil
	}
	found.Model.BaseURL = address
	m := newModel(host.Config.LLM, found.Model)
	tried, err := s.tryModel(ctx, m)
	if ctx.Err() != nil {
		return setup.Tested{}, ctx.Err()
	}
	if failure := cli.Explain(err, started); failure != nil {
		found.Problem, found.Remedy = failure.What, failure.Do
		return found, nil
	}
	found.ModelProblem = tried.Problem
	took := text.Duration(time.Duration(tried.MS * float64(time.Millisecond)))
	switch {
	case tried.Problem != "":
		found.Problem, found.Remedy = explainModel(*tried, m)
		found.Steps = []setup.Step{{Name: "model", Mark: setup.Failed, Detail: "failed after " + took}}
	case m.Model == "":
		found.ModelProblem = wire.ModelUnknown // the field to fill in
		found.Problem, found.Remedy = "no model is chosen", "Type one of: "+strings.Join(tried.Models, ", ")
		switch len(tried.Models) {
		case 0:
			found.Remedy = "The endpoint lists none; type the name that its documentation gives"
		case 1:
			found.Model.Name = tried.Models[0]
			found.Remedy = "The endpoint lists one model, which is filled in: Enter tests it"
		}
	default:
		found.Steps = []setup.Step{{Name: "model", Mark: setup.Passed,
			Detail: fmt.Sprintf("replied in %s, %s", took, text.Count(tried.Tokens, "token"))}}
		s.model.Store(&m)
	}
	return found, nil
}

func (s *settings) tryModel(ctx context.Context, m config.NewModel) (*wire.ModelTest, error) {
	host, err := s.run.fresh()
	if err != nil {
		return nil, err
	}
	opened, err := host.OpenWithModel(ctx, m)
	if err != nil {
		return nil, err
	}
	tried, err := opened.Client.TestModel(ctx, m.Provider)
	return tried, errors.Join(err, opened.Close())
}

// explainModel explains a failed call to somebody who can change address, model and key.
func explainModel(tried wire.ModelTest, m config.NewModel) (problem, remedy string) {
	remedy = map[string]string{
		wire.ModelUnreachable: "Check the address, and that the server runs",
		wire.ModelTimeout:     "Try again: a model that is loaded first may take a minute",
		wire.ModelKey:         "Paste a key of this server that may use the model",
		wire.ModelUnknown: "Check the version at the end of the address (/v1), and the model: without one, " +
			"its endpoint is asked for a list",
		wire.ModelBusy:     "Wait, then test again",
		wire.ModelUnusable: "Check the address: it must be an OpenAI-compatible API, with its version such as /v1",
		wire.ModelBudget:   "Raise llm.budget in the configuration, or wait until midnight UTC",
	}[tried.Problem]
	return strings.TrimPrefix(tried.Detail, "provider "+m.Provider+": "), remedy
}

// newModel names the provider of a typed model: that of the same address, one of this machine, or one of its host.
// Without a typed key it has the configured one of that address.
func newModel(known config.LLM, typed setup.Model) config.NewModel {
	m := config.NewModel{BaseURL: typed.BaseURL, Model: typed.Name, Key: config.NewSecret(typed.Key)}
	for name, provider := range known.Providers {
		if provider.BaseURL == typed.BaseURL && (m.Provider == "" || name < m.Provider) {
			m.Provider = name
			if typed.Key == "" {
				m.Key = provider.Key
			}
		}
	}
	if m.Provider != "" {
		return m
	}
	base := "models"
	if parsed, err := url.Parse(typed.BaseURL); err == nil {
		base = nameOf(parsed.Hostname())
		if wire.IsLoopback(parsed.Hostname()) {
			base = "local"
		}
	}
	m.Provider = freeName(base, func(name string) bool {
		_, taken := known.Providers[name]
		return !taken
	})
	return m
}

// saveModel stores the model that was tested last as the default.
func (s *settings) saveModel(_ context.Context, typed setup.Model) (string, error) {
	m := s.model.Load()
	if m == nil || m.BaseURL != typed.BaseURL || m.Model != typed.Name ||
		typed.Key != "" && m.Key.Reveal() != typed.Key {
		return "", errors.New("this model was not tested")
	}
	host, err := s.run.fresh()
	if err != nil {
		return "", err
	}
	if err := host.Config.SaveModel(*m); err != nil {
		return "", err
	}
	if saved, err := s.run.fresh(); err == nil {
		s.llm.Store(&saved.Config.LLM)
	}
	return "Saved as " + m.Provider + "/" + m.Model + " in " + host.Config.File + ", which only you can read.", nil
}
