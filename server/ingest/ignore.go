package ingest

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"quarry/internal/pattern"
	"quarry/server/ingest/githistory"
)

const (
	longestPattern = 1_000
	mostPatterns   = 5_000 // of one ignore file
)

// ignoreRules are the patterns of one folder's .gitignore and .quarryignore, as git reads them. The libraries for them
// deviate: from patterns with a slash matching at any depth to x/** excluding x itself.
type ignoreRules struct {
	folder   string // slash path from the root, "" for the root
	above    string // path from a folder above the root, whose rules they are, to the root
	ofGit    bool   // they end where another repository begins
	patterns []ignorePattern
	isCut    bool // there are more
}

type ignorePattern struct {
	glob       string // for doublestar
	negate     bool
	folderOnly bool
	anchored   bool // to the path from the rules' folder; else the name alone is matched
}

func parseIgnore(text, folder string) *ignoreRules {
	rules := &ignoreRules{folder: folder}
	for line := range strings.Lines(text) {
		if rules.isCut = len(rules.patterns) >= mostPatterns; rules.isCut {
			break
		}
		if p, ok := parsePattern(strings.TrimRight(line, "\r\n")); ok {
			rules.patterns = append(rules.patterns, p)
		}
	}
	return rules
}

func parsePattern(line string) (p ignorePattern, ok bool) {
	if strings.HasPrefix(line, "#") || len(line) > longestPattern {
		return p, false
	}
	line = globTokens().ReplaceAllStringFunc(line, func(token string) string {
		switch token[0] {
		case '{', '}': // Git takes braces literally, doublestar as alternatives
			return `\` + token
		case '*':
			return token[:min(len(token), 2)]
		case ' ': // at the end
			return ""
		}
		return token
	})
	line, p.negate = strings.CutPrefix(line, "!")
	line, p.folderOnly = strings.CutSuffix(line, "/")
	p.glob, p.anchored = strings.TrimPrefix(line, "/"), strings.Contains(line, "/")
	if strings.HasSuffix(p.glob, "/**") {
		p.glob += "/*" // everything in it, but not the folder itself
	}
	return p, p.glob != "" && doublestar.ValidatePattern(p.glob)
}

// globTokens matches what must be changed in a pattern, and escaped characters, which stay.
var globTokens = pattern.Lazy(`\\.|\*+|[{}]| +$`)

// ignored reports whether the rules of the folders above exclude the entry at path (slashes, from the root). Later
// patterns and deeper folders win. The caller does not enter excluded folders, so nothing in them can be included
// again.
func ignored(chain []*ignoreRules, path string, isFolder bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, rules := range slices.Backward(chain) {
		relative := below(rules.folder, path)
		if rules.above != "" {
			relative = rules.above + "/" + relative
		}
		for _, p := range slices.Backward(rules.patterns) {
			subject := relative
			if !p.anchored {
				subject = name
			}
			if (!p.folderOnly || isFolder) && doublestar.MatchUnvalidated(p.glob, subject) {
				return !p.negate
			}
		}
	}
	return false
}

// rulesAbove returns the rules of the folders between the root and that of the repository around it; none without one.
func (w *walker) rulesAbove() (chain []*ignoreRules) {
	var folders []string
	for folder, last := path.Dir(w.root), w.root; folder != last; folder, last = path.Dir(folder), folder {
		folders = append(folders, folder)
		if !hasGit(filepath.FromSlash(folder)) {
			continue
		}
		if git, ok := githistory.Find(filepath.FromSlash(folder)); ok {
			chain = w.rulesOf(git, nil, "", below(folder, w.root))
		}
		for _, folder := range slices.Backward(folders) {
			for _, name := range [...]string{".gitignore", ".quarryignore"} {
				file := filepath.FromSlash(path.Join(folder, name))
				chain = w.addRules(chain, file, "", below(folder, w.root), name == ".gitignore")
			}
		}
		return chain
	}
	return nil
}

// rulesOf returns a chain with the rules that a repository has beside its working tree, and those of the person.
func (w *walker) rulesOf(git githistory.Checkout, chain []*ignoreRules, folder, above string) []*ignoreRules {
	chain = w.addRules(chain, githistory.PersonalIgnore(), folder, above, true)
	return w.addRules(chain, filepath.Join(git.GitDir, "info", "exclude"), folder, above, true)
}

// addRules returns a chain with the rules of a file, if it has some. above is the path from their folder to the root of
// the walk. Rules that cannot be read are reported: what they leave out would be read.
func (w *walker) addRules(chain []*ignoreRules, file, folder, above string, ofGit bool) []*ignoreRules {
	content, err := readConfig(file)
	rules := parseIgnore(content, folder)
	if rules.isCut {
		err = fmt.Errorf("it has more than %d rules; the others do not apply", mostPatterns)
	}
	at := filepath.ToSlash(file)
	if isSame := func(f foundFile) bool { return f.path == at }; err != nil && !slices.ContainsFunc(w.unread, isSame) {
		w.unread = append(w.unread, foundFile{path: at, reason: reasonOf(err)})
	}
	if len(rules.patterns) == 0 {
		return chain
	}
	rules.above, rules.ofGit = above, ofGit
	return append(chain[:len(chain):len(chain)], rules)
}
