package directory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

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
func (d *Directory) AddAgent(ctx context.Context, tenant string, agent Agent) (Agent, error) {
	if err := checkAgent(agent); err != nil {
		return Agent{}, err
	}
	err := d.open.Update(ctx, "add agent "+agent.Name, func(tx *sqldb.Tx) {
		refuseMore(tx, KindAgent, agent.OwnerID, MostAgents, "SELECT count(*) FROM agents WHERE owner_id = ?")
		tx.Row(noTenant(tenant), []any{&agent.ID}, `INSERT INTO agents (tenant_id, name, is_public, is_listed, owner_id,
			created_at) SELECT id, ?, ?, ?, nullif(?, ''), ? FROM tenants WHERE id = ? RETURNING id`,
			agent.Name, agent.Public, agent.Listed, agent.OwnerID, d.now().UnixMicro(), tenant)
		storeAgent(tx, tenant, &agent)
	})
	return agent, err
}

// UpdateAgent replaces an agent, but not its owner. The rules for names are those of AddAgent.
func (d *Directory) UpdateAgent(ctx context.Context, tenant string, agent Agent) (Agent, error) {
	if err := checkAgent(agent); err != nil {
		return Agent{}, err
	}
	err := d.open.Update(ctx, "change agent "+agent.Name, func(tx *sqldb.Tx) {
		for _, table := range []string{"users", "groups", "document_sets", "documents", "files"} {
			tx.Exec("DELETE FROM agent_"+table+" WHERE agent_id = ?", agent.ID)
		}
		storeAgent(tx, tenant, &agent)
	})
	return agent, err
}

// storeAgent stores the fields and the scope of an agent that has a row, and completes its sets.
func storeAgent(tx *sqldb.Tx, tenant string, agent *Agent) {
	owner := sql.NullString{String: agent.OwnerID, Valid: agent.OwnerID != ""}
	refuseLookalike(tx, KindAgent, agent.Name, `SELECT ?4 UNION ALL SELECT a.name FROM agents a
			LEFT JOIN users u ON u.id = a.owner_id
		WHERE a.tenant_id = ?1 AND a.id <> ?5 AND (a.owner_id IS NOT DISTINCT FROM ?2 OR a.is_public AND (coalesce(u.role = ?3, FALSE)
			OR NOT EXISTS (SELECT 1 FROM users WHERE id = ?2 AND role = ?3)))`,
		tenant, owner, string(RoleAdmin), DefaultAgent().Name, agent.ID)
	starters := sqldb.JSON{V: append([]wire.StarterMessage{}, agent.StarterMessages...)}
	tx.Row(missing(KindAgent, agent.ID), []any{&agent.Revision}, `UPDATE agents SET name = ?, description = ?,
			starter_messages = ?, search_start_date = ?, is_public = ?, is_listed = ?,
			system_prompt = ?, task_prompt = ?, model_provider = ?, model = ?,
			display_priority = ?, is_datetime_aware = ?, revision = revision + 1
		WHERE id = ? AND tenant_id = ? RETURNING revision`,
		agent.Name, agent.Description, starters, sqldb.Micros(agent.SearchStart), agent.Public, agent.Listed,
		agent.SystemPrompt, agent.TaskPrompt, agent.Provider, agent.Model, agent.DisplayPriority, !agent.WithoutDate,
		agent.ID, tenant)
	addAudience(tx, "agent", tenant, agent.ID, agent.Audience)
	for _, file := range agent.Files {
		tx.Exec("INSERT INTO agent_files (agent_id, file_id, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			agent.ID, file.ID, file.UserID)
	}
	agent.DocumentSets = slices.Clone(agent.DocumentSets)
	for i := range agent.DocumentSets {
		set := &agent.DocumentSets[i]
		findSet(tx, tenant, set, missing(KindDocumentSet, quote(set.Name)))
		tx.Exec("INSERT INTO agent_document_sets (agent_id, document_set_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
			agent.ID, set.ID)
	}
	for _, id := range agent.Documents {
		tx.Exec("INSERT INTO agent_documents (agent_id, document_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
			agent.ID, id)
	}
}

func checkAgent(agent Agent) error {
	if err := checkText("an agent's name", agent.Name, maxNameRunes); err != nil {
		return err
	}
	if err := checkAudience(agent.Audience); err != nil {
		return err
	}
	starters, err := json.Marshal(agent.StarterMessages)
	switch {
	case err != nil:
		return fmt.Errorf("write starter messages: %w", err)
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
func (d *Directory) Agents(ctx context.Context, p Principal) ([]Agent, error) {
	agents, err := d.agents(ctx, p, visibleAgents("''", "''")+" ORDER BY a.display_priority IS NULL, a.display_priority, a.id", p.Tenant, p.Admin, p.UserID)
	return append([]Agent{DefaultAgent()}, agents...), err
}

// Agent returns an agent. The error is ErrNotFound if it does not exist or the caller may not use it.
func (d *Directory) Agent(ctx context.Context, p Principal, id int) (Agent, error) {
	if id == 0 {
		return DefaultAgent(), nil
	}
	agents, err := d.agents(ctx, p, visibleAgents("a.system_prompt", "a.task_prompt")+" AND a.id = ?4", p.Tenant, p.Admin, p.UserID, id)
	agent, err := sqldb.First(agents, err, fmt.Errorf("agent %d: %w", id, ErrNotFound))
	if err != nil {
		return agent, err
	}
	return agents[0], d.ReadDocuments(ctx, agents)
}

func (d *Directory) agents(ctx context.Context, p Principal, query string, args ...any) ([]Agent, error) {
	shown, err := d.shownNames(ctx, p)
	agents, agentsErr := sqldb.List(ctx, d.open, "read agents", func(a *Agent) []any {
		return []any{&a.ID, &a.Name, &a.Description, sqldb.JSON{V: &a.StarterMessages}, (*sqldb.Micros)(&a.SearchStart),
			&a.Public, &a.Listed, &a.OwnerID, &a.OwnerEmail, &a.SystemPrompt, &a.TaskPrompt, &a.Provider, &a.Model,
			&a.DisplayPriority, &a.WithoutDate, &a.Revision}
	}, query, args...)
	sets, setsErr := sqldb.ListByID(ctx, d.open, "read the document sets of agents", setColumns, `SELECT a.agent_id, s.id, s.name, s.description, s.is_public
		FROM document_sets s JOIN agent_document_sets a ON a.document_set_id = s.id
		WHERE a.agent_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY s.name`, agentIDs(agents))
	files, filesErr := sqldb.ListByID(ctx, d.open, "read the files of agents", func(f *File) []any { return []any{&f.ID, &f.UserID} },
		`SELECT agent_id, file_id, user_id FROM agent_files WHERE agent_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY file_id`,
		agentIDs(agents))
	for i := range agents {
		a := &agents[i]
		a.Name, a.DocumentSets, a.Files = cmp.Or(shown[a.ID], a.Name), sets[a.ID], files[a.ID]
	}
	return agents, cmp.Or(err, agentsErr, setsErr, filesErr)
}

// agentIDs returns the ids of agents as a parameter of json_each.
func agentIDs(agents []Agent) sqldb.JSON {
	ids := []int{}
	for _, agent := range agents {
		ids = append(ids, agent.ID)
	}
	return sqldb.JSON{V: ids}
}

// ReadDocuments reads the attached documents of agents that Agents listed.
func (d *Directory) ReadDocuments(ctx context.Context, agents []Agent) error {
	documents, err := sqldb.ListByID(ctx, d.open, "read the documents of agents", sqldb.Column[string], `SELECT agent_id, document_id
		FROM agent_documents WHERE agent_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY document_id`, agentIDs(agents))
	for i := range agents {
		agents[i].Documents = documents[agents[i].ID]
	}
	return err
}

// AgentAudience returns the audience of an agent.
func (d *Directory) AgentAudience(ctx context.Context, agent Agent) (Audience, error) {
	all, err := d.audiences(ctx, "agent", sqldb.JSON{V: []int{agent.ID}})
	if err != nil {
		return Audience{}, err
	}
	return all(agent.ID), nil
}

// RemoveAgent removes an agent.
func (d *Directory) RemoveAgent(ctx context.Context, tenant string, id int) error {
	return d.open.Exec(ctx, fmt.Sprintf("remove agent %d", id), missing(KindAgent, id),
		"DELETE FROM agents WHERE tenant_id = ? AND id = ?", tenant, id)
}
