package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/cluster"
)

// A room moves when its clients wait on the other server, and at the latest after offerLimit. The other server is asked again while it
// is not ready or does not answer.
func TestAMoveWaitsForTheOtherServer(t *testing.T) {
	silent := errors.New("no answer")
	for _, test := range []struct {
		name    string
		answers int // before the other server is ready
		err     error
		want    error
	}{{"ready", 0, nil, nil}, {"ready later", 10, nil, nil}, {"answers later", 10, silent, nil}, {"never ready", 1e9, nil, context.DeadlineExceeded}, {"never answers", 1e9, silent, silent}} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			m := &Cluster{config: ClusterConfig{Ask: func(_ context.Context, server, room string) (draining bool, waiting int, err error) {
				if asked++; server != "other" || room != "duel" {
					t.Errorf("%s: asks %s about %s", test.name, server, room)
				}
				if asked <= test.answers {
					return true, 1, test.err
				}
				return true, 2, nil
			}}}
			began := time.Now()
			err := m.until(t.Context(), &cluster.Server{ID: "other"}, "duel", func(_ bool, waiting int) bool { return waiting == 2 })
			took := time.Since(began)
			if !errors.Is(err, test.want) || test.want != nil && took != offerLimit || test.want == nil && took != time.Duration(test.answers)*askPause {
				t.Errorf("%s: %v after %v", test.name, err, took)
			}
		})
	}
}
