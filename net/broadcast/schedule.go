package broadcast

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"tendon/ecs"
)

// Kind is the kind of a file.
type Kind uint8

// The kinds of files.
const (
	KindIndex Kind = iota
	KindFull
	KindTicks
)

// Request is a request that a viewer makes.
type Request struct {
	Kind  Kind
	Name  string        // of the file, relative to the broadcast
	First ecs.Tick      // of the fragment
	Max   int           // bytes of the file, at most
	At    time.Duration // when it is due
}

// Response is the result of a request.
type Response struct {
	Err   error    // nil, ErrNotFound, or another temporary error
	Index *Index   // of a KindIndex
	Last  ecs.Tick // the last tick of a KindTicks
}

// ErrNotFound is returned by a Source for a file that does not exist.
var ErrNotFound = errors.New("broadcast: file does not exist")

// Schedule selects the requests of a viewer and their times. It has no clock. One request is in flight at a time.
//
// It joins with the second-last fragment, so that the next one exists in time. From then on it requests a fragment every three
// seconds, at a constant time after the fragment becomes visible. If a fragment does not exist, it requests the index. After a
// gap, a restart of the server or a long delay it continues with the state of a newer fragment. It repeats failed requests after
// 0.5 to 8 s. Times have a random part, which distributes the requests of many viewers.
type Schedule struct {
	index  Index
	kind   Kind
	next   ecs.Tick // the first tick of the next fragment
	at     time.Duration
	random *rand.Rand

	failures int  // since the last fragment
	idle     int  // indexes in a row without a new fragment
	joined   bool // a fragment was received
	jump     bool // the next fragment does not have to follow the last one
	over     bool
}

const (
	shortestRetry = 500 * time.Millisecond
	longestRetry  = 8 * time.Second
	idlePoll      = 5 * time.Second // of an index after the end of a match
	attempts      = 3               // for a file, before another one is requested
)

// NewSchedule returns the schedule of a viewer that joins at a time.
func NewSchedule(seed uint64, now time.Duration) *Schedule {
	return &Schedule{at: now, random: rand.New(rand.NewPCG(seed, 0)), jump: true}
}

// Next returns the next request.
func (s *Schedule) Next() Request {
	r := Request{Kind: s.kind, First: s.next, At: s.at}
	switch s.kind {
	case KindIndex:
		r.Name, r.Max = IndexName, maxIndexBytes
	case KindFull:
		r.Name, r.Max = s.index.FullName(s.next), maxFullBytes
	case KindTicks:
		r.Name, r.Max = s.index.TicksName(s.next), maxTicksBytes
	}
	return r
}

// Over reports whether the match has ended and every fragment was received.
func (s *Schedule) Over() bool { return s.over }

// Joined reports whether a fragment was received.
func (s *Schedule) Joined() bool { return s.joined }

// Failures returns the number of requests that have failed since the last fragment.
func (s *Schedule) Failures() int { return s.failures }

// Jump selects a newer fragment at a time. Ticks between may be skipped.
func (s *Schedule) Jump(at time.Duration) { s.jump, s.kind, s.at = true, KindIndex, at }

// Done processes the response to the request of Next, at its time of arrival.
func (s *Schedule) Done(now time.Duration, r Response) {
	length := time.Duration(s.index.FragmentTicks) * time.Second / time.Duration(max(s.index.TickRate, 1))
	switch {
	case r.Err != nil && !(s.kind == KindTicks && errors.Is(r.Err, ErrNotFound) && s.next >= s.index.Last):
		if s.failures++; s.kind != KindIndex && (s.failures%attempts == 0 || s.kind == KindFull && errors.Is(r.Err, ErrNotFound)) {
			s.Jump(now)
		}
		s.at = now + s.backoff(s.failures-1)
		return
	case r.Err != nil: // probably it does not exist yet
		s.kind, s.at = KindIndex, now+s.soon(shortestRetry/2)
		return
	case s.kind == KindIndex:
		s.follow(now, r.Index)
	case s.kind == KindFull:
		s.kind, s.at = KindTicks, now
	default:
		s.joined, s.jump, s.next, s.failures = true, false, r.Last, 0
		due := s.at + length
		switch {
		case s.index.Over && s.next >= s.index.Last:
			s.over, s.kind, s.at = true, KindIndex, now+s.soon(idlePoll)
		case s.next < s.index.Last:
			s.at = now
		case now > due: // requests are late by a fragment: the index lists the newest ones
			s.kind, s.at = KindIndex, now
		default:
			s.at = due
		}
	}
}

// backoff returns the time until the next attempt after n attempts.
func (s *Schedule) backoff(n int) time.Duration {
	return s.soon(min(2*shortestRetry<<min(n, 8), longestRetry))
}

// soon returns a random time between half and all of d.
func (s *Schedule) soon(d time.Duration) time.Duration {
	return d/2 + time.Duration(s.random.Int64N(int64(d/2)+1))
}

// follow selects the next request from a new index.
func (s *Schedule) follow(now time.Duration, x *Index) {
	s.jump = s.jump || x.Run != s.index.Run
	s.index = *x
	s.over = !s.jump && x.Over && s.next >= x.Last
	n := len(x.Fragments)
	switch {
	case s.over:
		s.at = now + s.soon(idlePoll)
	case n == 0 || !s.jump && s.next == x.Last: // no new fragment is visible yet: the match may be paused
		s.at = now + s.backoff(min(s.idle, 2))
		s.idle++
		return
	case !s.jump && slices.Contains(x.Fragments, s.next):
		s.kind, s.at = KindTicks, now
	default:
		if s.jump = true; s.failures < 2*attempts {
			n = max(n-1, 1)
		}
		s.kind, s.next, s.at = KindFull, x.Fragments[n-1], now
	}
	s.idle = 0
}
