package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/netcode"
	"tendon/net/server"
)

var _ server.UsedTokens = (*Tokens)(nil)

// tokenStore is a TokenStore that can fail.
type tokenStore struct {
	mu    sync.Mutex
	taken map[string]string
	err   error
}

func (s *tokenStore) Since() time.Time { return time.Time{} }

func (s *tokenStore) Take(_ context.Context, token, by string, _ time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false, s.err
	}
	if s.taken[token] == "" {
		s.taken[token] = by
	}
	return s.taken[token] == by, nil
}

// A token is valid for one connection, even if it is presented to several servers at the same time.
func TestATokenIsTakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenStore{taken: map[string]string{}}
		one, two := NewTokens(s, "one"), NewTokens(s, "two")
		token, expires := netcode.TokenID{7}, uint64(time.Now().Add(time.Hour).Unix())
		record := func(k *Tokens) (bool, error) { return k.Record(token, expires, time.Now()) }
		for _, k := range []*Tokens{one, two} {
			if recorded, err := record(k); recorded || err != nil {
				t.Fatal(recorded, err)
			}
		}
		synctest.Wait()
		first, _ := record(one)
		second, _ := record(two)
		if first == second || one.Used(token, expires) == two.Used(token, expires) || one.Used(token, expires) == first {
			t.Errorf("recorded by %v and %v, used for %v and %v", first, second, one.Used(token, expires), two.Used(token, expires))
		}
	})
}

// While the store fails, no client connects with the token. Afterwards the token is valid again.
func TestATokenSurvivesAFailureOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenStore{taken: map[string]string{}, err: errors.New("no quorum")}
		k, token := NewTokens(s, "one"), netcode.TokenID{7}
		record := func() (bool, error) { return k.Record(token, uint64(time.Now().Unix())+9, time.Now()) }
		_, _ = record()
		synctest.Wait()
		if recorded, err := record(); recorded || !errors.Is(err, s.err) || k.Used(token, 0) {
			t.Error(recorded, err)
		}
		s.err = nil
		_, _ = record()
		synctest.Wait()
		if recorded, err := record(); !recorded || err != nil {
			t.Error(recorded, err)
		}
	})
}
