package host

import (
	"errors"
	"fmt"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/matches"
)

// matchKeeper is a server's file of matches.
type matchKeeper struct {
	store    *matches.Store
	recorder *matches.Recorder
}

// keepMatches opens the file. The first record that cannot be stored is reported; matches continue.
func keepMatches(a *app.App, path string) (*matchKeeper, error) {
	store, err := matches.Open(path)
	switch {
	case errors.Is(err, matches.ErrLocked):
		return nil, fmt.Errorf("%w: does another server run with it? Stop it or choose another --matches", err)
	case err != nil:
		return nil, fmt.Errorf("matches cannot be recorded: %w; choose another --matches", err)
	}
	return &matchKeeper{store: store, recorder: matches.NewRecorder(store, func(err error) {
		a.Logf("not every match is recorded; the matches continue: %v", err)
		a.Emit("matches_failed", app.Fields{"file": path, "error": err.Error()})
	})}, nil
}

// wait returns when all records are stored. A nil keeper has none.
func (k *matchKeeper) wait() {
	if k != nil {
		k.recorder.Wait()
	}
}

// close stores the records that wait and closes the file. A nil keeper has none.
func (k *matchKeeper) close() error {
	if k == nil {
		return nil
	}
	err := k.recorder.Close()
	if err != nil {
		err = fmt.Errorf("%w: make room on the disk or choose another --matches", err)
	}
	return errors.Join(err, k.store.Close())
}
