package api

import (
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
	buckets *lru.Cache[string, *rate.Limiter]
}

func newLimiter(limit Rate, now func() time.Time) *limiter {
	if limit.Count <= 0 || limit.Per <= 0 {
		return nil
	}
	return &limiter{rate: limit, now: now, buckets: newLRU[string, *rate.Limiter](maxBuckets)}
}

// take counts a request of a key. When it is refused, wait says after how long the next one is admitted.
func (l *limiter) take(key string) (wait time.Duration, ok bool) {
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
	const rounding = time.Microsecond // by which a wait may be too short that ends when it was said to
	reservation := bucket.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait <= rounding {
		return 0, true
	}
	reservation.CancelAt(now)
	return wait, false
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
	return coded(http.StatusTooManyRequests, "RATE_LIMITED", "%s %d %s per %s. Try again in %s.",
		whose, rate.Count, what, period(rate.Per), time.Duration(seconds)*time.Second).after(strconv.Itoa(seconds))
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
