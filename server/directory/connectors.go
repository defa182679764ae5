package directory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/server/sqldb"
)

const maxConnectorName = 200 // characters

// AccessType determines who may see the documents of a connector.
type AccessType string

// The access types.
const (
	AccessPublic  AccessType = "public"  // all users of the tenant
	AccessPrivate AccessType = "private" // its groups and its creator
	AccessSync    AccessType = "sync"    // the users who may see a document in its own system
)

// AccessTypes lists them all.
func AccessTypes() []string {
	return []string{string(AccessPublic), string(AccessPrivate), string(AccessSync)}
}

// CCPair is a connector with a credential, for which documents are posted.
type CCPair struct {
	ID, ConnectorID, CredentialID int
	Name, Source                  string
	ConnectorName, CredentialName string
	CreatedAt                     time.Time
	Access                        AccessType
	Creator                       string   // e-mail address
	Groups                        []string // names
	Sets                          []string // names of the document sets of its documents
	Deleting                      bool     // removed, but its documents are not deleted yet
	Revision                      int      // increases with every change
}

// Terms returns the access terms of the pair's documents. A synced pair has none: its documents have their own.
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

// Origin returns the origin of the pair's documents in an index.
func (p CCPair) Origin() string { return pairOrigin + strconv.Itoa(p.ID) }

const pairOrigin = "cc_pair:"

// IsPairOrigin reports whether an origin is that of a connector's documents.
func IsPairOrigin(origin string) bool { return strings.HasPrefix(origin, pairOrigin) }

// IsPosted reports whether an origin is that of documents of the ingestion API, with or without a connector.
func IsPosted(origin string) bool { return origin == "" || IsPairOrigin(origin) }

// Connector is a source that documents are posted from.
type Connector struct {
	ID           int
	Name, Source string
	CreatedAt    time.Time
	Credentials  []int // ids of those it is paired with
}

// Connectors lists the connectors of a tenant by id, or with an id that is not 0 only that one.
func (v View) Connectors(id int) ([]Connector, error) {
	connectors, err := sqldb.List(v.ctx, v.open, "list connectors", func(c *Connector) []any {
		return []any{&c.ID, &c.Name, &c.Source, (*sqldb.Micros)(&c.CreatedAt)}
	}, "SELECT id, name, source, created_at FROM connectors WHERE tenant_id = ?1 AND (id = ?2 OR ?2 = 0) ORDER BY id",
		v.Tenant, id)
	credentials, credentialsErr := sqldb.ListByID(v.ctx, v.open, "list the credentials of connectors",
		sqldb.Column[int],
		`SELECT connector_id, credential_id FROM cc_pairs WHERE tenant_id = ?1 AND (connector_id = ?2 OR ?2 = 0)
			AND NOT is_deleting
			ORDER BY credential_id`, v.Tenant, id)
	for i := range connectors {
		connectors[i].Credentials = credentials[connectors[i].ID]
	}
	return connectors, cmp.Or(err, credentialsErr)
}

// AddConnector creates a connector for a source and returns its id.
func (v View) AddConnector(name, source string) (id int, err error) {
	return v.addOfSource(KindConnector, name, source)
}

// AddCredential creates a credential for a source and returns its id. Secrets are not stored.
func (v View) AddCredential(name, source string) (id int, err error) {
	return v.addOfSource(KindCredential, name, source)
}

// addOfSource adds a connector or credential, each kind to a table of its own.
func (v View) addOfSource(kind Kind, name, source string) (id int, err error) {
	wrong := cmp.Or(checkText(fmt.Sprintf("a %s's name", kind), name, maxConnectorName), checkSource(source))
	err = v.update(fmt.Sprintf("add %s %s", kind, name), wrong, func(tx tenantTx) {
		tx.Row(exists(kind, name), []any{&id}, fmt.Sprintf(`INSERT INTO %ss (tenant_id, name, source, created_at)
			SELECT id, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING RETURNING id`, kind),
			name, source, v.now().UnixMicro(), v.Tenant)
	})
	return id, err
}

// PairRequest describes a new pair.
type PairRequest struct {
	ConnectorID, CredentialID int
	Name                      string // empty: the connector's
	Access                    AccessType
	GroupIDs                  []int
	Creator                   string // address
}

// AddCCPair creates a pair and returns its id. If the connector and credential are paired already, it returns the id of
// that pair, and made is false.
func (v View) AddCCPair(request PairRequest) (id int, made bool, err error) {
	if !slices.Contains(AccessTypes(), string(request.Access)) {
		return 0, false, refuse("unknown access type %s", quote(string(request.Access)))
	}
	wrong := checkText("a connector's name", cmp.Or(request.Name, "the connector's"), maxConnectorName)
	err = v.update("add connector-credential pair "+request.Name, wrong, func(tx tenantTx) {
		id, made = v.addCCPair(tx, request)
	})
	return id, made && err == nil, err
}

func (v View) addCCPair(tx tenantTx, request PairRequest) (id int, made bool) {
	name, credential := "", 0
	tx.Row(missing(KindConnector, request.ConnectorID), []any{&name},
		"SELECT name FROM connectors WHERE id = ? AND tenant_id = ?", request.ConnectorID, v.Tenant)
	tx.Row(missing(KindCredential, request.CredentialID), []any{&credential},
		"SELECT id FROM credentials WHERE id = ? AND tenant_id = ?", request.CredentialID, v.Tenant)
	if tx.Get([]any{&id}, "SELECT id FROM cc_pairs WHERE connector_id = ? AND credential_id = ?",
		request.ConnectorID, request.CredentialID) {
		return id, false
	}
	name = cmp.Or(request.Name, name)
	tx.Row(exists(KindConnector, name), []any{&id}, `INSERT INTO cc_pairs
		(tenant_id, connector_id, credential_id, name, access_type, creator_email, settled, created_at)
		VALUES (?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING RETURNING id`, v.Tenant, request.ConnectorID,
		request.CredentialID, name, string(request.Access), address(request.Creator), v.now().UnixMicro())
	link(tx, groupLinks("cc_pair_groups", "cc_pair_id"), id, request.GroupIDs)
	return id, true
}

// CCPairs lists the pairs of a tenant by id, without removed ones.
func (v View) CCPairs() ([]CCPair, error) {
	return v.pairs("p.tenant_id = ? AND NOT p.is_deleting", v.Tenant)
}

// CCPair returns a pair, or a MissingError.
func (v View) CCPair(id int) (CCPair, error) {
	pairs, err := v.pairs("p.tenant_id = ? AND p.id = ? AND NOT p.is_deleting", v.Tenant, id)
	return sqldb.First(pairs, err, missing(KindCCPair, id))
}

// UnsyncedCCPairs lists the pairs whose stored documents do not match the last change yet, including removed ones.
func (v View) UnsyncedCCPairs() ([]CCPair, error) {
	return v.pairs("p.tenant_id = ? AND (p.settled < p.revision OR p.is_deleting)", v.Tenant)
}

// MarkSynced records that the stored documents match a pair as it was read. It reports false if the pair has changed
// since then. It deletes a removed pair, and its connector and credential if they have no other pair.
func (d *Directory) MarkSynced(ctx context.Context, pair CCPair) (still bool, err error) {
	err = d.open.Update(ctx, "mark connector "+pair.Name+" as synced", func(tx *sqldb.Tx) {
		revision := 0 // another process has deleted the pair
		tx.Get([]any{&revision}, "SELECT revision FROM cc_pairs WHERE id = ?", pair.ID)
		if still = revision == 0 || revision == pair.Revision; !still || revision == 0 {
			return
		}
		if !pair.Deleting {
			tx.Exec("UPDATE cc_pairs SET settled = revision WHERE id = ?", pair.ID)
			return
		}
		tx.Exec("DELETE FROM cc_pairs WHERE id = ?", pair.ID)
		tx.Exec(`DELETE FROM connectors WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM cc_pairs WHERE connector_id = ?1)`, pair.ConnectorID)
		tx.Exec(`DELETE FROM credentials WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM cc_pairs WHERE credential_id = ?1)`, pair.CredentialID)
	})
	return still && err == nil, err
}

// RemoveCCPair removes the pair of that name, or an unpaired connector of that name. Its documents must then be
// deleted.
func (v View) RemoveCCPair(name string) error {
	return v.update("remove connector "+name, nil, func(tx tenantTx) {
		id := 0
		if tx.Get([]any{&id}, "SELECT id FROM cc_pairs WHERE tenant_id = ? AND name = ? AND NOT is_deleting",
			v.Tenant, name) {
			tx.Exec("UPDATE cc_pairs SET is_deleting = TRUE, revision = revision + 1 WHERE id = ?", id)
			return
		}
		tx.Change(missing(KindConnector, quote(name)), `DELETE FROM connectors WHERE tenant_id = ? AND name = ?
			AND NOT EXISTS (SELECT 1 FROM cc_pairs WHERE connector_id = connectors.id)`, v.Tenant, name)
	})
}

// markPairsChanged records that the documents of pairs must be updated.
func (tx tenantTx) markPairsChanged(where string, args ...any) {
	tx.Exec("UPDATE cc_pairs SET revision = revision + 1 WHERE "+where, args...)
}

func (v View) pairs(where string, args ...any) ([]CCPair, error) {
	pairs, err := sqldb.List(v.ctx, v.open, "read connectors", func(p *CCPair) []any {
		return []any{&p.ID, &p.ConnectorID, &p.CredentialID, &p.Name, &p.Source, &p.Access, &p.Creator, &p.Deleting,
			&p.Revision, &p.ConnectorName, &p.CredentialName, (*sqldb.Micros)(&p.CreatedAt)}
	}, `SELECT p.id, p.connector_id, p.credential_id, p.name, c.source, p.access_type, p.creator_email, p.is_deleting,
			p.revision, c.name, r.name, p.created_at FROM cc_pairs p JOIN connectors c ON c.id = p.connector_id
			JOIN credentials r ON r.id = p.credential_id WHERE `+where+" ORDER BY p.id", args...)
	// A change between the queries makes the revision that was read out of date.
	groups, groupsErr := sqldb.ListByID(v.ctx, v.open, "read the groups of connectors", sqldb.Column[string], `
		SELECT x.cc_pair_id, g.name
		FROM cc_pair_groups x JOIN user_groups g ON g.id = x.group_id JOIN cc_pairs p ON p.id = x.cc_pair_id
		WHERE `+where+" ORDER BY g.name", args...)
	sets, setsErr := sqldb.ListByID(v.ctx, v.open, "read the document sets of connectors", sqldb.Column[string], `
		SELECT x.cc_pair_id, s.name
		FROM document_set_cc_pairs x JOIN document_sets s ON s.id = x.document_set_id
		JOIN cc_pairs p ON p.id = x.cc_pair_id
		WHERE `+where+" ORDER BY s.name", args...)
	for i := range pairs {
		p := &pairs[i]
		p.Groups, p.Sets = groups[p.ID], sets[p.ID]
	}
	return pairs, cmp.Or(err, groupsErr, setsErr)
}
