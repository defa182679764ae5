package wire

import "strings"

// The reasons for leaving out a secret. Of a file in another, its name comes first.
const (
	SecretName  = "secret: a file of keys or passwords"
	SecretKey   = "secret: a private key"
	SecretToken = "secret: an access token"
)

// IsSecret reports whether a reason for skipping a file is that it is a secret. LeftOut counts these.
func IsSecret(reason string) bool {
	return strings.HasSuffix(reason, SecretName) || strings.HasSuffix(reason, SecretKey) ||
		strings.HasSuffix(reason, SecretToken)
}

// The reasons for leaving out a file that a program wrote for programs.
const (
	generated     = "generated: "
	LockFile      = generated + "a lock file"
	Minified      = generated + "minified code"
	SourceMap     = generated + "a source map"
	GeneratedCode = generated + "code that a program wrote"
	Fixture       = generated + "a fixture of tests"
	Dump          = generated + "a dump of a database"
)

// IsGenerated reports whether a reason for skipping a file is that a program wrote it. LeftOut counts these.
func IsGenerated(reason string) bool { return strings.HasPrefix(reason, generated) }

// IsLeftOut reports whether a reason for skipping a file is one that LeftOut counts.
func IsLeftOut(reason string) bool { return IsSecret(reason) || IsGenerated(reason) }
