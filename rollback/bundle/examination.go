package bundle

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/travel"
)

// Examination is what a bundle tells, for people and as JSON.
type Examination struct {
	Tick     ecs.Tick  `json:"tick"`
	By       Side      `json:"by"`
	Peer     string    `json:"peer"`
	Game     string    `json:"game"`
	Build    string    `json:"build"`
	Settings []Setting `json:"settings"`
	First    ecs.Tick  `json:"first"` // of the ticks that can be gone through, Tick is the last
	// Claimed is the tick of which There told the checksum Claim, Own the one here, "" where it is not known.
	Claimed ecs.Tick `json:"claimed,omitempty"`
	Claim   string   `json:"claim,omitempty"`
	Own     string   `json:"own,omitempty"`
	// Columns are the checksums by component and resource. There is "" where the state is not known.
	Columns []Column `json:"columns"`
	// Differences are the first places that differ; empty where There's state is not known.
	Differences []travel.Difference `json:"differences"`
	// Played says which state the rules lead to that this build has, from the first tick with what entered.
	Played Played `json:"played"`
}

// Column is the checksum of one component or resource on both sides.
type Column struct {
	Name  string `json:"name"`
	Here  string `json:"here"`
	There string `json:"there"`
}

// Played says which state the rules lead to.
type Played string

// The answers.
const (
	LeadsHere  Played = "here"
	LeadsThere Played = "there"
	Elsewhere  Played = "neither"
	NotPlayed  Played = "unknown" // there is no earlier state to begin from
)

// Examine says what differs, at most limit places. g is the game that the bundle is of.
func (b *Bundle) Examine(g *ecs.Game, limit int) (*Examination, error) {
	h := b.Here.Header()
	x := &Examination{Tick: b.Tick, By: b.By, Peer: b.Peer, Game: h.Name, Build: h.Build, Settings: b.Settings, First: h.Start,
		Differences: []travel.Difference{}, Played: NotPlayed}
	here, err := travel.StateOf(g, b.Here, b.Tick)
	if err != nil {
		return nil, err
	}
	var there *image.Snapshot
	if b.There != nil {
		if there, err = travel.StateOf(g, b.There, b.Tick); err != nil {
			return nil, err
		}
		x.Differences = travel.Differences(here, there, limit)
	}
	x.columns(g, here, there)
	if b.Claimed > 0 {
		x.Claimed, x.Claim = b.Claimed, hex(b.Claim)
		for e := range b.Here.Entries(b.Claimed, b.Claimed) {
			if e.Checksum != 0 {
				x.Own = hex(e.Checksum)
			}
		}
	}
	return x, b.play(g, x, here, there)
}

// columns fills in the checksums.
func (x *Examination) columns(g *ecs.Game, here, there *image.Snapshot) {
	sums := here.ComponentChecksums(nil)
	var others []image.Checksum
	if there != nil {
		others = there.ComponentChecksums(nil)
	}
	for i, name := range g.Schema().Columns() {
		c := Column{Name: name, Here: hex(sums[i])}
		if others != nil {
			c.There = hex(others[i])
		}
		x.Columns = append(x.Columns, c)
	}
}

// play finds out which state the rules lead to.
func (b *Bundle) play(g *ecs.Game, x *Examination, here, there *image.Snapshot) error {
	if b.Here.Header().Start == b.Tick {
		return nil
	}
	t, err := travel.New(travel.Config{Game: g, Source: b.Here})
	if err == nil {
		err = t.Seek(b.Tick)
	}
	if err != nil {
		return err
	}
	switch sum := t.State().Checksum(); {
	case sum == here.Checksum():
		x.Played = LeadsHere
	case there != nil && sum == there.Checksum():
		x.Played = LeadsThere
	default:
		x.Played = Elsewhere
	}
	return nil
}

func hex(c image.Checksum) string { return fmt.Sprintf("%016x", uint64(c)) }
