package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/llm"
)

// failure is an error answer in one of the API's shapes.
type failure struct {
	status       int
	body         any
	code, detail string // for a stream that has begun
	retryAfter   string // seconds; empty: no such header
	authenticate string // WWW-Authenticate; empty: no such header
}

// Error returns the body, for logs and tests.
func (f failure) Error() string {
	text, err := json.Marshal(f.body)
	if err != nil {
		return fmt.Sprintf("HTTP %d", f.status)
	}
	return fmt.Sprintf("HTTP %d: %s", f.status, text)
}

// statusOf returns the status of a failure, and 0 for any other error.
func statusOf(err error) int {
	var f failure
	_ = errors.As(err, &f)
	return f.status
}

// after sets the seconds after which the caller should try again.
func (f failure) after(seconds string) failure {
	f.retryAfter = seconds
	return f
}

// coded is an error with a code, which has a status.
func coded(code, format string, args ...any) failure {
	detail := fmt.Sprintf(format, args...)
	return failure{status: wire.StatusOf(code), code: code, detail: detail,
		body: wire.CodedError{ErrorCode: code, Detail: detail}}
}

// forbidden refuses what the caller has no permission for.
func forbidden(format string, args ...any) failure {
	return coded("INSUFFICIENT_PERMISSIONS", format, args...)
}

// detailed is an error without a code.
func detailed(status int, text string) failure {
	codes := map[int]string{http.StatusNotFound: "NOT_FOUND", http.StatusForbidden: "UNAUTHORIZED"}
	return failure{status: status, code: cmp.Or(codes[status], "INTERNAL_ERROR"), detail: text,
		body: wire.DetailError{Detail: text}}
}

// message is the refusal of a value that passed validation.
func message(text string) failure {
	return failure{status: http.StatusBadRequest, code: "VALIDATION_ERROR", detail: text,
		body: wire.MessageError{Message: text}}
}

func noModel() failure { return message("No default LLM model found") }

// invalid is the refusal of a malformed request, in the format of Onyx's validation errors, which clients parse.
func invalid(problems ...problem) failure {
	summary := fmt.Sprintf("%d validation %s: %s", len(problems), text.Plural(len(problems), "error"),
		strings.Join(mapped(problems, problem.String), " "))
	return failure{status: http.StatusUnprocessableEntity, code: "VALIDATION_ERROR", detail: summary,
		body: wire.ValidationError{StatusCode: http.StatusUnprocessableEntity, Message: summary}}
}

// canceled is the answer to a request that was canceled: the server stops, or the caller has disconnected, which counts
// as status 0. It is sent all the same, as a caller who only stopped sending must not see a success.
func canceled(r *http.Request) failure {
	if errors.Is(context.Cause(r.Context()), fault.ErrStopping) {
		f, _ := explain(fault.ErrStopping, false)
		return f
	}
	callerOf(r).gone = true
	return coded("SERVICE_UNAVAILABLE", "The request was canceled. Try again.")
}

func isUnauthenticated(err error) bool { return errors.Is(err, directory.ErrUnauthenticated) }

// explain returns the answer to an error. Internal errors are not known, and only a trusted caller sees their text.
func explain(err error, trusted bool) (f failure, known bool) {
	var (
		tooLarge *http.MaxBytesError
		input    directory.InputError
		taken    directory.ExistsError
		absent   directory.MissingError
		owned    *index.OwnedError
	)
	switch {
	case errors.As(err, &f):
		return f, true
	case isUnauthenticated(err):
		return detailed(http.StatusForbidden, "Access denied. User is not authenticated."), true
	case errors.As(err, &tooLarge):
		return coded("PAYLOAD_TOO_LARGE", "The request is too large."), true
	case errors.As(err, &input):
		return coded("INVALID_INPUT", "%s", input.Reason), true
	case errors.As(err, &owned): // without naming the file, which only the owner may know
		return coded("CONFLICT", "The id belongs to a document of a file; choose another one."), true
	case errors.As(err, &taken) && trusted:
		return coded("DUPLICATE_RESOURCE", "%s", taken.Reason), true
	case errors.As(err, &taken):
		return coded("DUPLICATE_RESOURCE", "%s", sentence(taken.Reason)), true
	case errors.As(err, &absent) && trusted:
		return coded(hintOfMissing(absent.Kind), "%s", absent.Error()), true
	case errors.As(err, &absent):
		return coded(codeOfMissing(absent.Kind), "%s", sentence(string(absent.Kind)+" "+absent.Named+" not found")),
			true
	}
	rows := faults()
	isRepairable := func(row faultAnswer) bool { return row.own != "" && errors.Is(err, row.err) }
	if at := slices.IndexFunc(rows, isRepairable); trusted && at >= 0 {
		f = coded(rows[at].own, "%s", err.Error())
		f.status = rows[at].status
		return f, true
	}
	for _, row := range rows {
		if row.code != "" && errors.Is(err, row.err) {
			if f = coded(row.code, "%s", row.text); f.status == http.StatusServiceUnavailable {
				f = f.after(retrySoon)
			}
			return f, !row.internal
		}
	}
	if trusted {
		return detailed(http.StatusInternalServerError, err.Error()), false
	}
	return detailed(http.StatusInternalServerError, "Internal server error"), false
}

// faultAnswer is the answer to an error that is not the caller's. A trusted caller, who can repair it, gets the text of
// the error.
type faultAnswer struct {
	err        error
	status     int    // of own
	own        string // code for a trusted caller; empty: as for others
	code, text string // for others; empty: an internal error
	internal   bool   // it is logged
}

func faults() []faultAnswer {
	const internal, unavailable, code = http.StatusInternalServerError, http.StatusServiceUnavailable,
		"SERVICE_UNAVAILABLE"
	return []faultAnswer{
		{context.DeadlineExceeded, 0, "", "GATEWAY_TIMEOUT", "The search engine did not answer in time.", false},
		{fault.ErrDiskFull, internal, wire.CodeDiskFull, "", "", false},
		{fault.ErrNewer, internal, wire.CodeLibraryNewer, "", "", false},
		{fault.ErrNetworkFileSystem, internal, wire.CodeNetworkFileSystem, "", "", false},
		{fault.ErrOlder, http.StatusForbidden, wire.CodeLibraryOlder, "", "", false},
		{fault.ErrReadOnly, http.StatusForbidden, wire.CodeLibraryReadOnly, "ENV_VAR_GATED",
			"The library is read-only.", false},
		{fault.ErrUnavailable, unavailable, wire.CodeDatabaseFailed, code,
			"The database of the server is not available.", true},
		{fault.ErrEngineUnavailable, unavailable, wire.CodeEngineFailed, code,
			"The search engine of the server is not available.", true},
		{fault.ErrBusy, unavailable, wire.CodeLibraryBusy, code, "Another process is writing to the library.", false},
		{fault.ErrBehind, unavailable, wire.CodeIndexBehind, code, "The index of the server is being built.", false},
		{fault.ErrStopping, unavailable, "", code, "The server is stopping. Try again.", false},
		{fault.ErrInUse, http.StatusConflict, wire.CodeTargetInUse, "", "", false},
		{fault.ErrChanging, http.StatusConflict, wire.CodeLibraryChanging, "", "", false},
		{fault.ErrDiffers, internal, wire.CodeCopyDiffers, "", "", false},
		{fault.ErrLost, internal, wire.CodeLibraryLost, "", "", false},
		{fault.ErrDamaged, internal, wire.CodeLibraryDamaged, "", "", false},
		{directory.ErrNoSecretKey, http.StatusBadRequest, wire.CodeSecretKeyMissing, "", "", false},
		{directory.ErrWrongSecretKey, http.StatusConflict, wire.CodeSecretKeyWrong, "", "", false},
		{fault.ErrReplaced, 0, "", "GONE", "The tenant was removed.", false},
		{llm.ErrUncounted, 0, "", code,
			"The use of language models cannot be counted, so they are disabled. Search works without them.", false},
		{fault.ErrNotFound, 0, "", "NOT_FOUND", "Not found", false},
		{directory.ErrNotFound, 0, "", "NOT_FOUND", "Not found", false},
	}
}

func codeOfMissing(kind directory.Kind) string {
	return map[directory.Kind]string{
		directory.KindUser: "USER_", directory.KindConnector: "CONNECTOR_", directory.KindCCPair: "CONNECTOR_",
		directory.KindCredential: "CREDENTIAL_", directory.KindDocumentSet: "DOCUMENT_SET_",
		directory.KindAgent: "PERSONA_",
	}[kind] + "NOT_FOUND"
}

// sentence capitalizes the first letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// hintOfMissing is codeOfMissing for the owner: the hint names the kind.
func hintOfMissing(kind directory.Kind) string {
	if code := codeOfMissing(kind); code != "NOT_FOUND" {
		return code
	}
	return strings.ToUpper(strings.TrimPrefix(string(kind), "user ")) + "_NOT_FOUND"
}

// raced returns fault.ErrReplaced instead of an internal error if the caller's tenant was removed during the request.
func (s *Server) raced(r *http.Request, who directory.Principal, err error) error {
	_, known := explain(err, false)
	if !known && s.Removed != nil && who.Tenant != "" && s.Removed(context.WithoutCancel(r.Context()), who.Tenant) {
		return fault.ErrReplaced
	}
	return err
}

// fail answers with an error, and logs internal ones.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == context.Canceled {
		s.Log.DebugContext(r.Context(), "request canceled", "path", clip(r.URL.Path))
		writeFailure(w, canceled(r))
		return
	}
	f, known := explain(err, isTrusted(r.Context()))
	if !known {
		s.Log.ErrorContext(r.Context(), "request failed", "method", clip(r.Method), "path", clip(r.URL.Path),
			guard.Attr(err))
	}
	writeFailure(w, f)
}

func writeFailure(w http.ResponseWriter, f failure) {
	if f.authenticate != "" {
		w.Header().Set("WWW-Authenticate", f.authenticate)
	}
	if f.retryAfter != "" {
		w.Header().Set("Retry-After", f.retryAfter)
	}
	writeJSON(w, f.status, f.body)
}

// writeJSON answers with a value, in process with the value itself. Write errors are ignored: the caller has
// disconnected.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", wire.MediaTypeJSON)
	if writeValue(w, status, value) {
		return
	}
	w.WriteHeader(status)
	_ = wire.WriteJSON(w, value)
}

// asJSON encodes a part of a conversation, so that it crosses as JSON in process, too: it shares documents with what is
// kept of the conversation, and JSON makes other types of what has any type in it.
func asJSON(value any) (json.RawMessage, error) {
	var text bytes.Buffer
	err := wire.WriteJSON(&text, value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// writeValue hands a value to a writer that takes values, and reports whether it did; see client.InProcess.
func writeValue(w http.ResponseWriter, status int, value any) bool {
	switch writer := w.(type) {
	case interface {
		WriteValue(status int, value any) bool
	}:
		return writer.WriteValue(status, value)
	case interface{ Unwrap() http.ResponseWriter }:
		return writeValue(writer.Unwrap(), status, value)
	}
	return false
}

// recovered turns a panic of one request into an error of that request.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &recorder{ResponseWriter: w}
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			s.Log.ErrorContext(r.Context(), "panic", "method", clip(r.Method), "path", clip(r.URL.Path),
				guard.Attr(guard.Caught(cause)))
			if recorder.status != 0 {
				// Part of the answer was sent: only closing the connection shows the caller that it is incomplete.
				panic(http.ErrAbortHandler)
			}
			writeFailure(w, detailed(http.StatusInternalServerError, "Internal server error"))
		}()
		next.ServeHTTP(recorder, r)
	})
}

// recorder records the status and size of an answer, and may bound the time in which the caller must read each part of
// it. A caller who does not is disconnected, which cancels the request.
type recorder struct {
	http.ResponseWriter
	status   int // 0: nothing yet
	bytes    int64
	patience time.Duration // for the caller to read a part; 0: any
}

// WriteHeader records the status.
func (r *recorder) WriteHeader(status int) {
	r.begin(status)
	r.ResponseWriter.WriteHeader(status)
}

// begin records the status, and sets the deadline of the next write. A writer without deadlines needs none.
func (r *recorder) begin(status int) {
	r.status = cmp.Or(r.status, status)
	if r.patience > 0 {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.patience))
	}
}

// WriteValue records the status of an answer that is a value.
func (r *recorder) WriteValue(status int, value any) bool {
	taken := writeValue(r.ResponseWriter, status, value)
	if taken {
		r.begin(status)
	}
	return taken
}

// Write counts the bytes.
func (r *recorder) Write(data []byte) (int, error) {
	r.begin(http.StatusOK)
	n, err := r.ResponseWriter.Write(data)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Bounds of lists and of the texts in them, beyond those that the API itself names.
const (
	maxListItems = 1000
	maxItemRunes = 2048
	maxInputText = 100 // runes of a refused value that are echoed
)

// The texts of Onyx's validation that several routes need.
const (
	notAnInteger   = "Input should be a valid integer"
	notADictionary = "Input should be a valid dictionary"
	notAnObject    = "Input should be a valid dictionary or object to extract fields from"
)

// problem is one thing that is wrong with a request.
type problem struct {
	kind  string
	where []any // names and positions
	text  string
	input string // the refused value, as it is shown; empty: left out
}

// String is the problem as Onyx's validation writes it.
func (p problem) String() string {
	places := make([]string, len(p.where))
	for i, place := range p.where {
		if name, ok := place.(string); ok {
			places[i] = quoted(name)
		} else {
			places[i] = fmt.Sprint(place)
		}
	}
	where := strings.Join(places, ", ")
	if len(places) == 1 {
		where += ","
	}
	shown := fmt.Sprintf("{'type': %s, 'loc': (%s), 'msg': %s", quoted(p.kind), where, quoted(p.text))
	if p.input != "" {
		shown += ", 'input': " + p.input
	}
	return shown + "}"
}

// quoted writes a text as Python does: in single quotes, unless it has one and no double quote.
func quoted(text string) string {
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// echo shows a refused value, cut to a length that cannot flood a terminal.
func echo(raw json.RawMessage) string {
	if isNull(bytes.TrimSpace(raw)) {
		return "None"
	}
	var text string
	if wire.Unmarshal(raw, &text) == nil {
		return quoted(clip(text))
	}
	return clip(string(raw))
}

// firstRunes returns the first characters of a text, at most so many.
func firstRunes(s string, most int) string {
	for end := range s {
		if most == 0 {
			return s[:end]
		}
		most--
	}
	return s
}

// clip shortens a foreign text and replaces its control characters.
func clip(foreign string) string {
	return text.Shorten(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, foreign), maxInputText)
}

// chatFailure is the last line of a stream that fails.
type chatFailure struct {
	Error     string  `json:"error"`
	Stack     *string `json:"stack_trace"`
	Code      string  `json:"error_code"`
	Retryable bool    `json:"is_retryable"`
	Details   any     `json:"details"`
}

// chatError describes why an answer failed. Only a trusted caller sees the model's own message.
func (t *turn) chatError(err error) chatFailure {
	var known *llm.Error
	if !errors.As(err, &known) {
		f, expected := explain(err, isTrusted(t.ctx))
		if !expected {
			t.Log.ErrorContext(t.ctx, "answering failed", guard.Attr(err))
		}
		return chatFailure{Error: f.detail, Code: f.code, Retryable: f.status >= http.StatusInternalServerError}
	}
	codes := map[error]string{
		llm.ErrBusy: "RATE_LIMIT", llm.ErrTimeout: "TIMEOUT", llm.ErrBudget: "BUDGET_EXCEEDED",
		llm.ErrRefused:     "BAD_REQUEST",
		llm.ErrUnavailable: "SERVICE_UNAVAILABLE", llm.ErrUncounted: "SERVICE_UNAVAILABLE",
	}
	failure := chatFailure{Error: "The language model failed: " + known.Kind.Error() + ".",
		Code:      cmp.Or(codes[known.Kind], "API_ERROR"),
		Retryable: known.Kind != llm.ErrBudget && known.Kind != llm.ErrRefused}
	if known.Kind == llm.ErrRefused &&
		(known.Status == http.StatusUnauthorized || known.Status == http.StatusForbidden) {
		failure.Code = "AUTH_ERROR"
	}
	if isTrusted(t.ctx) {
		failure.Error = known.Error()
	}
	t.Log.WarnContext(t.ctx, "the language model failed", slog.String("error", known.Error()))
	return failure
}

// refuse answers a question that cannot be answered. Streams get the line that Onyx sends, unless the caller should
// come back later.
func (t *turn) refuse(err error) error {
	f, known := explain(err, isTrusted(t.ctx))
	if !t.request.Stream || !known || f.status >= http.StatusInternalServerError ||
		f.status == http.StatusTooManyRequests ||
		f.status == http.StatusUnprocessableEntity {
		return err
	}
	t.audit.failed = f.code
	t.line(chatFailure{Error: f.detail, Code: f.code})
	return nil
}
