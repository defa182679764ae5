package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/target"
)

// versionTime is how long a server may take to tell its version.
const versionTime = 5 * time.Second

// jsonVersion is version --json, version 1.
type jsonVersion struct {
	Client string `json:"client_version"`
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	Server string `json:"server_version"`
	Schema int    `json:"schema"`
}

// printVersion never fails: a version is asked for when something else already did.
func (a *app) printVersion(ctx context.Context, _ []string) error {
	server := a.serverVersion(ctx)
	if a.flags.json {
		return a.printJSON(jsonVersion{Client: a.program.Version, Commit: a.program.Commit, Date: a.program.Date, Server: server,
			Schema: schemaVersion})
	}
	own := a.program.Version
	if a.program.Commit != "" {
		day, _, _ := strings.Cut(a.program.Date, "T")
		own += " (" + strings.TrimSpace(text.Clip(a.program.Commit, 7)+" "+day) + ")"
	}
	return a.print(fmt.Appendf(nil, "Client version: %s\nServer version: %s\n", own, server))
}

func (a *app) serverVersion(ctx context.Context) string {
	limit := versionTime
	if a.flags.timeout > 0 {
		limit = min(limit, a.flags.timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	choice, err := a.decideTarget(a.request())
	if err != nil {
		return "unknown (not configured)"
	}
	found := "unknown (could not reach server)"
	_ = a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) error { // found says that it failed
		version, err := c.Version(ctx)
		if err != nil {
			return err
		}
		found = versionText(version)
		if isTooOld(version, choice) {
			a.note("this server is older than %d.0, the oldest that was tested", oldestTested)
		}
		return nil
	})
	return found
}

func versionText(version *wire.Version) string {
	if version.Quarry != nil && version.Quarry.Version != "" {
		return fmt.Sprintf("%s (quarry %s)", version.BackendVersion, version.Quarry.Version)
	}
	return cmp.Or(version.BackendVersion, "unknown (empty response)")
}

// isTooOld reports whether a server is an Onyx older than the oldest that was tested.
func isTooOld(version *wire.Version, choice target.Choice) bool {
	return version.Quarry == nil && choice.Kind == target.KindRemote && olderThan(version.BackendVersion, oldestTested)
}

// oldestTested is the oldest major version of Onyx that was tested.
const oldestTested = 3

// olderThan compares the major number of a version; text that is none, like Development, is not older.
func olderThan(version string, major int) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	found, err := strconv.Atoi(first)
	return err == nil && found < major
}
