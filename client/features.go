package client

import (
	"context"
	"slices"
)

// Features tells what a server can do beyond Onyx's API. The zero value is a bare Onyx.
type Features struct {
	// Backend is the version of the Onyx API that the server names.
	Backend string
	// Quarry is the server's own version; empty for a bare Onyx.
	Quarry string
	// API is the version of quarry's additions; 0 for a bare Onyx.
	API int
	// Names lists the additions, such as wire.FeatureStream.
	Names []string
}

// Has tells whether the server has an addition.
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
