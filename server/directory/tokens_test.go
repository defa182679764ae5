package directory

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"quarry/internal/testkit/longtest"
)

// mintedToken is what the test knows of a token.
type mintedToken struct {
	id      int
	secret  string
	parent  *mintedToken
	expires time.Time // zero: never
	revoked bool
}

// valid is the oracle: a token is valid as long as it and everything that it was made with is.
func (m *mintedToken) valid(now time.Time) bool {
	for at := m; at != nil; at = at.parent {
		if at.revoked || !at.expires.IsZero() && !now.Before(at.expires) {
			return false
		}
	}
	return true
}

func (m *mintedToken) root() int {
	for m.parent != nil {
		m = m.parent
	}
	return m.id
}

// Random families of tokens are made, age and are revoked. No token outlives what it was made with.
func TestNoTokenOutlivesItsParent(t *testing.T) {
	for seed := range uint64(longtest.Rounds(5, 50)) {
		random := rand.New(rand.NewPCG(seed, 15))
		d, clock := open(t, filepath.Join(t.TempDir(), "directory.db"), false)
		var known []*mintedToken
		for range 30 {
			switch action := random.IntN(6); {
			case action < 4:
				if made := mint(t, d, random, known, clock.Now()); made != nil {
					known = append(known, made)
				}
			case action == 4 && len(known) > 0:
				gone := known[random.IntN(len(known))]
				if err := d.In(t.Context(), DefaultTenant).RevokeToken("jo@acme.example", gone.id); err == nil {
					gone.revoked = true
				} else if gone.valid(clock.Now()) {
					t.Fatal(err)
				}
			default:
				clock.advance(time.Duration(random.IntN(20)) * time.Hour)
			}
			for _, m := range known {
				who, err := d.Authenticate(t.Context(), m.secret)
				if m.valid(clock.Now()) != (err == nil) {
					t.Fatalf("seed %d: token %d of %+v: %v", seed, m.id, m.parent, err)
				}
				if err == nil && (who.RootTokenID != m.root() || who.TokenID != m.id) {
					t.Fatalf("seed %d: token %d is of the family %d, want %d", seed, who.TokenID, who.RootTokenID, m.root())
				}
			}
		}
	}
}

// mint makes a token, perhaps with one of those known; nil where that one is not valid, which must be refused.
func mint(t *testing.T, d *Directory, random *rand.Rand, known []*mintedToken, now time.Time) *mintedToken {
	t.Helper()
	request := TokenRequest{Name: "x", Email: "jo@acme.example"}
	made := &mintedToken{}
	if len(known) > 0 && random.IntN(4) > 0 {
		made.parent = known[random.IntN(len(known))]
		request.Parent = made.parent.id
	}
	if days := random.IntN(4); days > 0 {
		request.Days = &days
	}
	added, secret, err := d.AddToken(t.Context(), request)
	if made.parent != nil && !made.parent.valid(now) {
		if !errors.Is(err, ErrUnauthenticated) {
			t.Fatalf("a token that is not valid makes one: %v", err)
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	made.id, made.secret, made.expires = added.ID, secret, added.ExpiresAt
	return made
}

func TestATokenIsNoParentForSomebodyElse(t *testing.T) {
	d, _ := open(t, "", false)
	mine, _ := token(t, d, TokenRequest{Email: "jo@acme.example"})
	_, _, err := d.AddToken(t.Context(), TokenRequest{Name: "x", Email: "kim@acme.example", Parent: mine.ID})
	if !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("made with a token of somebody else: %v", err)
	}
}
