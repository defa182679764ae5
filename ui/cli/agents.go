package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/ui/target"
)

// jsonAgent is a row of agents --json, version 1: the keys of Onyx's CLI first. is_default_persona is always false, as
// no server tells it any more; scripts still read it.
type jsonAgent struct {
	ID               int      `json:"id"`
	Name             string   `json:"name"`
	Description      string   `json:"description"`
	IsDefaultPersona bool     `json:"is_default_persona"`
	IsListed         bool     `json:"is_listed"`
	DocumentSets     []string `json:"document_sets"`
	Sources          []string `json:"knowledge_sources"`
	Origin           string   `json:"origin"`
}

func (a *app) agentsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "agents",
		Short: "List the agents that can be used",
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.list(command.Context(), arguments, a.printAgents)
		},
	}
	return command
}

func (a *app) printAgents(ctx context.Context, c *client.Client, choice target.Choice) error {
	personas, err := c.Personas(ctx)
	if err != nil {
		return err
	}
	found := rows[jsonAgent]{}
	for _, persona := range personas {
		if !persona.IsListed {
			continue
		}
		agent := jsonAgent{ID: persona.ID, Name: persona.Name, Description: persona.Description, IsListed: true,
			DocumentSets: []string{}, Sources: filled(persona.KnowledgeSources), Origin: choice.Profile}
		for _, set := range persona.DocumentSets {
			agent.DocumentSets = append(agent.DocumentSets, set.Name)
		}
		found = append(found, agent)
	}
	if a.wantsJSON() {
		return a.printAnswer("agents", found, a.private(), false)
	}
	if len(found) == 0 {
		a.say("No agents available.")
		return nil
	}
	t := table{header: []string{"ID", "NAME", "DESCRIPTION"}, style: a.style, width: a.io.columns()}
	for _, agent := range found {
		t.rows = append(t.rows, []string{strconv.Itoa(agent.ID), agent.Name, agent.Description})
	}
	return a.print([]byte(t.String()))
}
