package rules

import (
	"encoding/json"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Players vote on the bytes of a result. So there is exactly one, in the tick that ends the round, and it equals the event
// of that tick.
func TestTheResultComesOnceInTheTickThatEndsTheRound(t *testing.T) {
	a := newArena(t, 5, 1)
	give := func(points ...int16) {
		for p, n := range points {
			scores.Write(a.w).Of[p].Points = n
		}
	}
	rounds := []struct {
		points []int16
		winner int
		want   string
	}{
		{[]int16{3, 1, 0, 4, 0}, 3, `{"round":1,"winner":3,"points":[3,1,0,4,0]}`},
		{[]int16{-2, 7, 7, 0, 1}, -1, `{"round":2,"winner":-1,"points":[-2,7,7,0,1]}`},
		{[]int16{0, 0, 1}, 2, `{"round":3,"winner":2,"points":[0,0,1]}`},
	}
	results := 0
	for i, r := range rounds {
		if i == 2 {
			a.step(image.Order{Kind: image.OrderLeave, Player: 3}, image.Order{Kind: image.OrderLeave, Player: 4})
		}
		for ends := clock.Read(a.w).Ends; a.w.Tick() <= ends+breakTicks-1; {
			if a.w.Tick() == ends-1 {
				give(r.points...)
			}
			before := a.happened.results
			a.step()
			got := a.w.Game().Result(a.w)
			if (got != nil) != (a.happened.results > before) {
				t.Fatalf("tick %d of round %d: result %q, but %d events say so", a.w.Tick(), i+1, got, a.happened.results-before)
			}
			if got == nil {
				continue
			}
			results++
			var said struct {
				Round, Winner int
				Points        []int16
			}
			if err := json.Unmarshal(got, &said); err != nil || said.Round != i+1 || said.Winner != r.winner || !slices.Equal(said.Points, r.points) {
				t.Errorf("%s reads as %+v, %v", got, said, err)
			}
			if string(got) != r.want {
				t.Errorf("%s\nwant %s", got, r.want)
			}
			// The result follows from the state alone.
			var s image.Snapshot
			a.w.Image().Save(&s)
			fresh := newArena(t, 0, 99).w
			if err := fresh.Image().Load(s.AppendImage(nil)); err != nil || string(fresh.Game().Result(fresh)) != string(got) {
				t.Error("another world in the same state has another result", err)
			}
		}
	}
	if results != len(rounds) {
		t.Errorf("%d results of %d rounds", results, len(rounds))
	}
}

// A result has to fit the record of matches whatever happened.
func TestTheLongestResultFits(t *testing.T) {
	a := newArena(t, maxPlayers, 1)
	*clock.Write(a.w) = Clock{Ends: a.w.Tick() + breakTicks, Round: 65535, Winner: maxPlayers}
	for p := range maxPlayers {
		scores.Write(a.w).Of[p].Points = -32768
	}
	if got := result(a.w); len(got) != 150 || len(got) > image.MaxResultBytes {
		t.Errorf("%d bytes, want 150: %s", len(got), got)
	}
}

// An order without effect is not sent: a dead or absent player cannot surrender.
func TestOnlyTheLivingMaySurrender(t *testing.T) {
	a := newArena(t, 2, 1)
	may := func(p ecs.Player, what string) bool {
		return a.w.RefuseOrder(&image.Order{Player: p, Payload: []byte(what)}) == ""
	}
	if !may(0, "\x00") || may(0, "\x00!") || may(0, "") || may(2, "\x00") {
		t.Error("of the living")
	}
	a.step(image.Order{Player: 0, Payload: surrendering})
	if may(0, "\x00") || !may(1, "\x00") {
		t.Error("of the dead")
	}
	a.run(respawnTicks)
	if !may(0, "\x00") {
		t.Error("of the risen")
	}
}
