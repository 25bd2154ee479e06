package cli

import (
	"tendon/ecs"
	"tendon/systems"
)

type recorder struct{ path string }

func newRecorder(dir, room string, g *ecs.Game, seed uint64) (*recorder, error) {
	return &recorder{}, nil
}
func (r *recorder) take(f systems.FinalTick) {}
func (r *recorder) close() error             { return nil }

type replayVerb struct{}

func (*replayVerb) Run(a *app) error { return nil }
