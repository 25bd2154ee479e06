package backend

import (
	"context"
	"errors"
	"time"

	"tendon/cmd/cli/backend/queue"
	"tendon/net/cluster"
)

const (
	claimPause   = 100 * time.Millisecond
	releaseLimit = time.Second
)

// RunInCluster runs the service while this process owns LogRoom, until ctx is done or the log is damaged. While another process
// owns it, RunInCluster waits. It then calls waits once for each such owner, and decides after the wait. Both are
// optional.
func (s *Service) RunInCluster(ctx context.Context, node *cluster.Node, waits func(owner cluster.Server), decides func()) error {
	last := ""
	for ctx.Err() == nil {
		room, err := node.Claim(ctx, LogRoom)
		if err != nil { // another process owns it, or the store has no leader for a while
			if owned := (*cluster.OwnedError)(nil); errors.As(err, &owned) && owned.Server.ID != last && waits != nil {
				waits(owned.Server)
				last = owned.Server.ID
			}
			select {
			case <-ctx.Done():
			case <-time.After(claimPause):
			}
			continue
		}
		if last != "" && decides != nil {
			decides()
		}
		last = ""
		switch err = s.Run(ctx, owned{room, node}); {
		case errors.Is(err, cluster.ErrLost): // another process regarded this one as dead
		case err != nil && ctx.Err() == nil:
			return err
		default:
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
			_ = room.Release(end, nil, "") // otherwise the next owner waits for a lease
			cancel()
		}
	}
	return nil
}

// owned is the journal of LogRoom as a Log.
type owned struct {
	*cluster.Room
	node *cluster.Node
}

// Reached is Node.Reached.
func (o owned) Reached() bool { return o.node.Reached() }

// ErrNoLog is the error of CheckCluster if no backend has a log in the cluster.
var ErrNoLog = errors.New("backend: the cluster has no log of a backend")

// CheckCluster is Check for the log of the backend of a cluster, since its newest beginning. It only reads the store, so the backend may run
// meanwhile.
func CheckCluster(ctx context.Context, store cluster.Store, queues []queue.Queue) (passes int, err error) {
	content, err := cluster.ReadJournal(ctx, store, LogRoom)
	switch {
	case err != nil:
		return 0, err
	case content == nil:
		return 0, ErrNoLog
	}
	return replay(content, queues)
}
