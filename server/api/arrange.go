package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
)

// arranging are the routes by which connectors, groups, document sets and agents are made.
func (s *Server) arranging() []route {
	const admin = directory.PermissionAdmin
	return []route{
		{pattern: "POST /manage/admin/connector", needs: admin, maxBody: megabyte, handle: s.addConnector},
		{pattern: "POST /manage/credential", needs: admin, maxBody: megabyte, handle: s.addCredential},
		{pattern: "PUT /manage/connector/{connector}/credential/{credential}", needs: admin, handle: s.addPair},
		{pattern: "POST /manage/admin/document-set", needs: admin, maxBody: megabyte, handle: s.addDocumentSet},
		{pattern: "POST /manage/admin/user-group", needs: admin, maxBody: megabyte, handle: s.addGroup},
		{pattern: "GET /manage/admin/user-group", needs: admin, handle: s.groups},
		{pattern: "POST /persona", needs: directory.PermissionBasic, maxBody: megabyte, changes: true, handle: s.addPersona},
		{pattern: "DELETE /persona/{id}", needs: directory.PermissionBasic, changes: true, handle: s.removePersona},
	}
}

// numbers reads a list of whole numbers.
func (f *fields) numbers(name string) []int {
	var numbers []int
	for i, raw := range f.list(name) {
		n, err := strconv.Atoi(strings.Trim(string(raw), `" `))
		if err != nil {
			f.refuse(raw, "int_parsing", "Input should be a valid integer", name, i)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// dictionary checks that a field, if it is given, is an object. What is in it is not for this server.
func (f *fields) dictionary(name string) {
	if raw, ok := f.given(name); ok {
		var object map[string]json.RawMessage
		if wire.Unmarshal(raw, &object) != nil {
			f.refuse(raw, "dict_type", "Input should be a valid dictionary", name)
		}
	}
}

func (f *fields) requireText(name string, most int) string {
	if !f.require(name) {
		return ""
	}
	return f.text(f.raw[name], 1, most, name)
}

func (f *fields) textOr(name, otherwise string, most int) string {
	if text := f.optionalText(name, most); text != nil {
		return *text
	}
	return otherwise
}

const (
	longestName   = 200     // characters, of sets and connectors
	longestLabel  = 100     // characters, of agents and groups
	longestPrompt = 100_000 // characters
)

func accessType(f *fields, required bool) directory.AccessType {
	raw, given := f.given("access_type")
	if !given {
		if required {
			f.require("access_type")
		}
		return directory.AccessPrivate
	}
	return directory.AccessType(f.enum(raw, directory.AccessTypes(), "access_type"))
}

// addConnector answers POST /manage/admin/connector. Documents are posted to this server, so that it keeps no more of a
// connector than its name and its source.
func (s *Server) addConnector(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	name := f.requireText("name", longestName)
	source := ""
	if f.require("source") {
		source = f.enum(f.raw["source"], sourceValues(), "source")
	}
	f.dictionary("connector_specific_config")
	accessType(f, false)
	f.numbers("groups")
	if err := f.failure(); err != nil {
		return err
	}
	d, err := s.Directory(r.Context(), true)
	if err != nil {
		return err
	}
	id, err := d.AddConnector(r.Context(), who.Tenant, name, source)
	if err != nil {
		return err
	}
	return answer(w, wire.Created{ID: id})
}

// addCredential answers POST /manage/credential. The secret in it is dropped: this server never signs in anywhere with
// it, and what is not kept cannot be lost.
func (s *Server) addCredential(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	source := ""
	if f.require("source") {
		source = f.enum(f.raw["source"], sourceValues(), "source")
	}
	name := f.textOr("name", source, longestName)
	f.dictionary("credential_json")
	if err := f.failure(); err != nil {
		return err
	}
	d, err := s.Directory(r.Context(), true)
	if err != nil {
		return err
	}
	id, err := d.AddCredential(r.Context(), who.Tenant, name, source)
	if err != nil {
		return err
	}
	return answer(w, wire.Created{ID: id})
}

// pathNumber reads a number out of the path of a route.
func pathNumber(r *http.Request, name, field string) (int, error) {
	id, err := strconv.Atoi(r.PathValue(name))
	if err != nil {
		f := newFields("path")
		f.refuse(mustJSON(r.PathValue(name)), "int_parsing", "Input should be a valid integer", field)
		return 0, f.failure()
	}
	return id, nil
}

// addPair answers PUT /manage/connector/{connector}/credential/{credential}.
func (s *Server) addPair(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	connector, err := pathNumber(r, "connector", "connector_id")
	if err != nil {
		return err
	}
	credential, err := pathNumber(r, "credential", "credential_id")
	if err != nil {
		return err
	}
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	request := directory.PairRequest{
		ConnectorID: connector, CredentialID: credential, Creator: who.Email,
		Name: f.textOr("name", "", longestName), Access: accessType(f, true), GroupIDs: f.numbers("groups"),
	}
	if err := f.failure(); err != nil {
		return err
	}
	d, err := s.Directory(r.Context(), true)
	if err != nil {
		return err
	}
	id, made, err := d.AddCCPair(r.Context(), who.Tenant, request)
	if err != nil {
		return err
	}
	said := "Created new association between connector and credential"
	if !made {
		said = "The connector already has this credential"
	}
	return answer(w, wire.PairResponse{Success: made, Message: said, Data: id})
}

// addGroup answers POST /manage/admin/user-group.
func (s *Server) addGroup(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	name, users, pairs := f.requireText("name", longestLabel), f.texts("user_ids"), f.numbers("cc_pair_ids")
	if err := f.failure(); err != nil {
		return err
	}
	d, err := s.Directory(r.Context(), true)
	if err != nil {
		return err
	}
	group, err := d.AddGroup(r.Context(), who.Tenant, name, users, pairs)
	if err != nil {
		return err
	}
	if err := s.Settle(r.Context(), who.Tenant); err != nil {
		return err
	}
	known, err := d.CCPairs(r.Context(), who.Tenant)
	if err != nil {
		return err
	}
	return answer(w, wireGroup(group, known))
}

// groups answers GET /manage/admin/user-group.
func (s *Server) groups(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	d, err := s.Directory(r.Context(), false)
	if err != nil {
		return err
	}
	groups, err := d.Groups(r.Context(), who.Tenant)
	if err != nil {
		return err
	}
	known, err := d.CCPairs(r.Context(), who.Tenant)
	if err != nil {
		return err
	}
	list := []wire.UserGroup{}
	for _, group := range groups {
		list = append(list, wireGroup(group, known))
	}
	return answer(w, list)
}

func wireGroup(group directory.Group, known []directory.CCPair) wire.UserGroup {
	described := wire.UserGroup{ID: group.ID, Name: group.Name, Users: []wire.GroupMember{}, IsUpToDate: true,
		CCPairs: summaries(group.CCPairs, known)}
	for _, member := range group.Members {
		described.Users = append(described.Users, wire.GroupMember{ID: member.ID, Email: member.Email, IsActive: member.Active})
	}
	return described
}

// summaries name those of the known pairs whose ids are given.
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

// addDocumentSet answers POST /manage/admin/document-set.
func (s *Server) addDocumentSet(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	details := directory.SetDetails{
		DocumentSet: directory.DocumentSet{
			Name: f.requireText("name", longestName), Description: f.textOr("description", "", longestPrompt),
			Public: f.flag("is_public"),
		},
		Audience: directory.Audience{Users: f.texts("users"), Groups: f.numbers("groups")},
		CCPairs:  f.numbers("cc_pair_ids"),
	}
	federated := f.list("federated_connectors")
	if err := f.failure(); err != nil {
		return err
	}
	if len(federated) > 0 {
		return coded(http.StatusNotFound, "CONNECTOR_NOT_FOUND", "This server has no federated connectors")
	}
	d, err := s.Directory(r.Context(), true)
	if err != nil {
		return err
	}
	id, err := d.CreateDocumentSet(r.Context(), who.Tenant, details)
	if err != nil {
		return err
	}
	if err := s.Settle(r.Context(), who.Tenant); err != nil {
		return err
	}
	return answer(w, id)
}
