package githistory

import (
	"context"
	"strings"
)

// Published returns a repository as of the newest commit that is known of a branch of a remote: the branch that is
// checked out, else the main one. It is nil if none is known, or it cannot be read.
func Published(ctx context.Context, c Checkout, remote string) *Repository {
	s, err := openStore(c.GitDir)
	if err != nil {
		return nil
	}
	defer s.Close()
	branch, _ := strings.CutPrefix(s.small(c.Head), "ref: refs/heads/")
	for _, name := range []string{branch, "HEAD", "main", "master"} {
		published, err := Open(ctx, Checkout{c.GitDir, "refs/remotes/" + remote + "/" + name})
		if err == nil {
			return published
		}
	}
	return nil
}
