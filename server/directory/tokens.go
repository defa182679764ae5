package directory

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/sqldb"
)

const (
	tokenPrefix      = "onyx_pat_"
	tokenRandomBytes = 192
	longestToken     = 1024 // bytes
	// lastUsedEvery is the interval at which the use of a token is recorded.
	lastUsedEvery = 5 * time.Minute
	// lastUsedWait bounds how long a request waits to record the use of its token.
	lastUsedWait = 500 * time.Millisecond
	maxTokenDays = 36_500
	maxNameRunes = 100
	kindUser     = "user"
)

// Token is a personal access token without its secret.
type Token struct {
	ID        int
	Name      string
	Email     string // of its user
	Display   string // the token with its middle left out
	Scopes    []string
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	LastUsed  time.Time // zero: never; at most five minutes behind
}

// Wire converts the token for the API.
func (t Token) Wire() wire.AccessToken {
	return wire.AccessToken{
		ID: t.ID, Name: t.Name, TokenDisplay: t.Display, CreatedAt: Timestamp(t.CreatedAt),
		ExpiresAt: TimestampOrNil(t.ExpiresAt), LastUsedAt: TimestampOrNil(t.LastUsed), Scopes: t.Scopes,
	}
}

// timestamp is a time in the form of the API, from a column of microseconds.
type timestamp string

// Scan implements sql.Scanner.
func (t *timestamp) Scan(column any) error {
	var moment time.Time
	err := (*sqldb.Micros)(&moment).Scan(column)
	*t = timestamp(Timestamp(moment))
	return err
}

// Timestamp writes a time as the API does: in ISO 8601, with a Z.
func Timestamp(t time.Time) string {
	return wire.Timestamp(t, "Z07:00")
}

// TimestampOrNil writes a time as the API does, and the zero time as null.
func TimestampOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := Timestamp(t)
	return &text
}

// TokenRequest describes a new token.
type TokenRequest struct {
	Tenant string // empty: the default tenant
	Name   string // 1 to 100 characters
	Email  string // empty: the owner; somebody unknown becomes a basic user
	Days   *int   // until it expires, counted from the end of today (UTC); nil: never
	Scopes []string
	Parent int // the token that the request was made with; 0: none
}

// AddToken creates a token and returns it with its secret, which is not stored. Without Scopes it has all permissions
// of its user; an empty list and unknown scopes are refused. A token with a parent expires no later than its parent and
// is revoked with it; the error is ErrUnauthenticated if the parent is no longer valid. The caller must check its
// scopes.
func (d *Directory) AddToken(ctx context.Context, request TokenRequest) (token Token, secret string, err error) {
	token, err = d.newToken(&request)
	secret = newSecret(request.Tenant)
	err = d.In(ctx, request.Tenant).update("add a token", err, func(tx tenantTx) {
		user := d.ensureUser(tx, token.Email, RoleBasic)
		// Tokens made with one that has ended have ended, too, and go with it.
		tx.Exec("DELETE FROM tokens WHERE user_id = ? AND kind = ? AND (is_revoked OR expires_at <= ?)",
			user.ID, kindUser, sqldb.Micros(token.CreatedAt))
		tx.refuseMore(KindToken, user.ID, MostTokens,
			"SELECT count(*) FROM tokens WHERE user_id = ? AND kind = '"+kindUser+"'")
		tx.limitToParent(request.Parent, user.ID, &token)
		tx.insertToken(user.ID, kindUser, secret, &token)
		if request.Parent != 0 {
			tx.Exec("INSERT INTO token_parents (token_id, parent_id) VALUES (?, ?)", token.ID, request.Parent)
		}
	})
	return token, secret, err
}

// insertToken stores a token without its secret, and sets its number and what is displayed of it.
func (tx tenantTx) insertToken(userID, kind, secret string, token *Token) {
	token.Display = secret[:12] + "****" + secret[len(secret)-4:]
	tx.Get([]any{&token.ID}, `INSERT INTO tokens (user_id, name, kind, hash, display, scopes, created_at,
			expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, userID, token.Name, kind, hash(secret), token.Display,
		sqldb.JSON{V: token.Scopes}, sqldb.Micros(token.CreatedAt), sqldb.Micros(token.ExpiresAt))
}

// limitToParent limits the lifetime of a token to that of its parent, which must be a valid token of the same user.
func (tx tenantTx) limitToParent(parent int, user string, token *Token) {
	if parent == 0 {
		return
	}
	var limit time.Time
	tx.Row(ErrUnauthenticated, []any{(*sqldb.Micros)(&limit)}, `SELECT expires_at FROM tokens
		WHERE id = ?1 AND user_id = ?2 AND NOT is_revoked
			AND (expires_at IS NULL OR expires_at > ?3)`, parent, user, sqldb.Micros(token.CreatedAt))
	if !limit.IsZero() && (token.ExpiresAt.IsZero() || token.ExpiresAt.After(limit)) {
		token.ExpiresAt = limit
	}
}

// newToken validates a request, sets its defaults, and returns the token.
func (d *Directory) newToken(request *TokenRequest) (token Token, err error) {
	request.Tenant = cmp.Or(request.Tenant, DefaultTenant)
	if err = checkText("a token's name", request.Name, maxNameRunes); err != nil {
		return token, err
	}
	now := d.now().UTC().Truncate(time.Microsecond)
	token = Token{Name: request.Name, Email: OwnerEmail, Scopes: request.Scopes, CreatedAt: now}
	if request.Email != "" {
		if token.Email, err = checkEmail(request.Email); err != nil {
			return token, err
		}
	}
	if days := request.Days; days != nil {
		if *days < 1 || *days > maxTokenDays {
			return token, refuse("a token lasts between 1 and %d days, not %d", maxTokenDays, *days)
		}
		token.ExpiresAt = time.Date(now.Year(), now.Month(), now.Day()+*days, 23, 59, 59, 999_999_000, time.UTC)
	}
	return token, checkScopes(request.Scopes)
}

func checkScopes(scopes []string) error {
	if scopes != nil && len(scopes) == 0 {
		return refuse("a token needs at least one scope; leave the scopes out to grant all that its user may do")
	}
	for _, s := range scopes {
		if !slices.Contains(AllPermissions(), s) {
			return refuse("unknown scope %s; known are %s", quote(s), strings.Join(AllPermissions(), ", "))
		}
	}
	return nil
}

// newSecret returns a new secret, which contains the tenant unless it is the default one.
func newSecret(tenant string) string {
	random := make([]byte, tokenRandomBytes)
	_, _ = rand.Read(random)
	secret := base64.RawURLEncoding.EncodeToString(random)
	if tenant != DefaultTenant {
		secret = url.QueryEscape(tenant) + "." + secret
	}
	return tokenPrefix + secret
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// tenantOf parses the tenant of a secret; ok is false for a malformed secret.
func tenantOf(secret string) (tenant string, ok bool) {
	body, ok := strings.CutPrefix(secret, tokenPrefix)
	if !ok || body == "" || len(secret) > longestToken {
		return "", false
	}
	quoted, _, named := strings.Cut(body, ".")
	if !named {
		return DefaultTenant, true
	}
	tenant, err := url.QueryUnescape(quoted)
	return tenant, err == nil && tenant != ""
}

// Authenticate returns the owner of a token. The error is ErrUnauthenticated if the token is not valid. Changes by
// other processes apply from the next call on.
func (d *Directory) Authenticate(ctx context.Context, secret string) (Principal, error) {
	tenant, ok := tenantOf(secret)
	if !ok {
		return Principal{}, ErrUnauthenticated
	}
	digest := hash(secret)
	known, err := cached(ctx, d, cacheKey{what: "token", tenant: tenant, who: digest},
		func() (holder, error) { return d.lookUp(ctx, tenant, digest) })
	if err != nil {
		return Principal{}, err
	}
	p, now := known.principal.clone(), d.now()
	if known.revoked || !known.active || (!p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt)) {
		return Principal{}, ErrUnauthenticated
	}
	if now.Sub(known.lastUsed) >= lastUsedEvery {
		d.noteUse(ctx, p.TokenID, now)
	}
	return p, nil
}

// holder is the owner of a token, and the state of the token.
type holder struct {
	principal       Principal
	role            Role
	hash            string
	scopes          []string
	revoked, active bool
	lastUsed        time.Time
}

func (d *Directory) lookUp(ctx context.Context, tenant, digest string) (holder, error) {
	// Ids increase, so the first token of a chain has the lowest.
	found, err := sqldb.List(ctx, d.open, "look up a token", func(h *holder) []any {
		p := &h.principal
		return []any{&p.TokenID, &h.hash, sqldb.JSON{V: &h.scopes}, (*sqldb.Micros)(&p.ExpiresAt),
			(*sqldb.Micros)(&h.lastUsed), &h.revoked,
			&p.UserID, &p.Tenant, &p.Email, &p.Name, &h.role, &h.active, &p.RootTokenID, &p.Sandbox}
	}, `SELECT t.id, t.hash, t.scopes, t.expires_at, t.last_used_at, t.is_revoked,
			u.id, u.tenant_id, u.email, u.name, u.role, u.is_active,
			(WITH RECURSIVE up (id) AS (
				SELECT t.id UNION SELECT parent_id FROM token_parents JOIN up ON token_id = up.id)
				SELECT min(id) FROM up), t.kind = '`+kindSandbox+`'
		FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = ? AND u.tenant_id = ?`, digest, tenant)
	h, err := sqldb.First(found, err, ErrUnauthenticated)
	if err != nil {
		return h, err
	}
	if subtle.ConstantTimeCompare([]byte(h.hash), []byte(digest)) != 1 {
		return h, ErrUnauthenticated
	}
	p := &h.principal
	p.Scoped = h.scopes != nil
	p.Permissions = effective(h.role.permissions(), h.scopes)
	p.Admin = p.Can(PermissionAdmin)
	err = d.addGroups(ctx, p)
	return h, err
}

// noteUse records the use of a token. It must not fail or delay the request, so it waits only briefly for the writer;
// the next request tries again.
func (d *Directory) noteUse(ctx context.Context, tokenID int, now time.Time) {
	if _, busy := d.noting.LoadOrStore(tokenID, nil); busy {
		return
	}
	defer d.noting.Delete(tokenID)
	ctx, cancel := context.WithTimeout(ctx, lastUsedWait)
	defer cancel()
	_ = d.open.Exec(ctx, "note the use of a token", nil, `UPDATE tokens SET last_used_at = ?1
		WHERE id = ?2 AND coalesce(last_used_at, 0) <= ?3`, now.UnixMicro(), tokenID,
		now.Add(-lastUsedEvery).UnixMicro())
}

// ListTokens lists the valid tokens of a user, the oldest first; with no address, those of the whole tenant.
func (v View) ListTokens(email string) ([]Token, error) {
	return sqldb.List(v.ctx, v.open, "list tokens", tokenColumns, `
		SELECT `+tokenSelection+` FROM tokens t JOIN users u ON u.id = t.user_id
		WHERE u.tenant_id = ?1 AND (?2 = '' OR u.email = ?2) AND t.kind = ?3 AND NOT t.is_revoked
			AND (t.expires_at IS NULL OR t.expires_at > ?4)
		ORDER BY t.id`, v.Tenant, strings.ToLower(email), kindUser, v.now().UnixMicro())
}

const tokenSelection = "t.id, t.name, u.email, t.display, t.scopes, t.created_at, t.expires_at, t.last_used_at"

func tokenColumns(t *Token) []any {
	return []any{&t.ID, &t.Name, &t.Email, &t.Display, sqldb.JSON{V: &t.Scopes}, (*sqldb.Micros)(&t.CreatedAt),
		(*sqldb.Micros)(&t.ExpiresAt), (*sqldb.Micros)(&t.LastUsed)}
}

// RevokeToken revokes a token of a user, or with no address of any user of the tenant, and the tokens that were created
// with it. The error is ErrNotFound if there is no such token, or it is revoked already.
func (v View) RevokeToken(email string, id int) error {
	return v.exec(fmt.Sprintf("revoke token %d", id), ErrNotFound, `WITH RECURSIVE family (id) AS (
			SELECT id FROM tokens WHERE id = ?2 AND NOT is_revoked AND kind = ?3
				AND user_id IN (SELECT id FROM users WHERE tenant_id = ?4 AND (?5 = '' OR email = ?5))
			UNION SELECT token_id FROM token_parents JOIN family ON parent_id = family.id)
		UPDATE tokens SET is_revoked = TRUE, expires_at = ?1 WHERE id IN (SELECT id FROM family) AND NOT is_revoked`,
		v.now().UnixMicro(), id, kindUser, v.Tenant, strings.ToLower(email))
}

const (
	kindSandbox = "sandbox" // hidden from lists of tokens, and not revocable by its user
	sandboxName = "sandbox"
	sandboxDays = 30
	// minSecretKey is enough for 128 random bits in hexadecimal.
	minSecretKey = 32 // bytes
)

// Errors of EnsureSandboxToken.
var (
	ErrNoSecretKey    = fmt.Errorf("a sandbox token needs a secret key of at least %d characters", minSecretKey)
	ErrWrongSecretKey = errors.New("the sandbox token of the user was encrypted with another secret key")
)

// SandboxRequest asks for the sandbox token of a user.
type SandboxRequest struct {
	Tenant string // empty: the default tenant
	Email  string // somebody unknown becomes a basic user
	Key    string // encrypts the token at rest
	Renew  bool   // replaces a valid token, which ends at once
}

// EnsureSandboxToken returns the one sandbox token of a user, which can search and nothing else, with its secret. A
// valid one is returned again; otherwise, or with Renew, a new one replaces it. After an error nothing has changed.
func (d *Directory) EnsureSandboxToken(ctx context.Context,
	request SandboxRequest) (token Token, secret string, isNew bool, err error) {
	aead, err := newAEAD(request.Key)
	if request.Email == "" {
		err = cmp.Or(err, refuse("a sandbox token needs the address of its user"))
	}
	made := TokenRequest{Tenant: request.Tenant, Name: sandboxName, Email: request.Email, Days: new(sandboxDays),
		Scopes: []string{PermissionReadSearch}}
	fresh, wrong := d.newToken(&made)
	newest := newSecret(made.Tenant)
	err = d.In(ctx, made.Tenant).update("ensure a sandbox token", cmp.Or(err, wrong), func(tx tenantTx) {
		user := d.ensureUser(tx, fresh.Email, RoleBasic)
		if !user.Active {
			guard.Abort(refuse("user %s is deactivated", quote(user.Email)))
		}
		if stored := tx.sandboxToken(user.ID, sqldb.Micros(fresh.CreatedAt)); stored.sealed != nil && !request.Renew {
			var wrong error
			token, secret, wrong = stored.open(aead)
			guard.Check(wrong)
			return
		}
		token, secret, isNew = fresh, newest, true
		tx.replaceSandboxToken(user.ID, newest, &token, aead)
	})
	return token, secret, isNew, err
}

// newAEAD returns the cipher of a secret key. The key is random, so that one round of derivation is enough.
func newAEAD(key string) (cipher.AEAD, error) {
	if len(key) < minSecretKey {
		return nil, ErrNoSecretKey
	}
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "quarry: sandbox tokens", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// boundTo is the additional data of an encrypted token: it belongs to one user and one row.
func boundTo(userID, hash string) []byte { return []byte(userID + "\x00" + hash) }

// sealedToken is a stored sandbox token; without sealed there is no valid one.
type sealedToken struct {
	token        Token
	userID, hash string
	sealed       []byte
}

// sandboxToken returns the sandbox token of a user if it is valid.
func (tx tenantTx) sandboxToken(userID string, now sqldb.Micros) (s sealedToken) {
	s.userID = userID
	tx.Get(append(tokenColumns(&s.token), &s.hash, &s.sealed), `SELECT `+tokenSelection+`, t.hash, s.sealed
		FROM sandbox_tokens s JOIN tokens t ON t.id = s.token_id JOIN users u ON u.id = s.user_id
		WHERE s.user_id = ? AND NOT t.is_revoked AND t.expires_at > ?`, userID, now)
	return s
}

// open decrypts the token.
func (s sealedToken) open(aead cipher.AEAD) (Token, string, error) {
	secret, err := aead.Open(nil, nil, s.sealed, boundTo(s.userID, s.hash))
	if err != nil || hash(string(secret)) != s.hash {
		return Token{}, "", ErrWrongSecretKey
	}
	return s.token, string(secret), nil
}

// replaceSandboxToken stores a new sandbox token and deletes the old one.
func (tx tenantTx) replaceSandboxToken(userID, secret string, token *Token, aead cipher.AEAD) {
	tx.Exec("DELETE FROM tokens WHERE user_id = ? AND kind = ?", userID, kindSandbox)
	tx.insertToken(userID, kindSandbox, secret, token)
	tx.Exec("INSERT INTO sandbox_tokens (user_id, token_id, sealed) VALUES (?, ?, ?)", userID, token.ID,
		aead.Seal(nil, nil, []byte(secret), boundTo(userID, hash(secret))))
}
