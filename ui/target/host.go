package target

import (
	"context"
	"log/slog"
	"path/filepath"

	"quarry/client/wire"
	"quarry/config"
	"quarry/server"
)

// Host has the user's folders, environment and configuration. Its methods open servers and libraries.
type Host struct {
	Env     config.Env
	Paths   config.Paths
	Config  *config.Config
	Version string         // of this program
	Keyring config.Keyring // nil: none
	Log     *slog.Logger   // nil: nothing is logged
}

// NewHost finds the folders and reads the configuration.
func NewHost(env config.Env, version string) (*Host, error) {
	paths, err := config.Locate(env)
	if err != nil {
		return nil, err
	}
	read, err := config.Load(paths, env)
	if err != nil {
		return nil, err
	}
	h := &Host{Env: env, Paths: paths, Config: read, Version: version}
	if !read.Sandbox() {
		h.Keyring = config.SystemKeyring(env)
	}
	return h, nil
}

// ReadOnly reports whether QUARRY_READONLY forbids every change to a library, directory, token or profile.
func ReadOnly(env config.Env) bool { return config.ReadOnly(env) }

// Private reports whether the configuration forbids copies of results and stored conversations.
func (h *Host) Private() bool { return h.Config.Private }

// Warnings returns the warnings about the configuration.
func (h *Host) Warnings() []config.Warning { return h.Config.Warnings }

// Decide returns the target of a run. It opens nothing.
func (h *Host) Decide(request Request) (Choice, error) {
	return Decide(request, Sources{
		Config: h.Config, Environment: config.ReadEnvironment(h.Env), Paths: h.Paths, Probe: machine{h.Paths},
		Keyring: h.Keyring,
	})
}

// Trial returns the choice of an unsaved profile with a typed token, to test the connection.
func (h *Host) Trial(profile config.Profile, typed config.Secret) (Choice, error) {
	d := decision{Sources: Sources{Config: h.Config, Paths: h.Paths}}
	profile.Token, profile.TokenCommand = typed, ""
	if profile.ServerURL != "" {
		address, err := wire.ServerURL(profile.ServerURL)
		if err != nil {
			return Choice{}, &Error{Kind: ErrUsage, Problem: "server address: " + err.Error(),
				Fix: "use an address such as https://onyx.example.com"}
		}
		profile.ServerURL = address
	}
	c, err := d.ofProfile(RuleFlag, "the typed values", profile)
	if err != nil {
		return Choice{}, err
	}
	c.File = ""
	return *c, nil
}

// SaveProfile stores a profile as config.SaveProfile does.
func (h *Host) SaveProfile(ctx context.Context, profile config.NewProfile) (config.Saved, error) {
	if err := h.refuseChange("the configuration"); err != nil {
		return config.Saved{}, err
	}
	return h.Config.SaveProfile(ctx, profile, h.Keyring)
}

// LibraryFolder returns dir as an absolute path, or the folder of this machine's library if dir is empty.
func (h *Host) LibraryFolder(dir string) string {
	if dir == "" {
		return h.Paths.Data
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// refuseChange returns an error if QUARRY_READONLY is set, even if callers checked before.
func (h *Host) refuseChange(what string) error {
	if !ReadOnly(h.Env) {
		return nil
	}
	return &Error{Kind: ErrReadOnly, Problem: "changing " + what + " is disabled by QUARRY_READONLY",
		Fix: "unset QUARRY_READONLY to allow changes on this machine"}
}

// machine is the Probe of the real machine.
type machine struct{ paths config.Paths }

// HoldsDocuments does not create the library.
func (m machine) HoldsDocuments(dir string) (bool, error) {
	return server.HasDocuments(context.Background(), dir)
}

// OnyxCLI reads the configuration of Onyx's own CLI.
func (m machine) OnyxCLI() (config.OnyxCLI, *config.Warning) {
	return config.ReadOnyxCLI(m.paths.OnyxFile)
}
