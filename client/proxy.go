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

// proxyPatience is how long a refusing proxy may take to tell its reason: nothing else bounds that.
const proxyPatience = 2 * time.Second

// onProxyAnswer is told what a proxy says to a request for a connection. Its error names the refusal, of which net/http
// by itself would give the status's words alone.
func onProxyAnswer(ctx context.Context, proxy *url.URL, connect *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	body := readFor(ctx, io.LimitReader(answer.Body, maxErrorBytes), proxyPatience)
	return proxyRefusal(proxy, connect.Host, answer.StatusCode, answer.Header, body, time.Now())
}

// proxyRefusal is the error of a proxy that opens no connection to the server. It has no Status, because the server
// gave none.
func proxyRefusal(proxy *url.URL, target string, status int, header http.Header, body []byte, now time.Time) *Error {
	e := &Error{Kind: Unreachable}
	said := ""
	if body = withoutPassword(body, proxy.User); !isHTML(header, body) {
		e.Code, said, _ = readErrorBody(body)
	}
	host, does := clip(target), "refuses to connect to"
	e.remedy = "ask the proxy's administrator to allow " + host + ", or check HTTPS_PROXY; if the host needs no " +
		"proxy, name it in NO_PROXY"
	switch {
	case status == http.StatusProxyAuthRequired:
		does, e.remedy = "wants a user name and password to connect to", proxyLoginRemedy
	case status == http.StatusTooManyRequests:
		e.Kind, e.RetryAfter, e.remedy = RateLimited, retryAfter(header.Get("Retry-After"), now), ""
	case status >= http.StatusInternalServerError:
		does = "could not connect to"
		e.remedy = "check server_url; if this machine reaches that host without the proxy of HTTPS_PROXY, name it in " +
			"NO_PROXY; else ask the proxy's administrator"
	}
	e.Reason = fmt.Sprintf("the proxy %s %s %s: %d %s", clip(proxy.Host), does, host, status, statusText(status))
	if said != "" && said != e.Code {
		e.Reason = shorten(e.Reason + ": " + said)
	}
	return e
}

const proxyLoginRemedy = "give the proxy's user name and password in HTTPS_PROXY (http://NAME:PASSWORD@HOST:PORT), or " +
	"ask the proxy's administrator"

// withoutPassword hides the password that a proxy was sent, should it repeat it.
func withoutPassword(text []byte, user *url.Userinfo) []byte {
	password, _ := user.Password()
	if password == "" {
		return text
	}
	sent := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
	text = bytes.ReplaceAll(text, []byte(sent), []byte("[password]"))
	return bytes.ReplaceAll(text, []byte(password), []byte("[password]"))
}

// readFor gives what can be read within a time. A reader that still blocks then must be freed by closing what it reads
// from, as the transport does with the connection to a proxy that refused.
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
