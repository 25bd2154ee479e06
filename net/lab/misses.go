package lab

// Miss is a gate that is known not to be met in a game.
type Miss struct {
	Game     string  `json:"game"` // its name
	Strategy string  `json:"strategy"`
	Profile  string  `json:"profile"`
	Measure  Measure `json:"measure"`
	Best     float64 `json:"best"` // measured
	Reason   string  `json:"reason"`
}

// Misses are the gates that cannot be met, with the best value that was measured and the reason why it is no better. The
// arena's values are from `arena lab --seed 1`, one match at a time, 60 s each. With other seeds some of them are just met.
var Misses = []Miss{
	{"arena", "predict", "P3", CorrectionRate, 4.75, pushed},
	{"arena", "predict", "P3", OthersCorrection, 0.75, pushed},
	{"arena", "predict", "P3", ShotsOff, 6.19, oldView},
	{"arena", "predict", "P5", CorrectionSize, 14.4, pushed + "; half of all corrections are below 0.02, the largest are of players who died or came back elsewhere than they thought"},
	{"arena", "predict", "P7", SnapRate, 7, slowTrips},
	{"arena", "verify", "P5", BeyondRTTTicks, 3.19, "the changes of a round trip outgrow a datagram, and on the reliable channel a lost packet delays them"},
	{"arena", "reckon", "P7", SnapRate, 1.5, "a player who turns while records are delayed by a second is far from the extrapolated place, beyond error smoothing"},
	{"runners", "predict", "P3", ShotsOff, 11.7, oldView},
	{"runners", "predict", "P7", SnapRate, 3.33, slowTrips},
}

// The reasons of several misses.
const (
	oldView   = "with 20 snapshots a second a view is about 285 ms old when the server uses what was done at it, of which the cap forgives 250"
	pushed    = "rockets push players and kits feed them, which no client can know beforehand"
	slowTrips = "the round trip goes up to two seconds; 30 ticks of delay and 30 of prediction cover one, so that inputs come too late whatever is predicted"
)

// knownMiss returns the known miss of a gate in a game, nil if there is none.
func knownMiss(game string, g Gate) *Miss {
	for i := range Misses {
		if m := &Misses[i]; m.Game == game && m.Strategy == g.Strategy && m.Profile == g.Profile && m.Measure == g.Measure {
			return m
		}
	}
	return nil
}
