package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tendon/cmd/cli/backend"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/internal/app"
)

// checkLimit is the time within which --check-cluster reads the log.
const checkLimit = time.Minute

// check replays a log.
func (v *Verb) check(a *app.App) error {
	queues, err := v.queues(a)
	if err != nil {
		return err
	}
	flag, none := "--check", "The log begins again at each start, after one hour, and after 16 MiB; tickets.before.log has the events before"
	var passes int
	if v.CheckCluster {
		flag, none = "--check-cluster", "The log begins again when a backend becomes active, after one hour, and after 16 MiB"
		passes, err = v.checkCluster(a, queues)
	} else {
		passes, err = backend.Check(v.Check, queues)
	}
	switch {
	case errors.Is(err, queue.ErrDiffers):
		return fmt.Errorf("%w: %w; the log may be of another build, or of other --queue flags", app.ErrFailed, err)
	case errors.Is(err, queue.ErrQueue):
		return fmt.Errorf("%s: %w; give the --queue flags of the backend", flag, err)
	case errors.Is(err, backend.ErrNoLog):
		return fmt.Errorf("%s: %w: check the address and --cluster-name", flag, err)
	case err != nil:
		return fmt.Errorf("%s: %w", flag, err)
	}
	text := app.Counted(passes, "pass", "passes") + " checked: the match function returns the matches of the log"
	if passes == 0 {
		text = "nothing to check: the log has no pass. " + none
	}
	a.Print(text + "\n")
	a.Emit("checked", app.Fields{"passes": passes})
	return nil
}

// checkCluster replays the log of the backend of a cluster.
func (v *Verb) checkCluster(a *app.App, queues []queue.Queue) (passes int, err error) {
	switch {
	case v.Check != "":
		return 0, errors.New("--check and --check-cluster exclude each other: leave one of them out")
	case v.Cluster == "":
		return 0, errors.New("--cluster is missing: add --cluster nats://HOST:PORT")
	case v.Embedded():
		return 0, errors.New("--cluster embedded: a backend cannot use an embedded cluster: give nats://HOST:PORT, or --check FILE instead")
	}
	store, end, err := v.Observe(a)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(a.Ctx, checkLimit)
	defer cancel()
	passes, err = backend.CheckCluster(ctx, store, queues)
	return passes, errors.Join(err, end())
}
