package cli

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

const companySkill = "company-search"

// Bounds of what a rendered skill says in words of a server.
const (
	mostSkillSources  = 100
	mostSkillAgents   = 50
	mostSkillExamples = 5   // of each source
	skillNameRunes    = 60  // of agents, tags and channels
	skillTextRunes    = 160 // of descriptions
)

func (a *app) skillCommand() *cobra.Command {
	var dir string
	var render *cobra.Command
	render = a.listing("render", "Write a skill with the sources that this token can search",
		traits{class: reads, json: prints(filesOutput{})}, func(ctx context.Context, c *client.Client,
			choice target.Choice, _ []string) {
			if dir == "-" && a.flags.JSON {
				refuse("Omit --json, or give a folder.", "--dir - prints the skill, which is not JSON")
			}
			a.writeSkill(dir, a.skillSnapshot(ctx, c).skill(render.Root(), a.targetFlags()))
		})
	render.Flags().StringVar(&dir, "dir", ".",
		"write to the folder company-search of this folder (`DIR`); - prints the skill")
	return a.group("skill", "Write a skill about what can be searched", render)
}

// skillSnapshot is what a token can search at the moment.
type skillSnapshot struct {
	list     client.SourceList
	examples map[string][]string // by source
	agents   []wire.Persona      // nil: the token may not list them
}

func (a *app) skillSnapshot(ctx context.Context, c *client.Client) skillSnapshot {
	list, examples := guard.Must(c.Sources(ctx)), skillExamples(ctx, c)
	agents, err := c.Personas(ctx)
	if kind := client.KindOf(err); kind != client.Auth && kind != client.NotAvailable {
		guard.Check(err)
	}
	return skillSnapshot{list, examples, agents}
}

// exampleKeys are the keys of tags that name a part of a source, as people in the organization call it.
func exampleKeys() []string {
	return strings.Fields("channel team space project repository repo board folder group category")
}

// skillExamples returns filters for parts of the sources: tags, and the entities of federated connectors. What cannot
// be listed has no examples.
func skillExamples(ctx context.Context, c *client.Client) map[string][]string {
	tags, _ := c.ValidTags(ctx, "", mostTags)
	rank := func(tag wire.SourceTag) int { return slices.Index(exampleKeys(), strings.ToLower(tag.Key)) }
	tags = slices.DeleteFunc(tags, func(tag wire.SourceTag) bool { return rank(tag) < 0 })
	slices.SortStableFunc(tags, func(a, b wire.SourceTag) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Value, b.Value))
	})
	examples := map[string][]string{}
	add := func(source, example string) {
		source = strings.TrimPrefix(source, "federated_")
		if len(examples[source]) < mostSkillExamples && !slices.Contains(examples[source], example) &&
			isPlain(example) {
			examples[source] = append(examples[source], example)
		}
	}
	for _, tag := range tags {
		add(tag.Source, tag.Key+"="+tag.Value)
	}
	sets, _ := c.DocumentSets(ctx)
	for _, set := range sets {
		for _, connection := range set.FederatedConnectorSummaries {
			for _, entity := range entityNames(connection.Entities) {
				add(connection.Source, entity)
			}
		}
	}
	return examples
}

// entityNames returns the names in the entities of a federated connector: those of its lists of text, such as channels.
func entityNames(entities any) (names []string) {
	kinds, _ := entities.(map[string]any)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list, _ := kinds[kind].([]any)
		for _, item := range list {
			if name, isText := item.(string); isText && !strings.HasPrefix(kind, "exclude") {
				names = append(names, name)
			}
		}
	}
	return names
}

// isPlain reports whether foreign text can stand between backquotes as it is.
func isPlain(s string) bool {
	return s != "" && s == text.CleanLine(s) && !strings.Contains(s, "`") && len([]rune(s)) <= skillNameRunes
}

// quotedText returns foreign text as one short line between quotes, without Markdown, so that it cannot pass for the
// text of the skill.
func quotedText(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case strings.ContainsRune("`*#<>[]|\\~", r):
			return ' '
		}
		return r
	}, text.CleanLine(s))
	return `"` + text.Shorten(text.OneLine(s), most) + `"`
}

// skill renders the skill.
func (s skillSnapshot) skill(root *cobra.Command, target string) string {
	return frontMatter(companySkill) +
		skillText("company", s.sources(target), s.agentList(), skillUsage(root, target))
}

// sources lists the sources, or says why there is no list.
func (s skillSnapshot) sources(target string) string {
	var b strings.Builder
	listed := 0
	for _, value := range s.list.Values {
		if listed < mostSkillSources && isSourceValue(value) {
			listed++
			b.WriteString("- `" + value + "` — " + s.describe(value) + "\n")
		}
	}
	switch {
	case s.list.Origin == "":
		return "This token may not list sources. Search without `--source`; the results name the sources that there " +
			"are.\n\n"
	case len(s.list.Values) == 0:
		return "No connected sources available for this user. A search finds nothing: say so instead of searching.\n\n"
	}
	b.WriteByte('\n')
	if more := len(s.list.Values) - listed; more > 0 {
		b.WriteString(text.Count(more, "more source") + " cannot be shown here: see `quarry sources`.\n")
	}
	b.WriteString(map[string]string{
		client.ListedForAll: "These sources are connected in the workspace, maybe not all of them to you.\n",
		client.ListedByTags: "This token may not list connectors. These sources have tagged documents; there may be " +
			"more.\n",
	}[s.list.Origin])
	return b.String() + "`--source` takes these values, and `--tag` the examples with =. The list is a snapshot: " +
		"`quarry sources" + target +
		"` has the current one.\n\n"
}

func (s skillSnapshot) describe(value string) string {
	description := cmp.Or(client.SourceDescription(value), wire.SourceName(value))
	if name := s.list.Names[value]; name != "" {
		description = quotedText(name, skillNameRunes) + ": " + description
	}
	if examples := s.examples[value]; len(examples) > 0 {
		description += " (such as `" + strings.Join(examples, "`, `") + "`)"
	}
	return description
}

// isSourceValue reports whether a value looks like those of sources, which are words for a command line.
func isSourceValue(value string) bool {
	odd := func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return isPlain(value) && !strings.ContainsFunc(value, odd)
}

// agentList lists the agents, of which some may be left out.
func (s skillSnapshot) agentList() string {
	agents := slices.DeleteFunc(slices.Clone(s.agents), func(agent wire.Persona) bool { return !agent.IsListed })
	if len(agents) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## Agents\n\nAn agent limits a search to its own knowledge: `--agent-id ID`.\n\n")
	for _, agent := range agents[:min(len(agents), mostSkillAgents)] {
		fmt.Fprintf(&b, "- `%d` — %s", agent.ID, quotedText(agent.Name, skillNameRunes))
		if text.CleanLine(agent.Description) != "" {
			b.WriteString(": " + quotedText(agent.Description, skillTextRunes))
		}
		b.WriteByte('\n')
	}
	if more := len(agents) - mostSkillAgents; more > 0 {
		b.WriteString("\n" + text.Count(more, "more agent") + ": `quarry agents`.\n")
	}
	return b.String() + "\n"
}

// writeSkill writes the skill to its folder below dir, and prints the path.
func (a *app) writeSkill(dir, skill string) {
	if dir == "-" {
		a.printPlain("skill", "md", skill)
		return
	}
	folder := a.io.path(dir)
	guard.While("write the skill", os.MkdirAll(folder, 0o755))
	root, err := os.OpenRoot(folder)
	guard.While("write the skill", err)
	defer root.Close()
	writer := skillInstaller{app: a, root: root, folder: dir, text: signed(skill), Force: true}
	err = guard.Ended(func() { writer.write(companySkill, "installed") })
	a.printInstalled(writer.done)
	guard.Check(err)
}

// The skills for AI agents are made from the commands themselves, so that they describe the program that writes them.

// skillCommands are the commands that a skill describes.
func skillCommands() []string {
	return strings.Fields("search read sources document-sets tags agents ask validate-config")
}

// skillFlags are the flags of search that a skill describes, with those of every command.
func skillFlags() []string {
	return strings.Fields("source since until days document-set tag agent-id limit no-query-expansion format budget " +
		"json fields jq")
}

const skillDescription = "Search and read this organization's documents (wiki pages, chat, tickets, code reviews, " +
	"email, files) with the quarry command. Use it when an answer depends on internal knowledge, such as processes, " +
	"decisions, people, incidents or products."

// frontMatter begins a SKILL.md.
func frontMatter(name string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %q\n---\n\n", name, skillDescription)
}

// skillFiles are the texts of skills, each with places for what follows from the commands.
//
//go:embed help/skill/*.txt
var skillFiles embed.FS

func skillText(name string, parts ...any) string {
	written, _ := skillFiles.ReadFile("help/skill/" + name + ".txt") // an embedded folder can be read
	return fmt.Sprintf(string(written), parts...)
}

// commandSkill is the skill that install-skill writes.
func commandSkill(root *cobra.Command) string {
	return frontMatter("quarry") + skillText("commands", skillUsage(root, ""), commandTable(root))
}

// skillUsage describes how to work, the flags, the output and the exit codes. The flags of target are part of each
// command. What it says about the output for agents is what the help of search says.
func skillUsage(root *cobra.Command, target string) string {
	_, output, _ := strings.Cut(lookupHelp("quarry search").sections, "\nagent: ")
	output, _, _ = strings.Cut(output, "\nndjson:")
	search, _, _ := root.Find([]string{"search"})
	return skillText("usage", target, flagTable(search), strings.ReplaceAll(output, "\n", " "), exitTable())
}

func commandTable(root *cobra.Command) string {
	return strings.Join(exslices.CastFunc(skillCommands(), func(name string) string {
		command, _, _ := root.Find([]string{name})
		return fmt.Sprintf("| `quarry %s` | %s | %s |\n", command.Use, command.Short, avoid(command))
	}), "")
}

// avoid returns the first sentence of what the help of a command says about when not to use it.
func avoid(command *cobra.Command) string {
	_, rest, _ := strings.Cut(lookupHelp(command.CommandPath()).sections, "When not to use it:\n")
	rest, _, _ = strings.Cut(rest, "\n\n")
	first, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n", " "), ". ")
	return strings.TrimSuffix(first, ".") + "."
}

func flagTable(search *cobra.Command) string {
	var b strings.Builder
	for _, name := range skillFlags() {
		flag := search.Flag(name)
		value, does := pflag.UnquoteUsage(flag)
		if value != "" {
			value = " " + value
		}
		fmt.Fprintf(&b, "| `--%s%s` | %s |\n", name, value, strings.ReplaceAll(does, "|", `\|`))
	}
	return b.String()
}

func exitTable() string {
	return strings.Join(exslices.CastFunc(exitCodes(parseExits("remote")), func(code int) string {
		return fmt.Sprintf("| %d | %s |\n", code, exitMeaning(code))
	}), "")
}
