package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client/wire"
	"quarry/internal/guard"
)

const (
	maxLine   = 1 << 20          // bytes of a message
	drainTime = 30 * time.Second // for running calls after the end of the input
)

// lines is the transport of a message a line. Unlike the library's own it survives a line that is not a message, and
// answers the calls before the end of the input.
type lines struct {
	in  io.Reader
	out io.Writer
}

// Connect starts reading.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lineConnection{out: l.out, received: make(chan received), closed: make(chan struct{}),
		idle: make(chan struct{}, 1), open: map[jsonrpc.ID]bool{}}
	guard.Go(func() { c.receive(l.in) }, func(err error) { c.deliver(received{err: err}) })
	return c, nil
}

// received is a line of the input, or the reason why there are no more.
type received struct {
	line []byte
	err  error
}

type lineConnection struct {
	received chan received
	closed   chan struct{}
	close    sync.Once

	mutex sync.Mutex
	out   io.Writer
	open  map[jsonrpc.ID]bool // calls that were read and not answered; true: the caller has canceled it
	idle  chan struct{}       // signals that open became 0
}

var errLineTooLong = errors.New("line too long")

func (c *lineConnection) receive(in io.Reader) {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(reader)
		if len(bytes.TrimSpace(line)) > 0 || err == errLineTooLong {
			reason := err
			if err == io.EOF {
				reason = nil // the last line has no end
			}
			if !c.deliver(received{line, reason}) {
				return
			}
		}
		if err != nil && err != errLineTooLong {
			c.deliver(received{err: err})
			return
		}
	}
}

func (c *lineConnection) deliver(r received) bool {
	select {
	case c.received <- r:
		return true
	case <-c.closed:
		return false
	}
}

// readLine reads a line, and skips one that is too long.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	tooLong := false
	for {
		part, err := reader.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case tooLong && err == nil:
			return nil, errLineTooLong
		default:
			return line, err
		}
	}
}

// Read returns the next message. What is none is answered here.
func (c *lineConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case next := <-c.received:
			switch {
			case next.err == errLineTooLong:
				c.refuse(nil, jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("a message must not be larger than %d bytes", maxLine))
				continue
			case next.err != nil:
				c.drain(ctx)
				return nil, next.err
			}
			if id, ok := checkID(next.line); !ok {
				c.refuse(id, jsonrpc.CodeInvalidRequest, badID)
				continue
			}
			message, err := jsonrpc.DecodeMessage(next.line)
			if err == nil {
				c.opened(message)
				return message, nil
			}
			if json.Valid(next.line) {
				c.refuse(nil, jsonrpc.CodeInvalidRequest, "not a message of JSON-RPC 2.0: send one object a line")
			} else {
				c.refuse(nil, jsonrpc.CodeParseError, "not valid JSON: send one object a line")
			}
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// drain waits until the calls are answered, because the library cancels them at the end of the input.
func (c *lineConnection) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for {
		c.mutex.Lock()
		open := len(c.open)
		c.mutex.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// opened records a call that was read, or that the caller cancels one.
func (c *lineConnection) opened(message jsonrpc.Message) {
	request, ok := message.(*jsonrpc.Request)
	if !ok {
		return // of the caller, who was asked nothing
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if request.IsCall() {
		c.open[request.ID] = false
		return
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if request.Method != "notifications/cancelled" || wire.Unmarshal(request.Params, &params) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(params.RequestID); err == nil {
		if _, isOpen := c.open[id]; isOpen {
			c.open[id] = true
		}
	}
}

func (c *lineConnection) isCanceled(id jsonrpc.ID) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.open[id]
}

// answered removes a call from the open ones.
func (c *lineConnection) answered(id jsonrpc.ID) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if delete(c.open, id); len(c.open) == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// refuse answers a line.
func (c *lineConnection) refuse(id json.RawMessage, code int64, reason string) {
	_ = c.send(refusal(id, code, reason)) // a reader that is gone is noticed by Write
}

// Write sends a message, unless it answers a call that was canceled.
func (c *lineConnection) Write(_ context.Context, message jsonrpc.Message) error {
	answer, err := jsonrpc.EncodeMessage(message)
	response, isResponse := message.(*jsonrpc.Response)
	if err == nil && !(isResponse && c.isCanceled(response.ID)) {
		err = c.send(answer)
	}
	if isResponse {
		c.answered(response.ID)
	}
	return err
}

func (c *lineConnection) send(line []byte) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// Close ends reading. A read of the input that is under way ends with its stream.
func (c *lineConnection) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: a stream has one session.
func (c *lineConnection) SessionID() string { return "" }
