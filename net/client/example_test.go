package client_test

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// play is the loop of a program without a window; one with a window makes the same three calls from it.
func play(game *ecs.Game, token []byte, input func() ecs.InputBytes, draw func(*ecs.View)) error {
	c, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{
		Game: game, Strategies: []systems.Strategy{relay.Strategy, predict.Strategy}, Name: "Ada"}})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		c.SetInput(input())
		if err := c.Frame(time.Now()); err != nil {
			return err // the match is over for this client; the sentence says why
		}
		if c.State() == client.Live {
			draw(c.View(time.Now()))
		}
		time.Sleep(time.Second / 60)
	}
}

// A token that is none is refused before anything is sent.
func ExampleDial() {
	fmt.Println(play(nil, []byte("no token"), nil, nil))
	// Output:
	// client: the invitation to this server is not valid or no longer so: ask for a new one: netcode: malformed connect token: 8 bytes, want 2048
}
