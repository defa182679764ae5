package api

import (
	"errors"
	"net/http"
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
)

// tokenScope is a scope that people may choose for a token, as GET /user/pats/scopes shows it.
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
		scopes[i].Implies = append([]string{}, directory.Implied(scopes[i].Scope)...)
	}
	return scopes
}

// tokenScopes answers GET /user/pats/scopes.
func (s *Server) tokenScopes(w http.ResponseWriter, _ *http.Request, _ directory.Principal) error {
	return answer(w, selectableScopes())
}

// listTokens answers GET /user/pats with the caller's own tokens.
func (s *Server) listTokens(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	d, err := s.Directory(r.Context(), false)
	if err != nil {
		return err
	}
	tokens, err := d.ListTokens(r.Context(), who.Tenant, who.Email)
	if err != nil {
		return err
	}
	list := []wire.AccessToken{}
	for _, t := range tokens {
		list = append(list, t.Wire())
	}
	return answer(w, list)
}

// addToken answers POST /user/pats: a token for the caller, never one that may do more than the caller's own, or longer.
func (s *Server) addToken(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	const mostDays, mostName = 36_500, 100
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	request := directory.TokenRequest{Tenant: who.Tenant, Email: who.Email, Parent: who.TokenID}
	if f.require("name") {
		request.Name = f.text(f.raw["name"], 1, mostName, "name")
	}
	request.Days = f.whole("expiration_days", 1, mostDays)
	if _, ok := f.given("scopes"); ok {
		request.Scopes = append([]string{}, f.texts("scopes")...)
	}
	if err := f.failure(); err != nil {
		return err
	}
	if err := checkChosen(who, request.Scopes); err != nil {
		return err
	}
	d, err := s.Directory(r.Context(), true)
	if err != nil {
		return err
	}
	token, secret, err := d.AddToken(r.Context(), request)
	if err != nil {
		return err
	}
	return answer(w, wire.NewAccessToken{AccessToken: token.Wire(), Token: secret})
}

func checkChosen(who directory.Principal, scopes []string) error {
	if scopes == nil && who.Scoped {
		return coded(http.StatusForbidden, "INSUFFICIENT_PERMISSIONS",
			"A token with scopes cannot make one without; name the scopes.")
	}
	if scopes != nil && len(scopes) == 0 {
		return coded(http.StatusBadRequest, "INVALID_INPUT", "A token needs at least one scope")
	}
	for _, scope := range scopes {
		if !slices.ContainsFunc(selectableScopes(), func(known tokenScope) bool { return known.Scope == scope }) {
			return coded(http.StatusBadRequest, "INVALID_INPUT", "Scope %s cannot be chosen", quoted(clip(scope)))
		}
		if !who.Can(scope) {
			return coded(http.StatusForbidden, "INSUFFICIENT_PERMISSIONS", "You do not hold the scope %s", quoted(scope))
		}
	}
	return nil
}

// deleteToken answers DELETE /user/pats/{id}.
func (s *Server) deleteToken(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	id, err := pathNumber(r, "id", "token_id")
	if err != nil {
		return err
	}
	d, err := s.Directory(r.Context(), false)
	if err != nil {
		return err
	}
	err = d.RevokeToken(r.Context(), who.Tenant, who.Email, id)
	if errors.Is(err, directory.ErrNotFound) {
		return coded(http.StatusNotFound, "NOT_FOUND", "Token not found")
	}
	if err != nil {
		return err
	}
	return answer(w, wire.MessageError{Message: "Token deleted successfully"})
}
