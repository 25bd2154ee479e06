package backend

import (
	"sync"
	"time"

	"tendon/net/limit"
)

// limits are the rate limits of callers.
type limits struct {
	mu     sync.Mutex
	start  time.Time
	owners map[string]*owner
}

// owner is a caller with its limit.
type owner struct {
	limit limit.Limiter[time.Duration]
	used  time.Duration // time of the last request
}

// rate is a rate limit.
type rate struct {
	interval time.Duration // between two requests, on average
	burst    int           // requests that may be sent at once
}

var (
	playerRate = rate{100 * time.Millisecond, 30} // requests of a player
	keyRate    = rate{500 * time.Microsecond, 4000}
)

const (
	maxOwners  = 1 << 18
	ownerIdle  = time.Minute // longer than the time after which each whole burst is available again
	sweepOwner = 8           // owners that each request checks
)

func newLimits() *limits { return &limits{start: time.Now(), owners: map[string]*owner{}} }

// allow reports whether a request is within the limit of its owner. If too many owners are known, new ones are refused.
func (l *limits) allow(name string, r rate) bool {
	now := time.Since(l.start)
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.owners[name]
	if o == nil {
		l.sweep(now)
		if len(l.owners) >= maxOwners {
			return false
		}
		o = &owner{limit: limit.New(r.interval, r.burst)}
		l.owners[name] = o
	}
	o.used = now
	return o.limit.Allow(now)
}

// sweep removes some owners that were idle.
func (l *limits) sweep(now time.Duration) {
	n := 0
	for name, o := range l.owners {
		if now-o.used > ownerIdle {
			delete(l.owners, name)
		}
		if n++; n == sweepOwner {
			return
		}
	}
}
