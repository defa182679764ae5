package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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

// SetDetails are what a document set is made of, and for whom.
type SetDetails struct {
	DocumentSet
	Audience Audience
	CCPairs  []int // the connector-credential pairs whose documents are in it, beside those that were added to it
}

// EnsureDocumentSet makes a document set that everybody may search within; one that exists already is left as it is.
// Without a description it goes with its last document.
func (d *Directory) EnsureDocumentSet(ctx context.Context, tenant, name, description string) (DocumentSet, error) {
	return d.keepDocumentSet(ctx, tenant, DocumentSet{Name: name, Description: description, Public: true}, description == "")
}

// AddDocumentSet makes a document set; one of the same name is returned as it is.
func (d *Directory) AddDocumentSet(ctx context.Context, tenant string, set DocumentSet) (DocumentSet, error) {
	return d.keepDocumentSet(ctx, tenant, set, false)
}

func (d *Directory) keepDocumentSet(ctx context.Context, tenant string, set DocumentSet, automatic bool) (
	DocumentSet, error) {
	if err := checkSet(set); err != nil {
		return DocumentSet{}, err
	}
	err := d.write(ctx, "add document set "+set.Name, func(tx *sql.Tx) error {
		if _, err := d.insertSet(ctx, tx, tenant, set, automatic); err != nil {
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

func checkSet(set DocumentSet) error {
	if err := checkText("a document set's name", set.Name, maxSetName); err != nil {
		return err
	}
	if len(set.Description) > maxDescription {
		return refuse("a description may have at most %d bytes", maxDescription)
	}
	return nil
}

// insertSet makes a set and returns its id; 0 if there is one of that name.
func (d *Directory) insertSet(ctx context.Context, tx *sql.Tx, tenant string, set DocumentSet, automatic bool) (
	id int, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO document_sets
		(tenant_id, name, description, is_public, is_automatic, created_at)
		SELECT id, ?, ?, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING RETURNING id`,
		set.Name, set.Description, set.Public, automatic, d.now().UnixMicro(), tenant).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

// CreateDocumentSet makes a document set of what details name, and returns its id. An ExistsError if the
// name looks like that of another. Settle the pairs afterwards.
func (d *Directory) CreateDocumentSet(ctx context.Context, tenant string, details SetDetails) (id int, err error) {
	if err := errors.Join(checkSet(details.DocumentSet), checkAudience(details.Audience)); err != nil {
		return 0, err
	}
	if len(details.CCPairs) > maxSetPairs {
		return 0, refuse("a document set may have at most %d connectors", maxSetPairs)
	}
	err = d.write(ctx, "add document set "+details.Name, func(tx *sql.Tx) error {
		if err := refuseAlike(ctx, tx, KindDocumentSet, details.Name,
			"SELECT name FROM document_sets WHERE tenant_id = ?", tenant); err != nil {
			return err
		}
		if id, err = d.insertSet(ctx, tx, tenant, details.DocumentSet, false); err != nil {
			return err
		}
		if id == 0 {
			return missing(KindTenant, quote(tenant))
		}
		if err := admit(ctx, tx, "document_set", tenant, id, details.Audience); err != nil {
			return err
		}
		pairs := pairLinks("document_set_cc_pairs", "document_set_id", tenant)
		if err := link(ctx, tx, pairs, id, details.CCPairs); err != nil {
			return err
		}
		return touchSet(ctx, tx, id)
	})
	return id, err
}

// touchSet notes that the documents of a set's pairs must follow a change.
func touchSet(ctx context.Context, tx *sql.Tx, id int) error {
	return touchPairs(ctx, tx, "id IN (SELECT cc_pair_id FROM document_set_cc_pairs WHERE document_set_id = ?)", id)
}

// RemoveDocumentSet ends a document set; its documents stay. One that an agent searches within is refused: without it
// the agent would search everywhere. Settle the pairs afterwards.
func (d *Directory) RemoveDocumentSet(ctx context.Context, tenant, name string) error {
	return d.write(ctx, "remove document set "+name, func(tx *sql.Tx) error {
		id := 0
		err := tx.QueryRowContext(ctx, "SELECT id FROM document_sets WHERE tenant_id = ? AND name = ?", tenant, name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return missing(KindDocumentSet, quote(name))
		}
		if err != nil {
			return err
		}
		agent := ""
		err = tx.QueryRowContext(ctx, `SELECT a.name FROM agents a JOIN agent_document_sets s ON s.agent_id = a.id
			WHERE s.document_set_id = ? ORDER BY a.id LIMIT 1`, id).Scan(&agent)
		if err == nil {
			return refuse("agent %s searches within document set %s; remove the agent first", quote(agent), quote(name))
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := touchSet(ctx, tx, id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM document_sets WHERE id = ?", id)
		return err
	})
}

// ForgetDocumentSet removes a document set that adding files made, when nothing is in it any more. One that somebody
// arranged, or gave to an agent, was meant to be there, and stays.
func (d *Directory) ForgetDocumentSet(ctx context.Context, tenant, name string) error {
	return d.write(ctx, "remove document set "+name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM document_sets WHERE tenant_id = ? AND name = ? AND is_automatic
			AND NOT EXISTS (SELECT 1 FROM agent_document_sets WHERE document_set_id = document_sets.id)`,
			tenant, name)
		return err
	})
}

// DocumentSets lists the sets that the caller may search within, by name.
func (d *Directory) DocumentSets(ctx context.Context, p Principal) ([]DocumentSet, error) {
	if p.Owner { // asks once, and would open a connection for it
		return d.visibleSets(ctx, p)
	}
	sets, err := recall(ctx, d, setsKey{p.Tenant, p.UserID, p.Admin}, func() ([]DocumentSet, error) {
		return d.visibleSets(ctx, p)
	})
	return slices.Clone(sets), err
}

func (d *Directory) visibleSets(ctx context.Context, p Principal) ([]DocumentSet, error) {
	sets := []DocumentSet{}
	err := d.each(ctx, func(rows *sql.Rows) error {
		var s DocumentSet
		if err := rows.Scan(&s.ID, &s.Name, &s.Description, &s.Public); err != nil {
			return err
		}
		sets = append(sets, s)
		return nil
	}, `SELECT s.id, s.name, s.description, s.is_public FROM document_sets s
		WHERE s.tenant_id = ?1 AND (s.is_public OR ?2 OR `+admits("document_set", "s")+`) ORDER BY s.name`,
		p.Tenant, p.Admin, p.UserID)
	if err != nil {
		return nil, fmt.Errorf("list document sets: %w", err)
	}
	return sets, nil
}

// DescribeSets reads what sets are made of, in their order.
func (d *Directory) DescribeSets(ctx context.Context, sets []DocumentSet) ([]SetDetails, error) {
	described, byID := make([]SetDetails, len(sets)), make(map[int]*SetDetails, len(sets))
	for i, set := range sets {
		described[i].DocumentSet, byID[set.ID] = set, &described[i]
	}
	ids := idList(byID)
	for _, column := range []struct {
		table, name string
		of          func(*SetDetails) any
	}{
		{"document_set_users", "user_id", func(s *SetDetails) any { return appended(&s.Audience.Users) }},
		{"document_set_groups", "group_id", func(s *SetDetails) any { return appended(&s.Audience.Groups) }},
		{"document_set_cc_pairs", "cc_pair_id", func(s *SetDetails) any { return appended(&s.CCPairs) }},
	} {
		err := d.each(ctx, func(rows *sql.Rows) error {
			id := 0
			var value any
			if err := rows.Scan(&id, &value); err != nil {
				return err
			}
			return rows.Scan(&id, column.of(byID[id]))
		}, fmt.Sprintf(`SELECT document_set_id, %[1]s FROM %[2]s WHERE document_set_id IN (SELECT value FROM json_each(?))
			ORDER BY %[1]s`, column.name, column.table), ids)
		if err != nil {
			return nil, fmt.Errorf("read document sets: %w", err)
		}
	}
	return described, nil
}

// appended appends a value to a list and returns the place of it.
func appended[T any](list *[]T) *T {
	*list = append(*list, *new(T))
	return &(*list)[len(*list)-1]
}
