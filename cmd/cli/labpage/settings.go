package labpage

import (
	"math"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/net/lab"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// Settings is all that a page can set, and what its link says. Values out of range become the nearest that is in it.
type Settings struct {
	// Sync names the strategies, one to five of them, each once.
	Sync []string `json:"sync"`
	// Net names a standard profile; with it, what follows until Reorder is passed over.
	Net string `json:"net"`
	// RTT is the round trip without jitter, Jitter the mean of what comes on top each way, in ms.
	RTT    float64 `json:"rtt"`
	Jitter float64 `json:"jitter"`
	// Loss, Duplicate and Reorder are chances of each packet each way, in percent.
	Loss      float64 `json:"loss"`
	Duplicate float64 `json:"duplicate"`
	Reorder   float64 `json:"reorder"`
	// The switches, and the input delay in ticks. They are for the strategies that have such a thing.
	Prediction      bool `json:"prediction"`
	Reconciliation  bool `json:"reconciliation"`
	Interpolation   bool `json:"interpolation"`
	LagCompensation bool `json:"lagcomp"`
	InputDelay      int  `json:"delay"`
	// Players is how many play, with bots for all but the first.
	Players int `json:"players"`
	// Seed starts everything that is random.
	Seed uint64 `json:"seed"`
}

// The ranges of Settings.
const (
	mostRTT     = 1000      // ms
	mostJitter  = 200       // ms
	mostChance  = 50        // percent
	mostDelay   = 30        // ticks
	mostSeed    = 1<<53 - 1 // what a page's numbers hold
	mostPlayers = 8
	// reorderDelay is by how much a packet that is overtaken is late.
	reorderDelay = 40 * time.Millisecond
)

// names are the strategies in the order of the panels.
var names = []string{lockstep.Strategy.Name, relay.Strategy.Name, predict.Strategy.Name, verify.Strategy.Name, reckon.Strategy.Name}

// Usual is what a page begins with where nobody says otherwise: two strategies on a network that shows the difference.
func Usual(seed uint64) Settings {
	return Settings{Sync: []string{lockstep.Strategy.Name, relay.Strategy.Name}, RTT: 200, Jitter: 10, Loss: 1, Prediction: true,
		Reconciliation: true, Interpolation: true, LagCompensation: true, Players: 4, Seed: seed}
}

// clamped returns the settings with every value in its range.
func (s Settings) clamped(g *ecs.Game) Settings {
	var sync []string
	for _, name := range names {
		if slices.Contains(s.Sync, name) {
			sync = append(sync, name)
		}
	}
	if s.Sync = sync; len(sync) == 0 {
		s.Sync = Usual(0).Sync
	}
	if p, ok := simnet.ByName(s.Net); ok {
		s.Net = p.Name
	} else {
		s.Net = ""
	}
	within := func(x *float64, most float64) {
		if math.IsNaN(*x) {
			*x = 0
		}
		*x = min(max(*x, 0), most)
	}
	within(&s.RTT, mostRTT)
	within(&s.Jitter, mostJitter)
	within(&s.Loss, mostChance)
	within(&s.Duplicate, mostChance)
	within(&s.Reorder, mostChance)
	s.InputDelay = min(max(s.InputDelay, 0), mostDelay)
	s.Players = min(max(s.Players, 1), min(g.MaxPlayers, mostPlayers))
	s.Seed = min(s.Seed, mostSeed)
	return s
}

// profile is the network.
func (s *Settings) profile() simnet.Profile {
	if p, ok := simnet.ByName(s.Net); ok {
		return p
	}
	milliseconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }
	path := simnet.Path{Delay: milliseconds(s.RTT / 2), Loss: s.Loss / 100, Duplicate: s.Duplicate / 100, Reorder: s.Reorder / 100}
	if s.Jitter > 0 {
		path.Jitter = simnet.Jitter{Kind: simnet.Exponential, Size: milliseconds(s.Jitter)}
	}
	if s.Reorder > 0 {
		path.ReorderDelay = reorderDelay
	}
	return simnet.Symmetric("", "", path)
}

// sameNetwork reports whether the network is the same.
func (s *Settings) sameNetwork(o *Settings) bool {
	own := func(s *Settings) [5]float64 { return [...]float64{s.RTT, s.Jitter, s.Loss, s.Duplicate, s.Reorder} }
	return s.Net == o.Net && (s.Net != "" || own(s) == own(o))
}

// sameMatch reports whether what differs can be changed while the matches go on.
func (s *Settings) sameMatch(o *Settings) bool {
	return slices.Equal(s.Sync, o.Sync) && s.LagCompensation == o.LagCompensation && s.Players == o.Players && s.Seed == o.Seed
}

// sameOwn reports whether player 0's clients of a strategy play alike.
func (s *Settings) sameOwn(o *Settings, strategy string) bool {
	same := s.Prediction == o.Prediction && s.InputDelay == o.InputDelay
	switch strategy {
	case relay.Strategy.Name:
		return same
	case predict.Strategy.Name:
		return same && s.Reconciliation == o.Reconciliation && s.Interpolation == o.Interpolation
	}
	return true
}

// entries are the matches.
func (s *Settings) entries() (list []lab.Entry) {
	for _, name := range s.Sync {
		list = append(list, lab.Entry{Strategy: s.strategy(name), Own: s.own(name)})
	}
	return list
}

func (s *Settings) strategy(name string) systems.Strategy {
	switch name {
	case lockstep.Strategy.Name:
		return lockstep.Strategy
	case predict.Strategy.Name:
		return predict.New(predict.Config{MaxView: s.maxView()})
	case verify.Strategy.Name:
		return verify.Strategy
	case reckon.Strategy.Name:
		return reckon.Strategy
	}
	return relay.Strategy
}

// maxView is how far the server looks back: as far as usual, or not at all.
func (s *Settings) maxView() systems.Time {
	if s.LagCompensation {
		return 0
	}
	return -1
}

// own is how player 0 plays by a strategy.
func (s *Settings) own(name string) (o lab.Own) {
	switch name {
	case predict.Strategy.Name:
		o.Strategy = predict.New(predict.Config{MaxView: s.maxView(), NoReconcile: !s.Reconciliation, NoPlayback: !s.Interpolation})
	case relay.Strategy.Name:
	default:
		return o
	}
	if o.InputDelay = s.InputDelay; !s.Prediction {
		o.MaxPrediction = 1 // the least there is: all that is not final waits, as input delay
	}
	return o
}
