package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

func (a *app) versionCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of client and server",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.printVersion(command.Context())
		},
	}
	return command
}

// printVersion never fails: a version is asked for when something else already did.
func (a *app) printVersion(ctx context.Context) error {
	server := a.serverVersion(ctx)
	if a.flags.json {
		text, err := encodeJSON(jsonVersion{Client: a.program.Version, Commit: a.program.Commit, Date: a.program.Date, Server: server,
			Schema: schemaVersion})
		if err != nil {
			return err
		}
		return a.print(text)
	}
	own := a.program.Version
	if a.program.Commit != "" {
		day, _, _ := strings.Cut(a.program.Date, "T")
		own += " (" + strings.TrimSpace(string(clipBytes([]byte(a.program.Commit), 7))+" "+day) + ")"
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
	session, err := a.open(ctx, choice)
	if err != nil {
		return "unknown (could not reach server)"
	}
	defer func() { _ = session.Close() }()
	version, err := session.Client.Version(ctx)
	switch {
	case err != nil:
		return "unknown (could not reach server)"
	case version.BackendVersion == "":
		return "unknown (empty response)"
	case version.Quarry != nil && version.Quarry.Version != "":
		return fmt.Sprintf("%s (quarry %s)", version.BackendVersion, version.Quarry.Version)
	}
	if choice.Kind == target.KindRemote && olderThan(version.BackendVersion, oldestTested) {
		a.note("this server is older than %d.0, the oldest that was tested", oldestTested)
	}
	return version.BackendVersion
}

// oldestTested is the oldest major version of Onyx that was tested.
const oldestTested = 3

// olderThan compares the major number of a version; text that is none, like Development, is not older.
func olderThan(version string, major int) bool {
	var found int
	if n, err := fmt.Sscanf(version, "%d.", &found); n != 1 || err != nil {
		n, err = fmt.Sscanf(version, "v%d.", &found)
		if n != 1 || err != nil {
			return false
		}
	}
	return found < major
}
