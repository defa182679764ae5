package api

import (
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
)

// apiGeneration counts incompatible changes to what this server adds to the API.
const apiGeneration = 1

// health answers GET /health.
func health(*call) (any, error) { return wire.Status{Success: true, Message: "ok"}, nil }

// version answers GET /version.
func (s *Server) version(*call) (any, error) {
	return wire.Version{
		BackendVersion: BackendVersion,
		Quarry:         &wire.QuarryVersion{Version: s.Version, API: apiGeneration, Features: s.features()},
	}, nil
}

// features lists the server's extensions. Instant searches do not include federated sources.
func (s *Server) features() []string {
	known := []string{
		wire.FeatureStream, wire.FeatureFacets, wire.FeatureChunks, wire.FeatureSuggest, wire.FeatureInstant,
		wire.FeatureNumResults, wire.FeaturePhrases, wire.FeatureTimeUntil, wire.FeatureAuthors,
		wire.FeatureDocumentTypes, wire.FeatureExplain,
	}
	if s.Empty {
		known = slices.DeleteFunc(known, func(f string) bool { return f == wire.FeatureInstant })
	}
	return known
}

// authType answers GET /auth/type.
func authType(*call) (any, error) { return wire.AuthType{AuthType: "basic"}, nil }

// me answers GET /me.
func me(c *call) (any, error) {
	who := c.who
	return wire.Me{
		ID: who.UserID, Email: who.Email, IsActive: true, IsSuperuser: who.Admin, IsVerified: true,
		AccountType:     "STANDARD",
		Preferences:     map[string]any{"chosen_assistants": nil, "default_model": nil},
		Personalization: wire.Personalization{Name: who.Name, Memories: []wire.Memory{}},
		TokenExpiresAt:  directory.TimestampOrNil(who.ExpiresAt), IsAnonymousUser: who.Anonymous,
		EffectivePermissions: listed(who.Permissions), AdminCapabilities: []string{},
	}, nil
}
