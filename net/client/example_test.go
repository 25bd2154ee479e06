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

// play is the loop of a program without a window. A window makes the same three calls.
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
			return err // the match is over for this client; the text has the reason
		}
		if c.State() == client.Live {
			draw(c.View(time.Now()))
		}
		time.Sleep(time.Second / 60)
	}
}

// Dial refuses a malformed token before it sends anything.
func ExampleDial() {
	fmt.Println(play(nil, []byte("no token"), nil, nil))
	// Output:
	// client: the connect token is malformed, was used or has expired: get a new one: netcode: malformed connect token: 8 bytes, want 2048
}
