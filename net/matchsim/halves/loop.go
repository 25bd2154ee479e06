package halves

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
)

// Loop is a Match whose ticks and frames run when the test calls Step. Its delays are whole ticks, and it records no ticks.
// Once it is warm it does not allocate.
type Loop struct {
	*Match
	Tick   int           // frames so far
	Length time.Duration // of a tick
	path   simnet.Profile
}

// NewLoop returns a loop without clients, whose messages take up and down ticks, each at least 1.
func NewLoop(t testing.TB, c Config, up, down int) *Loop {
	t.Helper()
	l := &Loop{Match: newMatch(t, c, true)}
	l.Length = l.ticks(1)
	l.path = simnet.Profile{Name: "loop", Title: "loop", Up: simnet.Path{Delay: l.ticks(up)}, Down: simnet.Path{Delay: l.ticks(down)}}
	return l
}

// Add adds a client without a state. Its path is the loop's, unless the plan has one.
func (l *Loop) Add(plan Plan) *Peer {
	if plan.Path.Name == "" {
		plan.Path = l.path
	}
	return l.Match.Add(plan)
}

// AddPlayers adds players who have the server's present state. input returns the input of each frame.
func (l *Loop) AddPlayers(players int, input func(seat, tick int) ecs.InputBytes) {
	for seat := range players {
		l.Add(Plan{Config: systems.ClientConfig{Seat: seat}, Input: func(int) ecs.InputBytes { return input(seat, l.Tick) }}).Enter()
	}
}

// Next begins the next frame. The messages that have arrived are received.
func (l *Loop) Next() {
	l.Tick++
	l.Net.RunUntil(l.ticks(l.Tick))
}

// Now returns the server's time.
func (l *Loop) Now() time.Duration { return l.Net.Now() }

// Serve runs the server's part of a frame.
func (l *Loop) Serve() { l.serve(l.Net.Now()) }

// Step runs one frame: the server's tick, then the frames of the clients.
func (l *Loop) Step() {
	l.Next()
	l.Serve()
	for _, p := range l.Peers {
		p.display(p.Now())
	}
}

// Run runs frames.
func (l *Loop) Run(frames int) {
	for range frames {
		l.Step()
	}
}
