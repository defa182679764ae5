package directory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/server/sqldb"
)

const (
	maxPrompt           = 100_000 // bytes
	maxStarterMessages  = 20
	maxStarterBytes     = 32 << 10 // of all of them, as JSON
	maxAgentDocuments   = 1_000
	maxAgentDocumentSet = 100
	maxAgentFiles       = 20
)

// Agent is a named scope with prompts and a model.
type Agent struct {
	ID              int
	Name            string
	Description     string
	DocumentSets    []DocumentSet
	Documents       []string // attached documents, by id
	Files           []File   // that come with every question
	StarterMessages []wire.StarterMessage
	SearchStart     time.Time // its scope excludes older documents; zero: none
	SystemPrompt    string
	TaskPrompt      string
	// Provider and Model name its language model; empty: the default one.
	Provider, Model string
	Public          bool // for everybody; otherwise for its owner, its audience and administrators
	Audience        Audience
	Listed          bool
	DisplayPriority *int   // the order of agents; nil: after all others
	WithoutDate     bool   // the model is not given today's date
	Revision        int    // increases with every change
	OwnerID         string // empty: none
	OwnerEmail      string
	Builtin         bool
}

// File is an uploaded file of an agent, and the user it is stored for.
type File struct{ ID, UserID string }

// DefaultAgent returns agent 0, which always exists and searches everything that the caller may see.
func DefaultAgent() Agent {
	return Agent{
		Name: "Assistant", Description: "Searches everything you can see", Public: true, Listed: true, Builtin: true,
	}
}

// AddAgent creates an agent and returns it with its id. Its document sets are given by name and must exist. Its name
// must not look like that of a public agent or of another agent of its owner; for an administrator's agent, only the
// public agents of administrators count.
func (v View) AddAgent(agent Agent) (Agent, error) {
	err := v.update("add agent "+agent.Name, checkAgent(agent), func(tx tenantTx) {
		tx.refuseMore(KindAgent, agent.OwnerID, MostAgents, "SELECT count(*) FROM agents WHERE owner_id = ?")
		tx.Row(noTenant(v.Tenant), []any{&agent.ID},
			`INSERT INTO agents (tenant_id, name, is_public, is_listed, owner_id,
			created_at) SELECT id, ?, ?, ?, nullif(?, ''), ? FROM tenants WHERE id = ? RETURNING id`,
			agent.Name, agent.Public, agent.Listed, agent.OwnerID, v.now().UnixMicro(), v.Tenant)
		tx.storeAgent(&agent)
	})
	return agent, err
}

// UpdateAgent replaces an agent, but not its owner. The rules for names are those of AddAgent.
func (v View) UpdateAgent(agent Agent) (Agent, error) {
	err := v.update("change agent "+agent.Name, checkAgent(agent), func(tx tenantTx) {
		for _, table := range []string{"users", "groups", "document_sets", "documents", "files"} {
			tx.Exec("DELETE FROM agent_"+table+" WHERE agent_id = ?", agent.ID)
		}
		tx.storeAgent(&agent)
	})
	return agent, err
}

// storeAgent stores the fields and the scope of an agent that has a row, and completes its sets.
func (tx tenantTx) storeAgent(agent *Agent) {
	owner := sql.NullString{String: agent.OwnerID, Valid: agent.OwnerID != ""}
	tx.refuseLookalike(KindAgent, agent.Name, `SELECT ?4 UNION ALL SELECT a.name FROM agents a
			LEFT JOIN users u ON u.id = a.owner_id
		WHERE a.tenant_id = ?1 AND a.id <> ?5 AND (a.owner_id IS NOT DISTINCT FROM ?2 OR a.is_public
		AND (coalesce(u.role = ?3, FALSE)
			OR NOT EXISTS (SELECT 1 FROM users WHERE id = ?2 AND role = ?3)))`,
		tx.tenant, owner, string(RoleAdmin), DefaultAgent().Name, agent.ID)
	starters := sqldb.JSON{V: append([]wire.StarterMessage{}, agent.StarterMessages...)}
	tx.Row(missing(KindAgent, agent.ID), []any{&agent.Revision}, `UPDATE agents SET name = ?, description = ?,
			starter_messages = ?, search_start_date = ?, is_public = ?, is_listed = ?,
			system_prompt = ?, task_prompt = ?, model_provider = ?, model = ?,
			display_priority = ?, is_datetime_aware = ?, revision = revision + 1
		WHERE id = ? AND tenant_id = ? RETURNING revision`,
		agent.Name, agent.Description, starters, sqldb.Micros(agent.SearchStart), agent.Public, agent.Listed,
		agent.SystemPrompt, agent.TaskPrompt, agent.Provider, agent.Model, agent.DisplayPriority, !agent.WithoutDate,
		agent.ID, tx.tenant)
	tx.addAudience("agent", agent.ID, agent.Audience)
	for _, file := range agent.Files {
		tx.Exec("INSERT INTO agent_files (agent_id, file_id, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			agent.ID, file.ID, file.UserID)
	}
	agent.DocumentSets = slices.Clone(agent.DocumentSets)
	for i := range agent.DocumentSets {
		set := &agent.DocumentSets[i]
		tx.findSet(set, missing(KindDocumentSet, quote(set.Name)))
		tx.Exec("INSERT INTO agent_document_sets (agent_id, document_set_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
			agent.ID, set.ID)
	}
	for _, id := range agent.Documents {
		tx.Exec("INSERT INTO agent_documents (agent_id, document_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
			agent.ID, id)
	}
}

func checkAgent(agent Agent) error {
	starters, err := json.Marshal(agent.StarterMessages)
	wrong := cmp.Or(checkText("an agent's name", agent.Name, maxNameRunes), checkAudience(agent.Audience), err)
	switch {
	case wrong != nil:
		return wrong
	case len(agent.Description) > maxDescription:
		return refuse("a description may have at most %d bytes", maxDescription)
	case len(agent.SystemPrompt) > maxPrompt || len(agent.TaskPrompt) > maxPrompt:
		return refuse("a prompt may have at most %d bytes", maxPrompt)
	case (agent.Provider == "") != (agent.Model == ""):
		return refuse("an agent's provider and model must be given together")
	case len(agent.StarterMessages) > maxStarterMessages:
		return refuse("an agent may have at most %d starter messages", maxStarterMessages)
	case len(agent.Documents) > maxAgentDocuments:
		return refuse("an agent may have at most %d attached documents", maxAgentDocuments)
	case len(agent.DocumentSets) > maxAgentDocumentSet:
		return refuse("an agent may have at most %d document sets", maxAgentDocumentSet)
	case len(agent.Files) > maxAgentFiles:
		return refuse("an agent may have at most %d files", maxAgentFiles)
	case len(starters) > maxStarterBytes:
		return refuse("an agent's starter messages may have at most %d bytes together", maxStarterBytes)
	}
	return nil
}

// visibleAgents returns a query for agents, with the given columns for their long prompts.
func visibleAgents(systemPrompt, taskPrompt string) string {
	return `SELECT a.id, a.name, a.description, a.starter_messages, a.search_start_date, a.is_public, a.is_listed,
		coalesce(u.id, ''), coalesce(u.email, ''), ` + systemPrompt + ", " + taskPrompt + `, a.model_provider, a.model,
		a.display_priority, NOT a.is_datetime_aware, a.revision
	` + fromVisibleAgents()
}

func fromVisibleAgents() string {
	return `FROM agents a LEFT JOIN users u ON u.id = a.owner_id
	WHERE a.tenant_id = ?1 AND (a.is_public OR ?2 OR a.owner_id = ?3 OR ` + audienceCondition("agent", "a") + `)`
}

// Agents lists the agents that the caller may use, without their prompts and attached documents: the default one first,
// then by their priority and id. Names that look alike include the id, see shownNames.
func (v View) Agents() ([]Agent, error) {
	agents, err := v.agents(visibleAgents("''", "''") +
		" ORDER BY a.display_priority IS NULL, a.display_priority, a.id")
	return append([]Agent{DefaultAgent()}, agents...), err
}

// Agent returns an agent. The error is ErrNotFound if it does not exist or the caller may not use it.
func (v View) Agent(id int) (Agent, error) {
	if id == 0 {
		return DefaultAgent(), nil
	}
	agents, err := v.agents(visibleAgents("a.system_prompt", "a.task_prompt")+" AND a.id = ?4", id)
	return sqldb.First(agents, cmp.Or(err, v.ReadDocuments(agents)), fmt.Errorf("agent %d: %w", id, ErrNotFound))
}

func (v View) agents(query string, args ...any) ([]Agent, error) {
	shown, err := v.shownNames()
	agents, agentsErr := sqldb.List(v.ctx, v.open, "read agents", func(a *Agent) []any {
		return []any{&a.ID, &a.Name, &a.Description, sqldb.JSON{V: &a.StarterMessages}, (*sqldb.Micros)(&a.SearchStart),
			&a.Public, &a.Listed, &a.OwnerID, &a.OwnerEmail, &a.SystemPrompt, &a.TaskPrompt, &a.Provider, &a.Model,
			&a.DisplayPriority, &a.WithoutDate, &a.Revision}
	}, query, append([]any{v.Tenant, v.Admin, v.UserID}, args...)...)
	sets, setsErr := sqldb.ListByID(v.ctx, v.open, "read the document sets of agents", setColumns, `
		SELECT a.agent_id, s.id, s.name, s.description, s.is_public
		FROM document_sets s JOIN agent_document_sets a ON a.document_set_id = s.id
		WHERE a.agent_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY s.name`, agentIDs(agents))
	files, filesErr := sqldb.ListByID(v.ctx, v.open, "read the files of agents",
		func(f *File) []any { return []any{&f.ID, &f.UserID} },
		`SELECT agent_id, file_id, user_id FROM agent_files
			WHERE agent_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY file_id`,
		agentIDs(agents))
	for i := range agents {
		a := &agents[i]
		a.Name, a.DocumentSets, a.Files = cmp.Or(shown[a.ID], a.Name), sets[a.ID], files[a.ID]
	}
	return agents, cmp.Or(err, agentsErr, setsErr, filesErr)
}

// agentIDs returns the ids of agents as a parameter of json_each.
func agentIDs(agents []Agent) sqldb.JSON {
	return sqldb.JSON{V: exslices.CastFunc(agents, func(a Agent) int { return a.ID })}
}

// ReadDocuments reads the attached documents of agents that Agents listed.
func (v View) ReadDocuments(agents []Agent) error {
	documents, err := sqldb.ListByID(v.ctx, v.open, "read the documents of agents", sqldb.Column[string], `
		SELECT agent_id, document_id
		FROM agent_documents WHERE agent_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
		ORDER BY document_id`, agentIDs(agents))
	for i := range agents {
		agents[i].Documents = documents[agents[i].ID]
	}
	return err
}

// AgentAudience returns the audience of an agent.
func (v View) AgentAudience(agent Agent) (Audience, error) {
	all, err := v.audiences("agent", sqldb.JSON{V: []int{agent.ID}})
	return all(agent.ID), err
}

// RemoveAgent removes an agent.
func (v View) RemoveAgent(id int) error {
	return v.exec(fmt.Sprintf("remove agent %d", id), missing(KindAgent, id),
		"DELETE FROM agents WHERE tenant_id = ? AND id = ?", v.Tenant, id)
}
