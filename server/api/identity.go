package api

import (
	"net/http"
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
)

// apiGeneration counts incompatible changes to what this server adds to the API.
const apiGeneration = 1

// health answers GET /health.
func (s *Server) health(w http.ResponseWriter, _ *http.Request, _ directory.Principal) error {
	return answer(w, wire.Status{Success: true, Message: "ok"})
}

// version answers GET /version.
func (s *Server) version(w http.ResponseWriter, _ *http.Request, _ directory.Principal) error {
	return answer(w, wire.Version{
		BackendVersion: BackendVersion,
		Quarry:         &wire.QuarryVersion{Version: s.Version, API: apiGeneration, Features: s.features()},
	})
}

// features are the additions that this server has. What federated sources hold is not found while one types.
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
func (s *Server) authType(w http.ResponseWriter, _ *http.Request, _ directory.Principal) error {
	return answer(w, wire.AuthType{AuthType: "basic"})
}

// me answers GET /me.
func (s *Server) me(w http.ResponseWriter, _ *http.Request, who directory.Principal) error {
	return answer(w, wire.Me{
		ID: who.UserID, Email: who.Email, IsActive: true, IsSuperuser: who.Admin, IsVerified: true,
		AccountType:     "STANDARD",
		Preferences:     map[string]any{"chosen_assistants": nil, "default_model": nil},
		Personalization: wire.Personalization{Name: who.Name, Memories: []wire.Memory{}},
		TokenExpiresAt:  timestamp(who.ExpiresAt), IsAnonymousUser: who.Anonymous,
		EffectivePermissions: append([]string{}, who.Permissions...), AdminCapabilities: []string{},
	})
}
