package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// pair makes a connector with a credential through the API, and returns the pair's number.
func (w *world) pair(name, access string, groups ...int) int {
	w.t.Helper()
	connector := post[wire.Created](w, "owner", "/manage/admin/connector", fmt.Sprintf(
		`{"name":%q,"source":"confluence","input_type":"poll","connector_specific_config":{},"access_type":%q,"groups":[]}`, name, access))
	credential := post[wire.Created](w, "owner", "/manage/credential", fmt.Sprintf(
		`{"name":%q,"source":"confluence","credential_json":{"token":"topsecret"},"admin_public":true,"curator_public":false,"groups":[]}`, name))
	target := fmt.Sprintf("/manage/connector/%d/credential/%d", connector.ID, credential.ID)
	body := fmt.Sprintf(`{"name":%q,"access_type":%q,"groups":%s}`, name, access, mustJSON(append([]int{}, groups...)))
	made := decoded[wire.PairResponse](w, w.call(w.public, "owner", http.MethodPut, target, body))
	again := decoded[wire.PairResponse](w, w.call(w.public, "owner", http.MethodPut, target, body))
	if !made.Success || again.Success || made.Data != again.Data {
		w.t.Errorf("made %+v, and again %+v", made, again)
	}
	return made.Data
}

// post stores a document for a connector.
func (w *world) post(id string, pair int, access string) {
	w.t.Helper()
	post[wire.IngestionResponse](w, "owner", "/onyx-api/ingestion", fmt.Sprintf(`{"document":{"id":%q,"semantic_identifier":%q,
		"source":"confluence","metadata":{},"sections":[{"text":"The quokka smiles."}]%s},"cc_pair_id":%d}`, id, id, access, pair))
}

// finds lists the documents that somebody finds with the posted word.
func (w *world) finds(who, more string) []string {
	w.t.Helper()
	found := ids(post[wire.SearchResponse](w, who, "/search", `{"query":"quokka"`+more+`}`))
	slices.Sort(found)
	return found
}

func (w *world) expect(what string, got, want []string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestConnectorsDecideWhoSeesWhat goes through the life of connectors: documents follow their access, groups and sets.
func TestConnectorsDecideWhoSeesWhat(t *testing.T) {
	w := newWorld(t)
	ctx, tenant := t.Context(), directory.DefaultTenant
	jo, err := w.people.In(ctx, tenant).UserNamed("jo@acme.example")
	w.check(err)
	w.check(w.people.In(ctx, tenant).JoinExternalGroup(directory.ExternalGroup{Source: "confluence", ID: "Space"}, "kim@acme.example"))
	legal := get[[]wire.UserGroup](w, "owner", "/manage/admin/user-group")
	if len(legal) != 1 || len(legal[0].Users) != 1 || legal[0].Users[0].Email != "kim@acme.example" || !legal[0].IsUpToDate {
		t.Fatalf("groups %+v", legal)
	}
	public, private, synced := w.pair("Public", "public"), w.pair("Private", "private", legal[0].ID), w.pair("Synced", "sync")
	const external = `,"external_access":{"external_user_emails":["JO@acme.example"],"external_user_group_ids":["SPACE"],"is_public":false}`
	w.post("public", public, external)
	w.post("private", private, external)
	w.post("synced", synced, external)
	w.post("synced for nobody", synced, "")
	w.expect("jo", w.finds("jo", ""), []string{"public", "synced"})
	w.expect("kim", w.finds("kim", ""), []string{"private", "public", "synced"})
	w.expect("the creator", w.finds("owner", ""), []string{"private", "public"})

	group := post[wire.UserGroup](w, "owner", "/manage/admin/user-group", fmt.Sprintf(
		`{"name":"Eng","user_ids":[%q],"cc_pair_ids":[%d]}`, jo.ID, private))
	if len(group.Users) != 1 || group.Users[0].ID != jo.ID || len(group.CCPairs) != 1 || group.CCPairs[0].ID != private || !group.IsUpToDate {
		t.Errorf("made %+v", group)
	}
	w.expect("jo, whose group was given the connector", w.finds("jo", ""), []string{"private", "public", "synced"})

	set := post[int](w, "owner", "/manage/admin/document-set", fmt.Sprintf(
		`{"name":"Wiki","description":"","cc_pair_ids":[%d,%d],"is_public":false,"users":[],"groups":[%d],"federated_connectors":[]}`,
		public, private, group.ID))
	w.expect("jo within the set", w.finds("jo", `,"document_sets":["Wiki"]`), []string{"private", "public"})
	w.post("later", public, "")
	w.expect("jo within the set later", w.finds("jo", `,"document_sets":["Wiki"]`), []string{"later", "private", "public"})
	if answer := w.call(w.public, "kim", "POST", "/search", `{"query":"quokka","document_sets":["Wiki"]}`); answer.Code != 403 {
		t.Errorf("a set for others: HTTP %d", answer.Code)
	}
	for who, pairs := range map[string][]string{"owner": {"Public", "Private"}, "jo": {"Public", "Private"}, "kim": nil} {
		var named []string
		for _, described := range get[[]wire.DocumentSet](w, who, "/manage/document-set") {
			if described.ID == set {
				for _, pair := range described.CCPairSummaries {
					named = append(named, pair.Name)
				}
				if who != "owner" && len(described.Users)+len(described.Groups) > 0 {
					t.Errorf("%s is told whose set it is: %+v", who, described)
				}
			}
		}
		w.expect("connectors of the set for "+who, named, pairs)
	}

	w.check(w.people.In(ctx, tenant).RemoveGroup(joinGroup(w.t, w.people, tenant, "Eng", "jo@acme.example")))
	w.check(w.server.SyncConnectors(ctx, tenant))
	joinGroup(w.t, w.people, tenant, "Eng", "scoped@acme.example")
	w.expect("jo without the group", w.finds("jo", ""), []string{"later", "public", "synced"})
	w.check(w.people.In(ctx, tenant).RemoveDocumentSet("Wiki"))
	w.check(w.people.In(ctx, tenant).RemoveCCPair("Public"))
	if answer := w.call(w.public, "owner", "POST", "/onyx-api/ingestion",
		fmt.Sprintf(`{"document":{"semantic_identifier":"x","source":"web","sections":[{"text":"x"}]},"cc_pair_id":%d}`, public)); answer.Code != 404 {
		t.Errorf("a document for a removed connector: HTTP %d", answer.Code)
	}
	w.check(w.server.SyncConnectors(ctx, tenant))
	w.expect("after the connector", w.finds("jo", ""), []string{"synced"})
	w.expect("those of the other one", w.finds("kim", ""), []string{"private", "synced"})
}

// changing is an index that calls change once, just before it writes.
type changing struct {
	index.Index
	change func()
}

func (c *changing) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	if change := c.change; change != nil {
		c.change = nil
		defer change()
	}
	return c.Index.Write(ctx, batch)
}

// TestAConnectorChangesWhileADocumentIsPosted: what another process changes between the look at the connector and the
// write holds for the document, too.
func TestAConnectorChangesWhileADocumentIsPosted(t *testing.T) {
	w := newWorld(t)
	ctx, tenant := t.Context(), directory.DefaultTenant
	legal := joinGroup(t, w.people, tenant, "Legal", "kim@acme.example")
	pair := w.pair("Private", "private", legal)
	late := &changing{Index: w.documents}
	w.documents = late
	late.change = func() { w.check(w.people.In(ctx, tenant).RemoveGroup(legal)) }
	w.post("a", pair, "")
	w.expect("kim without the group", w.finds("owner", ""), []string{"a"})
	joinGroup(w.t, w.people, tenant, "Legal", "kim@acme.example")
	w.expect("a group of the same name", w.finds("kim", ""), nil)
	late.change = func() { w.check(w.people.In(ctx, tenant).RemoveCCPair("Private")) }
	if answer := w.call(w.public, "owner", "POST", "/onyx-api/ingestion", fmt.Sprintf(
		`{"document":{"id":"b","semantic_identifier":"b","source":"web","sections":[{"text":"quokka"}]},"cc_pair_id":%d}`, pair)); answer.Code != 404 {
		t.Errorf("HTTP %d %s", answer.Code, answer.Body)
	}
	w.check(w.server.SyncConnectors(ctx, tenant))
	w.expect("the connector is gone", decodedIDs(w, w.server.Handler(directory.Owner(tenant))), nil)
}

func decodedIDs(w *world, handler http.Handler) []string {
	return ids(decoded[wire.SearchResponse](w, w.call(handler, "", "POST", "/search", `{"query":"quokka"}`)))
}

// TestAgentsOfOnesOwn: an agent is its maker's and whose it is shared with, and names nothing that its maker cannot see.
func TestAgentsOfOnesOwn(t *testing.T) {
	w := newWorld(t)
	ctx, tenant := t.Context(), directory.DefaultTenant
	kim, err := w.people.In(ctx, tenant).UserNamed("kim@acme.example")
	w.check(err)
	sets, err := w.people.For(ctx, directory.Owner(tenant)).DocumentSets()
	w.check(err)
	board, handbook := sets[0], sets[1]
	made := post[wire.FullPersona](w, "jo", "/persona", fmt.Sprintf(`{"name":"Mine","description":"For me","system_prompt":"Be brief.",
		"task_prompt":"","datetime_aware":true,"is_public":false,"document_set_ids":[%d],"tool_ids":[],"users":[%q],"groups":[],
		"label_ids":[],"user_file_ids":[],"search_start_date":"2020-01-01","starter_messages":[{"name":"a","message":"b"}]}`, handbook.ID, kim.ID))
	if made.Name != "Mine" || len(made.DocumentSets) != 1 || made.SystemPrompt == nil || len(made.Users) != 1 || *made.UserPermission != "OWNER" ||
		made.SearchStartDate == nil || made.Owner == nil || *made.Owner.Email != "jo@acme.example" || len(made.StarterMessages) != 1 {
		t.Errorf("made %+v", made)
	}
	target := fmt.Sprintf("/persona/%d", made.ID)
	seen := get[wire.FullPersona](w, "kim", target)
	if len(seen.Users) != 0 || *seen.Owner.Email != "" || *seen.UserPermission != "VIEWER" {
		t.Errorf("kim sees %+v", seen)
	}
	w.tokens["lee"] = ""
	_, w.tokens["lee"], err = w.people.AddToken(ctx, directory.TokenRequest{Name: "lee", Email: "lee@acme.example"})
	w.check(err)
	unseen, absent := w.call(w.public, "lee", "GET", target, ""), w.call(w.public, "lee", "GET", "/persona/999", "")
	if unseen.Code != 400 || strings.ReplaceAll(unseen.Body.String(), fmt.Sprint(made.ID), "999") != absent.Body.String() {
		t.Errorf("unseen %s, absent %s", unseen.Body, absent.Body)
	}
	add := func(body string) string {
		answer := w.call(w.public, "lee", "POST", "/persona", body)
		return fmt.Sprintf("%d %s", answer.Code, answer.Body)
	}
	for name, fields := range map[string][2]string{
		"document sets": {fmt.Sprintf(`"document_set_ids":[%d]`, board.ID), `"document_set_ids":[77]`},
		"groups":        {`"groups":[1]`, `"groups":[77]`},
	} {
		unseen, absent := add(`{"name":"New",`+fields[0]+`}`), add(`{"name":"New",`+fields[1]+`}`)
		if !strings.HasPrefix(unseen, "404") || strings.Replace(absent, "77", strings.Trim(strings.Split(fields[0], "[")[1], "]"), 1) != unseen {
			t.Errorf("%s: unseen %s, absent %s", name, unseen, absent)
		}
	}
	if answer := add(`{"name":"Mine"}`); !strings.HasPrefix(answer, "200") {
		t.Errorf("the name of an agent that lee cannot see is not free: %s", answer)
	}
	if answer := add(`{"name":"Eng"}`); !strings.HasPrefix(answer, "409") {
		t.Errorf("the name of a public agent: %s", answer)
	}
}
