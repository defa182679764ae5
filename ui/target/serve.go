package target

import (
	"io"
	"time"

	"quarry/config"
)

// ServeOptions configure what is served, and where.
type ServeOptions struct {
	Request Request      // the flags; without one the library of this machine is served
	HTTP    string       // address of the API, "host:port"; empty: not served
	Hosts   []string     // the server's host names; nil: http.hosts of the configuration
	SSH     SSHOptions   // without an address: not served
	Rate    *config.Rate // of each token and visitor; zero: no limit; nil: rate of the configuration
	// Listening is called when a listener accepts connections.
	Listening func(Listening)
	// Log receives a line per request and search; may be nil.
	Log io.Writer
	// LogJSON makes each line a JSON object.
	LogJSON bool
}

// SSHOptions configure the explorer over SSH. Zero values mean those of the configuration.
type SSHOptions struct {
	Address     string
	Keys        string // authorized_keys file
	Token, Open bool
	HostKey     string // file; empty: the default
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

// Listening describes a listener.
type Listening struct {
	Address     string
	Fingerprint string // of the host key, over SSH; empty: HTTP
}
