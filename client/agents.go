package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
)

const (
	agentTimeout  = 10 * time.Second
	agentsExpire  = 5 * time.Minute
	agentsRefresh = 10 * time.Second // age of a list from which a name that is not in it is looked up again
)

// Agent refers to an agent by number, or else by name. The zero value is none.
type Agent struct {
	ID   *int
	Name string
}

// ResolveAgent returns the number of the agent that a query names, or else of the usual one; nil means none.
func (c *Client) ResolveAgent(ctx context.Context, name string, usual Agent) (*int, error) {
	if name == "" && (usual.ID != nil || usual.Name == "") {
		return usual.ID, nil
	}
	id, err := c.AgentID(ctx, cmp.Or(name, usual.Name))
	return &id, err
}

// AgentID returns the number of the agent with a name. A name that differs in case is accepted if only one agent has it,
// and a number if no agent has it as its name: servers also accept agents that they do not list. An unknown agent is a
// BadRequest. The list of agents is cached, so that a search on each key does not fetch it each time.
func (c *Client) AgentID(ctx context.Context, name string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	agents, err := c.agents.get(ctx, agentsExpire, c.Personas)
	if id, found := findAgent(agents, name); found && err == nil {
		return id, nil
	}
	if err == nil {
		agents, err = c.agents.get(ctx, agentsRefresh, c.Personas)
	}
	if id, found := findAgent(agents, name); found {
		return id, nil
	}
	if number, notNumber := strconv.Atoi(name); notNumber == nil && KindOf(err) != Canceled {
		return number, nil
	}
	return 0, agentError(name, agents, err)
}

func agentError(name string, agents []wire.Persona, err error) error {
	switch {
	case KindOf(err) == Auth:
		return &Error{Kind: Auth, Reason: fmt.Sprintf("the token may not list agents, so %q cannot be looked up", name),
			remedy: "give the agent's number: agent:N or --agent-id N", cause: err}
	case err != nil:
		return fmt.Errorf("look up the agent %q: %w", name, err)
	}
	names := mapped(agents, func(agent wire.Persona) string { return agent.Name })
	e := &Error{Kind: BadRequest, Reason: fmt.Sprintf("unknown agent %q", name), remedy: "see quarry agents"}
	if near := wire.Nearest(name, names); near != "" {
		e.remedy = fmt.Sprintf("did you mean %q? See quarry agents", near)
	}
	return e
}

// findAgent prefers the exact name to one that differs in case.
func findAgent(agents []wire.Persona, name string) (id int, found bool) {
	var folded []int
	for _, agent := range agents {
		if agent.Name == name {
			return agent.ID, true
		}
		if strings.EqualFold(agent.Name, name) {
			folded = append(folded, agent.ID)
		}
	}
	if len(folded) == 1 {
		return folded[0], true
	}
	return 0, false
}
