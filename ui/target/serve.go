package target

import (
	"io"
	"time"

	"quarry/config"
)

// ServeOptions say what is served, and where.
type ServeOptions struct {
	Request Request      // the flags: --library, or a profile that is a library; none is the library of this machine
	HTTP    string       // address of the API, "host:port"; empty: it is not served
	Hosts   []string     // host names under which the server is known; nil: http.hosts of the configuration
	SSH     SSHOptions   // without an address it is not served
	Rate    *config.Rate // of each token and visitor; zero: no limit; nil: rate of the configuration
	// Listening is called once for each listener when it answers.
	Listening func(Listening)
	// Log takes a line for every request and search; nil: none are written.
	Log io.Writer
	// LogJSON makes each line a JSON object.
	LogJSON bool
}

// SSHOptions say how the explorer is served over SSH. Zero values leave it to the configuration.
type SSHOptions struct {
	Address     string
	Keys        string // file of the keys that are let in
	Token, Open bool
	HostKey     string // file; empty: the usual one
	Limits      SSHLimits
}

// SSHLimits bound what SSH visitors may use. A zero value is that of ssh.Defaults.
type SSHLimits struct {
	Sessions  int           // at once, in all
	PerPerson int           // at once, of one person, or of one address for unknown visitors
	Arrivals  int           // connections from one address per minute
	Idle      time.Duration // without a key press
	Total     time.Duration // of a session
	Input     int64         // bytes of a connection
	Known     time.Duration // between checks that a visitor is still admitted
}

// Negative reports whether a limit is below 0.
func (l SSHLimits) Negative() bool {
	return l.Sessions < 0 || l.PerPerson < 0 || l.Arrivals < 0 || l.Idle < 0 || l.Total < 0
}

// Listening names a listener.
type Listening struct {
	Address     string
	Fingerprint string // of the host key, over SSH; empty: HTTP
}
