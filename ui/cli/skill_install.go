package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/internal/guard"
)

const (
	skillFile    = "SKILL.md"
	skillsFolder = ".agents/skills"
	mostSkill    = 1 << 20 // bytes of a file that is compared
)

// harness is a program that runs AI agents, with its folders of skills. An empty one is .agents/skills itself.
type harness struct{ name, project, global string }

func harnesses() []harness {
	return []harness{{"claude-code", ".claude/skills", ".claude/skills"},
		{"opencode", ".opencode/skills", ".config/opencode/skills"},
		{"codex", "", ".codex/skills"}, {"cursor", "", ".cursor/skills"}, {"gemini-cli", "", ".gemini/skills"},
		{"github-copilot", "", ".copilot/skills"}}
}

// installed is a file or link of a skill, and what happened to it.
type installed struct {
	Path   string `json:"path"`
	Action string `json:"action" jsonschema:"installed, updated, replaced, unchanged, linked or copied"`
	Target string `json:"target,omitempty" jsonschema:"of a link"`
}

// filesOutput is the JSON of install-skill and skill render.
type filesOutput struct {
	Files  []installed `json:"files"`
	Schema int         `json:"schema" jsonschema:"version of this format"`
}

// skillInstaller writes a skill below one folder and never outside of it: links that lead out of the folder are errors.
type skillInstaller struct {
	app    *app
	root   *os.Root
	folder string // the root as it is printed
	text   string
	Global bool `flag:"global,g" usage:"install for all projects, below the home folder"`
	Copy   bool `flag:"copy" usage:"copy the skill for each program instead of linking it"`
	Force  bool `flag:"force" usage:"replace a skill that was edited"`
	done   []installed
}

// agentCommands returns the commands for AI agents.
func (a *app) agentCommands() []*cobra.Command {
	return []*cobra.Command{a.installSkillCommand(), a.skillCommand(), a.mcpCommand()}
}

func (a *app) installSkillCommand() *cobra.Command {
	var agents []string
	installer := skillInstaller{app: a}
	var command *cobra.Command
	command = a.newCommand("install-skill", "Install the skill that teaches AI agents these commands",
		traits{class: reads, json: prints(filesOutput{})}, func(context.Context, []string) {
			installer.folder = "."
			if installer.Global {
				installer.folder = a.homeFolder()
			}
			var err error
			installer.root, err = os.OpenRoot(a.io.path(installer.folder))
			guard.While("install the skill", err)
			defer installer.root.Close()
			programs := chosenHarnesses(agents)
			installer.text = signed(commandSkill(command.Root()))
			err = installer.install(programs)
			guard.Check(errors.Join(err, guard.Ended(func() { a.printInstalled(installer.done) })))
		})
	flags := command.Flags()
	bindFlags(flags, &installer)
	names := exslices.CastFunc(harnesses(), func(h harness) string { return h.name })
	flags.StringSliceVarP(&agents, "agent", "a", []string{"claude-code"},
		"also for this program (`NAME`): "+strings.Join(names, ", ")+"; repeatable")
	a.register(command, "agent", fixed(names))
	return command
}

func (a *app) homeFolder() string {
	if home := a.io.Env.Getenv("HOME"); home != "" {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil {
		refuse("Set HOME, or omit --global.", "the home folder is unknown")
	}
	return home
}

// chosenHarnesses returns the programs with these names.
func chosenHarnesses(names []string) (chosen []harness) {
	known := map[string]harness{}
	for _, h := range harnesses() {
		known[h.name] = h
	}
	for _, name := range names {
		h, found := known[name]
		if !found {
			refuseValue("agent", name, "quarry install-skill --help", slices.Sorted(maps.Keys(known)))
		}
		chosen = append(chosen, h)
	}
	return chosen
}

// install writes the skill, and links or copies it for each program. After an error with one program the others follow.
func (i *skillInstaller) install(programs []harness) error {
	canonical := path.Join(skillsFolder, "quarry")
	if err := guard.Ended(func() { i.write(canonical, "installed") }); err != nil {
		return err
	}
	var errs []error
	for _, program := range programs {
		folder := program.project
		if i.Global {
			folder = program.global
		}
		if folder == "" {
			i.app.say("%s reads %s: nothing to link.", program.name, skillsFolder)
			continue
		}
		errs = append(errs, guard.Ended(func() { i.link(path.Join(folder, "quarry"), canonical) }))
	}
	return errors.Join(errs...)
}

// write writes SKILL.md in a folder, and notes what happened; action is what it is called if there was none.
func (i *skillInstaller) write(folder, action string) {
	file := path.Join(folder, skillFile)
	if info, err := i.root.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		i.check(file, err)
		if !info.Mode().IsRegular() {
			guard.Abort(fail(ExitGeneral, "Remove it, then install the skill again.", "%s is not a regular file", file))
		}
		old, err := i.read(file)
		i.check(file, err)
		switch {
		case old == i.text:
			i.note("unchanged", file, "")
			return
		case isSigned(old):
			action = "updated"
		case !i.Force:
			guard.Abort(fail(ExitGeneral, "To replace it with the skill of this version, add --force.",
				"%s was edited: not replaced", file))
		default:
			action = "replaced"
		}
	}
	i.check(file, i.replace(file))
	i.note(action, file, "")
}

func (i *skillInstaller) note(action, file, target string) {
	i.done = append(i.done,
		installed{Path: path.Join(filepath.ToSlash(i.folder), file), Action: action, Target: target})
}

func (i *skillInstaller) read(file string) (string, error) {
	opened, err := i.root.Open(file)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, mostSkill))
	return string(content), err
}

// replace writes a file under another name first, so that a reader never sees half of it.
func (i *skillInstaller) replace(file string) error {
	if err := i.root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	temporary := fmt.Sprintf("%s.%d.tmp", file, os.Getpid())
	if err := i.root.WriteFile(temporary, []byte(i.text), 0o644); err != nil {
		return err
	}
	if err := i.root.Rename(temporary, file); err != nil {
		return errors.Join(err, i.root.Remove(temporary))
	}
	return nil
}

// link makes a link to the canonical folder, or with --copy a copy of it. A copy that is there is kept up to date.
func (i *skillInstaller) link(link, canonical string) {
	target, err := filepath.Rel(filepath.FromSlash(path.Dir(link)), filepath.FromSlash(canonical))
	i.check(link, err)
	info, err := i.root.Lstat(link)
	exists := !errors.Is(err, fs.ErrNotExist)
	if exists {
		i.check(link, err)
	}
	if exists && info.Mode()&fs.ModeSymlink != 0 {
		if old, err := i.root.Readlink(link); err != nil || old != target {
			guard.Abort(fail(ExitGeneral, "Remove the link, then install the skill again.", "%s is a link to %s",
				link, old))
		}
		if !i.Copy {
			i.note("unchanged", link, canonical)
			return
		}
		i.check(link, i.root.Remove(link))
		exists = false
	}
	if !exists && !i.Copy {
		i.check(link, i.root.MkdirAll(path.Dir(link), 0o755))
		err := i.root.Symlink(target, link)
		if err == nil {
			i.note("linked", link, canonical)
			return
		}
		// As on Windows without the right to link.
		i.app.note("cannot link %s: %v; copying the skill", link, errors.Unwrap(err))
	}
	i.write(link, "copied")
}

// check explains an error of the file system, if there is one.
func (i *skillInstaller) check(file string, err error) {
	if err == nil {
		return
	}
	do := "Check the permissions of the folder."
	if errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), "escapes") {
		do = "If a folder on the way is a link to elsewhere, install the skill in the folder that it leads to."
	}
	guard.Abort(fail(ExitGeneral, do, "cannot write %s: %w", file, err))
}

// printInstalled lists what was written.
func (a *app) printInstalled(done []installed) {
	var b strings.Builder
	for _, one := range done {
		words := map[string]string{"installed": "Installed", "updated": "Updated", "replaced": "Replaced the edited",
			"unchanged": "Up to date:", "linked": "Linked", "copied": "Copied to"}
		line := words[one.Action] + " " + one.Path
		if one.Target != "" {
			line += " -> " + one.Target
		}
		b.WriteString(printable(line) + "\n")
	}
	a.printOr(filesOutput{done, schemaVersion}, b.String())
}

const signature = "\n<!-- written by quarry, sha256 "

// signed adds a checksum of the text, so that an edited file differs from one of an older version.
func signed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return text + signature + hex.EncodeToString(sum[:]) + " -->\n"
}

// isSigned reports whether a file is as quarry wrote it.
func isSigned(file string) bool {
	at := strings.LastIndex(file, signature)
	return at >= 0 && signed(file[:at]) == file
}
