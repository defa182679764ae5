package directory

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"quarry/server/sqldb"
)

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
func (d *Directory) EnsureSandboxToken(ctx context.Context, request SandboxRequest) (token Token, secret string, isNew bool, err error) {
	aead, err := newAEAD(request.Key)
	if err != nil {
		return Token{}, "", false, err
	}
	if request.Email == "" {
		return Token{}, "", false, refuse("a sandbox token needs the address of its user")
	}
	made := TokenRequest{Tenant: request.Tenant, Name: sandboxName, Email: request.Email, Days: new(sandboxDays),
		Scopes: []string{PermissionReadSearch}}
	fresh, err := d.newToken(&made)
	if err != nil {
		return Token{}, "", false, err
	}
	newest, err := newSecret(made.Tenant)
	if err != nil {
		return Token{}, "", false, err
	}
	err = d.open.Update(ctx, "ensure a sandbox token", func(tx *sqldb.Tx) {
		user := d.ensureUser(tx, made.Tenant, fresh.Email, RoleBasic)
		if !user.Active {
			tx.Fail(refuse("user %s is deactivated", quote(user.Email)))
		}
		if stored := sandboxToken(tx, user.ID, sqldb.Micros(fresh.CreatedAt)); stored.sealed != nil && !request.Renew {
			var wrong error
			token, secret, wrong = stored.open(aead, fresh)
			tx.Fail(wrong)
			return
		}
		token, secret, isNew = fresh, newest, true
		replaceSandboxToken(tx, user.ID, newest, &token, aead)
	})
	if err != nil {
		return Token{}, "", false, err
	}
	return token, secret, isNew, nil
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
func sandboxToken(tx *sqldb.Tx, userID string, now sqldb.Micros) (s sealedToken) {
	s.userID = userID
	t := &s.token
	tx.Row(nil, []any{&t.ID, &t.Name, &t.Display, sqldb.JSON{V: &t.Scopes}, (*sqldb.Micros)(&t.CreatedAt),
		(*sqldb.Micros)(&t.ExpiresAt), (*sqldb.Micros)(&t.LastUsed), &s.hash, &s.sealed}, `SELECT t.id, t.name, t.display, t.scopes, t.created_at, t.expires_at,
			t.last_used_at, t.hash, s.sealed
		FROM sandbox_tokens s JOIN tokens t ON t.id = s.token_id
		WHERE s.user_id = ? AND NOT t.is_revoked AND t.expires_at > ?`, userID, now)
	return s
}

// open decrypts the token of the user of another one.
func (s sealedToken) open(aead cipher.AEAD, same Token) (Token, string, error) {
	secret, err := aead.Open(nil, nil, s.sealed, boundTo(s.userID, s.hash))
	if err != nil || hash(string(secret)) != s.hash {
		return Token{}, "", ErrWrongSecretKey
	}
	s.token.Email = same.Email
	return s.token, string(secret), nil
}

// replaceSandboxToken stores a new sandbox token and deletes the old one.
func replaceSandboxToken(tx *sqldb.Tx, userID, secret string, token *Token, aead cipher.AEAD) {
	tx.Exec("DELETE FROM tokens WHERE user_id = ? AND kind = ?", userID, kindSandbox)
	insertToken(tx, userID, kindSandbox, secret, token)
	tx.Exec("INSERT INTO sandbox_tokens (user_id, token_id, sealed) VALUES (?, ?, ?)", userID, token.ID,
		aead.Seal(nil, nil, []byte(secret), boundTo(userID, hash(secret))))
}
