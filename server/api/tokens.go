package api

import (
	"errors"
	"net/http"
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
)

// tokenScope is a selectable scope in the answer of GET /user/pats/scopes.
type tokenScope struct {
	Scope       string   `json:"scope"`
	GroupLabel  string   `json:"group_label"`
	Label       string   `json:"label"`
	Description string   `json:"description"`
	MinTier     *string  `json:"min_tier"`
	Implies     []string `json:"implies"`
}

func selectableScopes() []tokenScope {
	scopes := []tokenScope{
		{Scope: directory.PermissionReadSearch, GroupLabel: "Search", Label: "Search",
			Description: "Search and read the documents that you can see"},
		{Scope: directory.PermissionReadChat, GroupLabel: "Chat", Label: "Read chats",
			Description: "Read your conversations"},
		{Scope: directory.PermissionWriteChat, GroupLabel: "Chat", Label: "Chat",
			Description: "Hold conversations in your name"},
		{Scope: directory.PermissionLLMGateway, GroupLabel: "Models", Label: "Use models",
			Description: "Send requests to the configured language models"},
	}
	for i := range scopes {
		scopes[i].Implies = listed(directory.Implied(scopes[i].Scope))
	}
	return scopes
}

// tokenScopes answers GET /user/pats/scopes.
func tokenScopes(*call) (any, error) { return selectableScopes(), nil }

// listTokens answers GET /user/pats with the caller's own tokens.
func listTokens(c *call) (any, error) {
	d, err := c.directory(false)
	if err != nil {
		return nil, err
	}
	tokens, err := d.ListTokens(c.Context(), c.who.Tenant, c.who.Email)
	return mapped(tokens, directory.Token.Wire), err
}

// addToken answers POST /user/pats: it creates a token for the caller with at most the rights and lifetime of the caller's
// own token.
func addToken(c *call) (any, error) {
	const mostDays, mostName = 36_500, 100
	request := directory.TokenRequest{Tenant: c.who.Tenant, Email: c.who.Email, Parent: c.who.TokenID,
		Name: c.requireText("name", 1, mostName), Days: c.whole("expiration_days", 1, mostDays)}
	if _, ok := c.given("scopes"); ok {
		request.Scopes = listed(c.texts("scopes"))
	}
	if err := c.failure(); err != nil {
		return nil, err
	}
	if err := checkChosen(c.who, request.Scopes); err != nil {
		return nil, err
	}
	d, err := c.directory(true)
	if err != nil {
		return nil, err
	}
	token, secret, err := d.AddToken(c.Context(), request)
	return wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}, err
}

func checkChosen(who directory.Principal, scopes []string) error {
	if scopes == nil && who.Scoped {
		return forbidden("A token with scopes cannot make one without; name the scopes.")
	}
	if scopes != nil && len(scopes) == 0 {
		return coded(http.StatusBadRequest, "INVALID_INPUT", "A token needs at least one scope")
	}
	for _, scope := range scopes {
		if !slices.ContainsFunc(selectableScopes(), func(known tokenScope) bool { return known.Scope == scope }) {
			return coded(http.StatusBadRequest, "INVALID_INPUT", "Scope %s cannot be chosen", quoted(clip(scope)))
		}
		if !who.Can(scope) {
			return forbidden("You do not hold the scope %s", quoted(scope))
		}
	}
	return nil
}

// deleteToken answers DELETE /user/pats/{id}.
func deleteToken(c *call) (any, error) {
	id := c.pathNumber("id", "token_id")
	d, err := c.directory(false)
	if err != nil {
		return nil, err
	}
	err = d.RevokeToken(c.Context(), c.who.Tenant, c.who.Email, id)
	if errors.Is(err, directory.ErrNotFound) {
		err = coded(http.StatusNotFound, "NOT_FOUND", "Token not found")
	}
	return wire.MessageError{Message: "Token deleted successfully"}, err
}
