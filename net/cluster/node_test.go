package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A process that takes the place of another one waits until that is dead, instead of sending the clients to its own address. Other servers
// send them there.
func TestAServerWaitsForItsFormerProcess(t *testing.T) {
	for address, waits := range map[string]bool{"10.0.0.1:7777": true, "10.0.0.2:7777": false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var store Memory
			if err := store.Announce(ctx, Server{ID: "old", Beat: 1, Addresses: []string{"10.0.0.1:7777"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Append(ctx, "duel", &Entry{Kind: KindClaim, Owner: "old", Number: 1}); err != nil {
				t.Fatal(err)
			}
			n, err := New(Config{Store: &store, Server: Server{Name: "new", Addresses: []string{"10.0.0.9:7777", address}}})
			if err != nil {
				t.Fatal(err)
			}
			go n.Run(ctx)
			time.Sleep(100 * time.Millisecond)
			began := time.Now()
			_, err = n.Claim(ctx, "duel")
			took := time.Since(began)
			if waits && (err != nil || took < n.config.Lease/2 || took > 2*n.config.Lease) || !waits && (!errors.As(err, new(*OwnedError)) || took > 0) {
				t.Errorf("%s: after %v: %v", address, took, err)
			}
			cancel()
			synctest.Wait()
		})
	}
}
