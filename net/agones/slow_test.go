package agones

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowServer answers each request after a time, without a network.
type slowServer struct {
	delay time.Duration

	mu     sync.Mutex
	health []time.Time // of the requests
	values int         // added to the list
}

// RoundTrip answers a request.
func (s *slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body := "{}"
	switch path := r.URL.Path; {
	case path == "/health":
		s.health = append(s.health, time.Now())
	case strings.HasPrefix(path, "/v1beta1/counters/"):
		body = `{"count":"0","capacity":"4"}`
	case strings.HasSuffix(path, ":addValue"):
		s.values++
	case strings.HasPrefix(path, "/v1beta1/lists/"):
		body = `{"capacity":"1000","values":[]}`
	case path == "/watch/gameserver":
		body = `{"result":{"status":{"state":"Ready"}}}`
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// Many players who arrive at once delay no health beyond the 15 s of a Fleet, though each request takes more than a second.
func TestHealthIsSentWhileTheListOfPlayersIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowServer{delay: 1500 * time.Millisecond}
		load := Load{}
		for n := range 40 {
			load.Players = append(load.Players, strconv.Itoa(n))
		}
		r := NewReporter(Config{Client: &Client{base: "http://sdk", http: &http.Client{Transport: s}}, Drain: func(string) {},
			Load: func(context.Context) (Load, error) { return load, nil }})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		r.Run(ctx)
		if s.values != len(load.Players) {
			t.Errorf("%d of %d players are listed", s.values, len(load.Players))
		}
		for i := 1; i < len(s.health); i++ {
			if gap := s.health[i].Sub(s.health[i-1]); gap > 10*time.Second {
				t.Errorf("no health for %v", gap)
			}
		}
	})
}
