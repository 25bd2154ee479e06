package matchtest

import (
	"bytes"
	"fmt"
	"maps"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
)

// badge is the card of a player, with the player.
type badge struct {
	Player ecs.Player
	Name   [image.MaxCardName]byte
	Data   [image.MaxCardData]byte
}

var (
	badges = ecs.NewComponent[badge]("badge")
	badged = ecs.NewQuery1(ecs.Read(badges))
)

// cardGame is a game with an entity for the card of each player.
func cardGame() *ecs.Game {
	game := halves.Dots()
	game.Components = append(game.Components, badges)
	join := game.Join
	game.Join = func(w *ecs.World, p ecs.Player, card ecs.Card) {
		join(w, p, card)
		b := badge{Player: p}
		copy(b.Name[:], card.Name)
		copy(b.Data[:], card.Data)
		badges.Put(w, w.Spawn(ecs.OwnedBy(p), badges), b)
	}
	return game
}

// cards returns the cards that a world holds.
func cards(w *ecs.World) map[ecs.Player]string {
	found := map[ecs.Player]string{}
	for e := range badged.All(w) {
		found[e.A.Player] = fmt.Sprintf("%s:%s", bytes.TrimRight(e.A.Name[:], "\x00"), bytes.TrimRight(e.A.Data[:], "\x00"))
	}
	return found
}

// Join receives the card of a player on every peer that computes the match, and every client shows what Join made of it. The
// client chooses the name. The room chooses the data.
func TestJoinReceivesTheCards(t *testing.T) {
	for _, s := range strategies {
		m, err := matchsim.New(matchsim.Config{Game: cardGame(), Strategy: s, Seed: 4, FixedSeats: true, Room: func(c *room.Config) {
			c.Card = func(id room.Identity) ecs.Card {
				data := bytes.Repeat([]byte{'a' + byte(id.Seat)}, id.Seat*image.MaxCardData/2)
				return ecs.Card{Name: id.Name, Data: data}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ann", "", "bob\u202e\n the very long name that is cut"} {
			m.Join(matchsim.Plan{Profile: profile(t, "P3"), Change: func(c *client.Config) {
				if c.Name = name; len(name) > image.MaxCardName {
					c.Name = name[:image.MaxCardName]
				}
			}})
		}
		m.Run(5 * time.Second)
		want := map[ecs.Player]string{0: "ann:", 1: ":" + string(bytes.Repeat([]byte{'b'}, 80)), 2: "bob the very long name that :" + string(bytes.Repeat([]byte{'c'}, 160))}
		if got := cards(m.Room.World()); !maps.Equal(got, want) {
			t.Errorf("%s: the server has %q, want %q", s.Name, got, want)
		}
		for i, c := range m.Clients {
			if got := cards(c.Core.View(c.Now()).Sim); !maps.Equal(got, want) {
				t.Errorf("%s: client %d has %q, want %q", s.Name, i, got, want)
			}
			if c.Checked == 0 || c.Mismatches > 0 {
				t.Errorf("%s: client %d: %d states compared, %d differ", s.Name, i, c.Checked, c.Mismatches)
			}
		}
	}
}
