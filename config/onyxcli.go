package config

import (
	"errors"
	"fmt"
	"strings"

	"quarry/client/wire"
)

// OnyxDefaultURL is the default server of Onyx's own CLI.
const OnyxDefaultURL = "https://cloud.onyx.app"

// OnyxCLI is the part of the configuration of Onyx's own CLI that quarry uses.
type OnyxCLI struct {
	File      string
	ServerURL string // checked, never empty
	Token     Secret // zero if that CLI was not set up
	Persona   int    // 0 is that CLI's default
}

// ReadOnyxCLI reads the configuration of Onyx's own CLI. A missing file means that CLI's defaults. An invalid file is
// ignored as a whole, with a warning, so that its token is never sent to another server.
func ReadOnyxCLI(path string) (OnyxCLI, *Warning) {
	unset := OnyxCLI{File: path, ServerURL: OnyxDefaultURL}
	if path == "" {
		return unset, nil
	}
	ignored := func(problem string) (OnyxCLI, *Warning) {
		return unset, &Warning{Text: fmt.Sprintf("%s is ignored: %s", path, problem),
			Remedy: "correct the file with onyx-cli, or remove it"}
	}
	content, found, err := readFile(path)
	if err != nil {
		return ignored("it cannot be read")
	}
	if !found {
		return unset, nil
	}
	read, err := parseOnyxCLI(content.bytes)
	if err != nil {
		return ignored(err.Error())
	}
	read.File = path
	return read, nil
}

// parseOnyxCLI never quotes the file in its errors.
func parseOnyxCLI(data []byte) (OnyxCLI, error) {
	if len(data) > maxFile {
		return OnyxCLI{}, fmt.Errorf("larger than %d KB", maxFile>>10)
	}
	var raw struct {
		ServerURL string `json:"server_url"`
		APIKey    string `json:"api_key"`
		Persona   int    `json:"default_persona_id"`
	}
	if err := wire.Unmarshal(data, &raw); err != nil {
		return OnyxCLI{}, errors.New("not JSON as onyx-cli writes it")
	}
	read := OnyxCLI{ServerURL: OnyxDefaultURL, Token: NewSecret(strings.TrimSpace(raw.APIKey)), Persona: raw.Persona}
	if err := checkSecret(read.Token); err != nil {
		return OnyxCLI{}, fmt.Errorf("api_key: %w", err)
	}
	if raw.Persona < 0 {
		return OnyxCLI{}, errors.New("default_persona_id is negative")
	}
	if strings.TrimSpace(raw.ServerURL) == "" {
		return read, nil
	}
	address, err := wire.ServerURL(raw.ServerURL)
	if err != nil {
		return OnyxCLI{}, fmt.Errorf("server_url: %w", err)
	}
	read.ServerURL = address
	return read, nil
}
