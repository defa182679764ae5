package directory

import (
	"cmp"
	"errors"
	"slices"

	"go.mau.fi/util/exslices"

	"quarry/internal/guard"
	"quarry/server/sqldb"
)

const (
	maxSetName     = 200   // characters
	maxDescription = 5_000 // bytes, of sets and agents
	maxSetPairs    = 1_000
)

// DocumentSet is a named collection of documents. Its documents keep their own access rights.
type DocumentSet struct {
	ID                int
	Name, Description string
	Public            bool // everybody may search within it; otherwise its audience and administrators
}

// SetDetails is a document set with its audience and connectors.
type SetDetails struct {
	DocumentSet
	Audience Audience
	CCPairs  []int // the pairs whose documents are in it, in addition to added files
}

// EnsureDocumentSet creates a public document set, which is removed with its last document. An existing set is not
// changed.
func (v View) EnsureDocumentSet(name string) error {
	set := DocumentSet{Name: name, Public: true}
	return v.update("add document set "+name, checkSet(set), func(tx tenantTx) {
		v.insertSet(tx, set, true)
		tx.findSet(&set, noTenant(v.Tenant))
	})
}

// findSet reads a set by its name.
func (tx tenantTx) findSet(set *DocumentSet, otherwise error) {
	tx.Row(otherwise, setColumns(set), `SELECT id, name, description, is_public FROM document_sets
		WHERE tenant_id = ? AND name = ?`, tx.tenant, set.Name)
}

func setColumns(s *DocumentSet) []any { return []any{&s.ID, &s.Name, &s.Description, &s.Public} }

func checkSet(set DocumentSet) error {
	if err := checkText("a document set's name", set.Name, maxSetName); err != nil {
		return err
	}
	if len(set.Description) > maxDescription {
		return refuse("a description may have at most %d bytes", maxDescription)
	}
	return nil
}

// insertSet creates a set and returns its id; 0 if the name is in use.
func (v View) insertSet(tx tenantTx, set DocumentSet, automatic bool) (id int) {
	tx.Get([]any{&id}, `INSERT INTO document_sets
		(tenant_id, name, description, is_public, is_automatic, created_at)
		SELECT id, ?, ?, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING RETURNING id`,
		set.Name, set.Description, set.Public, automatic, v.now().UnixMicro(), v.Tenant)
	return id
}

// CreateDocumentSet creates a document set and returns its id. The error is an ExistsError if the name looks like that
// of another set. The documents of its connectors must then be updated.
func (v View) CreateDocumentSet(details SetDetails) (id int, err error) {
	err = v.update("add document set "+details.Name, checkDetails(details), func(tx tenantTx) {
		tx.refuseLookalike(KindDocumentSet, details.Name, "SELECT name FROM document_sets WHERE tenant_id = ?",
			v.Tenant)
		if id = v.insertSet(tx, details.DocumentSet, false); id == 0 {
			guard.Abort(missing(KindTenant, quote(v.Tenant)))
		}
		details.ID = id
		tx.fillSet(details)
	})
	return id, err
}

func checkDetails(details SetDetails) error {
	if len(details.CCPairs) > maxSetPairs {
		return refuse("a document set may have at most %d connectors", maxSetPairs)
	}
	return errors.Join(checkSet(details.DocumentSet), checkAudience(details.Audience))
}

// fillSet stores the audience and the connectors of a set that has none.
func (tx tenantTx) fillSet(details SetDetails) {
	tx.addAudience("document_set", details.ID, details.Audience)
	link(tx, pairLinks("document_set_cc_pairs", "document_set_id"), details.ID, details.CCPairs)
	tx.markSetChanged(details.ID)
}

// UpdateDocumentSet replaces a document set. The documents of its connectors, and of those that it had, must then be
// updated.
func (v View) UpdateDocumentSet(details SetDetails) error {
	return v.update("change document set "+details.Name, checkDetails(details), func(tx tenantTx) {
		tx.refuseLookalike(KindDocumentSet, details.Name,
			"SELECT name FROM document_sets WHERE tenant_id = ? AND id <> ?", v.Tenant, details.ID)
		tx.markSetChanged(details.ID)
		tx.Change(missing(KindDocumentSet, details.ID), `UPDATE document_sets SET name = ?, description = ?,
			is_public = ?, is_automatic = FALSE WHERE id = ? AND tenant_id = ?`, details.Name, details.Description,
			details.Public, details.ID, v.Tenant)
		for _, table := range []string{"users", "groups", "cc_pairs"} {
			tx.Exec("DELETE FROM document_set_"+table+" WHERE document_set_id = ?", details.ID)
		}
		tx.fillSet(details)
	})
}

// markSetChanged records that the documents of a set's pairs must be updated.
func (tx tenantTx) markSetChanged(id int) {
	tx.markPairsChanged("id IN (SELECT cc_pair_id FROM document_set_cc_pairs WHERE document_set_id = ?)", id)
}

// RemoveDocumentSet removes a document set, but not its documents. A set of an agent is refused: without it the agent
// would search everything. The documents of its connectors must then be updated.
func (v View) RemoveDocumentSet(name string) error {
	return v.update("remove document set "+name, nil, func(tx tenantTx) {
		set, agent := DocumentSet{Name: name}, ""
		tx.findSet(&set, missing(KindDocumentSet, quote(name)))
		if tx.Get([]any{&agent}, `SELECT a.name FROM agents a JOIN agent_document_sets s ON s.agent_id = a.id
			WHERE s.document_set_id = ? ORDER BY a.id LIMIT 1`, set.ID) {
			guard.Abort(refuse("agent %s searches within document set %s; remove the agent first", quote(agent),
				quote(name)))
		}
		tx.markSetChanged(set.ID)
		tx.Exec("DELETE FROM document_sets WHERE id = ?", set.ID)
	})
}

// ForgetDocumentSet removes an empty document set that was created by adding files. A set that somebody created, or
// that an agent uses, is kept.
func (v View) ForgetDocumentSet(name string) error {
	return v.exec("remove document set "+name, nil, `DELETE FROM document_sets
		WHERE tenant_id = ? AND name = ? AND is_automatic
			AND NOT EXISTS (SELECT 1 FROM agent_document_sets
			WHERE document_set_id = document_sets.id)`, v.Tenant, name)
}

// DocumentSets lists the sets that the caller may search, by name.
func (v View) DocumentSets() ([]DocumentSet, error) {
	sets, err := cachedFor(v, "sets", func() ([]DocumentSet, error) {
		return sqldb.List(v.ctx, v.open, "list document sets", setColumns, `
			SELECT s.id, s.name, s.description, s.is_public FROM document_sets s
			WHERE s.tenant_id = ?1 AND (s.is_public OR ?2
			OR `+audienceCondition("document_set", "s")+`) ORDER BY s.name`,
			v.Tenant, v.Admin, v.UserID)
	})
	return slices.Clone(sets), err
}

// DescribeSets returns the details of sets, in their order.
func (v View) DescribeSets(sets []DocumentSet) ([]SetDetails, error) {
	ids := sqldb.JSON{V: exslices.CastFunc(sets, func(s DocumentSet) int { return s.ID })}
	audience, err := v.audiences("document_set", ids)
	pairs, pairsErr := related[int](v, "document_set", "document_set_cc_pairs", "cc_pair_id", ids)
	var described []SetDetails
	for _, set := range sets {
		described = append(described, SetDetails{DocumentSet: set, Audience: audience(set.ID), CCPairs: pairs[set.ID]})
	}
	return described, cmp.Or(err, pairsErr)
}
