package config

import (
	"errors"
	"fmt"
	"strings"

	"quarry/client/wire"
)

// OnyxDefaultURL is the server of Onyx's own CLI when its configuration names none.
const OnyxDefaultURL = "https://cloud.onyx.app"

// OnyxCLI is the configuration of Onyx's own CLI, as far as it says where to search.
type OnyxCLI struct {
	File      string
	ServerURL string // checked, never empty
	Token     Secret // zero if that CLI was not set up
	Persona   int    // 0 is that CLI's default
}

// ReadOnyxCLI reads the configuration of Onyx's own CLI. A missing file is that CLI's defaults. One that cannot be
// used is ignored as a whole, with a warning: it is somebody else's file, and a token of it must not meet another
// server than its own.
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
		return OnyxCLI{}, errors.New("not the JSON that onyx-cli writes")
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
