package client

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"quarry/internal/testkit/memnet"
)

func TestPipe(t *testing.T) {
	nettest.TestConn(t, func() (one, other net.Conn, stop func(), err error) {
		one, other = memnet.Pipe()
		return one, other, func() { _, _ = one.Close(), other.Close() }, nil
	})
}
