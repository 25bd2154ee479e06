package rollback

import (
	"errors"
	"fmt"

	"tendon/ecs"
)

// SyncReport holds the counts of a SyncTest, which show that it tested something.
type SyncReport struct {
	Seed              uint64   `json:"seed,string"`
	Ticks             ecs.Tick `json:"ticks"` // compared
	Stats                      // of the run with rewinds
	StructuralChanges uint64   `json:"structural_changes"` // ticks in rewound windows in which an entity came or went
	DistinctChecksums int      `json:"distinct_checksums"` // of the game's own data, without the first
	LimitedTicks      int      `json:"limited_ticks"`      // simulated as by a client that predicts only its own entities

	// DiscardedWrites counts writes of limited ticks to other entities. They are no error: see ecs.World.MayWrite.
	DiscardedWrites []ecs.DiscardedWrites `json:"discarded_writes"`

	// Orders counts the game's orders in the run without rewinds; nil if the game has none.
	Orders OrderCounts `json:"orders,omitempty"`
}

// String returns one line.
func (r SyncReport) String() string {
	line := fmt.Sprintf("seed %d: ticks %d, rewinds %d (deepest %d), ticks resimulated %d, states saved %d, wrong inputs %d, structural changes rewound %d, distinct checksums %d, limited ticks %d",
		r.Seed, r.Ticks, r.Rewinds, r.DeepestTick, r.Resimulated, r.Saved, r.WrongInputs, r.StructuralChanges, r.DistinctChecksums, r.LimitedTicks)
	for _, d := range r.DiscardedWrites {
		line += fmt.Sprintf(", discarded writes of system %q to %q %d", d.System, d.Component, d.Writes)
	}
	if orders := r.Orders.String(); orders != "" {
		line += ", orders: " + orders
	}
	return line
}

// ErrProvesNothing is wrapped by the error of a SyncTest that saw no rewinds, wrong inputs or changes. A game with an empty input
// needs no wrong ones: its players act by orders.
var ErrProvesNothing = errors.New("rollback: the sync test proves nothing")

// verdict returns an error for a run that proves nothing.
func (s *syncTest) verdict() error {
	if s.straight.Image().Strays()+s.timeline.world.Image().Strays() > 0 {
		return s.fill(&DesyncReport{Tick: s.straight.Tick(), System: "some system"})
	}
	if s.config.Ticks <= provesAfter {
		return nil
	}
	r := &s.report
	r.Stats = s.timeline.Stats
	for _, needed := range []struct {
		seen bool
		name string
	}{
		{r.Ticks > 0, "ticks compared"},
		{r.Rewinds > 0, "rewinds"},
		{r.WrongInputs > 0 || s.config.Game.Input.Size() == 0, "wrong inputs"},
		{r.DistinctChecksums > 0, "changes of the state"},
		{r.StructuralChanges > 0 || s.config.AllowStatic, "spawns or despawns in a rewound window"},
	} {
		if !needed.seen {
			return fmt.Errorf("%w: it saw no %s (%v)", ErrProvesNothing, needed.name, r)
		}
	}
	return nil
}

// fill adds the inputs and orders of a report's tick to it.
func (s *syncTest) fill(r *DesyncReport) *DesyncReport {
	r.Inputs, r.InputSize, r.Seed = append(r.Inputs, s.at(r.Tick).inputs...), s.config.Game.Input.Size(), s.config.Seed
	r.Orders, r.Schema = append(r.Orders, s.at(r.Tick).orders...), s.straight.Image().Schema()
	return r
}
