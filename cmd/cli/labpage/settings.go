package labpage

import (
	"math"
	"slices"
	"time"

	"tendon/net/lab"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// Settings are the settings of a page, which are also in its link. Values out of range are clamped.
type Settings struct {
	Sync []string `json:"sync"` // names of strategies, each once
	Net  string   `json:"net"`  // name of a standard profile; the fields up to Reorder are then ignored
	// RTT is the round trip without jitter, Jitter the mean jitter of each way, in ms.
	RTT    float64 `json:"rtt"`
	Jitter float64 `json:"jitter"`
	// Loss, Duplicate and Reorder are the probabilities for each packet and way, in percent.
	Loss      float64 `json:"loss"`
	Duplicate float64 `json:"duplicate"`
	Reorder   float64 `json:"reorder"`
	// The switches. A strategy without such a setting ignores it.
	Prediction      bool   `json:"prediction"`
	Reconciliation  bool   `json:"reconciliation"`
	Interpolation   bool   `json:"interpolation"`
	LagCompensation bool   `json:"lagcomp"`
	InputDelay      int    `json:"delay"`       // in ticks
	Server          bool   `json:"server"`      // show the server's state in a picture of its own
	Other           bool   `json:"other"`       // show the view of the second player
	Players         int    `json:"players"`     // all but the first are bots
	Seed            uint64 `json:"seed,string"` // of networks, worlds and bots
}

// The ranges of Settings.
const (
	maxRTT     = 1000      // ms
	maxJitter  = 200       // ms
	maxChance  = 50        // percent
	maxDelay   = 30        // ticks
	maxSeed    = 1<<53 - 1 // of a JavaScript number
	maxPlayers = 8

	reorderDelay = 40 * time.Millisecond // of a reordered packet
)

// Usual returns the default settings: two strategies on a network that shows the difference.
func Usual(seed uint64) Settings {
	return Settings{Sync: []string{lockstep.Strategy.Name, relay.Strategy.Name}, RTT: 200, Jitter: 10, Loss: 1, Prediction: true,
		Reconciliation: true, Interpolation: true, LagCompensation: true, Players: 4, Seed: seed}
}

// clamped returns the settings with each value in its range.
func (s Settings) clamped(c *Config) Settings {
	shown := s.shown(c.Strategies)
	if len(shown) == 0 {
		shown = c.Strategies[:min(2, len(c.Strategies))] // those of Usual
	}
	s.Sync = names(shown)
	p, _ := simnet.ByName(s.Net)
	s.Net = p.Name
	for x, most := range map[*float64]float64{&s.RTT: maxRTT, &s.Jitter: maxJitter, &s.Loss: maxChance, &s.Duplicate: maxChance, &s.Reorder: maxChance} {
		if *x = min(max(*x, 0), most); math.IsNaN(*x) {
			*x = 0
		}
	}
	s.InputDelay = min(max(s.InputDelay, 0), maxDelay)
	s.Players = min(max(s.Players, 1), min(c.Game.MaxPlayers, maxPlayers))
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

// sameMatch reports whether running matches can take over the other settings.
func (s *Settings) sameMatch(o *Settings) bool {
	return slices.Equal(s.Sync, o.Sync) && s.LagCompensation == o.LagCompensation && s.Players == o.Players && s.Seed == o.Seed
}

// shown returns those of the strategies that have a panel, in the order of the panels.
func (s *Settings) shown(all []systems.Strategy) (list []systems.Strategy) {
	for _, x := range all {
		if slices.Contains(s.Sync, x.Name) {
			list = append(list, x)
		}
	}
	return list
}

func names(list []systems.Strategy) (names []string) {
	for _, x := range list {
		names = append(names, x.Name)
	}
	return names
}

// matches returns the strategies of the matches and the settings of player 0's clients.
func (s *Settings) matches(all []systems.Strategy) (list []systems.Strategy, own []lab.Own) {
	for _, x := range s.shown(all) {
		own = append(own, s.client(&x).own())
		if x.Name == predict.Strategy.Name {
			x = predict.New(predict.Config{MaxView: s.maxView()})
		}
		list = append(list, x)
	}
	return list, own
}

// maxView returns how far the server looks back: the default, or not at all.
func (s *Settings) maxView() systems.Time {
	if s.LagCompensation {
		return 0
	}
	return -1
}

// clientSettings are the settings of player 0's client. The zero predict.Config is the server's strategy.
type clientSettings struct {
	predict             predict.Config
	delay, maxPredicted int
}

// client returns the settings of player 0's client of a strategy.
func (s *Settings) client(x *systems.Strategy) (c clientSettings) {
	if x.Name == predict.Strategy.Name {
		c.predict = predict.Config{MaxView: s.maxView(), NoReconcile: !s.Reconciliation, NoPlayback: !s.Interpolation}
	}
	if !x.Predicts {
		return c
	}
	c.delay = s.InputDelay
	if !s.Prediction {
		c.maxPredicted = 1 // the least: ticks that are not final become input delay
	}
	return c
}

func (c clientSettings) own() lab.Own {
	o := lab.Own{InputDelay: c.delay, MaxPrediction: c.maxPredicted}
	if c.predict != (predict.Config{}) {
		o.Strategy = predict.New(c.predict)
	}
	return o
}
