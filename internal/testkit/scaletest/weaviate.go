package scaletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// WeaviateVersion is the version that the engine is tested with.
const WeaviateVersion = "v1.38.9"

// WeaviateKey is the variable of the environment that names the server's binary.
const WeaviateKey = "QUARRY_WEAVIATE_BIN"

// The ports of every node.
const (
	restPort = "8080"
	grpcPort = "50051"
)

// Cluster is a number of Weaviate servers that keep one another's data.
type Cluster struct {
	Nodes []*Node
	dir   string
}

// Node is one server. Its data stays when it is killed.
type Node struct {
	Name string
	REST string // host:port
	// The ports that it listens on behind it; of the cluster's own protocols the one after each, too.
	grpc, gossip, raft int
	forwarder          *forwarder
	dir                string
	environment        []string
	binary             string
	*process
}

// ErrNoWeaviate is returned where there is no server to start.
var ErrNoWeaviate = fmt.Errorf("%s does not name a weaviate-server (`make test-scale` builds one)", WeaviateKey)

// StartWeaviate starts a cluster and waits until all of its nodes are ready.
func StartWeaviate(ctx context.Context, nodes int) (*Cluster, error) {
	binary := os.Getenv(WeaviateKey)
	if _, err := os.Stat(binary); err != nil {
		return nil, ErrNoWeaviate
	}
	if !Isolated() {
		return nil, errors.New("a node of Weaviate listens on all addresses: start it with `make test-scale`, in a network of its own")
	}
	dir, err := os.MkdirTemp("", "quarry-weaviate-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	if err := c.start(ctx, binary, nodes); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, binary string, nodes int) error {
	ports, err := portPairs(3 * nodes)
	if err != nil {
		return err
	}
	for i := range nodes {
		name, own := fmt.Sprintf("n%d", i), ports[3*i:]
		host := fmt.Sprintf("127.%d.%d.%d", 1+ports[0]>>8, ports[0]&255, 1+i) // every node has the same ports, as on machines
		node := &Node{Name: name, REST: net.JoinHostPort(host, restPort), grpc: own[0], gossip: own[1], raft: own[2],
			dir: filepath.Join(c.dir, name), binary: binary}
		if node.forwarder, err = forward(net.JoinHostPort(host, grpcPort), fmt.Sprintf("127.0.0.1:%d", node.grpc)); err != nil {
			return err
		}
		c.Nodes = append(c.Nodes, node)
	}
	for _, node := range c.Nodes {
		node.environment = c.environment(node)
		if err := node.Start(); err != nil {
			return err
		}
	}
	return c.AwaitReady(ctx)
}

// environment is that of a node: no module and no telemetry, and quick elections, as for tests.
func (c *Cluster) environment(n *Node) []string {
	var voters, join []string
	for _, node := range c.Nodes {
		voters = append(voters, fmt.Sprintf("%s:%d", node.Name, node.raft))
		if node != n {
			join = append(join, fmt.Sprintf("127.0.0.1:%d", node.gossip))
		}
	}
	set := []string{
		"HOME=" + c.dir, "PATH=" + os.Getenv("PATH"), "PERSISTENCE_DATA_PATH=" + n.dir,
		"DISABLE_TELEMETRY=true", "API_BASED_MODULES_DISABLED=true", "DEFAULT_VECTORIZER_MODULE=none",
		"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "GO_PROFILING_DISABLE=true", "GOMEMLIMIT=3GiB", "LOG_LEVEL=warning",
		"CLUSTER_HOSTNAME=" + n.Name, "CLUSTER_IN_LOCALHOST=true", "CLUSTER_BIND_ADDR=127.0.0.1", "CLUSTER_ADVERTISE_ADDR=127.0.0.1",
		fmt.Sprintf("CLUSTER_GOSSIP_BIND_PORT=%d", n.gossip), fmt.Sprintf("CLUSTER_DATA_BIND_PORT=%d", n.gossip+1),
		fmt.Sprintf("RAFT_PORT=%d", n.raft), fmt.Sprintf("RAFT_INTERNAL_RPC_PORT=%d", n.raft+1), "RAFT_TIMEOUTS_MULTIPLIER=1",
		"RAFT_JOIN=" + strings.Join(voters, ","), fmt.Sprintf("RAFT_BOOTSTRAP_EXPECT=%d", len(c.Nodes)), fmt.Sprintf("GRPC_PORT=%d", n.grpc),
	}
	if n != c.Nodes[0] {
		set = append(set, "CLUSTER_JOIN="+strings.Join(join, ","))
	}
	return set
}

// URL returns the address of the cluster, as index.engine has it.
func (c *Cluster) URL() string {
	var hosts []string
	for _, node := range c.Nodes {
		hosts = append(hosts, node.REST)
	}
	return fmt.Sprintf("weaviate://%s?grpc=%s&replication=%d", strings.Join(hosts, ","), grpcPort, len(c.Nodes))
}

// Start starts the node, which is not running. After a kill it has the data that it had.
func (n *Node) Start() (err error) {
	host, port, _ := strings.Cut(n.REST, ":")
	command := exec.Command(n.binary, "--scheme", "http", "--host", host, "--port", port)
	command.Env, command.Dir = n.environment, filepath.Dir(n.dir)
	n.process, err = start(command, n.dir+".log")
	return err
}

// Kill ends the node as a failure of its machine would.
func (n *Node) Kill() { n.kill() }

// AwaitReady waits until the node takes part in the cluster.
func (n *Node) AwaitReady(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error { return n.get(ctx, "/v1/.well-known/ready", nil) })
}

// AwaitReady waits until all nodes take part in the cluster.
func (c *Cluster) AwaitReady(ctx context.Context) error {
	for _, node := range c.Nodes {
		if err := node.AwaitReady(ctx); err != nil {
			return fmt.Errorf("node %s is not ready: %w", node.Name, err)
		}
	}
	return nil
}

// Leader waits until the running nodes have elected one of them, which decides about the schema, and returns it.
func (c *Cluster) Leader(ctx context.Context) (leader *Node, err error) {
	running := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Node) bool { return !n.running() })
	if len(running) == 0 {
		return nil, errors.New("no node is running")
	}
	err = running[0].await(ctx, func(ctx context.Context) error {
		var answer struct {
			Statistics []struct {
				LeaderID any `json:"leaderId"`
			}
		}
		if err := running[0].get(ctx, "/v1/cluster/statistics", &answer); err != nil {
			return err
		}
		for _, node := range running {
			if len(answer.Statistics) > 0 && answer.Statistics[0].LeaderID == node.Name {
				leader = node
				return nil
			}
		}
		return fmt.Errorf("no running node is the leader: %+v", answer)
	})
	return leader, err
}

// get asks a node; answer may be nil.
func (n *Node) get(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.REST+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// Stop ends all nodes and removes their data.
func (c *Cluster) Stop() error {
	done := make(chan struct{})
	running := 0
	for _, node := range c.Nodes {
		node.forwarder.close()
		if node.process == nil {
			continue
		}
		running++
		go func() { // a node without the others waits for them until it is killed
			node.stop(syscall.SIGTERM)
			done <- struct{}{}
		}()
	}
	for range running {
		<-done
	}
	return os.RemoveAll(c.dir)
}

// portPairs returns ports so that nothing listens on them, nor on the one after each.
func portPairs(n int) (ports []int, err error) {
	var taken []net.Listener
	defer func() {
		for _, listener := range taken {
			_ = listener.Close()
		}
	}()
	listen := func(port int) (int, error) {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return 0, err
		}
		taken = append(taken, listener)
		return listener.Addr().(*net.TCPAddr).Port, nil
	}
	for len(ports) < n && len(taken) < 100*n {
		port, err := listen(0)
		if err != nil {
			return nil, err
		}
		if _, err := listen(port + 1); err == nil {
			ports = append(ports, port)
		}
	}
	if len(ports) < n {
		return nil, errors.New("too few ports are free")
	}
	return ports, nil
}
