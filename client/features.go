package client

import (
	"context"
	"slices"
)

// Features lists a server's extensions of Onyx's API. The zero value is a bare Onyx.
type Features struct {
	// Backend is the version of the Onyx API.
	Backend string
	// Quarry is the server's own version; empty for a bare Onyx.
	Quarry string
	// API is the version of the extensions; 0 for a bare Onyx.
	API int
	// Names lists the extensions, such as wire.FeatureStream.
	Names []string
}

// Has reports whether the server has an extension.
func (f Features) Has(name string) bool { return slices.Contains(f.Names, name) }

// Features fetches the server's extensions on the first call and caches them.
func (c *Client) Features(ctx context.Context) (Features, error) {
	return c.features.get(ctx, forever, func(ctx context.Context) (Features, error) {
		version, err := c.Version(ctx)
		if err != nil {
			return Features{}, err
		}
		found := Features{Backend: version.BackendVersion}
		if version.Quarry != nil {
			found.Quarry, found.API, found.Names = version.Quarry.Version, version.Quarry.API, version.Quarry.Features
		}
		return found, nil
	})
}
