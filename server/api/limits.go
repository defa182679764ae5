package api

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/ingest"
	"quarry/server/pipeline"
)

// The bounds of the bodies and answers that are kept in memory while callers send or fetch them, in bytes. The first
// part of each request is not counted, so that searches are served even when the rest is full.
const (
	smallLoad      = 64 * kilobyte
	flightOfPerson = 48 * megabyte // more than the largest body, with room to grow into
	flightInAll    = 192 * megabyte
)

// quota bounds a number per person and in total: of requests, or of their bytes.
type quota struct {
	perPerson, inAll int
	mutex            sync.Mutex
	all              int
	of               map[string]int // by person
}

func newQuota(perPerson, inAll int) *quota {
	return &quota{perPerson: perPerson, inAll: inAll, of: make(map[string]int)}
}

// add changes the number of a person. It returns an error if that exceeds a bound.
func (q *quota) add(person string, n int) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	switch {
	case n > 0 && q.of[person]+n > q.perPerson:
		return coded("RATE_LIMITED",
			"Too many of your requests are in progress. Wait for some to finish.").after(retrySoon)
	case n > 0 && q.all+n > q.inAll:
		return busy()
	}
	q.all += n
	if q.of[person] += n; q.of[person] == 0 {
		delete(q.of, person)
	}
	return nil
}

// enter counts a request of a person until leave is called. An empty person is not counted.
func (q *quota) enter(person string) (leave func(), err error) {
	if person == "" {
		return func() {}, nil
	}
	return func() { _ = q.add(person, -1) }, q.add(person, 1)
}

// load is the share of one request in a quota of bytes. Its methods are called by one goroutine at a time.
type load struct {
	flight  *quota
	person  string
	bytes   int
	counted int // bytes without the first smallLoad
}

// grow changes the bytes of the request. Using fewer never fails.
func (l *load) grow(bytes int) error {
	counted := max(0, l.bytes+bytes-smallLoad)
	if counted != l.counted {
		if err := l.flight.add(l.person, counted-l.counted); err != nil {
			return err
		}
	}
	l.bytes, l.counted = l.bytes+bytes, counted
	return nil
}

// drop releases the request's share.
func (l *load) drop() { _ = l.grow(-l.bytes) }

// retrySoon is the Retry-After of a busy server, in seconds.
const retrySoon = "5"

// busy is the error when the server has no capacity left.
func busy() failure {
	return coded("SERVICE_UNAVAILABLE", "The server is busy. Try again later.").after(retrySoon)
}

// Rate is a number of requests per period. The zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// searches names what the limiter of tokens counts.
const searches = "searches and questions"

// changeRate bounds the changes of a person: 120 at once, then one every half second. That is more than anybody types,
// and too little to fill a disk unnoticed.
func changeRate() Rate { return Rate{Count: 120, Per: time.Minute} }

// maxBuckets bounds the keys of a limiter, about 2 MB. The least recently used key is dropped first and then starts
// fresh.
const maxBuckets = 10_000

// limiter is a token bucket per key. A nil limiter allows everything. It is safe for concurrent use.
type limiter struct {
	rate   Rate
	now    func() time.Time
	shared Coordinator // nil: only this server counts
	name   string      // of what is counted, for shared

	mutex   sync.Mutex
	buckets *lru.Cache[string, *rate.Limiter]
}

func newLimiter(name string, limit Rate, now func() time.Time, shared Coordinator) *limiter {
	if limit.Count <= 0 || limit.Per <= 0 {
		return nil
	}
	buckets, _ := lru.New[string, *rate.Limiter](maxBuckets) // a positive size is no error
	return &limiter{rate: limit, now: now, shared: shared, name: name, buckets: buckets}
}

// take counts a request of a key. It returns the refusal if it is not allowed.
func (l *limiter) take(ctx context.Context, key, whose, what string) error {
	wait, ok := time.Duration(0), true
	if l.shared == nil {
		wait, ok = l.allow(key)
	} else {
		var err error
		if wait, err = l.shared.Take(ctx, l.name+"/"+key, l.rate.Count, l.rate.Per); err != nil {
			return err
		}
		ok = wait <= 0
	}
	if !ok {
		return tooMany(whose, what, l.rate, wait)
	}
	return nil
}

// allow counts a request of a key in this process. If it is not allowed, wait is the time until the next one is.
func (l *limiter) allow(key string) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.now()
	bucket, ok := l.buckets.Get(key)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(float64(l.rate.Count)/l.rate.Per.Seconds()), l.rate.Count)
		l.buckets.Add(key, bucket)
	}
	const rounding = time.Microsecond // tolerated when a caller returns exactly after wait
	reservation := bucket.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait <= rounding {
		return 0, true
	}
	reservation.CancelAt(now)
	return wait, false
}

// admit counts a request against the limits of its token, or of a visitor without a token, and of its chat session.
// Tokens that were created with a token share its limit.
func (l *limiter) admit(r *http.Request, who directory.Principal, body []byte) error {
	if l == nil {
		return nil
	}
	whose, key := "This token has used up its", who.Tenant+"/token/"+strconv.Itoa(who.RootTokenID)
	if who.TokenID == 0 {
		whose, key = "You have used up your", "visitor/"+personOf(r, who)
	}
	if err := l.take(r.Context(), key, whose, searches); err != nil {
		return err
	}
	session := sessionOf(r, body)
	if session == "" {
		return nil
	}
	// The key includes the user, so that nobody can use up the limit of another user's session.
	return l.take(r.Context(), who.Tenant+"/session/"+who.UserID+"/"+session, "This chat session has used up its",
		searches)
}

// sessionOf returns the chat session that a request names; empty if there is none.
func sessionOf(r *http.Request, body []byte) string {
	const longest = 200
	var named struct {
		Session string `json:"chat_session_id"`
	}
	if !strings.HasPrefix(r.URL.Path, "/chat/") || wire.Unmarshal(body, &named) != nil || len(named.Session) > longest {
		return ""
	}
	return named.Session
}

// admitChange counts a change against the limit of the person, across all tokens. Administrators are not limited.
func (l *limiter) admitChange(r *http.Request, who directory.Principal) error {
	if l == nil || who.Admin {
		return nil
	}
	return l.take(r.Context(), personOf(r, who), "You have used up your", "changes and questions")
}

// tooMany is the error of an exceeded rate limit.
func tooMany(whose, what string, rate Rate, wait time.Duration) failure {
	seconds := max(1, int(math.Ceil(wait.Seconds()-1e-6)))
	return coded("RATE_LIMITED", "%s %d %s per %s. Try again in %s.",
		whose, rate.Count, what, period(rate.Per), time.Duration(seconds)*time.Second).after(strconv.Itoa(seconds))
}

func period(per time.Duration) string {
	return cmp.Or(map[time.Duration]string{
		time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day",
	}[per], per.String())
}

// slotsPerProcessor is more than one, so that a search that waits for the disk leaves no processor idle.
const slotsPerProcessor = 2

// slots bound the searches that compute at once, in the order in which they came. More at once would take as long in
// all, but some of them many times as long as others.
type slots chan struct{}

// acquireFor waits for a slot for a search, until done is called once or more often. A search that waits for a model,
// another server or a reader of its stream takes no slot: it would block those that wait for nobody.
func (s slots) acquireFor(ctx context.Context, request pipeline.Request) (done func(), err error) {
	asks := (request.Model != nil || request.Embedder != nil || len(request.Federated) > 0) && !request.Search.Instant
	if asks || request.Search.Stream {
		return func() {}, nil
	}
	return s.acquire(ctx)
}

// acquire waits for a slot.
func (s slots) acquire(ctx context.Context) (done func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The bounds of waiting for a worker of a listener.
const (
	queueWait     = 10 * time.Second
	queueFactor   = 4 // waiting requests for each one that is served
	maxMonitoring = 2 // requests for metrics at once
)

// workers bound the requests that are served at once, and those that wait for them.
type workers struct{ slots, queue chan struct{} }

func newWorkers(slots, queue int) *workers {
	return &workers{make(chan struct{}, slots), make(chan struct{}, queue)}
}

// enter waits for a slot, which is used until leave is called. With a full queue it fails at once.
func (w *workers) enter(request *http.Request) (leave func(), err error) {
	leave = func() { <-w.slots }
	select {
	case w.slots <- struct{}{}:
		return leave, nil
	default:
	}
	select {
	case w.queue <- struct{}{}:
		defer func() { <-w.queue }()
	default:
		return nil, busy()
	}
	timer := time.NewTimer(queueWait)
	defer timer.Stop()
	select {
	case w.slots <- struct{}{}:
		return leave, nil
	case <-request.Context().Done():
		return nil, canceled(request)
	case <-timer.C:
		return nil, busy()
	}
}

// timeouts bound how long a listener waits for its callers. The routes bound the time of the work itself.
type timeouts struct {
	body, longBody time.Duration // for a whole body of up to a megabyte, and of more
	refused        time.Duration // for the body of a request that is refused before it is read
	answer         time.Duration // for the caller to read a part of the answer
}

// limitRefused bounds how long the connection of a refused request waits for the unread body.
func (t timeouts) limitRefused(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(t.refused))
	}
}

// limitBody bounds the time in which the body of a request must arrive. net/http removes the deadline at the end of the
// body, so that the caller may be silent while the answer is made.
func (t timeouts) limitBody(w http.ResponseWriter, maxBody int64) {
	timeout := t.body
	if maxBody > megabyte {
		timeout = t.longBody
	}
	// A writer without deadlines needs none.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
}

// Coordinator is what the servers of one library share. It is safe for concurrent use.
type Coordinator interface {
	// Lease runs do while no other server runs what has that name, which it waits for.
	Lease(ctx context.Context, name string, do func(ctx context.Context) error) error
	// Take counts a request of a key if there were fewer than most per period, as a token bucket does: most at once,
	// then one each time a part of the period has passed. Otherwise wait is the time until there are.
	Take(ctx context.Context, key string, most int, per time.Duration) (wait time.Duration, err error)
}

// lease runs work that only one server does at a time.
func (s *Server) lease(ctx context.Context, name string, do func(ctx context.Context) error) error {
	if s.Coordinator == nil {
		return do(ctx)
	}
	return s.Coordinator.Lease(ctx, name, do)
}

// syncFiles synchronises what was added. Of several servers that see the same files, one does it at a time, and the
// next one finds them unchanged.
func (w *work) syncFiles(paths []string, local ingest.Local) (done wire.LibraryEvent, err error) {
	err = w.lease(w.ctx, "sync of "+w.who.Tenant, func(ctx context.Context) (err error) {
		done, err = ingest.Sync(ctx, w.documents, paths, local, w.report)
		return err
	})
	return done, err
}
