package directory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/sqlite"
)

const maxConnectorName = 200 // characters

// AccessType says who sees the documents of a connector.
type AccessType string

// The access types.
const (
	AccessPublic  AccessType = "public"  // everybody of the tenant
	AccessPrivate AccessType = "private" // the groups that it was given to, and who made it
	AccessSync    AccessType = "sync"    // those who see a document in the system that it comes from
)

// AccessTypes lists them all.
func AccessTypes() []string {
	return []string{string(AccessPublic), string(AccessPrivate), string(AccessSync)}
}

// CCPair is a connector with a credential: what documents are posted for.
type CCPair struct {
	ID, ConnectorID, CredentialID int
	Name, Source                  string
	Access                        AccessType
	Creator                       string   // address of who made it
	Groups                        []string // names
	Sets                          []string // names of the document sets that hold its documents
	Deleting                      bool     // it was removed, and its documents are still to go
	Revision                      int      // rises with every change of what is said here
}

// Terms are the access terms of the pair's documents. A synced pair has none: its documents bring their own.
func (p CCPair) Terms() (terms []string, own bool) {
	switch p.Access {
	case AccessPublic:
		return []string{publicTerm}, true
	case AccessPrivate:
		terms = []string{EmailTerm(p.Creator)}
		for _, group := range p.Groups {
			terms = append(terms, GroupTerm(group))
		}
		return terms, true
	}
	return nil, false
}

// Origin marks the documents of a pair in an index.
func (p CCPair) Origin() string { return pairOrigin + strconv.Itoa(p.ID) }

const pairOrigin = "cc_pair:"

// IsPairOrigin reports whether a document with that origin came from a connector.
func IsPairOrigin(origin string) bool { return strings.HasPrefix(origin, pairOrigin) }

// IsPosted reports whether a document with that origin came through the ingestion API, for a connector or for none.
func IsPosted(origin string) bool { return origin == "" || IsPairOrigin(origin) }

// AddConnector names something that documents of one source come from, and returns its id.
func (d *Directory) AddConnector(ctx context.Context, tenant, name, source string) (id int, err error) {
	if err := checkConnector("a connector's name", name, source); err != nil {
		return 0, err
	}
	err = d.write(ctx, "add connector "+name, func(tx *sql.Tx) error {
		return sqlite.Scan(tx.QueryRowContext(ctx, `INSERT INTO connectors (tenant_id, name, source, created_at)
			SELECT id, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING RETURNING id`,
			name, source, d.now().UnixMicro(), tenant), exists(KindConnector, name), &id)
	})
	return id, err
}

// AddCredential names a credential for a source, and returns its id. No secret is kept.
func (d *Directory) AddCredential(ctx context.Context, tenant, name, source string) (id int, err error) {
	if err := checkConnector("a credential's name", name, source); err != nil {
		return 0, err
	}
	err = d.write(ctx, "add credential "+name, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO credentials (tenant_id, name, source, created_at)
			VALUES (?, ?, ?, ?) RETURNING id`, tenant, name, source, d.now().UnixMicro()).Scan(&id)
	})
	return id, err
}

func checkConnector(what, name, source string) error {
	if err := checkText(what, name, maxConnectorName); err != nil {
		return err
	}
	if _, ok := wire.LookupSource(source); !ok {
		return refuse("unknown source %s", quote(source))
	}
	return nil
}

// PairRequest asks to use a connector with a credential.
type PairRequest struct {
	ConnectorID, CredentialID int
	Name                      string // empty: the connector's
	Access                    AccessType
	GroupIDs                  []int
	Creator                   string // address
}

// AddCCPair makes a pair and returns its id. Where there is one of this connector and credential, it returns that one's
// id, and made is false.
func (d *Directory) AddCCPair(ctx context.Context, tenant string, request PairRequest) (id int, made bool, err error) {
	if !slices.Contains(AccessTypes(), string(request.Access)) {
		return 0, false, refuse("unknown access type %s", quote(string(request.Access)))
	}
	if request.Name != "" {
		if err := checkText("a connector's name", request.Name, maxConnectorName); err != nil {
			return 0, false, err
		}
	}
	err = d.write(ctx, "add connector-credential pair "+request.Name, func(tx *sql.Tx) error {
		id, made, err = d.addCCPair(ctx, tx, tenant, request)
		return err
	})
	return id, made, err
}

func (d *Directory) addCCPair(ctx context.Context, tx *sql.Tx, tenant string, request PairRequest) (
	id int, made bool, err error) {
	name, credential := "", 0
	err = sqlite.Scan(tx.QueryRowContext(ctx, "SELECT name FROM connectors WHERE id = ? AND tenant_id = ?",
		request.ConnectorID, tenant), missing(KindConnector, request.ConnectorID), &name)
	if err != nil {
		return 0, false, err
	}
	err = sqlite.Scan(tx.QueryRowContext(ctx, "SELECT id FROM credentials WHERE id = ? AND tenant_id = ?",
		request.CredentialID, tenant), missing(KindCredential, request.CredentialID), &credential)
	if err != nil {
		return 0, false, err
	}
	err = sqlite.Scan(tx.QueryRowContext(ctx, "SELECT id FROM cc_pairs WHERE connector_id = ? AND credential_id = ?",
		request.ConnectorID, request.CredentialID), nil, &id)
	if err != nil || id != 0 {
		return id, false, err
	}
	name = cmp.Or(request.Name, name)
	err = sqlite.Scan(tx.QueryRowContext(ctx, `INSERT INTO cc_pairs
		(tenant_id, connector_id, credential_id, name, access_type, creator_email, settled, created_at)
		VALUES (?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING RETURNING id`, tenant, request.ConnectorID,
		request.CredentialID, name, string(request.Access), address(request.Creator), d.now().UnixMicro()),
		exists(KindConnector, name), &id)
	if err != nil {
		return 0, false, err
	}
	return id, true, link(ctx, tx, groupLinks("cc_pair_groups", "cc_pair_id", tenant), id, request.GroupIDs)
}

// CCPairs lists the pairs of a tenant by id, without those that were removed.
func (d *Directory) CCPairs(ctx context.Context, tenant string) ([]CCPair, error) {
	return d.pairs(ctx, "p.tenant_id = ? AND NOT p.is_deleting", tenant)
}

// CCPair reads a pair. A MissingError if there is none of that id.
func (d *Directory) CCPair(ctx context.Context, tenant string, id int) (CCPair, error) {
	pairs, err := d.pairs(ctx, "p.tenant_id = ? AND p.id = ? AND NOT p.is_deleting", tenant, id)
	return first(pairs, err, missing(KindCCPair, id))
}

// Unsettled lists the pairs whose stored documents do not follow the last change yet, with those that were removed.
func (d *Directory) UnsyncedCCPairs(ctx context.Context, tenant string) ([]CCPair, error) {
	return d.pairs(ctx, "p.tenant_id = ? AND (p.settled < p.revision OR p.is_deleting)", tenant)
}

// Settled notes that the stored documents of a pair follow it as it was read. It is false when the pair has changed
// since: then it must be settled again. A pair that was removed is forgotten, with its connector if that has no other.
func (d *Directory) MarkSynced(ctx context.Context, pair CCPair) (still bool, err error) {
	err = d.write(ctx, "settle connector "+pair.Name, func(tx *sql.Tx) error {
		revision := pair.Revision // of one that another process has settled and removed
		err := sqlite.Scan(tx.QueryRowContext(ctx, "SELECT revision FROM cc_pairs WHERE id = ?", pair.ID), nil, &revision)
		if still = revision == pair.Revision; err != nil || !still {
			return err
		}
		if !pair.Deleting {
			return sqlite.Exec(ctx, tx, nil, "UPDATE cc_pairs SET settled = revision WHERE id = ?", pair.ID)
		}
		if err := sqlite.Exec(ctx, tx, nil, "DELETE FROM cc_pairs WHERE id = ?", pair.ID); err != nil {
			return err
		}
		if err := sqlite.Exec(ctx, tx, nil, `DELETE FROM connectors WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM cc_pairs WHERE connector_id = ?1)`, pair.ConnectorID); err != nil {
			return err
		}
		return sqlite.Exec(ctx, tx, nil, `DELETE FROM credentials WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM cc_pairs WHERE credential_id = ?1)`, pair.CredentialID)
	})
	return still, err
}

// RemoveCCPair removes the pair of that name, or a connector of that name that was never paired. Settle the pairs
// afterwards, so that its documents go, too.
func (d *Directory) RemoveCCPair(ctx context.Context, tenant, name string) error {
	return d.write(ctx, "remove connector "+name, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE cc_pairs SET is_deleting = 1, revision = revision + 1
			WHERE tenant_id = ? AND name = ? AND NOT is_deleting`, tenant, name)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return sqlite.Exec(ctx, tx, missing(KindConnector, quote(name)), `DELETE FROM connectors WHERE tenant_id = ? AND name = ?
			AND NOT EXISTS (SELECT 1 FROM cc_pairs WHERE connector_id = connectors.id)`, tenant, name)
	})
}

// markPairsChanged notes that the documents of pairs must follow a change.
func markPairsChanged(ctx context.Context, tx *sql.Tx, where string, args ...any) error {
	return sqlite.Exec(ctx, tx, nil, "UPDATE cc_pairs SET revision = revision + 1 WHERE "+where, args...)
}

func (d *Directory) pairs(ctx context.Context, where string, args ...any) ([]CCPair, error) {
	pairs, err := sqlite.Select(ctx, d.db.Reader, func(p *CCPair) []any {
		return []any{&p.ID, &p.ConnectorID, &p.CredentialID, &p.Name, &p.Source, &p.Access, &p.Creator, &p.Deleting, &p.Revision}
	}, `SELECT p.id, p.connector_id, p.credential_id, p.name, c.source, p.access_type, p.creator_email, p.is_deleting,
			p.revision FROM cc_pairs p JOIN connectors c ON c.id = p.connector_id WHERE `+where+" ORDER BY p.id", args...)
	if err != nil {
		return nil, fmt.Errorf("read connectors: %w", err)
	}
	// A change that is made between the queries raises the revision over the one that was read first.
	groups, err := sqlite.Group(ctx, d.db.Reader, sqlite.Column[string], `SELECT x.cc_pair_id, g.name
		FROM cc_pair_groups x JOIN user_groups g ON g.id = x.group_id JOIN cc_pairs p ON p.id = x.cc_pair_id
		WHERE `+where+" ORDER BY g.name", args...)
	if err != nil {
		return nil, fmt.Errorf("read the groups of connectors: %w", err)
	}
	sets, err := sqlite.Group(ctx, d.db.Reader, sqlite.Column[string], `SELECT x.cc_pair_id, s.name
		FROM document_set_cc_pairs x JOIN document_sets s ON s.id = x.document_set_id JOIN cc_pairs p ON p.id = x.cc_pair_id
		WHERE `+where+" ORDER BY s.name", args...)
	if err != nil {
		return nil, fmt.Errorf("read the document sets of connectors: %w", err)
	}
	for i := range pairs {
		p := &pairs[i]
		p.Groups, p.Sets = groups[p.ID], sets[p.ID]
	}
	return pairs, nil
}
