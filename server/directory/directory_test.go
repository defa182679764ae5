package directory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/wire"
	"quarry/server/fault"
)

// clock is a time that tests move by hand.
type clock struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

func open(t *testing.T, path string, readOnly bool) (*Directory, *clock) {
	t.Helper()
	c := &clock{now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	d, err := openAnywhere(t, path, readOnly, c.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func token(t *testing.T, d *Directory, request TokenRequest) (Token, string) {
	t.Helper()
	if request.Name == "" {
		request.Name = "test"
	}
	made, secret, err := d.AddToken(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return made, secret
}

func TestOwnerExistsFromTheStart(t *testing.T) {
	d, _ := open(t, filepath.Join(t.TempDir(), "new", "directory.db"), false)
	_, secret := token(t, d, TokenRequest{})
	who := must[Principal](t)(d.Authenticate(t.Context(), secret))
	if who.Email != OwnerEmail || who.UserID != OwnerID(DefaultTenant) || !who.Admin || who.Owner {
		t.Fatalf("the owner's token is an administrator's, not the owner's: %+v", who)
	}
	if access := who.Access(); access.All || !slices.Equal(access.Terms, []string{"PUBLIC", "user_email:owner@localhost"}) {
		t.Errorf("access %+v", access)
	}
	if !Owner(DefaultTenant).Access().All {
		t.Error("the owner in process sees the whole tenant")
	}
	if terms := Anonymous(DefaultTenant).Access().Terms; !slices.Equal(terms, []string{"PUBLIC"}) {
		t.Errorf("nobody in particular sees %v", terms)
	}
	if !slices.Equal(who.Permissions, AllPermissions()) {
		t.Errorf("permissions %v", who.Permissions)
	}
}

func TestTokenShape(t *testing.T) {
	d, _ := open(t, "", false)
	days := 2
	made, secret := token(t, d, TokenRequest{Name: "ci", Days: &days, Email: "Jo@Acme.example"})
	if !strings.HasPrefix(secret, "onyx_pat_") || len(secret) != len("onyx_pat_")+256 {
		t.Errorf("token of %d characters", len(secret))
	}
	if want := secret[:12] + "****" + secret[len(secret)-4:]; made.Display != want {
		t.Errorf("display %q, want %q", made.Display, want)
	}
	shown := made.Wire()
	if shown.ExpiresAt == nil || *shown.ExpiresAt != "2026-03-03T23:59:59.999999Z" || shown.LastUsedAt != nil {
		t.Errorf("shown as %+v", shown)
	}
	who := must[Principal](t)(d.Authenticate(t.Context(), secret))
	if who.Email != "jo@acme.example" || who.Admin || !who.Can(PermissionReadSearch) || who.Can(PermissionCreateTokens) {
		t.Errorf("an unknown address becomes a basic user: %+v", who)
	}
	stored := must[[]byte](t)(dump(t.Context(), d))
	if strings.Contains(string(stored), secret) || strings.Contains(string(stored), secret[20:60]) {
		t.Error("the token is stored")
	}
}

func dump(ctx context.Context, d *Directory) (all []byte, err error) {
	rows, err := d.db.Pool().QueryContext(ctx, "SELECT hash || display || name || coalesce(scopes, '') FROM tokens")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		all = append(all, line...)
	}
	return all, rows.Err()
}

func TestTokensEnd(t *testing.T) {
	d, c := open(t, "", false)
	one := 1
	made, secret := token(t, d, TokenRequest{Days: &one, Email: "jo@acme.example"})
	other, forever := token(t, d, TokenRequest{Email: "jo@acme.example"})
	ctx := t.Context()
	valid := func(secret string) bool {
		_, err := d.Authenticate(ctx, secret)
		if err != nil && !errors.Is(err, ErrUnauthenticated) {
			t.Fatal(err)
		}
		return err == nil
	}
	if !valid(secret) {
		t.Fatal("a new token does not hold")
	}
	for _, wrong := range []string{
		"", "onyx_pat_", "on_" + secret, secret + "x", secret[:len(secret)-1], strings.ToUpper(secret),
		"onyx_pat_default." + strings.TrimPrefix(secret, "onyx_pat_"), "onyx_pat_other.abc", "onyx_pat_%zz.abc",
		strings.Repeat("a", 1<<20), "onyx_pat_\x00",
	} {
		if valid(wrong) {
			t.Errorf("%.40q is taken for a token", wrong)
		}
	}
	c.advance(38*time.Hour - time.Microsecond) // 23:59:59.999999 of the next day
	if valid(secret) {
		t.Error("an expired token holds")
	}
	if list := must[[]Token](t)(d.In(ctx, DefaultTenant).ListTokens("jo@acme.example")); len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("listed %+v", list)
	}
	if err := d.In(ctx, DefaultTenant).SetActive("jo@acme.example", false); err != nil || valid(forever) {
		t.Errorf("an inactive user's token holds (%v)", err)
	}
	if err := d.In(ctx, DefaultTenant).SetActive("jo@acme.example", true); err != nil || !valid(forever) {
		t.Errorf("an active user's token does not hold (%v)", err)
	}
	if err := d.In(ctx, DefaultTenant).RevokeToken("kim@acme.example", other.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("somebody else's token: %v", err)
	}
	if err := d.In(ctx, DefaultTenant).RevokeToken("jo@acme.example", other.ID); err != nil || valid(forever) {
		t.Errorf("a revoked token holds (%v)", err)
	}
	if err := d.In(ctx, DefaultTenant).RevokeToken("", other.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	if made.ExpiresAt.IsZero() || other.ExpiresAt != (time.Time{}) {
		t.Error("expiry is not as asked")
	}
}

func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := open(t, "", false)
		_, secret := token(t, d, TokenRequest{})
		lastUse := func() time.Time { return must[[]Token](t)(d.In(t.Context(), DefaultTenant).ListTokens(""))[0].LastUsed }
		use := func() { must[Principal](t)(d.Authenticate(t.Context(), secret)) }
		if !lastUse().IsZero() {
			t.Error("used before it was used")
		}
		use()
		first := lastUse()
		if !first.Equal(c.Now()) {
			t.Errorf("last used %v", first)
		}
		c.advance(lastUsedEvery - time.Second)
		use()
		if !lastUse().Equal(first) {
			t.Error("written again within five minutes")
		}
		c.advance(time.Second)
		use()
		if !lastUse().Equal(c.Now()) {
			t.Error("not written after five minutes")
		}
	})
}

func TestScopesAndPermissions(t *testing.T) {
	for name, test := range map[string]struct {
		email  string
		scopes []string
		want   []string
	}{
		"all of a basic user": {"jo@acme.example", nil, []string{
			"basic", "read:search", "read:chat", "write:chat", "generate:image", "use:llm_gateway", "add:agents"}},
		"basic lacks agents": {"jo@acme.example", []string{"basic"}, []string{
			"basic", "read:search", "read:chat", "write:chat", "generate:image", "use:llm_gateway"}},
		"search only":   {"jo@acme.example", []string{"read:search"}, []string{"read:search"}},
		"the sandbox":   {"jo@acme.example", []string{"craft_sandbox"}, []string{"read:search", "generate:image", "use:llm_gateway"}},
		"not one's own": {"jo@acme.example", []string{"manage:connectors"}, []string{}},
		"a part of all": {"", []string{"manage:connectors", "read:search"}, []string{
			"read:search", "read:connectors", "manage:connectors"}},
		"admin of a user": {"jo@acme.example", []string{"admin"}, []string{
			"basic", "read:search", "read:chat", "write:chat", "generate:image", "use:llm_gateway", "add:agents"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, "", false)
			_, secret := token(t, d, TokenRequest{Email: test.email, Scopes: test.scopes})
			who := must[Principal](t)(d.Authenticate(t.Context(), secret))
			if !slices.Equal(who.Permissions, test.want) {
				t.Errorf("permissions %v, want %v", who.Permissions, test.want)
			}
			if who.Scoped != (test.scopes != nil) || who.Admin != slices.Contains(test.want, "admin") {
				t.Errorf("scoped %v, admin %v", who.Scoped, who.Admin)
			}
		})
	}
}

func TestRefusedTokens(t *testing.T) {
	d, _ := open(t, "", false)
	none, tooMany := 0, 40_000
	for name, request := range map[string]TokenRequest{
		"no name":       {},
		"a long name":   {Name: strings.Repeat("ä", 101)},
		"an odd name":   {Name: "a\x1b[31m"},
		"no scopes":     {Name: "x", Scopes: []string{}},
		"unknown scope": {Name: "x", Scopes: []string{"read:search", "read:everything"}},
		"no days":       {Name: "x", Days: &none},
		"many days":     {Name: "x", Days: &tooMany},
		"no address":    {Name: "x", Email: "jo"},
		"two addresses": {Name: "x", Email: "Jo <jo@acme.example>"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := d.AddToken(t.Context(), request)
			if refused := (InputError{}); !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, _, err := d.AddToken(t.Context(), TokenRequest{Name: "x", Tenant: "nobody"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown tenant: %v", err)
	}
}

// joinGroup adds a user to a group. Who and what does not exist is made.
func joinGroup(d *Directory, ctx context.Context, tenant, group, email string) error {
	user, userErr := d.In(ctx, tenant).AddUser(email, RoleBasic)
	groups, err := d.In(ctx, tenant).Groups()
	if err := errors.Join(userErr, err); err != nil {
		return err
	}
	if at := slices.IndexFunc(groups, func(g Group) bool { return g.Name == group }); at >= 0 {
		_, err = d.In(ctx, tenant).ChangeGroup(groups[at].ID, GroupChange{Joining: []string{user.ID}})
	} else {
		_, err = d.In(ctx, tenant).AddGroup(group, []string{user.ID}, nil)
	}
	return err
}

// leaveGroup removes a user from a group that both exist.
func leaveGroup(d *Directory, ctx context.Context, tenant, group, email string) error {
	groups, err := d.In(ctx, tenant).Groups()
	at := slices.IndexFunc(groups, func(g Group) bool { return g.Name == group })
	if err != nil || at < 0 {
		return err
	}
	left := []string{}
	for _, user := range groups[at].Members {
		if user.Email != email {
			left = append(left, user.ID)
		}
	}
	_, err = d.In(ctx, tenant).ChangeGroup(groups[at].ID, GroupChange{Users: left})
	return err
}

func TestGroupsBecomeAccess(t *testing.T) {
	d, _ := open(t, "", false)
	ctx := t.Context()
	if err := errors.Join(
		joinGroup(d, ctx, DefaultTenant, "Legal", "jo@acme.example"),
		joinGroup(d, ctx, DefaultTenant, "Legal", "jo@acme.example"),
		joinGroup(d, ctx, DefaultTenant, "Eng", "jo@acme.example"),
		joinGroup(d, ctx, DefaultTenant, "Eng", "kim@acme.example"),
		d.In(ctx, DefaultTenant).JoinExternalGroup(ExternalGroup{"confluence", "Space-HR"}, "jo@acme.example"),
	); err != nil {
		t.Fatal(err)
	}
	_, secret := token(t, d, TokenRequest{Email: "jo@acme.example"})
	got := must[Principal](t)(d.Authenticate(ctx, secret)).Access().Terms
	want := []string{"PUBLIC", "user_email:jo@acme.example", "group:Eng", "group:Legal", "external_group:confluence_space-hr"}
	if !slices.Equal(got, want) {
		t.Errorf("terms %v, want %v", got, want)
	}
}

func TestTenantsDoNotCross(t *testing.T) {
	d, _ := open(t, "", false)
	ctx := t.Context()
	if err := d.AddTenant(ctx, "acme_2"); err != nil {
		t.Fatal(err)
	}
	if err := d.AddTenant(ctx, "../acme"); err == nil {
		t.Error("a path is a tenant")
	}
	_, secret := token(t, d, TokenRequest{Tenant: "acme_2"})
	if !strings.HasPrefix(secret, "onyx_pat_acme_2.") {
		t.Errorf("the token does not name its tenant: %.20s", secret)
	}
	who := must[Principal](t)(d.Authenticate(ctx, secret))
	if who.Tenant != "acme_2" || who.UserID != OwnerID("acme_2") {
		t.Errorf("%+v", who)
	}
	if _, err := d.Authenticate(ctx, strings.Replace(secret, "acme_2.", "default.", 1)); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a token of another tenant: %v", err)
	}
	ensureSet(t, d, "acme_2", "Handbook")
	if sets := must[[]DocumentSet](t)(d.For(ctx, Owner(DefaultTenant)).DocumentSets()); len(sets) != 0 {
		t.Errorf("sets of another tenant: %v", sets)
	}
	if list := must[[]Token](t)(d.In(ctx, DefaultTenant).ListTokens("")); len(list) != 0 {
		t.Errorf("tokens of another tenant: %v", list)
	}
}

func TestAgentsAndSets(t *testing.T) {
	d, _ := open(t, "", false)
	ctx := t.Context()
	set := DocumentSet{Name: "Handbook", Description: "How we work", Public: true}
	set.ID = must[int](t)(d.In(ctx, DefaultTenant).CreateDocumentSet(SetDetails{DocumentSet: set}))
	ensureSet(t, d, DefaultTenant, "Handbook")
	if again := must[[]DocumentSet](t)(d.For(ctx, Owner(DefaultTenant)).DocumentSets()); len(again) != 1 || again[0] != set {
		t.Errorf("made twice: %+v, %+v", set, again)
	}
	addSet(t, d, DefaultTenant, DocumentSet{Name: "Board"})
	jo := must[User](t)(d.In(ctx, DefaultTenant).AddUser("jo@acme.example", RoleBasic))
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	eng := must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{
		Name: "Eng", DocumentSets: []DocumentSet{{Name: "Handbook"}}, Documents: []string{"file:/a"}, SearchStart: start,
		StarterMessages: []wire.StarterMessage{{Name: "Deploys", Message: "How?"}}, Public: true, Listed: true,
	}))
	own := must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{Name: "Mine", OwnerID: jo.ID}))
	basic := func(user User) Principal {
		return Principal{Tenant: DefaultTenant, UserID: user.ID, Email: user.Email, Permissions: closure([]string{"basic"})}
	}
	kim := must[User](t)(d.In(ctx, DefaultTenant).AddUser("kim@acme.example", RoleBasic))
	for name, test := range map[string]struct {
		who    Principal
		agents []int
		sets   []string
	}{
		"the owner":  {Owner(DefaultTenant), []int{0, eng.ID, own.ID}, []string{"Board", "Handbook"}},
		"its maker":  {basic(jo), []int{0, eng.ID, own.ID}, []string{"Handbook"}},
		"a user":     {basic(kim), []int{0, eng.ID}, []string{"Handbook"}},
		"no one":     {Anonymous(DefaultTenant), []int{0, eng.ID}, []string{"Handbook"}},
		"a stranger": {Owner("elsewhere"), []int{0}, []string{}},
	} {
		var ids []int
		for _, a := range must[[]Agent](t)(d.For(ctx, test.who).Agents()) {
			ids = append(ids, a.ID)
		}
		names := []string{}
		for _, s := range must[[]DocumentSet](t)(d.For(ctx, test.who).DocumentSets()) {
			names = append(names, s.Name)
		}
		if !slices.Equal(ids, test.agents) || !slices.Equal(names, test.sets) {
			t.Errorf("%s sees agents %v and sets %v", name, ids, names)
		}
		for _, id := range []int{0, eng.ID, own.ID, 99} {
			_, err := d.For(ctx, test.who).Agent(id)
			if visible := slices.Contains(test.agents, id); visible != (err == nil) || (err != nil && !errors.Is(err, ErrNotFound)) {
				t.Errorf("%s asks for agent %d: %v", name, id, err)
			}
		}
	}
	got := must[Agent](t)(d.For(ctx, basic(kim)).Agent(eng.ID))
	if len(got.DocumentSets) != 1 || got.DocumentSets[0] != set || !got.SearchStart.Equal(start) ||
		!slices.Equal(got.Documents, []string{"file:/a"}) || len(got.StarterMessages) != 1 {
		t.Errorf("read back as %+v", got)
	}
	for _, refused := range []Agent{{}, {Name: "Eng"}, {Name: "New", DocumentSets: []DocumentSet{{Name: "Nowhere"}}}} {
		if _, err := d.In(ctx, DefaultTenant).AddAgent(refused); err == nil {
			t.Errorf("%+v was added", refused)
		}
	}
	if agents := must[[]Agent](t)(d.For(ctx, Owner(DefaultTenant)).Agents()); len(agents) != 3 {
		t.Errorf("a refused agent is left behind: %+v", agents)
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	if _, err := Open(t.Context(), path, true, time.Now); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing directory: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("reading made a file")
	}
	writer, _ := open(t, path, false)
	_, secret := token(t, writer, TokenRequest{})
	d, _ := open(t, path, true)
	must[Principal](t)(d.Authenticate(t.Context(), secret))
	if err := d.In(t.Context(), DefaultTenant).EnsureDocumentSet("x"); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("wrote to it: %v", err)
	}
	memory, _ := open(t, "", true)
	if _, _, err := memory.AddToken(t.Context(), TokenRequest{Name: "x"}); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("wrote to it: %v", err)
	}
}

func TestTwoProcessesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	one, _ := open(t, path, false)
	two, _ := open(t, path, false)
	var group sync.WaitGroup
	for i := range 20 {
		d := []*Directory{one, two}[i%2]
		group.Go(func() {
			if _, _, err := d.AddToken(t.Context(), TokenRequest{Name: "x", Email: "jo@acme.example"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if list := must[[]Token](t)(one.In(t.Context(), DefaultTenant).ListTokens("JO@acme.example")); len(list) != 20 {
		t.Errorf("%d tokens", len(list))
	}
}

func FuzzTenantOf(f *testing.F) {
	for _, seed := range []string{"", "onyx_pat_abc", "onyx_pat_acme.abc", "onyx_pat_a%2Fb.c", "onyx_pat_.x", "onyx_pat_%.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		tenant, ok := tenantOf(secret)
		if ok && (tenant == "" || !strings.HasPrefix(secret, tokenPrefix) || len(secret) > longestToken) {
			t.Errorf("%q names tenant %q", secret, tenant)
		}
	})
}
