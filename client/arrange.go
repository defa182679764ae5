package client

import (
	"context"
	"fmt"
	"net/http"

	"quarry/client/wire"
)

// UserGroups lists the groups of people, for administrators.
func (c *Client) UserGroups(ctx context.Context) ([]wire.UserGroup, error) {
	return listed[wire.UserGroup](ctx, c, get("/manage/admin/user-group", nil))
}

// CreateConnector names something that documents come from, and returns its number; for administrators.
func (c *Client) CreateConnector(ctx context.Context, request wire.ConnectorRequest) (int, error) {
	return created(ctx, c, post("/manage/admin/connector", request))
}

// CreateCredential makes a credential and returns its number; for administrators.
func (c *Client) CreateCredential(ctx context.Context, request wire.CredentialRequest) (int, error) {
	return created(ctx, c, post("/manage/credential", request))
}

// CreatePair uses a connector with a credential. The answer has the number that documents are posted for.
func (c *Client) CreatePair(ctx context.Context, connector, credential int, request wire.PairRequest) (
	*wire.PairResponse, error) {
	r := post(fmt.Sprintf("/manage/connector/%d/credential/%d", connector, credential), request)
	r.method = http.MethodPut
	return fetched[wire.PairResponse](ctx, c, r)
}

// CreateDocumentSet makes a document set and returns its number; for administrators.
func (c *Client) CreateDocumentSet(ctx context.Context, request wire.DocumentSetRequest) (int, error) {
	id, err := fetched[int](ctx, c, post("/manage/admin/document-set", request))
	if err != nil {
		return 0, err
	}
	return *id, nil
}

// CreatePersona makes an agent of the caller's and returns its number.
func (c *Client) CreatePersona(ctx context.Context, request wire.PersonaRequest) (int, error) {
	return created(ctx, c, post("/persona", request))
}

func created(ctx context.Context, c *Client, r call) (int, error) {
	made, err := fetched[wire.Created](ctx, c, r)
	if err != nil {
		return 0, err
	}
	return made.ID, nil
}
