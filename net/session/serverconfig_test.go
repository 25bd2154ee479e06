package session

import (
	"strings"
	"testing"
)

// Check has no TickRate, because a room calls it before it has one.
func TestNewServerRefusesATickRateOutOfRange(t *testing.T) {
	for _, rate := range []int{-1, 0, 1001} {
		c := ServerConfig{TickRate: rate}
		if err := c.Check(); err != nil {
			t.Errorf("%d: Check: %v", rate, err)
		}
		if s, err := NewServer(c, &memory{}, 0); s != nil || err == nil || !strings.Contains(err.Error(), "TickRate") {
			t.Errorf("%d: %v", rate, err)
		}
	}
	for _, rate := range []int{1, 1000} {
		if _, err := NewServer(ServerConfig{TickRate: rate}, &memory{}, 0); err != nil {
			t.Errorf("%d: %v", rate, err)
		}
	}
}
