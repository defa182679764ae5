package directory

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const secretKey = "0123456789abcdef0123456789abcdef"

func sandboxOf(email string) SandboxRequest { return SandboxRequest{Email: email, Key: secretKey} }

// ensured returns the sandbox token of jo, which must not fail.
func ensured(t *testing.T, d *Directory, request SandboxRequest) (secret string, isNew bool) {
	t.Helper()
	token, secret, isNew, err := d.EnsureSandboxToken(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	who, err := d.Authenticate(t.Context(), secret)
	if err != nil || who.TokenID != token.ID || !who.Can(PermissionReadSearch) || who.Can(PermissionBasic) || token.Email != who.Email {
		t.Fatalf("%+v authenticates as %+v: %v", token, who, err)
	}
	return secret, isNew
}

func TestSandboxTokenIsReused(t *testing.T) {
	d, clock := open(t, filepath.Join(t.TempDir(), "directory.db"), false)
	first, isNew := ensured(t, d, sandboxOf("jo@acme.example"))
	if !isNew {
		t.Error("the first one is not new")
	}
	clock.advance(29 * 24 * time.Hour)
	if again, isNew := ensured(t, d, sandboxOf("Jo@acme.example")); again != first || isNew {
		t.Error("a valid token is replaced")
	}
	clock.advance(3 * 24 * time.Hour)
	if _, err := d.Authenticate(t.Context(), first); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("after 32 days: %v", err)
	}
	second, isNew := ensured(t, d, sandboxOf("jo@acme.example"))
	if second == first || !isNew {
		t.Error("an expired token is not replaced")
	}
	renew := sandboxOf("jo@acme.example")
	renew.Renew = true
	third, isNew := ensured(t, d, renew)
	if third == second || !isNew {
		t.Error("a token is not renewed")
	}
	if _, err := d.Authenticate(t.Context(), second); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("the renewed token: %v", err)
	}
	if other, _ := ensured(t, d, sandboxOf("kim@acme.example")); other == third {
		t.Error("two users have one token")
	}
}

// Ensuring at the same time, also in several processes, gives one token.
func TestSandboxTokenIsOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	here, _ := open(t, path, false)
	elsewhere, _ := open(t, path, false)
	const callers = 8
	var group sync.WaitGroup
	secrets, news, failures := make([]string, callers), make([]bool, callers), make([]error, callers)
	for i := range callers {
		d := []*Directory{here, elsewhere}[i%2]
		group.Go(func() {
			_, secrets[i], news[i], failures[i] = d.EnsureSandboxToken(t.Context(), sandboxOf("jo@acme.example"))
		})
	}
	group.Wait()
	made := 0
	for i := range callers {
		if failures[i] != nil || secrets[i] != secrets[0] {
			t.Errorf("call %d: %v, the same %v", i, failures[i], secrets[i] == secrets[0])
		}
		if news[i] {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d tokens were made", made)
	}
}

func TestSandboxTokenIsEncrypted(t *testing.T) {
	folder := t.TempDir()
	d, _ := open(t, filepath.Join(folder, "directory.db"), false)
	secret, _ := ensured(t, d, sandboxOf("jo@acme.example"))
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, leak := range []string{secret, secret[len(tokenPrefix):40], secret[40:80], secretKey} {
			if bytes.Contains(content, []byte(leak)) {
				t.Errorf("%s contains part of a secret", file.Name())
			}
		}
	}
}

// A missing, short or wrong key is refused, and nothing is lost by it.
func TestSandboxTokenNeedsItsKey(t *testing.T) {
	d, _ := open(t, "", false)
	for _, key := range []string{"", "short", secretKey[1:]} {
		_, _, _, err := d.EnsureSandboxToken(t.Context(), SandboxRequest{Email: "jo@acme.example", Key: key})
		if !errors.Is(err, ErrNoSecretKey) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if _, err := d.In(t.Context(), DefaultTenant).UserNamed("jo@acme.example"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a refused call made the user: %v", err)
	}
	first, _ := ensured(t, d, sandboxOf("jo@acme.example"))
	wrong := SandboxRequest{Email: "jo@acme.example", Key: strings.ToUpper(secretKey)}
	if _, _, _, err := d.EnsureSandboxToken(t.Context(), wrong); !errors.Is(err, ErrWrongSecretKey) {
		t.Errorf("another key: %v", err)
	}
	if again, isNew := ensured(t, d, sandboxOf("jo@acme.example")); again != first || isNew {
		t.Error("a wrong key lost the token")
	}
	wrong.Renew = true
	if renewed, isNew := ensured(t, d, wrong); renewed == first || !isNew {
		t.Error("a lost key cannot be replaced")
	}
}

// The encrypted token of one user is none of another's, also where the file was tampered with.
func TestSandboxTokenStaysWithItsUser(t *testing.T) {
	d, _ := open(t, "", false)
	ensured(t, d, sandboxOf("jo@acme.example"))
	ensured(t, d, sandboxOf("kim@acme.example"))
	const swap = `UPDATE sandbox_tokens SET sealed = (SELECT o.sealed FROM sandbox_tokens o JOIN users u ON u.id = o.user_id
		WHERE u.email = 'jo@acme.example')`
	if err := d.open.Exec(t.Context(), "swap", nil, swap); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := d.EnsureSandboxToken(t.Context(), sandboxOf("kim@acme.example")); !errors.Is(err, ErrWrongSecretKey) {
		t.Errorf("the token of jo: %v", err)
	}
	ensured(t, d, sandboxOf("jo@acme.example"))
}

// Users and administrators neither see nor revoke the token of a sandbox, and it takes no place among a user's own.
func TestSandboxTokenIsHidden(t *testing.T) {
	d, _ := open(t, "", false)
	token, secret, _, err := d.EnsureSandboxToken(t.Context(), sandboxOf("jo@acme.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"jo@acme.example", ""} {
		if listed, err := d.In(t.Context(), DefaultTenant).ListTokens(email); err != nil || len(listed) != 0 {
			t.Errorf("listed for %q: %+v, %v", email, listed, err)
		}
		if err := d.In(t.Context(), DefaultTenant).RevokeToken(email, token.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("revoking for %q: %v", email, err)
		}
	}
	if _, err := d.Authenticate(t.Context(), secret); err != nil {
		t.Error(err)
	}
	for i := range MostTokens {
		if _, _, err := d.AddToken(t.Context(), TokenRequest{Name: "x", Email: "jo@acme.example"}); err != nil {
			t.Fatalf("token %d of %d: %v", i+1, MostTokens, err)
		}
	}
}

// The token ends with its user.
func TestSandboxTokenEndsWithItsUser(t *testing.T) {
	d, _ := open(t, "", false)
	secret, _ := ensured(t, d, sandboxOf("jo@acme.example"))
	if err := d.In(t.Context(), DefaultTenant).SetActive("jo@acme.example", false); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("of a deactivated user: %v", err)
	}
	var refused InputError
	if _, _, _, err := d.EnsureSandboxToken(t.Context(), sandboxOf("jo@acme.example")); !errors.As(err, &refused) {
		t.Errorf("for a deactivated user: %v", err)
	}
	if err := d.In(t.Context(), DefaultTenant).RemoveUser("jo@acme.example"); err != nil {
		t.Fatal(err)
	}
	if again, isNew := ensured(t, d, sandboxOf("jo@acme.example")); again == secret || !isNew {
		t.Error("the token outlived its user")
	}
}
