package client

import (
	"errors"
	"testing"

	"quarry/client/wire"
)

func TestAdministrationOverOnyxAPI(t *testing.T) {
	t.Parallel()
	c := serving(t, routes{
		"GET /me":                              `{"email":"ada@acme.example"}`,
		"GET /manage/admin/user-group":         `[{"id":1,"name":"Eng\u001b[31m","users":[{"id":"u","email":"jo@acme.example","is_active":true}],"cc_pairs":[],"is_up_to_date":true}]`,
		"GET /manage/document-set":             `[{"id":5,"name":"Handbook"}]`,
		"POST /manage/admin/user-group":        `{"id":9}`,
		"PATCH /manage/admin/user-group/1":     `{"id":1}`,
		"POST /manage/admin/connector":         `{"id":2,"credential":null}`,
		"POST /manage/credential":              `{"id":3}`,
		"PUT /manage/connector/2/credential/3": `{"success":true,"message":"made","data":4}`,
		"POST /manage/admin/document-set":      `5`,
		"POST /persona":                        `{"id":6,"name":"Eng"}`,
	}.ServeHTTP)
	ctx := t.Context()
	groups, err := c.AdminGroups(ctx)
	if err != nil || len(groups) != 1 || groups[0].Name != "Eng" || groups[0].Users[0] != "jo@acme.example" || groups[0].Connectors == nil {
		t.Errorf("%+v, %v", groups, err)
	}
	connector, err := c.AdminAddConnector(ctx, wire.DirectoryConnector{Name: "Wiki", AccessType: "sync", Groups: []string{"Eng"}})
	if err != nil || !connector.IsNew || connector.Item.ID != 4 || connector.Item.Creator != "ada@acme.example" {
		t.Errorf("%+v, %v", connector, err)
	}
	set, err := c.AdminAddDocumentSet(ctx, wire.DirectorySet{Name: "Handbook"})
	if err != nil || set.Item.ID != 5 {
		t.Errorf("%+v, %v", set, err)
	}
	agent, err := c.AdminAddAgent(ctx, wire.DirectoryAgent{Name: "Eng", DocumentSets: []string{"Handbook"}})
	if err != nil || agent.Item.ID != 6 || agent.Item.Owner != "ada@acme.example" {
		t.Errorf("%+v, %v", agent, err)
	}
	if _, err := c.AdminAddAgent(ctx, wire.DirectoryAgent{Name: "Eng", DocumentSets: []string{"Handbok"}}); KindOf(err) != NotAvailable {
		t.Errorf("an unknown document set: %v", err)
	}
	made, err := c.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "New"})
	if err != nil || !made.IsNew || made.Item.ID != 9 {
		t.Errorf("%+v, %v", made, err)
	}
	if err := c.AdminRemoveGroup(ctx, wire.DirectoryGroup{Name: "x"}); KindOf(err) != NotAvailable {
		t.Errorf("an unknown group: %v", err)
	}
	if err := c.AdminRemoveGroup(ctx, wire.DirectoryGroup{Name: "Eng", Users: []string{"kim@acme.example"}}); KindOf(err) != BadRequest {
		t.Errorf("leaving a group of others: %v", err)
	}
	if err := c.AdminRemoveGroup(ctx, wire.DirectoryGroup{Name: "Eng", Users: []string{"Jo@acme.example"}}); err != nil {
		t.Errorf("leaving: %v", err)
	}
	_, joining := c.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "Eng", Users: []string{"jo@acme.example"}})
	_, external := c.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "slack:C1", External: true})
	_, connecting := c.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "Eng", Connectors: []string{"Wiki"}})
	for what, err := range map[string]error{
		"users": c.AdminRemoveUser(ctx, "x"), "joining": joining, "external groups": external, "connectors": connecting,
	} {
		if !errors.Is(err, ErrNotOffered) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bare := serving(t, routes{}.ServeHTTP)
	if _, err := bare.AdminAddDocumentSet(ctx, wire.DirectorySet{}); KindOf(err) != NotAvailable {
		t.Errorf("a server without the route: %v", err)
	}
}
