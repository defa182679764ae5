package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"quarry/internal/guard"
)

// proxyPatience limits reading the reason of a refusing proxy, which net/http does not.
const proxyPatience = 2 * time.Second

// onProxyAnswer is called with a proxy's response to CONNECT. Its error has the proxy's reason; net/http's own has only
// the status text.
func onProxyAnswer(ctx context.Context, proxy *url.URL, connect *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	body := readFor(ctx, io.LimitReader(answer.Body, maxErrorBytes), proxyPatience)
	return proxyRefusal(proxy, connect.Host, answer.StatusCode, answer.Header, body, time.Now())
}

// proxyRefusal returns the error of a proxy that refuses to connect to the server. It has no Status, which is the
// server's.
func proxyRefusal(proxy *url.URL, target string, status int, header http.Header, body []byte, now time.Time) *Error {
	e := &Error{Kind: Unreachable}
	said := ""
	if body = withoutPassword(body, proxy.User); !isHTML(header, body) {
		e.Code, said, _ = readErrorBody(body)
	}
	host, does := clip(target), "refused to connect to"
	e.remedy = "ask the proxy's administrator to allow " + host + ", or check HTTPS_PROXY; if the host needs no " +
		"proxy, add it to NO_PROXY"
	switch {
	case status == http.StatusProxyAuthRequired:
		does, e.remedy = "requires a user name and password to connect to", proxyLoginRemedy
	case status == http.StatusTooManyRequests:
		e.Kind, e.RetryAfter, e.remedy = RateLimited, retryAfter(header.Get("Retry-After"), now), ""
	case status >= http.StatusInternalServerError:
		does = "could not connect to"
		e.remedy = "check server_url; if this machine reaches the host without the proxy, add it to NO_PROXY; else ask " +
			"the proxy's administrator"
	}
	e.Reason = fmt.Sprintf("the proxy %s %s %s: %d %s", clip(proxy.Host), does, host, status, statusText(status))
	if said != "" && said != e.Code {
		e.Reason = shorten(e.Reason + ": " + said)
	}
	return e
}

const proxyLoginRemedy = "set the proxy's user name and password in HTTPS_PROXY (http://NAME:PASSWORD@HOST:PORT), or " +
	"ask the proxy's administrator"

// withoutPassword removes the proxy's password from text that the proxy sent.
func withoutPassword(text []byte, user *url.Userinfo) []byte {
	password, _ := user.Password()
	if password == "" {
		return text
	}
	sent := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
	text = bytes.ReplaceAll(text, []byte(sent), []byte("[password]"))
	return bytes.ReplaceAll(text, []byte(password), []byte("[password]"))
}

// readFor returns what can be read within a time. The caller must close a reader that still blocks, as the transport
// does with the connection to a refusing proxy.
func readFor(ctx context.Context, from io.Reader, patience time.Duration) []byte {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	parts := make(chan []byte)
	guard.Go(func() {
		defer close(parts)
		for {
			part := make([]byte, 4<<10)
			n, err := from.Read(part)
			select {
			case parts <- part[:n]:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}, func(error) { cancel() })
	var whole []byte
	for {
		select {
		case part, more := <-parts:
			if !more {
				return whole
			}
			whole = append(whole, part...)
		case <-ctx.Done():
			return whole
		}
	}
}
