package directory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"quarry/client/wire"
)

// Bounds of what agents and sets are called and say.
const (
	maxSetName          = 200
	maxDescription      = 5_000
	maxStarterMessages  = 20
	maxAgentDocuments   = 10_000
	maxAgentDocumentSet = 1_000
)

// DocumentSet is a named collection of documents. Its documents keep their own access rights.
type DocumentSet struct {
	ID                int
	Name, Description string
	Public            bool // everybody may search within it; otherwise only administrators
}

// Agent is a scope and a manner of searching that people choose by name.
type Agent struct {
	ID              int
	Name            string
	Description     string
	DocumentSets    []DocumentSet
	Documents       []string // attached documents, by id
	StarterMessages []wire.StarterMessage
	SearchStart     time.Time // documents older than this are out of its scope; zero: no floor
	Public          bool      // everybody may use it; otherwise its owner and administrators
	Listed          bool
	OwnerID         string // empty: nobody's
	OwnerEmail      string
	Builtin         bool
}

// DefaultAgent is agent 0, which always exists and searches everything that the caller may see.
func DefaultAgent() Agent {
	return Agent{
		Name: "Assistant", Description: "Searches everything you can see", Public: true, Listed: true, Builtin: true,
	}
}

// EnsureDocumentSet makes a document set that everybody may search within; one that exists already is left as it is.
func (d *Directory) EnsureDocumentSet(ctx context.Context, tenant, name, description string) (DocumentSet, error) {
	return d.AddDocumentSet(ctx, tenant, DocumentSet{Name: name, Description: description, Public: true})
}

// AddDocumentSet makes a document set; one of the same name is returned as it is.
func (d *Directory) AddDocumentSet(ctx context.Context, tenant string, set DocumentSet) (DocumentSet, error) {
	if err := checkText("a document set's name", set.Name, maxSetName); err != nil {
		return DocumentSet{}, err
	}
	if len(set.Description) > maxDescription {
		return DocumentSet{}, refuse("a description may have at most %d bytes", maxDescription)
	}
	err := d.write(ctx, "add document set "+set.Name, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO document_sets (tenant_id, name, description, is_public, created_at)
			SELECT id, ?, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING`,
			set.Name, set.Description, set.Public, d.now().UnixMicro(), tenant); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx,
			"SELECT id, description, is_public FROM document_sets WHERE tenant_id = ? AND name = ?", tenant, set.Name).
			Scan(&set.ID, &set.Description, &set.Public)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("tenant %s: %w", quote(tenant), ErrNotFound)
		}
		return err
	})
	if err != nil {
		return DocumentSet{}, err
	}
	return set, nil
}

// ForgetDocumentSet removes a document set as EnsureDocumentSet makes it without a description, when nothing is in it any
// more. One that was described, restricted or given to an agent was meant to be there, and stays.
func (d *Directory) ForgetDocumentSet(ctx context.Context, tenant, name string) error {
	return d.write(ctx, "remove document set "+name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM document_sets WHERE tenant_id = ? AND name = ? AND description = ''
			AND is_public AND NOT EXISTS (SELECT 1 FROM agent_document_sets WHERE document_set_id = document_sets.id)`,
			tenant, name)
		return err
	})
}

// DocumentSets lists the sets that the caller may search within, by name.
func (d *Directory) DocumentSets(ctx context.Context, p Principal) ([]DocumentSet, error) {
	sets := []DocumentSet{}
	err := d.each(ctx, func(rows *sql.Rows) error {
		var s DocumentSet
		if err := rows.Scan(&s.ID, &s.Name, &s.Description, &s.Public); err != nil {
			return err
		}
		sets = append(sets, s)
		return nil
	}, `SELECT id, name, description, is_public FROM document_sets
		WHERE tenant_id = ? AND (is_public OR ?) ORDER BY name`, p.Tenant, p.Admin)
	if err != nil {
		return nil, fmt.Errorf("list document sets: %w", err)
	}
	return sets, nil
}

// AddAgent makes an agent and returns it with its id. Its document sets are named; they must exist.
func (d *Directory) AddAgent(ctx context.Context, tenant string, agent Agent) (Agent, error) {
	if err := checkAgent(agent); err != nil {
		return Agent{}, err
	}
	starters, err := json.Marshal(append([]wire.StarterMessage{}, agent.StarterMessages...))
	if err != nil {
		return Agent{}, fmt.Errorf("write starter messages: %w", err)
	}
	err = d.write(ctx, "add agent "+agent.Name, func(tx *sql.Tx) error {
		owner := sql.NullString{String: agent.OwnerID, Valid: agent.OwnerID != ""}
		err := tx.QueryRowContext(ctx, `INSERT INTO agents (tenant_id, name, description, starter_messages,
				search_start_date, is_public, is_listed, owner_id, created_at)
			SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING RETURNING id`,
			agent.Name, agent.Description, string(starters), stored(agent.SearchStart), agent.Public, agent.Listed,
			owner, d.now().UnixMicro(), tenant).Scan(&agent.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return refuse("there is an agent called %s already", quote(agent.Name))
		}
		if err != nil {
			return err
		}
		return attach(ctx, tx, tenant, &agent)
	})
	if err != nil {
		return Agent{}, err
	}
	return agent, nil
}

func checkAgent(agent Agent) error {
	if err := checkText("an agent's name", agent.Name, maxNameRunes); err != nil {
		return err
	}
	switch {
	case len(agent.Description) > maxDescription:
		return refuse("a description may have at most %d bytes", maxDescription)
	case len(agent.StarterMessages) > maxStarterMessages:
		return refuse("an agent may have at most %d starter messages", maxStarterMessages)
	case len(agent.Documents) > maxAgentDocuments:
		return refuse("an agent may have at most %d attached documents", maxAgentDocuments)
	case len(agent.DocumentSets) > maxAgentDocumentSet:
		return refuse("an agent may have at most %d document sets", maxAgentDocumentSet)
	}
	return nil
}

// attach stores an agent's scope, and completes its sets with what is known of them.
func attach(ctx context.Context, tx *sql.Tx, tenant string, agent *Agent) error {
	agent.DocumentSets = slices.Clone(agent.DocumentSets)
	for i, set := range agent.DocumentSets {
		err := tx.QueryRowContext(ctx,
			"SELECT id, description, is_public FROM document_sets WHERE tenant_id = ? AND name = ?", tenant, set.Name).
			Scan(&set.ID, &set.Description, &set.Public)
		if errors.Is(err, sql.ErrNoRows) {
			return refuse("there is no document set called %s", quote(set.Name))
		}
		if err != nil {
			return err
		}
		agent.DocumentSets[i] = set
		if _, err := tx.ExecContext(ctx, `INSERT INTO agent_document_sets (agent_id, document_set_id) VALUES (?, ?)
			ON CONFLICT DO NOTHING`, agent.ID, set.ID); err != nil {
			return err
		}
	}
	for _, id := range agent.Documents {
		if _, err := tx.ExecContext(ctx, `INSERT INTO agent_documents (agent_id, document_id) VALUES (?, ?)
			ON CONFLICT DO NOTHING`, agent.ID, id); err != nil {
			return err
		}
	}
	return nil
}

const visibleAgents = `SELECT a.id, a.name, a.description, a.starter_messages, a.search_start_date, a.is_public,
		a.is_listed, coalesce(u.id, ''), coalesce(u.email, '')
	FROM agents a LEFT JOIN users u ON u.id = a.owner_id
	WHERE a.tenant_id = ?1 AND (a.is_public OR ?2 OR a.owner_id = ?3)`

// Agents lists the agents that the caller may use: the default one first, then by id.
func (d *Directory) Agents(ctx context.Context, p Principal) ([]Agent, error) {
	agents, err := d.agents(ctx, visibleAgents+" ORDER BY a.id", p.Tenant, p.Admin, p.UserID)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return append([]Agent{DefaultAgent()}, agents...), nil
}

// Agent describes one agent. ErrNotFound if there is none of that id, or the caller may not use it.
func (d *Directory) Agent(ctx context.Context, p Principal, id int) (Agent, error) {
	if id == 0 {
		return DefaultAgent(), nil
	}
	agents, err := d.agents(ctx, visibleAgents+" AND a.id = ?4", p.Tenant, p.Admin, p.UserID, id)
	if err != nil {
		return Agent{}, fmt.Errorf("read agent %d: %w", id, err)
	}
	if len(agents) == 0 {
		return Agent{}, fmt.Errorf("agent %d: %w", id, ErrNotFound)
	}
	return agents[0], nil
}

func (d *Directory) agents(ctx context.Context, query string, args ...any) ([]Agent, error) {
	var agents []Agent
	err := d.each(ctx, func(rows *sql.Rows) error {
		var (
			a        Agent
			starters string
			start    sql.NullInt64
		)
		err := rows.Scan(&a.ID, &a.Name, &a.Description, &starters, &start, &a.Public, &a.Listed,
			&a.OwnerID, &a.OwnerEmail)
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(starters), &a.StarterMessages); err != nil {
			return fmt.Errorf("read starter messages: %w", err)
		}
		a.SearchStart = micros(start)
		agents = append(agents, a)
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	for i := range agents {
		if err := d.readScope(ctx, &agents[i]); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// readScope reads an agent's sets and documents.
func (d *Directory) readScope(ctx context.Context, agent *Agent) error {
	err := d.each(ctx, func(rows *sql.Rows) error {
		var s DocumentSet
		if err := rows.Scan(&s.ID, &s.Name, &s.Description, &s.Public); err != nil {
			return err
		}
		agent.DocumentSets = append(agent.DocumentSets, s)
		return nil
	}, `SELECT s.id, s.name, s.description, s.is_public FROM document_sets s
		JOIN agent_document_sets a ON a.document_set_id = s.id WHERE a.agent_id = ? ORDER BY s.name`, agent.ID)
	if err != nil {
		return fmt.Errorf("read the document sets of agent %d: %w", agent.ID, err)
	}
	err = d.each(ctx, func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		agent.Documents = append(agent.Documents, id)
		return nil
	}, "SELECT document_id FROM agent_documents WHERE agent_id = ? ORDER BY document_id", agent.ID)
	if err != nil {
		return fmt.Errorf("read the documents of agent %d: %w", agent.ID, err)
	}
	return nil
}
