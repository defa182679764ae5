package weaviate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/fault"
)

const (
	// defaultGRPC is the port of gRPC on every host.
	defaultGRPC = 50051
	// callTimeout bounds one call; electionTime is how long a cluster may need to choose a new leader.
	callTimeout  = 10 * time.Second
	electionTime = 20 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second // between calls, and between attempts to connect
	maxReply     = 64 << 20
	maxError     = 4 << 10
	// readAttempts are made for a search and each host, the second one after readPause, and each pause is twice the one
	// before.
	readAttempts = 2
	readPause    = 25 * time.Millisecond
)

// Cluster is where a Weaviate cluster is.
type Cluster struct {
	Hosts       []string // host:port of REST
	GRPC        int      // port of gRPC on every host
	TLS         bool
	CA          string // path of a file with the certificates to trust; empty: those of the system
	Key         string // API key; empty: none
	Replication int    // copies of every object
}

// ParseURL reads an address such as weaviate://host1:8080,host2:8080?grpc=50051&replication=3; weaviates is the same
// with TLS.
func ParseURL(address string) (c Cluster, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "weaviate" && scheme != "weaviates" {
		return c, errors.New("is not the address of a Weaviate cluster such as weaviate://host1:8080,host2:8080")
	}
	hosts, query, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "?")
	c = Cluster{TLS: scheme == "weaviates", GRPC: defaultGRPC, Replication: 1}
	for host := range strings.SplitSeq(strings.TrimSuffix(hosts, "/"), ",") {
		name, port, err := net.SplitHostPort(host)
		number, wrong := strconv.Atoi(port)
		if err != nil || name == "" || strings.ContainsAny(name, "/@") || wrong != nil || number < 1 || number > 65535 {
			return Cluster{}, fmt.Errorf("has a host that is not HOST:PORT: %q",
				host[strings.LastIndexByte(host, '@')+1:])
		}
		c.Hosts = append(c.Hosts, host)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Cluster{}, errors.New("has parameters that cannot be read")
	}
	for name, value := range values {
		number, err := strconv.Atoi(value[len(value)-1])
		switch {
		case name == "grpc" && err == nil && number > 0 && number <= 65535:
			c.GRPC = number
		case name == "replication" && err == nil && number > 0 && number <= 99:
			c.Replication = number
		default:
			return Cluster{}, fmt.Errorf("has an invalid parameter %q (known: grpc=PORT, replication=COPIES)", name)
		}
	}
	return c, nil
}

// client calls a cluster. It connects when it is first used.
type client struct {
	cluster  Cluster
	http     *http.Client
	conns    []*grpc.ClientConn // by host
	patience time.Duration      // electionTime, but in tests
	host     atomic.Int64       // the last one that answered, of all calls but searches
	searches atomic.Int64
}

// token is the API key as metadata of every call.
type token string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (t token) RequireTransportSecurity() bool { return false }

func newClient(cluster Cluster) (*client, error) {
	transport := insecure.NewCredentials()
	web := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
	if cluster.TLS {
		settings := &tls.Config{MinVersion: tls.VersionTLS12}
		if cluster.CA != "" {
			pem, err := os.ReadFile(cluster.CA)
			if err != nil {
				return nil, fmt.Errorf("read the certificates of Weaviate: %w", err)
			}
			settings.RootCAs = x509.NewCertPool()
			if !settings.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("read the certificates of Weaviate: %s has none", cluster.CA)
			}
		}
		transport, web.TLSClientConfig = credentials.NewTLS(settings), settings.Clone()
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply), grpc.MaxCallSendMsgSize(maxReply)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: callTimeout,
			Backoff: backoff.Config{BaseDelay: firstPause, Multiplier: 2, Jitter: .2, MaxDelay: longestPause}}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second})}
	if cluster.Key != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(cluster.Key)))
	}
	c := &client{cluster: cluster, http: &http.Client{Transport: web}, patience: electionTime}
	for _, host := range cluster.Hosts {
		name, _, _ := net.SplitHostPort(host)
		conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(name, strconv.Itoa(cluster.GRPC)), options...)
		if err != nil {
			return nil, fmt.Errorf("connect to Weaviate: %w", errors.Join(err, c.close()))
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *client) close() (err error) {
	c.http.CloseIdleConnections()
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

func (c *client) grpc(host int64) pb.WeaviateClient {
	return pb.NewWeaviateClient(c.conns[host%int64(len(c.conns))])
}

// patiently calls try, each time with its own deadline, until it succeeds, its error is not transient, or patience is
// over.
func patiently(ctx context.Context, patience time.Duration, try func(context.Context) error) (failed error) {
	for pause, end := firstPause, time.Now().Add(patience); ; {
		err := within(ctx, try)
		if err != nil && ctx.Err() != nil && failed != nil { // which says more than a call that was cut off
			return failed
		}
		if failed = err; err == nil || ctx.Err() != nil || !transient(err) || time.Now().After(end) {
			return err
		}
		if guard.Sleep(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// read makes a call that changes nothing on a host, and repeats it on the next ones whatever its error is: a node that
// starts accepts calls before it knows its collections, and one that does not answer is left after half of the time.
func (c *client) read(ctx context.Context, host int64, call func(context.Context, pb.WeaviateClient) error) error {
	return within(ctx, func(ctx context.Context) (err error) {
		for attempt := range max(2, len(c.cluster.Hosts)) * readAttempts {
			limited, cancel := context.WithTimeout(ctx, callTimeout/2)
			err = call(limited, c.grpc(host+int64(attempt)))
			if cancel(); err == nil || denied(err) {
				return err
			}
			if guard.Sleep(ctx, readPause<<attempt) != nil {
				return err
			}
		}
		return err
	})
}

func within(ctx context.Context, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(limited)
}

// rest makes one REST call, on a host after the other, patiently enough for the election of a leader. out, if it is not
// nil, gets the answer.
func (c *client) rest(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("call Weaviate: %w", err)
		}
	}
	return patiently(ctx, c.patience,
		func(ctx context.Context) error { return c.anywhere(ctx, method, path, body, out) })
}

// anywhere makes a REST call on the host that answered last.
func (c *client) anywhere(ctx context.Context, method, path string, body []byte, out any) error {
	return c.onLast(func(host int64) error {
		return c.once(ctx, c.cluster.Hosts[host%int64(len(c.cluster.Hosts))], method, path, body, out)
	})
}

// onLast calls the host that answered last. After an error that is not about the call the next one goes to another
// host.
func (c *client) onLast(call func(host int64) error) error {
	at := c.host.Load()
	err := call(at)
	if err != nil && !rejected(err) {
		c.host.CompareAndSwap(at, at+1)
	}
	return err
}

func (c *client) once(ctx context.Context, host, method, path string, body []byte, out any) error {
	scheme := "http://"
	if c.cluster.TLS {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, method, scheme+host+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("call Weaviate: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.cluster.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.cluster.Key)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		reason, _ := io.ReadAll(io.LimitReader(answer.Body, maxError))
		return &httpError{answer.StatusCode, strings.ToValidUTF8(strings.TrimSpace(string(reason)), "\uFFFD")}
	}
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxReply))
		return err
	}
	return wire.NewDecoder(io.LimitReader(answer.Body, maxReply)).Decode(out)
}

// repairable is a failure of a cluster that its administrator can repair.
func repairable(doing, reason, remedy string, err error) error {
	failed := &fault.Repairable{Doing: doing, Reason: reason, Remedy: remedy,
		Causes: []error{fault.ErrEngineUnavailable}}
	if !errors.Is(err, context.DeadlineExceeded) { // of one call, not of the request
		failed.Causes = append(failed.Causes, err)
	}
	return failed
}

// httpError is an answer that is not a success.
type httpError struct {
	code   int
	reason string
}

func (e *httpError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("status %d: %s", e.code, e.reason), ": ")
}

// notFound reports whether an answer says that something does not exist.
func notFound(err error) bool {
	var answer *httpError
	return errors.As(err, &answer) && answer.code == http.StatusNotFound
}

// rejected reports whether an answer says that this very call cannot succeed.
func rejected(err error) bool {
	var answer *httpError
	return errors.As(err, &answer) &&
		(answer.code == http.StatusNotFound || answer.code == http.StatusUnprocessableEntity ||
			answer.code == http.StatusBadRequest)
}

// transient reports whether the same call may succeed later, or on another host.
func transient(err error) bool {
	var answer *httpError
	var connection net.Error
	switch {
	case err == nil || untrusted(err) || errors.Is(err, ErrSchema):
		return false
	case errors.As(err, &answer):
		return answer.code >= 500 || answer.code == http.StatusTooManyRequests
	case errors.As(err, &connection), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fault.ErrEngineUnavailable) && !denied(err)
}

// explain makes an error of a call a fault.Repairable, with what was done.
func explain(ctx context.Context, doing string, err error) error {
	var known *fault.Repairable
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, ctx.Err()) ||
		status.Code(err) == codes.DeadlineExceeded):
		return ctx.Err() // an earlier failure says more than that time is up
	case errors.As(err, &known), errors.Is(err, ErrSchema), errors.Is(err, fault.ErrUnavailable):
		return err
	}
	reason := reasonOf(err)
	return repairable(doing, reason, remedyOf(err, reason), err)
}

// The failures that time does not repair are known by their texts, as gRPC has no others.
const (
	tlsExpected = "the server does not use TLS"
	tlsNeeded   = "the server uses TLS"
)

// untrusted reports whether a connection failed for TLS.
func untrusted(err error) bool {
	reason := reasonOf(err)
	return strings.HasPrefix(reason, "x509: ") || reason == tlsExpected || reason == tlsNeeded
}

// denied reports whether the API key is not accepted.
func denied(err error) bool {
	var answer *httpError
	if errors.As(err, &answer) {
		return answer.code == http.StatusUnauthorized || answer.code == http.StatusForbidden
	}
	code := status.Code(err)
	return code == codes.Unauthenticated || code == codes.PermissionDenied
}

// reasonOf returns why a call failed, without the address and what was sent.
func reasonOf(err error) string {
	var known *fault.Repairable
	var answer *httpError
	reason := ""
	if errors.As(err, &known) {
		return known.Reason
	} else if errors.As(err, &answer) {
		reason = answer.Error()
	} else if rpc, ok := status.FromError(err); ok {
		reason = rpc.Message()
	} else {
		for reason = err.Error(); errors.Unwrap(err) != nil; reason = err.Error() {
			err = errors.Unwrap(err)
		}
	}
	for _, known := range []struct{ text, reason string }{
		{"first record does not look like a TLS handshake", tlsExpected},
		{"server gave HTTP response to HTTPS client", tlsExpected},
		{"HTTP request to an HTTPS server", tlsNeeded}, {"malformed HTTP response", tlsNeeded},
		{"deadline exceeded", "no answer in time"}, {"i/o timeout", "no answer in time"},
	} {
		if strings.Contains(reason, known.text) {
			return known.reason
		}
	}
	if at := strings.Index(reason, "x509: "); at >= 0 {
		reason = reason[at:]
	} else if at := strings.LastIndex(reason, "desc = "); at >= 0 {
		reason = reason[at+len("desc = "):]
	}
	return text.Shorten(strings.Trim(strings.ToValidUTF8(reason, "\uFFFD"), `"`), maxReason)
}

// remedyOf returns what to do about a failure.
func remedyOf(err error, reason string) string {
	if denied(err) {
		return "set index.weaviate.key to an API key of the cluster"
	}
	for _, known := range []struct{ text, remedy string }{
		{"unknown authority", "name the certificate of its authority with index.weaviate.ca"},
		{"expired", "renew the certificate of Weaviate, or correct the clock"},
		{"x509: ", "use a host name of the certificate in index.engine"},
		{tlsExpected, "use weaviate:// in index.engine, or enable TLS there"},
		{tlsNeeded, "use weaviates:// in index.engine"},
		{"no answer in time", "check the hosts and ports of index.engine and the firewall"},
		{"no such host", "correct the hosts of index.engine"},
		{"connection refused", "start Weaviate, or correct the hosts and ports of index.engine"},
		{"leader", "try again when most nodes of the cluster run"},
		{"status 503", "try again when Weaviate has started"},
	} {
		if strings.Contains(reason, known.text) {
			return known.remedy
		}
	}
	return "look in the log of Weaviate"
}
