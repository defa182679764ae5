package directory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestLookAlikeNames(t *testing.T) {
	const name = "HRBot Info"
	for _, other := range []string{
		"HRBot Info", "hrbot info", "HRBOT INFO", " HRBot  Info ", "HRBot\u00a0Info", "HR\u200bBot Info", "HRBot\u2060 Info",
		"HRBot Info\ufe0f", "HRBot\u034f Info", "\u3164HRBot Info", "НRВоt Info" /* Cyrillic */, "HRBοt Ιnfo" /* Greek */, "ＨＲＢｏｔ Ｉｎｆｏ",
		"𝐇𝐑𝐁𝐨𝐭 Info", "HRB0t Info", "HRBot lnfo", "HRBot 1nfo", "hrbot lnfo", "HRBot |nfo", "\u202eHRBot Info\u202c",
	} {
		if !skeletonOf(name).looksLike(skeletonOf(other)) {
			t.Errorf("%q does not look like %q", other, name)
		}
	}
	for _, other := range []string{"HRBot", "HRBots Info", "HR Bot Info", "IRBot Info", "HRBot Info 2", "Émile", "漢字", "🦘"} {
		if skeletonOf(name).looksLike(skeletonOf(other)) {
			t.Errorf("%q looks like %q", other, name)
		}
	}
	for _, pair := range [][2]string{{"Legal", "Lagal"}, {"漢字", "漢学"}, {"🦘", "🦙"}, {"mail", "mall"}, {"Straße", "Strasse"}} {
		if skeletonOf(pair[0]).looksLike(skeletonOf(pair[1])) {
			t.Errorf("%q looks like %q", pair[0], pair[1])
		}
	}
}

// Whatever is invisible, and whatever its case, a name looks like itself.
func FuzzLooksLike(f *testing.F) {
	for _, seed := range []string{"HRBot", "ß", "İstanbul", "ﬁ ﬂ", "\u0345ͅ", "日本", "a\u0301", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		spread := strings.Join(strings.Split(name, ""), "\u200b")
		if !skeletonOf(name).looksLike(skeletonOf(name+" \u2060")) || !skeletonOf(name).looksLike(skeletonOf(spread)) {
			t.Errorf("%q does not look like itself", name)
		}
		ascii := strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0
		if ascii && !skeletonOf(name).looksLike(skeletonOf(strings.ToUpper(name))) {
			t.Errorf("%q does not look like itself in capitals", name)
		}
	})
}

func TestNamesWithoutLetters(t *testing.T) {
	d, _ := open(t, "", false)
	for _, name := range []string{"", " ", "\u200b", "\u3164", "\u2060 \ufe0f", "HR\u202eBot", "HR\u200bBot", "a\u009bb", "a\x7f"} {
		_, err := d.In(t.Context(), DefaultTenant).AddAgent(Agent{Name: name})
		var refused InputError
		if !errors.As(err, &refused) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"👩\u200d💻", "می\u200cخواهم", "❤️"} { // which are written with joiners and selectors
		if _, err := d.In(t.Context(), DefaultTenant).AddAgent(Agent{Name: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// shownTo are the names of agents by id, as a person sees them.
func shownTo(t *testing.T, d *Directory, who Principal) map[int]string {
	t.Helper()
	shown := map[int]string{}
	for _, agent := range must[[]Agent](t)(d.For(t.Context(), who).Agents()) {
		shown[agent.ID] = agent.Name
		if single := must[Agent](t)(d.For(t.Context(), who).Agent(agent.ID)); single.Name != agent.Name {
			t.Errorf("agent %d is %q in the list, and %q by itself", agent.ID, agent.Name, single.Name)
		}
	}
	return shown
}

func TestAnAdministratorsNameWins(t *testing.T) {
	d, _ := open(t, "", false)
	person := func(email string, role Role) Principal {
		must[User](t)(d.In(t.Context(), DefaultTenant).AddUser(email, role))
		_, secret := token(t, d, TokenRequest{Email: email})
		return must[Principal](t)(d.Authenticate(t.Context(), secret))
	}
	jo, kim := person("jo@acme.example", RoleBasic), person("kim@acme.example", RoleBasic)
	ann, bob := person("ann@acme.example", RoleAdmin), person("bob@acme.example", RoleAdmin)
	add := func(who Principal, name string, public bool) (int, error) {
		agent, err := d.In(t.Context(), DefaultTenant).AddAgent(Agent{Name: name, Public: public, OwnerID: who.UserID})
		return agent.ID, err
	}
	var made []any // ids
	for _, step := range []struct {
		who    Principal
		name   string
		public bool
		taken  bool
	}{
		{jo, "Legal", true, false},       // 1
		{kim, "Lеgal", true, true},       // Cyrillic
		{jo, "legal ", false, true},      // one's own
		{ann, "Legal", true, false},      // 2: an administrator's name wins
		{bob, "LEGAL", true, true},       // over other administrators, too
		{kim, "Assistant ", false, true}, // the agent that is built in
		{ann, "Аssistant", true, true},   // is nobody's
		{kim, "Mine", false, false},      // 3
		{jo, "Mine", false, false},       // 4: nothing is said of what one cannot see
		{kim, "Legal", false, true},
	} {
		id, err := add(step.who, step.name, step.public)
		if err == nil {
			made = append(made, id)
		}
		var exists ExistsError
		if taken := errors.As(err, &exists); taken != step.taken || !taken && err != nil {
			t.Errorf("%s adds %q: %v", step.who.Email, step.name, err)
		}
	}
	for who, want := range map[*Principal]string{
		&jo:  "map[0:Assistant %[1]d:Legal (agent %[1]d) %[2]d:Legal %[4]d:Mine]",
		&kim: "map[0:Assistant %[1]d:Legal (agent %[1]d) %[2]d:Legal %[3]d:Mine]",
		&ann: "map[0:Assistant %[1]d:Legal (agent %[1]d) %[2]d:Legal %[3]d:Mine %[4]d:Mine (agent %[4]d)]",
	} {
		want, _, _ := strings.Cut(fmt.Sprintf(want, made...), "%!(EXTRA")
		if got := fmt.Sprint(shownTo(t, d, *who)); got != want {
			t.Errorf("%s sees %s, want %s", who.Email, got, want)
		}
	}
	// Who is no administrator any more has no say over names.
	if err := d.In(t.Context(), DefaultTenant).SetRole(ann.Email, RoleBasic); err != nil {
		t.Fatal(err)
	}
	if got := shownTo(t, d, kim); got[made[0].(int)] != "Legal" || got[made[1].(int)] != fmt.Sprintf("Legal (agent %d)", made[1]) {
		t.Errorf("after the administrator is one no more: %v", got)
	}
}

func TestLookAlikeGroupsAndSets(t *testing.T) {
	d, _ := open(t, "", false)
	must[Group](t)(d.In(t.Context(), DefaultTenant).AddGroup("Legal", nil, nil))
	must[int](t)(d.In(t.Context(), DefaultTenant).CreateDocumentSet(SetDetails{DocumentSet: DocumentSet{Name: "Handbook"}}))
	var taken ExistsError
	for _, alike := range []string{"Legal", "legal", "Lеgal"} {
		if _, err := d.In(t.Context(), DefaultTenant).AddGroup(alike, nil, nil); !errors.As(err, &taken) {
			t.Errorf("group %q: %v", alike, err)
		}
		err := joinGroup(d, t.Context(), DefaultTenant, alike, "jo@acme.example")
		if known := alike == "Legal"; known != (err == nil) || !known && !errors.As(err, &taken) {
			t.Errorf("joining %q: %v", alike, err)
		}
	}
	if _, err := d.In(t.Context(), DefaultTenant).CreateDocumentSet(SetDetails{DocumentSet: DocumentSet{Name: "HANDBOOK"}}); !errors.As(err, &taken) {
		t.Errorf("set: %v", err)
	}
	if groups := must[[]Group](t)(d.In(t.Context(), DefaultTenant).Groups()); !slices.ContainsFunc(groups, func(g Group) bool { return len(g.Members) == 1 }) || len(groups) != 1 {
		t.Errorf("groups %v", groups)
	}
}

func BenchmarkLookOf(b *testing.B) {
	for b.Loop() {
		skeletonOf("Questions about human resources")
	}
}
