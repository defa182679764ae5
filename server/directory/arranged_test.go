package directory

import (
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"quarry/server/sqlite"
)

// arranged is a directory with two users, a group of the first and a private connector of that group.
func arranged(t *testing.T) (d *Directory, jo, kim User, eng Group, pair int) {
	t.Helper()
	d, _ = open(t, "", false)
	ctx := t.Context()
	jo = must[User](t)(d.In(ctx, DefaultTenant).AddUser("jo@acme.example", RoleBasic))
	kim = must[User](t)(d.In(ctx, DefaultTenant).AddUser("kim@acme.example", RoleBasic))
	eng = must[Group](t)(d.In(ctx, DefaultTenant).AddGroup("Eng", []string{jo.ID, jo.ID}, nil))
	pair = addPair(t, d, PairRequest{Name: "Wiki", Access: AccessPrivate, GroupIDs: []int{eng.ID}, Creator: "Kim@acme.example"})
	return d, jo, kim, eng, pair
}

func addPair(t *testing.T, d *Directory, request PairRequest) int {
	t.Helper()
	ctx := t.Context()
	request.ConnectorID = must[int](t)(d.In(ctx, DefaultTenant).AddConnector("C "+request.Name, "confluence"))
	request.CredentialID = must[int](t)(d.In(ctx, DefaultTenant).AddCredential(request.Name, "confluence"))
	id, made, err := d.In(ctx, DefaultTenant).AddCCPair(request)
	if err != nil || !made {
		t.Fatalf("pair %d, made %v: %v", id, made, err)
	}
	again, made, err := d.In(ctx, DefaultTenant).AddCCPair(request)
	if err != nil || made || again != id {
		t.Errorf("made twice: %d, %v, %v", again, made, err)
	}
	return id
}

func TestConnectorsSayWhoSeesTheirDocuments(t *testing.T) {
	d, _, _, eng, pair := arranged(t)
	ctx := t.Context()
	terms := func() []string {
		t.Helper()
		terms, own := must[CCPair](t)(d.In(ctx, DefaultTenant).CCPair(pair)).Terms()
		if !own {
			t.Error("a private connector leaves it to the documents")
		}
		return terms
	}
	unsynced := func() []CCPair { t.Helper(); return must[[]CCPair](t)(d.In(ctx, DefaultTenant).UnsyncedCCPairs()) }
	if got := terms(); !slices.Equal(got, []string{"user_email:kim@acme.example", "group:Eng"}) || len(unsynced()) != 0 {
		t.Errorf("terms %v, unsettled %v", got, unsynced())
	}
	must[Group](t)(d.In(ctx, DefaultTenant).AddGroup("Legal", nil, []int{pair}))
	if got := terms(); !slices.Equal(got, []string{"user_email:kim@acme.example", "group:Eng", "group:Legal"}) {
		t.Errorf("terms %v", got)
	}
	stale := unsynced()
	if len(stale) != 1 || stale[0].ID != pair {
		t.Fatalf("unsettled %v", stale)
	}
	if err := d.In(ctx, DefaultTenant).RemoveGroup(eng.ID); err != nil {
		t.Fatal(err)
	}
	if still := must[bool](t)(d.MarkSynced(ctx, stale[0])); still || len(unsynced()) != 1 {
		t.Error("settled as it was before it changed")
	}
	if still := must[bool](t)(d.MarkSynced(ctx, unsynced()[0])); !still || len(unsynced()) != 0 {
		t.Error("not settled")
	}
	if got := terms(); !slices.Equal(got, []string{"user_email:kim@acme.example", "group:Legal"}) {
		t.Errorf("terms without %d: %v", eng.ID, got)
	}
	for access, want := range map[AccessType][]string{AccessPublic: {"PUBLIC"}, AccessSync: nil} {
		id := addPair(t, d, PairRequest{Name: string(access), Access: access})
		got, own := must[CCPair](t)(d.In(ctx, DefaultTenant).CCPair(id)).Terms()
		if !slices.Equal(got, want) || own != (want != nil) {
			t.Errorf("%s: terms %v, %v", access, got, own)
		}
	}
	if err := d.In(ctx, DefaultTenant).RemoveCCPair("Wiki"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.In(ctx, DefaultTenant).CCPair(pair); !errors.As(err, new(MissingError)) {
		t.Errorf("a removed connector: %v", err)
	}
	gone := unsynced()
	if len(gone) != 1 || !gone[0].Deleting || !must[bool](t)(d.MarkSynced(ctx, gone[0])) || len(unsynced()) != 0 {
		t.Errorf("%v is left, %v before", unsynced(), gone)
	}
	for range 2 { // its name is free again, and so is that of a connector that was never paired
		must[int](t)(d.In(ctx, DefaultTenant).AddConnector("C Wiki", "web"))
		if err := d.In(ctx, DefaultTenant).RemoveCCPair("C Wiki"); err != nil {
			t.Error(err)
		}
	}
}

func TestSetsAndAgentsForSome(t *testing.T) {
	d, jo, kim, eng, pair := arranged(t)
	ctx := t.Context()
	add := func(name string, audience Audience, pairs ...int) {
		t.Helper()
		must[int](t)(d.In(ctx, DefaultTenant).CreateDocumentSet(SetDetails{DocumentSet: DocumentSet{Name: name},
			Audience: audience, CCPairs: pairs}))
		must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{Name: name, Audience: audience, SystemPrompt: "Be brief.",
			Provider: "p", Model: "m"}))
	}
	add("of a user", Audience{Users: []string{kim.ID}})
	add("of a group", Audience{Groups: []int{eng.ID}}, pair)
	add("of nobody", Audience{})
	for name, test := range map[string]struct {
		who  Principal
		want []string
	}{
		"jo":     {Principal{Tenant: DefaultTenant, UserID: jo.ID}, []string{"of a group"}},
		"kim":    {Principal{Tenant: DefaultTenant, UserID: kim.ID}, []string{"of a user"}},
		"admin":  {Principal{Tenant: DefaultTenant, UserID: "x", Admin: true}, []string{"of a group", "of a user", "of nobody"}},
		"nobody": {Anonymous(DefaultTenant), nil},
	} {
		var sets, agents []string
		for _, s := range must[[]DocumentSet](t)(d.For(ctx, test.who).DocumentSets()) {
			sets = append(sets, s.Name)
		}
		for _, a := range must[[]Agent](t)(d.For(ctx, test.who).Agents())[1:] {
			agents = append(agents, a.Name)
			a = must[Agent](t)(d.For(ctx, test.who).Agent(a.ID))
			if a.SystemPrompt != "Be brief." || a.Provider != "p" || a.Model != "m" {
				t.Errorf("read back as %+v", a)
			}
		}
		slices.Sort(agents)
		if !slices.Equal(sets, test.want) || !slices.Equal(agents, test.want) {
			t.Errorf("%s sees sets %q and agents %q", name, sets, agents)
		}
	}
	if stale := must[[]CCPair](t)(d.In(ctx, DefaultTenant).UnsyncedCCPairs()); len(stale) != 1 ||
		!slices.Equal(stale[0].Sets, []string{"of a group"}) {
		t.Errorf("the set's connector is not to be settled: %+v", stale)
	}
	if err := d.In(ctx, DefaultTenant).RemoveUser("KIM@acme.example"); err != nil {
		t.Fatal(err)
	}
	back := must[User](t)(d.In(ctx, DefaultTenant).AddUser("kim@acme.example", RoleBasic))
	if sets := must[[]DocumentSet](t)(d.For(ctx, Principal{Tenant: DefaultTenant, UserID: back.ID}).DocumentSets()); len(sets) != 0 {
		t.Errorf("a new user of that address sees %v", sets)
	}
}

func TestWhatIsRefused(t *testing.T) {
	d, jo, _, eng, pair := arranged(t)
	ctx := t.Context()
	if err := d.AddTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	must[int](t)(d.In(ctx, DefaultTenant).CreateDocumentSet(SetDetails{DocumentSet: DocumentSet{Name: "S"}}))
	must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{Name: "A", OwnerID: jo.ID, DocumentSets: []DocumentSet{{Name: "S"}}}))
	group := func(tenant, name string, users []string, pairs []int) error {
		_, err := d.In(ctx, tenant).AddGroup(name, users, pairs)
		return err
	}
	set := func(tenant string, details SetDetails) error {
		_, err := d.In(ctx, tenant).CreateDocumentSet(details)
		return err
	}
	agent := func(agent Agent) error {
		_, err := d.In(ctx, DefaultTenant).AddAgent(agent)
		return err
	}
	pairOf := func(request PairRequest) error {
		_, _, err := d.In(ctx, DefaultTenant).AddCCPair(request)
		return err
	}
	named := func(name string) SetDetails { return SetDetails{DocumentSet: DocumentSet{Name: name}} }
	withPair, withUser := named("n"), named("n")
	withPair.CCPairs, withUser.Audience.Users = []int{pair}, []string{jo.ID}
	for name, test := range map[string]struct{ got, want error }{
		"a group again":             {group(DefaultTenant, "Eng", nil, nil), ExistsError{}},
		"a user of another tenant":  {group("acme", "Eng", []string{jo.ID}, nil), MissingError{}},
		"a pair of another tenant":  {group("acme", "Eng", nil, []int{pair}), MissingError{}},
		"no pair":                   {group(DefaultTenant, "new", nil, []int{99}), MissingError{}},
		"a set again":               {set(DefaultTenant, named("S")), ExistsError{}},
		"another tenant's pair":     {set("acme", withPair), MissingError{}},
		"another tenant's user":     {set("acme", withUser), MissingError{}},
		"a set in use":              {d.In(ctx, DefaultTenant).RemoveDocumentSet("S"), InputError{}},
		"no set":                    {d.In(ctx, "acme").RemoveDocumentSet("S"), MissingError{}},
		"one's own agent again":     {agent(Agent{Name: "A", OwnerID: jo.ID}), ExistsError{}},
		"a provider alone":          {agent(Agent{Name: "B", Provider: "p"}), InputError{}},
		"no group":                  {agent(Agent{Name: "B", Audience: Audience{Groups: []int{eng.ID + 9}}}), MissingError{}},
		"no connector":              {pairOf(PairRequest{ConnectorID: 99, CredentialID: 1, Access: AccessSync}), MissingError{}},
		"no credential":             {pairOf(PairRequest{ConnectorID: 1, CredentialID: 99, Access: AccessSync}), MissingError{}},
		"no access type":            {pairOf(PairRequest{ConnectorID: 1, CredentialID: 1, Access: "all"}), InputError{}},
		"the owner, basic":          {d.In(ctx, DefaultTenant).SetRole(OwnerEmail, RoleBasic), InputError{}},
		"without the owner":         {d.In(ctx, DefaultTenant).RemoveUser(OwnerEmail), InputError{}},
		"no user":                   {d.In(ctx, "acme").RemoveUser(jo.Email), MissingError{}},
		"no such role":              {d.In(ctx, DefaultTenant).SetRole(jo.Email, "king"), InputError{}},
		"an unknown source's group": {d.In(ctx, DefaultTenant).JoinExternalGroup(ExternalGroup{"google", "drive_x"}, jo.Email), InputError{}},
		"no external member":        {d.In(ctx, DefaultTenant).LeaveExternalGroup(ExternalGroup{"slack", "x"}, ""), InputError{}},
		"no agent":                  {d.In(ctx, "acme").RemoveAgent(1), MissingError{}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.got == nil {
				t.Fatal("not refused")
			}
			if got, want := sortOf(test.got), sortOf(test.want); got != want {
				t.Errorf("%s: %v", got, test.got)
			}
		})
	}
	if groups := must[[]Group](t)(d.In(ctx, "acme").Groups()); len(groups) != 0 {
		t.Errorf("what was refused is left behind: %v", groups)
	}
	// Whether a name is free tells nothing about agents that one cannot see.
	must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{Name: "A", OwnerID: OwnerID(DefaultTenant)}))
}

// sortOf names what sort of error it is.
func sortOf(err error) string {
	var (
		input   InputError
		taken   ExistsError
		missing MissingError
	)
	switch {
	case errors.As(err, &input):
		return "input"
	case errors.As(err, &taken):
		return "exists"
	case errors.As(err, &missing) && errors.Is(err, ErrNotFound):
		return "missing"
	}
	return "other"
}

func TestMembershipEnds(t *testing.T) {
	d, jo, _, _, _ := arranged(t)
	ctx := t.Context()
	space := ExternalGroup{"confluence", " Space-HR "}
	if err := d.In(ctx, DefaultTenant).JoinExternalGroup(space, jo.Email); err != nil {
		t.Fatal(err)
	}
	if members := must[[]Membership](t)(d.In(ctx, DefaultTenant).ExternalMembers()); len(members) != 1 ||
		members[0] != (Membership{ExternalGroup{"confluence", "space-hr"}, jo.Email}) {
		t.Errorf("members %v", members)
	}
	_, secret := token(t, d, TokenRequest{Email: jo.Email})
	terms := func() int { return len(must[Principal](t)(d.Authenticate(ctx, secret)).Access().Terms) }
	before := terms()
	if err := errors.Join(d.In(ctx, DefaultTenant).LeaveExternalGroup(space, jo.Email),
		leaveGroup(d, ctx, DefaultTenant, "Eng", jo.Email)); err != nil {
		t.Fatal(err)
	}
	if before != 4 || terms() != 2 {
		t.Errorf("%d terms before, %d after", before, terms())
	}
}

// TestOldDirectoriesAreBroughtUpToDate opens a directory as the first version made it.
func TestOldDirectoriesAreBroughtUpToDate(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "directory.db"), t.Context()
	first := must[[]byte](t)(fs.ReadFile(migrations, "migrations/sqlite/00001_directory.sql"))
	old, err := sqlite.Open(ctx, sqlite.Options{Path: path, Migrations: fstest.MapFS{"00001_directory.sql": {Data: first}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Update(ctx, func(tx *sql.Tx) error {
		for _, statement := range []string{
			"INSERT INTO document_sets (id, tenant_id, name, is_public, created_at) VALUES (3, 'default', 'Handbook', 1, 0)",
			"INSERT INTO agents (id, tenant_id, name, is_public, is_listed, created_at) VALUES (7, 'default', 'Eng', 1, 1, 0)",
			"INSERT INTO agent_document_sets VALUES (7, 3)", "INSERT INTO agent_documents VALUES (7, 'file:/a')",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	d, _ := open(t, path, false)
	eng := must[Agent](t)(d.For(ctx, Owner(DefaultTenant)).Agent(7))
	if eng.Name != "Eng" || !slices.Equal(eng.Documents, []string{"file:/a"}) || len(eng.DocumentSets) != 1 {
		t.Errorf("read as %+v", eng)
	}
	if added := must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{Name: "New"})); added.ID != 8 {
		t.Errorf("the next agent is %d", added.ID)
	}
	if err := errors.Join(d.In(ctx, DefaultTenant).RemoveAgent(7), d.In(ctx, DefaultTenant).ForgetDocumentSet("Handbook")); err != nil {
		t.Fatal(err)
	}
	if sets := must[[]DocumentSet](t)(d.For(ctx, Owner(DefaultTenant)).DocumentSets()); len(sets) != 0 {
		t.Errorf("a set that adding files made stays: %v", sets)
	}
}
