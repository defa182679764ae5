package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/directory"
)

// directoryRoutes returns the routes that create connectors, groups, document sets and agents.
func directoryRoutes() []route {
	const admin = directory.PermissionAdmin
	return []route{
		withBody("POST /manage/admin/connector", admin, addConnector, large),
		withBody("POST /manage/credential", admin, addCredential, large),
		withBody("PUT /manage/connector/{connector}/credential/{credential}", admin, addPair),
		withBody("POST /manage/admin/document-set", admin, addDocumentSet, large, syncs),
		withBody("PATCH /manage/admin/document-set", admin, changeDocumentSet, large, syncs),
		noBody("DELETE /manage/admin/document-set/{id}", admin, numbered("document_set_id", deleteDocumentSet), syncs),
		noBody("GET /manage/connector", directory.PermissionReadConnectors, connectors),
		noBody("GET /manage/connector/{id}", directory.PermissionReadConnectors, numbered("connector_id", connector)),
		withBody("POST /persona", directory.PermissionAddAgents, addPersona, large, changes),
		withBody("PATCH /persona/{id}", directory.PermissionBasic, changePersona, large, changes),
		noBody("DELETE /persona/{id}", directory.PermissionBasic, removePersona, changes),
		noBody("GET /persona/labels", directory.PermissionBasic, noLabels),
		noBody("GET /tool", directory.PermissionBasic, tools),
	}
}

const (
	longestName   = 200     // characters, of sets and connectors
	longestLabel  = 100     // characters, of agents and groups
	longestPrompt = 100_000 // characters
)

func (f *fields) accessType() directory.AccessType {
	return directory.AccessType(f.enumOr("access_type", string(directory.AccessPrivate), directory.AccessTypes()...))
}

// source reads the required field source.
func (f *fields) source() string { return f.requireEnum("source", wire.SourceValues()) }

// addConnector answers POST /manage/admin/connector. Connectors post documents to this server, which therefore stores
// only their name and source.
func addConnector(c *call) any {
	name, source := c.requireText("name", 1, longestName), c.source()
	c.dictionary("connector_specific_config")
	c.accessType()
	c.numbers("groups")
	check(c.failure())
	return wire.Created{ID: must(c.directory.AddConnector(name, source))}
}

// addCredential answers POST /manage/credential. Its secret is not stored: this server never signs in
// anywhere.
func addCredential(c *call) any {
	source := c.source()
	name := *cmp.Or(c.optionalText("name", longestName), &source)
	c.dictionary("credential_json")
	check(c.failure())
	made := wireCredential(must(c.directory.AddCredential(name, source)), name, source, directory.Timestamp(c.Now()))
	return wire.Created{ID: made.ID, Credential: &made}
}

// addPair answers PUT /manage/connector/{connector}/credential/{credential}.
func addPair(c *call) any {
	credential := c.pathNumber("credential", "credential_id")
	connector := c.pathNumber("connector", "connector_id") // last, because its error is the one that is reported
	request := directory.PairRequest{
		ConnectorID: connector, CredentialID: credential, Creator: c.who.Email, Name: c.textOf("name", longestName),
	}
	c.require("access_type")
	request.Access, request.GroupIDs = c.accessType(), c.numbers("groups")
	if c.who.Owner {
		request.Creator = cmp.Or(c.textOf("creator", longestName), c.who.Email)
	}
	check(c.failure())
	id, made, err := c.directory.AddCCPair(request)
	check(err)
	message := "Created new association between connector and credential"
	if !made {
		message = "The connector already has this credential"
	}
	return wire.PairResponse{Success: made, Message: message, Data: id}
}

// summaries describes the known pairs with these ids.
func summaries(ids []int, known []directory.CCPair) []wire.ConnectorSummary {
	named := []wire.ConnectorSummary{}
	for _, pair := range known {
		if slices.Contains(ids, pair.ID) {
			named = append(named, wire.ConnectorSummary{ID: pair.ID, Name: pair.Name, Source: pair.Source,
				AccessType: string(pair.Access)})
		}
	}
	return named
}

// readSet reads a document set. As in Onyx, it needs a connector; a set of the owner may be for added files.
func (c *call) readSet(doing string) directory.SetDetails {
	details := directory.SetDetails{
		DocumentSet: directory.DocumentSet{
			Name: c.requireText("name", 1, longestName), Description: c.textOf("description", longestPrompt),
			Public: c.flag("is_public"),
		},
		Audience: directory.Audience{Users: c.texts("users"), Groups: c.numbers("groups")},
		CCPairs:  c.numbers("cc_pair_ids"),
	}
	federated := c.list("federated_connectors")
	check(c.failure())
	switch {
	case len(federated) > 0:
		abort(coded("CONNECTOR_NOT_FOUND", "This server has no federated connectors"))
	case len(details.CCPairs) == 0 && !c.who.Owner:
		abort(coded("VALIDATION_ERROR", "Cannot %s a document set with no connectors", doing))
	}
	return details
}

// addDocumentSet answers POST /manage/admin/document-set.
func addDocumentSet(c *call) any { return must(c.directory.CreateDocumentSet(c.readSet("create"))) }

// setNumbered returns the document set with an id.
func (c *call) setNumbered(id int) directory.DocumentSet { return c.setsByID([]int{id})[0] }

// changeDocumentSet answers PATCH /manage/admin/document-set. A set with added files keeps its name, which they name.
func changeDocumentSet(c *call) any {
	c.require("id")
	id := c.wholeOr("id", 0, 0, anyNumber)
	details := c.readSet("update")
	known := c.setNumbered(id)
	if details.ID = id; details.Name != known.Name && c.addedTo(known.Name) > 0 {
		abort(coded("VALIDATION_ERROR", "A document set with added files cannot be renamed"))
	}
	check(c.directory.UpdateDocumentSet(details))
	return nil
}

// deleteDocumentSet answers DELETE /manage/admin/document-set/{id}. It does not remove the documents. A set with added
// files is refused: the next sync would create it again.
func deleteDocumentSet(c *call, id int) any {
	name := c.setNumbered(id).Name
	if added := c.addedTo(name); added > 0 {
		abort(coded("VALIDATION_ERROR", "document set %q contains %s of the local library; to remove "+
			"the documents and the set, run quarry remove --set", name, text.Count(added, "document")))
	}
	err := c.directory.RemoveDocumentSet(name)
	if refused, ok := errors.AsType[directory.InputError](err); ok {
		err = coded("VALIDATION_ERROR", "%s", refused.Reason)
	}
	check(err)
	return nil
}

// connectors answers GET /manage/connector.
func connectors(c *call) any { return mapped(must(c.directory.Connectors(0)), wireConnectorOf) }

// connector answers GET /manage/connector/{id}.
func connector(c *call, id int) any {
	found := must(c.directory.Connectors(id))
	if len(found) != 1 || found[0].ID != id {
		abort(detailed(http.StatusNotFound, fmt.Sprintf("Connector %d does not exist", id)))
	}
	return wireConnectorOf(found[0])
}

// wireConnectorOf describes a connector. Documents are posted to it, so it has no configuration and no schedule.
func wireConnectorOf(connector directory.Connector) wire.Connector {
	made := directory.Timestamp(connector.CreatedAt)
	return wire.Connector{ID: connector.ID, Name: connector.Name, Source: connector.Source, InputType: "load_state",
		Config: map[string]any{}, CredentialIDs: listed(connector.Credentials), TimeCreated: made, TimeUpdated: made}
}

// tokenScope is a selectable scope in the answer of GET /user/pats/scopes.
type tokenScope struct {
	Scope       string   `json:"scope"`
	GroupLabel  string   `json:"group_label"`
	Label       string   `json:"label"`
	Description string   `json:"description"`
	MinTier     string   `json:"min_tier"`
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
		scopes[i].MinTier = "community" // there are no tiers
		scopes[i].Implies = listed(directory.Implied(scopes[i].Scope))
	}
	return scopes
}

// tokenScopes answers GET /user/pats/scopes.
func tokenScopes(*call) any { return selectableScopes() }

// listTokens answers GET /user/pats with the caller's own tokens, the newest first. The owner in this process gets
// those of all users, the oldest first.
func listTokens(c *call) any {
	user := c.who.Email
	if c.who.Owner {
		user = ""
	}
	tokens := must(c.directory.ListTokens(user))
	if !c.who.Owner {
		slices.Reverse(tokens)
	}
	return mapped(tokens, func(token directory.Token) wire.DirectoryToken {
		described := wire.DirectoryToken{AccessToken: token.Wire()}
		if c.who.Owner {
			described.User = token.Email
		}
		return described
	})
}

// addToken answers POST /user/pats: it creates a token for the caller with at most the rights and lifetime of the
// caller's own token. The owner in this process may name another user, and any scopes.
func addToken(c *call) any {
	const mostDays, mostName = 36_500, 100
	request := directory.TokenRequest{Tenant: c.who.Tenant, Email: c.who.Email, Parent: c.who.TokenID,
		Name: c.requireText("name", 1, mostName), Days: c.whole("expiration_days", 1, mostDays)}
	if _, ok := c.given("scopes"); ok {
		request.Scopes = listed(c.texts("scopes"))
	}
	if c.who.Owner {
		request.Email = cmp.Or(c.textOf("user", longestName), c.who.Email)
	}
	check(c.failure())
	if !c.who.Owner {
		check(checkChosen(c.who, request.Scopes))
	}
	token, secret, err := c.Directory.AddToken(c.ctx, request)
	check(err)
	return wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}
}

func checkChosen(who directory.Principal, scopes []string) error {
	if scopes == nil && who.Scoped {
		return forbidden("A token with scopes cannot make one without; name the scopes.")
	}
	if scopes != nil && len(scopes) == 0 {
		return coded("INVALID_INPUT", "A token needs at least one scope")
	}
	for _, scope := range scopes {
		if !slices.ContainsFunc(selectableScopes(), func(known tokenScope) bool { return known.Scope == scope }) {
			return coded("INVALID_INPUT", "Scope %s cannot be chosen", quoted(clip(scope)))
		}
		if !who.Can(scope) {
			return forbidden("You do not have the scope %s", quoted(scope))
		}
	}
	return nil
}

// deleteToken answers DELETE /user/pats/{id}. The owner in this process may revoke the token of any user.
func deleteToken(c *call, id int) any {
	user, missing := c.who.Email, error(coded("NOT_FOUND", "Token not found"))
	if c.who.Owner {
		user, missing = "", directory.MissingError{Kind: directory.KindToken, Named: strconv.Itoa(id)}
	}
	absent, err := c.directory.IsAbsent() // revoking would create it
	if err == nil && !absent {
		err = c.directory.RevokeToken(user, id)
	}
	if absent || errors.Is(err, directory.ErrNotFound) {
		err = missing
	}
	check(err)
	return wire.MessageError{Message: "Token deleted successfully"}
}
