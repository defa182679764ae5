package scaletest

import (
	"io"
	"net"
)

// forwarder passes connections on. Weaviate's gRPC server listens on all addresses of the machine, so that several nodes
// on one cannot have the same port.
type forwarder struct{ listener net.Listener }

func forward(from, to string) (*forwarder, error) {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(client, to)
		}
	}()
	return &forwarder{listener}, nil
}

// pass copies in both directions until one end closes.
func pass(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{server, client}, {client, server}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

func (f *forwarder) close() { _ = f.listener.Close() }
