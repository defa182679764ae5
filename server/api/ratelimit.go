package api

import (
	"cmp"
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
)

// Rate is a number of requests per period. The zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// searches names what the limiter of tokens counts.
const searches = "searches and questions"

// changeRate bounds the changes of a person: 120 at once, then one every half second. That is more than anybody types, and
// too little to fill a disk unnoticed.
func changeRate() Rate { return Rate{Count: 120, Per: time.Minute} }

// maxBuckets bounds the keys of a limiter, about 2 MB. The least recently used key is dropped first and then starts
// fresh.
const maxBuckets = 10_000

// limiter is a token bucket per key. A nil limiter allows everything. It is safe for concurrent use.
type limiter struct {
	rate Rate
	now  func() time.Time

	mutex   sync.Mutex
	buckets *lru.Cache[string, *rate.Limiter]
}

func newLimiter(limit Rate, now func() time.Time) *limiter {
	if limit.Count <= 0 || limit.Per <= 0 {
		return nil
	}
	return &limiter{rate: limit, now: now, buckets: newLRU[string, *rate.Limiter](maxBuckets)}
}

// allow counts a request of a key. If it is not allowed, wait is the time until the next one is.
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

// admit counts a request against the limits of its token, or of a visitor without a token, and of its chat session. Tokens
// that were created with a token share its limit.
func (l *limiter) admit(r *http.Request, who directory.Principal, body []byte) error {
	if l == nil {
		return nil
	}
	whose, key := "This token has used up its", who.Tenant+"/token/"+strconv.Itoa(who.RootTokenID)
	if who.TokenID == 0 {
		whose, key = "You have used up your", "visitor/"+personOf(r, who)
	}
	if wait, ok := l.allow(key); !ok {
		return tooMany(whose, searches, l.rate, wait)
	}
	session := sessionOf(r, body)
	if session == "" {
		return nil
	}
	// The key includes the user, so that nobody can use up the limit of another user's session.
	if wait, ok := l.allow(who.Tenant + "/session/" + who.UserID + "/" + session); !ok {
		return tooMany("This chat session has used up its", searches, l.rate, wait)
	}
	return nil
}

// sessionOf returns the chat session that a request names; empty if there is none.
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

// admitChange counts a change against the limit of the person, across all tokens. Administrators are not limited.
func (l *limiter) admitChange(r *http.Request, who directory.Principal) error {
	if who.Admin {
		return nil
	}
	if wait, ok := l.allow(personOf(r, who)); !ok {
		return tooMany("You have used up your", "changes and questions", l.rate, wait)
	}
	return nil
}

// tooMany is the error of an exceeded rate limit.
func tooMany(whose, what string, rate Rate, wait time.Duration) failure {
	seconds := max(1, int(math.Ceil(wait.Seconds()-1e-6)))
	return coded(http.StatusTooManyRequests, "RATE_LIMITED", "%s %d %s per %s. Try again in %s.",
		whose, rate.Count, what, period(rate.Per), time.Duration(seconds)*time.Second).after(strconv.Itoa(seconds))
}

func period(per time.Duration) string {
	return cmp.Or(map[time.Duration]string{
		time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day",
	}[per], per.String())
}
