package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/predict"
)

// showdown is a live match of two players under predict. One hit kills either of them.
type showdown struct {
	*halves.Loop
	view  *ecs.View // of player 0
	pads  [2]Pad
	fired [2]ecs.Tick // the server's tick of a player's shot; 0: none
	saw   [2]ecs.Tick // the newest state that the player had seen in it
	kit   ecs.Tick    // the server's tick of the kit of player 1; 0: none
}

func newShowdown(t *testing.T) *showdown {
	s := &showdown{view: halves.Must(ecs.NewView(Game()))}
	s.Loop = halves.NewLoop(t, halves.Config{Game: Game(), Strategy: predict.Strategy, Seed: 5,
		Change: func(c *systems.ServerConfig) { c.Taken = s.take }}, 5, 5)
	for seat := range s.pads {
		s.Add(halves.Plan{Config: systems.ClientConfig{Seat: seat}, Input: func(int) ecs.InputBytes { return pad.Pack(s.pads[seat]) }}).Enter()
	}
	s.Run(60)
	w := s.Server.World()
	for p, at := range []fixed.Vec2{point(roomX, roomY), point("9", "2.5")} {
		body.Put(w, avatar(w, ecs.Player(p)), Body{Pos: lifted(at, 0), Radius: bodyRadius})
		health.Put(w, avatar(w, ecs.Player(p)), Health{HP: rifleDamage / 2, Kits: 1})
	}
	survey(w)
	s.pads[1] = Pad{}.WithPoint(point(roomX, roomY))
	s.Run(60)
	return s
}

// aim makes player 0 aim at the place where they see player 1.
func (s *showdown) aim() {
	p := s.Peers[0]
	p.Half.(systems.Presenter).Present(s.view, p.Now())
	at, _ := body.Read(s.view.Sim, avatar(s.view.Sim, 1))
	s.pads[0] = Pad{}.WithPoint(flat(at.Pos))
}

// take notes the ticks in which the players act.
func (s *showdown) take(f systems.FinalTick) {
	for p := range s.fired {
		if in := pad.Unpack(f.Inputs[p]); in.Fire && s.fired[p] == 0 {
			s.fired[p] = f.Tick
		}
	}
	if pad.Unpack(f.Inputs[1]).Kit && s.kit == 0 {
		s.kit = f.Tick
	}
	for _, o := range f.Orders {
		if v, ok := image.ParseViewStamp(o.Payload); ok && o.Kind == image.OrderView && s.fired[o.Player] == f.Tick {
			s.saw[o.Player] = v.Tick
		}
	}
}

// alive reports whether a player lives on the server.
func (s *showdown) alive(p ecs.Player) bool {
	return !dead.Has(s.Server.World(), avatar(s.Server.World(), p))
}

// LC-07: actions of the victim that have taken effect on the server beat the view of the shooter, also in the tick of the shot.
// The shot of a player who is dead in its tick hits no player, whatever that player saw. Both die of shots in one tick.
func TestLC07TheStateOfTheServerBeatsTheViewOfTheShooter(t *testing.T) {
	const never = 100
	saved, died, traded, refused := 0, 0, 0, 0
	play := func(kit, back int) {
		s := newShowdown(t)
		s.pads[1].Y = 127 // player 1 runs: only with lag compensation the shot hits
		for frame := -12; frame < 40; frame++ {
			s.aim()
			s.pads[0].Fire, s.pads[1].Fire, s.pads[1].Kit = frame == 0, frame == back, frame == kit
			s.Step()
		}
		first, second := s.fired[0], s.fired[1]
		if first == 0 || s.saw[0] == 0 || s.saw[0]+4 > first || (second > 0) != (back < never) || (s.kit > 0) != (kit < never) {
			t.Fatalf("kit %d, back %d: shots in ticks %v by views of %v, kit in %d", kit, back, s.fired, s.saw, s.kit)
		}
		hits := second == 0 || first <= second // player 0 lives when they shoot
		victim := !hits || s.kit > 0 && s.kit <= first
		shooter := second == 0 || !victim && second > first
		if s.alive(1) != victim || s.alive(0) != shooter {
			t.Errorf("shots in ticks %v by views of %v, kit in %d: alive %t and %t, want %t and %t",
				s.fired, s.saw, s.kit, s.alive(0), s.alive(1), shooter, victim)
		}
		switch {
		case second == 0 && s.kit > s.saw[0] && victim:
			saved++ // by a kit that the shooter had not seen
		case second == 0 && !victim:
			died++
		case second == first:
			traded++
		case second > s.saw[0] && !hits, second > 0 && first > s.saw[1] && shooter:
			refused++ // the shot of a dead player, who had not seen the other shot
		}
	}
	for _, kit := range []int{-8, -3, -1, 0, 1, 3, never} {
		play(kit, never)
	}
	for _, back := range []int{-7, -2, -1, 0, 1, 2, 7} {
		play(never, back)
	}
	if saved < 3 || died < 2 || traded == 0 || refused < 4 {
		t.Errorf("a run that proves nothing: %d saved, %d died, %d trades, %d shots of dead players", saved, died, traded, refused)
	}
}
