package bundle

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record/cursor"
)

// Examination describes a bundle, for people and as JSON.
type Examination struct {
	Tick     ecs.Tick  `json:"tick"`
	By       Side      `json:"by"`
	Peer     string    `json:"peer"`
	Game     string    `json:"game"`
	Build    string    `json:"build"`
	Settings []Setting `json:"settings"`
	First    ecs.Tick  `json:"first"` // of the ticks that can be shown; Tick is the last
	// Claimed is the tick of which There sent the checksum Claim. Own is the checksum here, "" if it is not known.
	Claimed ecs.Tick `json:"claimed,omitempty"`
	Claim   string   `json:"claim,omitempty"`
	Own     string   `json:"own,omitempty"`
	// Columns are the checksums by component and resource. There is "" if the state is not known.
	Columns []Column `json:"columns"`
	// Differences are the first places that differ; empty if There's state is not known.
	Differences []cursor.Difference `json:"differences"`
	// Played is the state to which this build's rules lead from the first tick.
	Played Played `json:"played"`
}

// Column is the checksum of one component or resource on both sides.
type Column struct {
	Name  string `json:"name"`
	Here  string `json:"here"`
	There string `json:"there"`
}

// Played is the state to which the rules lead.
type Played string

// The values of Played.
const (
	LeadsHere  Played = "here"
	LeadsThere Played = "there"
	Elsewhere  Played = "neither"
	NotPlayed  Played = "unknown" // there is no earlier state to begin from
)

// Examine returns the differences, at most limit places, and simulates the ticks of Here.
func (b *Bundle) Examine(limit int) (*Examination, error) {
	h := b.Here.Header()
	x := &Examination{Tick: b.Tick, By: b.By, Peer: b.Peer, Game: h.Game, Build: h.Build, Settings: b.Settings, First: b.Here.Start(),
		Differences: []cursor.Difference{}, Played: NotPlayed}
	here, err := b.Here.State(b.Tick)
	if err != nil {
		return nil, err
	}
	var there *image.Snapshot
	if b.There != nil {
		if there, err = b.There.State(b.Tick); err != nil {
			return nil, err
		}
		x.Differences = cursor.Differences(here, there, limit)
	}
	x.addColumns(b.Here.Game(), here, there)
	if b.Claimed > 0 {
		x.Claimed, x.Claim = b.Claimed, b.Claim.Hex()
		for t := range b.Here.Ticks(b.Claimed, b.Claimed) {
			if t.Checksum != 0 {
				x.Own = t.Checksum.Hex()
			}
		}
	}
	return x, b.play(x, here, there)
}

// addColumns sets the checksums of the columns.
func (x *Examination) addColumns(g *ecs.Game, here, there *image.Snapshot) {
	for i, sum := range here.ComponentChecksums(nil) {
		x.Columns = append(x.Columns, Column{Name: g.Schema().Columns()[i], Here: sum.Hex()})
	}
	if there != nil {
		for i, sum := range there.ComponentChecksums(nil) {
			x.Columns[i].There = sum.Hex()
		}
	}
}

// play simulates the ticks of Here and sets Played.
func (b *Bundle) play(x *Examination, here, there *image.Snapshot) error {
	if b.Here.Start() == b.Tick {
		return nil
	}
	c, err := cursor.New(b.Here, nil)
	if err == nil {
		err = c.Seek(b.Tick)
	}
	if err != nil {
		return err
	}
	switch sum := c.State().Checksum(); {
	case sum == here.Checksum():
		x.Played = LeadsHere
	case there != nil && sum == there.Checksum():
		x.Played = LeadsThere
	default:
		x.Played = Elsewhere
	}
	return nil
}
