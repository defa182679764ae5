package api

import (
	"container/list"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
)

// Rate is a number of requests per period. The zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// searches are what a limiter of tokens counts.
const searches = "searches and questions"

// changeRate is how many requests that change something a person may make, as many at once and then one every half
// second: more than anybody types, and less than fills a disk unnoticed.
func changeRate() Rate { return Rate{Count: 120, Per: time.Minute} }

// maxBuckets bounds what a limiter remembers: about 2 MB. Whoever was not heard of for longest is forgotten first, and
// then begins anew.
const maxBuckets = 10_000

// limiter admits a number of requests per period for each key: as many at once, and then one whenever its part of the
// period has passed. A nil limiter admits everything. It is safe for concurrent use.
type limiter struct {
	rate Rate
	now  func() time.Time

	mutex   sync.Mutex
	buckets map[string]*list.Element
	recent  *list.List // of *bucket, the last used in front
}

// bucket is what is left for one key.
type bucket struct {
	key  string
	left float64 // requests, at the moment seen
	seen time.Time
}

func newLimiter(rate Rate, now func() time.Time) *limiter {
	if rate.Count <= 0 || rate.Per <= 0 {
		return nil
	}
	return &limiter{rate: rate, now: now, buckets: make(map[string]*list.Element), recent: list.New()}
}

// take counts a request of a key. When it is refused, wait says after how long the next one is admitted.
func (l *limiter) take(key string) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	b := l.find(key)
	now, each := l.now(), l.rate.Per.Seconds()/float64(l.rate.Count)
	if passed := now.Sub(b.seen).Seconds(); passed > 0 {
		b.left, b.seen = min(float64(l.rate.Count), b.left+passed/each), now
	}
	// A wait that ends when it was said to must not fail by a rounding.
	if b.left < 1-1e-9 {
		return time.Duration(math.Ceil((1 - b.left) * each * float64(time.Second))), false
	}
	b.left--
	return 0, true
}

func (l *limiter) find(key string) *bucket {
	if known, ok := l.buckets[key]; ok {
		l.recent.MoveToFront(known)
		return known.Value.(*bucket)
	}
	if len(l.buckets) >= maxBuckets {
		oldest := l.recent.Back()
		delete(l.buckets, l.recent.Remove(oldest).(*bucket).key)
	}
	b := &bucket{key: key, left: float64(l.rate.Count), seen: l.now()}
	l.buckets[key] = l.recent.PushFront(b)
	return b
}

// admit counts a request of a token, or of a visitor who needs none, and of the chat session that its body names. Tokens
// made with a token share its limit. It is called once per request, after the caller is known.
func (l *limiter) admit(r *http.Request, who directory.Principal, body []byte) error {
	if l == nil {
		return nil
	}
	whose, key := "This token has used up its", who.Tenant+"/token/"+strconv.Itoa(who.RootTokenID)
	if who.TokenID == 0 {
		whose, key = "You have used up your", "visitor/"+personOf(r, who)
	}
	if wait, ok := l.take(key); !ok {
		return tooMany(whose, searches, l.rate, wait)
	}
	session := sessionOf(r, body)
	if session == "" {
		return nil
	}
	// A session is its person's, whatever tokens they use: nobody can use up somebody else's.
	if wait, ok := l.take(who.Tenant + "/session/" + who.UserID + "/" + session); !ok {
		return tooMany("This chat session has used up its", searches, l.rate, wait)
	}
	return nil
}

// sessionOf is the chat session that a request belongs to; empty for a new one, for a search, and for a body that is no
// request.
func sessionOf(r *http.Request, body []byte) string {
	const longest = 200
	var named struct {
		Session string `json:"chat_session_id"`
	}
	if !isChat(r) || wire.Unmarshal(body, &named) != nil || len(named.Session) > longest {
		return ""
	}
	return named.Session
}

func isChat(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/chat/") }

// admitChange counts a request of a person that changes something, whatever tokens they use. Administrators are not
// limited: filling a server is their work.
func (l *limiter) admitChange(r *http.Request, who directory.Principal) error {
	if who.Admin {
		return nil
	}
	if wait, ok := l.take(personOf(r, who)); !ok {
		return tooMany("You have used up your", "changes and questions", l.rate, wait)
	}
	return nil
}

// tooMany says who has used up what is theirs, and when there is more.
func tooMany(whose, what string, rate Rate, wait time.Duration) failure {
	seconds := max(1, int(math.Ceil(wait.Seconds()-1e-6)))
	f := coded(http.StatusTooManyRequests, "RATE_LIMITED",
		"%s %d %s per %s. Try again in %s.",
		whose, rate.Count, what, period(rate.Per), time.Duration(seconds)*time.Second)
	f.retryAfter = strconv.Itoa(seconds)
	return f
}

func period(per time.Duration) string {
	switch per {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	case 24 * time.Hour:
		return "day"
	}
	return per.String()
}
