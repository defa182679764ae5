package ingest

import (
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	longestPattern = 1_000
	mostPatterns   = 5_000 // of one ignore file
)

// ignoreRules are the patterns of one folder's .gitignore and .quarryignore, as git reads them. The libraries for them
// deviate: from patterns with a slash matching at any depth to x/** excluding x itself.
type ignoreRules struct {
	folder   string // slash path from the root, "" for the root
	patterns []ignorePattern
}

type ignorePattern struct {
	glob       string // for doublestar
	negate     bool
	folderOnly bool
	anchored   bool // to the path from the rules' folder; else the name alone is matched
	literal    bool // without wildcards
}

func parseIgnore(text, folder string) *ignoreRules {
	rules := &ignoreRules{folder: folder}
	for line := range strings.Lines(text) {
		if len(rules.patterns) >= mostPatterns {
			break
		}
		if p, ok := parsePattern(strings.TrimRight(line, "\r\n")); ok {
			rules.patterns = append(rules.patterns, p)
		}
	}
	return rules
}

func parsePattern(line string) (ignorePattern, bool) {
	var p ignorePattern
	if strings.HasPrefix(line, "#") || len(line) > longestPattern {
		return p, false
	}
	line = trimTrailingSpaces(line)
	if strings.HasPrefix(line, "!") {
		p.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.folderOnly, line = true, line[:len(line)-1]
	}
	if line == "" {
		return p, false
	}
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	line = mergeStars(line)
	if strings.HasSuffix(line, "/**") {
		line += "/*" // everything in it, but not the folder itself
	}
	p.literal = !strings.ContainsAny(line, `*?[\`)
	if !p.literal {
		// Git takes braces literally, doublestar as alternatives.
		line = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, `{`, `\{`, `}`, `\}`).Replace(line)
		if !doublestar.ValidatePattern(line) {
			return p, false
		}
	}
	p.glob = line
	return p, line != ""
}

// mergeStars rewrites runs of stars as git reads them: any folders if they stand alone between slashes, else one star.
func mergeStars(pattern string) string {
	segments := strings.Split(pattern, "/")
	for i, segment := range segments {
		if len(segment) > 1 && strings.Trim(segment, "*") == "" {
			segments[i] = "**"
			continue
		}
		segments[i] = starRuns.ReplaceAllStringFunc(segment, func(run string) string {
			if run[0] == '*' {
				return "*"
			}
			return run
		})
	}
	return strings.Join(segments, "/")
}

var starRuns = regexp.MustCompile(`\\.|\*+`)

// trimTrailingSpaces removes the spaces at the end that are not escaped.
func trimTrailingSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		head := line[:len(line)-1]
		slashes := len(head) - len(strings.TrimRight(head, `\`))
		if slashes%2 == 1 {
			break
		}
		line = head
	}
	return line
}

func (p *ignorePattern) matches(path, name string) bool {
	subject := name
	if p.anchored {
		subject = path
	}
	if p.literal {
		return subject == p.glob
	}
	return doublestar.MatchUnvalidated(p.glob, subject)
}

// ignored reports whether the rules of the folders above exclude the entry at path (slashes, from the root). Later
// patterns and deeper folders win. The caller does not enter excluded folders, so nothing in them can be included
// again.
func ignored(chain []*ignoreRules, path string, isFolder bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(chain) - 1; i >= 0; i-- {
		rules := chain[i]
		relative := below(rules.folder, path)
		for j := len(rules.patterns) - 1; j >= 0; j-- {
			p := &rules.patterns[j]
			if (!p.folderOnly || isFolder) && p.matches(relative, name) {
				return !p.negate
			}
		}
	}
	return false
}
