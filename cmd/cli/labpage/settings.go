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

// Settings are the settings of a page, which are also in its link. Values out of range are clamped.
type Settings struct {
	// Sync names one to five strategies, each once.
	Sync []string `json:"sync"`
	// Net names a standard profile. The fields up to Reorder are then ignored.
	Net string `json:"net"`
	// RTT is the round trip without jitter, Jitter the mean jitter of each way, in ms.
	RTT    float64 `json:"rtt"`
	Jitter float64 `json:"jitter"`
	// Loss, Duplicate and Reorder are the probabilities for each packet and way, in percent.
	Loss      float64 `json:"loss"`
	Duplicate float64 `json:"duplicate"`
	Reorder   float64 `json:"reorder"`
	// The switches, and the input delay in ticks. A strategy without such a setting ignores it.
	Prediction      bool `json:"prediction"`
	Reconciliation  bool `json:"reconciliation"`
	Interpolation   bool `json:"interpolation"`
	LagCompensation bool `json:"lagcomp"`
	InputDelay      int  `json:"delay"`
	// Players is the number of players. All but the first are bots.
	Players int `json:"players"`
	// Seed is the seed of networks, worlds and bots.
	Seed uint64 `json:"seed"`
}

// The ranges of Settings.
const (
	maxRTT     = 1000      // ms
	maxJitter  = 200       // ms
	maxChance  = 50        // percent
	maxDelay   = 30        // ticks
	maxSeed    = 1<<53 - 1 // of a JavaScript number
	maxPlayers = 8
	// reorderDelay is the delay of a reordered packet.
	reorderDelay = 40 * time.Millisecond
)

// names are the strategies in the order of the panels.
var names = []string{lockstep.Strategy.Name, relay.Strategy.Name, predict.Strategy.Name, verify.Strategy.Name, reckon.Strategy.Name}

// Usual returns the default settings: two strategies on a network that shows the difference.
func Usual(seed uint64) Settings {
	return Settings{Sync: []string{lockstep.Strategy.Name, relay.Strategy.Name}, RTT: 200, Jitter: 10, Loss: 1, Prediction: true,
		Reconciliation: true, Interpolation: true, LagCompensation: true, Players: 4, Seed: seed}
}

// clamped returns the settings with each value in its range.
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
	within(&s.RTT, maxRTT)
	within(&s.Jitter, maxJitter)
	within(&s.Loss, maxChance)
	within(&s.Duplicate, maxChance)
	within(&s.Reorder, maxChance)
	s.InputDelay = min(max(s.InputDelay, 0), maxDelay)
	s.Players = min(max(s.Players, 1), min(g.MaxPlayers, maxPlayers))
	s.Seed = min(s.Seed, maxSeed)
	return s
}

// profile returns the network.
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

// sameNetwork reports whether two settings have the same network.
func (s *Settings) sameNetwork(o *Settings) bool {
	own := func(s *Settings) [5]float64 { return [...]float64{s.RTT, s.Jitter, s.Loss, s.Duplicate, s.Reorder} }
	return s.Net == o.Net && (s.Net != "" || own(s) == own(o))
}

// sameMatch reports whether running matches can take over the other settings.
func (s *Settings) sameMatch(o *Settings) bool {
	return slices.Equal(s.Sync, o.Sync) && s.LagCompensation == o.LagCompensation && s.Players == o.Players && s.Seed == o.Seed
}

// sameOwn reports whether player 0's client of a strategy has the same settings.
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

// entries returns the matches.
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

// maxView returns how far the server looks back: the default, or not at all.
func (s *Settings) maxView() systems.Time {
	if s.LagCompensation {
		return 0
	}
	return -1
}

// own returns the settings of player 0's client of a strategy.
func (s *Settings) own(name string) (o lab.Own) {
	switch name {
	case predict.Strategy.Name:
		o.Strategy = predict.New(predict.Config{MaxView: s.maxView(), NoReconcile: !s.Reconciliation, NoPlayback: !s.Interpolation})
	case relay.Strategy.Name:
	default:
		return o
	}
	if o.InputDelay = s.InputDelay; !s.Prediction {
		o.MaxPrediction = 1 // the least: ticks that are not final become input delay
	}
	return o
}
