package client

import (
	"testing"

	"quarry/client/wire"
)

func TestArranging(t *testing.T) {
	t.Parallel()
	c := serving(t, routes{
		"GET /manage/admin/user-group":         `[{"id":1,"name":"Eng\u001b[31m","users":[{"id":"u","email":"jo@acme.example","is_active":true}],"cc_pairs":[],"is_up_to_date":true}]`,
		"POST /manage/admin/connector":         `{"id":2,"credential":null}`,
		"POST /manage/credential":              `{"id":3}`,
		"PUT /manage/connector/2/credential/3": `{"success":true,"message":"made","data":4}`,
		"POST /manage/admin/document-set":      `5`,
		"POST /persona":                        `{"id":6,"name":"Eng"}`,
	}.ServeHTTP)
	ctx := t.Context()
	groups, err := c.UserGroups(ctx)
	if err != nil || len(groups) != 1 || groups[0].Name != "Eng" || groups[0].Users[0].Email != "jo@acme.example" {
		t.Errorf("%+v, %v", groups, err)
	}
	pair, err := c.CreatePair(ctx, 2, 3, wire.PairRequest{AccessType: "sync"})
	if err != nil || pair.Data != 4 {
		t.Errorf("%+v, %v", pair, err)
	}
	for want, create := range map[int]func() (int, error){
		2: func() (int, error) { return c.CreateConnector(ctx, wire.ConnectorRequest{}) },
		3: func() (int, error) { return c.CreateCredential(ctx, wire.CredentialRequest{}) },
		5: func() (int, error) { return c.CreateDocumentSet(ctx, wire.DocumentSetRequest{}) },
		6: func() (int, error) { return c.CreatePersona(ctx, wire.PersonaRequest{}) },
	} {
		if id, err := create(); err != nil || id != want {
			t.Errorf("made %d, want %d: %v", id, want, err)
		}
	}
	bare := serving(t, routes{}.ServeHTTP)
	if _, err := bare.CreateDocumentSet(ctx, wire.DocumentSetRequest{}); KindOf(err) != NotAvailable {
		t.Errorf("a server without the route: %v", err)
	}
}
