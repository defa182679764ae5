package directory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// asked is all that is remembered of one person.
type asked struct {
	token, person Principal
	sets          []DocumentSet
	refused       [2]bool
}

// asks reads through the memory of d; read reads the same from the database.
func asks(t *testing.T, d *Directory, secret, email string) asked {
	t.Helper()
	return gather(t, func() (Principal, error) { return d.Authenticate(t.Context(), secret) },
		func() (Principal, error) { return d.Person(t.Context(), DefaultTenant, email) },
		func(p Principal) ([]DocumentSet, error) { return d.For(t.Context(), p).DocumentSets() })
}

func read(t *testing.T, d *Directory, secret, email string) asked {
	t.Helper()
	d.recent.Purge()
	return asks(t, d, secret, email)
}

func gather(t *testing.T, token, person func() (Principal, error), sets func(Principal) ([]DocumentSet, error)) (a asked) {
	t.Helper()
	var errs [3]error
	a.token, errs[0] = token()
	a.person, errs[1] = person()
	a.sets, errs[2] = sets(a.token)
	for i, err := range errs {
		if err != nil && !errors.Is(err, ErrUnauthenticated) {
			t.Fatal(err)
		}
		if i < 2 {
			a.refused[i] = err != nil
		}
	}
	return a
}

// TestWhatIsRememberedIsTrue: whatever is changed, here or by another process, the next answer is that of the file.
func TestWhatIsRememberedIsTrue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	here, _ := open(t, path, false)
	elsewhere, _ := open(t, path, false)
	reader, _ := open(t, path, true)
	const email = "jo@acme.example"
	made, secret := token(t, here, TokenRequest{Email: email})
	ctx, random := t.Context(), rand.New(rand.NewPCG(1, 2))
	group := 0
	name := func() string { return fmt.Sprintf("g%d", random.IntN(3)) }
	changes := map[string]func(d *Directory) error{
		"nothing": func(*Directory) error { return nil },
		"active":  func(d *Directory) error { return d.In(ctx, DefaultTenant).SetActive(email, random.IntN(2) == 0) },
		"role": func(d *Directory) error {
			return d.In(ctx, DefaultTenant).SetRole(email, []Role{RoleBasic, RoleAdmin}[random.IntN(2)])
		},
		"join":  func(d *Directory) error { return joinGroup(d, ctx, DefaultTenant, name(), email) },
		"leave": func(d *Directory) error { return leaveGroup(d, ctx, DefaultTenant, name(), email) },
		"no group": func(d *Directory) error {
			groups, err := d.In(ctx, DefaultTenant).Groups()
			if err != nil || len(groups) == 0 {
				return err
			}
			return d.In(ctx, DefaultTenant).RemoveGroup(groups[random.IntN(len(groups))].ID)
		},
		"external": func(d *Directory) error {
			return d.In(ctx, DefaultTenant).JoinExternalGroup(ExternalGroup{"slack", name()}, email)
		},
		"set": func(d *Directory) error {
			group++
			user, err := d.In(ctx, DefaultTenant).UserNamed(email)
			if err != nil {
				return err
			}
			_, err = d.In(ctx, DefaultTenant).CreateDocumentSet(SetDetails{
				DocumentSet: DocumentSet{Name: strconv.Itoa(group), Public: random.IntN(2) == 0}, Audience: Audience{Users: []string{user.ID}},
			})
			return err
		},
		"no set": func(d *Directory) error {
			return d.In(ctx, DefaultTenant).RemoveDocumentSet(strconv.Itoa(random.IntN(group + 1)))
		},
	}
	names := []string{"nothing", "active", "active", "role", "join", "join", "leave", "no group", "external", "set", "no set"}
	for i := range 300 {
		change, who := names[random.IntN(len(names))], []*Directory{here, elsewhere}[random.IntN(2)]
		_ = changes[change](who) // what is not there cannot be removed
		if got, want := asks(t, here, secret, email), read(t, reader, secret, email); !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d, %s:\n%+v\nin the file:\n%+v", i, change, got, want)
		}
	}
	if err := elsewhere.In(ctx, DefaultTenant).SetActive(email, true); err != nil || asks(t, here, secret, email).refused[0] {
		t.Fatalf("an active person's token does not hold (%v)", err)
	}
	if err := elsewhere.In(ctx, DefaultTenant).RevokeToken("", made.ID); err != nil || !asks(t, here, secret, email).refused[0] {
		t.Errorf("a token that another process revoked holds (%v)", err)
	}
}

// TestRememberedTokensExpire: that changes nothing in the file.
func TestRememberedTokensExpire(t *testing.T) {
	d, c := open(t, filepath.Join(t.TempDir(), "directory.db"), false)
	one := 1
	_, secret := token(t, d, TokenRequest{Days: &one})
	c.advance(38*time.Hour - 2*time.Microsecond)
	for range 2 {
		must[Principal](t)(d.Authenticate(t.Context(), secret))
	}
	c.advance(time.Microsecond)
	if _, err := d.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("an expired token: %v", err)
	}
}

// remembers counts how often something is read.
func remembers(t *testing.T, d *Directory, key cacheKey) (reads int) {
	t.Helper()
	for range 3 {
		if _, err := cached(t.Context(), d, key, func() (int, error) { reads++; return reads, nil }); err != nil {
			t.Fatal(err)
		}
	}
	return reads
}

func TestMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	d, _ := open(t, path, false)
	readOnly, _ := open(t, path, true)
	inMemory, _ := open(t, "", false)
	for name, c := range map[string]struct {
		d    *Directory
		want int
	}{"a file": {d, 1}, "read-only": {readOnly, 1}, "in memory": {inMemory, 3}} {
		if got := remembers(t, c.d, cacheKey{what: "key"}); got != c.want {
			t.Errorf("%s: read %d times", name, got)
		}
	}
	failed := errors.New("failed")
	if _, err := cached(t.Context(), d, cacheKey{what: "failing"}, func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if got := remembers(t, d, cacheKey{what: "failing"}); got != 1 {
		t.Errorf("after a failure: read %d times", got)
	}
	for i := range 3 * maxCached {
		remembers(t, d, cacheKey{what: strconv.Itoa(i)})
	}
	if n := d.recent.Len(); n != maxCached {
		t.Errorf("%d are remembered", n)
	}
}

// TestChangedWhileRead: what was read before a change is not taken for what is there after it.
func TestChangedWhileRead(t *testing.T) {
	d, _ := open(t, filepath.Join(t.TempDir(), "directory.db"), false)
	email := "jo@acme.example"
	for want := range 2 {
		got, err := cached(t.Context(), d, cacheKey{what: "key"}, func() (int, error) {
			if want == 0 {
				_, err := d.In(t.Context(), DefaultTenant).AddUser(email, RoleBasic)
				return 0, err
			}
			return 1, nil
		})
		if err != nil || got != want {
			t.Errorf("%d, not %d (%v)", got, want, err)
		}
	}
}

func TestRememberedListsAreNotShared(t *testing.T) {
	d, _ := open(t, filepath.Join(t.TempDir(), "directory.db"), false)
	_, secret := token(t, d, TokenRequest{})
	ensureSet(t, d, DefaultTenant, "a")
	ask := func() (Principal, []DocumentSet) {
		p := must[Principal](t)(d.Authenticate(t.Context(), secret))
		return p, must[[]DocumentSet](t)(d.For(t.Context(), p).DocumentSets())
	}
	ask()
	p, sets := ask()
	p.Permissions[0], sets[0].Name = "x", "x"
	if p, sets := ask(); p.Permissions[0] == "x" || sets[0].Name == "x" {
		t.Error("a caller changed what others are told")
	}
}

// TestUseIsNotedOnce: of many requests at once, one waits for the writer.
func TestUseIsNotedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := open(t, filepath.Join(t.TempDir(), "directory.db"), false)
		made, secret := token(t, d, TokenRequest{})
		lastUse := func() time.Time { return must[[]Token](t)(d.In(t.Context(), DefaultTenant).ListTokens(""))[0].LastUsed }
		d.noting.Store(made.ID, nil) // another request is at it
		if _, err := d.Authenticate(t.Context(), secret); err != nil || !lastUse().IsZero() {
			t.Errorf("the use is noted twice at once, %v", err)
		}
		d.noting.Delete(made.ID)
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				if _, err := d.Authenticate(context.Background(), secret); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if lastUse().IsZero() {
			t.Error("the use is not noted")
		}
		d.noting.Range(func(id, _ any) bool {
			t.Errorf("token %v is still being noted", id)
			return true
		})
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	d, err := Open(b.Context(), filepath.Join(b.TempDir(), "directory.db"), false, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	_, secret, err := d.AddToken(b.Context(), TokenRequest{Name: "x", Email: "jo@acme.example"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context()) // as a request's
	defer cancel()
	for b.Loop() {
		p, err := d.Authenticate(ctx, secret)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.For(ctx, p).DocumentSets(); err != nil {
			b.Fatal(err)
		}
	}
}
