package systems_test

import (
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/predictor"
)

// echo is a whole strategy: the server uses the newest input of each player, and sends the whole state of every tick. A
// client shows what it receives. Each half is a list of systems.
var echo = systems.Strategy{
	Name:      "echo",
	NewServer: newEchoServer,
	NewClient: newEchoClient,
}

// The kinds of messages, the first byte of each.
const (
	echoInput = 1 // client → server: the player's input
	echoOrder = 2 // client → server: a requested order
	echoState = 3 // server → client: the image of a state
)

var errEcho = errors.New("echo: malformed message")

// echoServer is the server half.
type echoServer struct {
	authority.Server[*echoServer, struct{}]
	inputs []ecs.InputBytes // by player: the newest that has arrived
}

var echoServerSystems = []systems.System[*echoServer]{
	{Name: "inputs", Phase: systems.Receive, Kind: echoInput, Accept: (*echoServer).receive},
	{Name: "orders", Phase: systems.Receive, Kind: echoOrder, Reliable: true, Accept: (*echoServer).ReceiveOrder},
	{Name: "orders", Phase: systems.Reconcile, Run: (*echoServer).NextOrders},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*echoServer).choose},
	{Name: "states", Phase: systems.Send, Run: (*echoServer).send},
}

func newEchoServer(c systems.ServerConfig) (systems.Server, error) {
	s := &echoServer{}
	err := s.Init(authority.Config[*echoServer, struct{}]{Name: "echo", Malformed: errEcho, Server: c, Context: s, Systems: echoServerSystems,
		OrdersPerTick: 100, Behind: 3600}) // any state is replaced by the next
	s.inputs = make([]ecs.InputBytes, len(s.Step.Inputs))
	return s, err
}

// receive stores the input of a player. It counts from the next tick on.
func (s *echoServer) receive(m systems.Message) error {
	p := &s.Peers[m.From]
	if !s.AllowMessage(p) {
		return nil
	}
	var in ecs.InputBytes
	copy(in[:], m.Body[1:])
	if p.Seat < 0 || len(m.Body) != 1+s.Game.Input.Size() || !s.Game.Input.Valid(in) {
		return errEcho
	}
	s.inputs[p.Seat] = in
	return nil
}

// choose gives every player in the match their newest input.
func (s *echoServer) choose() {
	for p := range s.Step.Inputs {
		s.Step.Inputs[p] = ecs.InputBytes{}
		if s.World().Players().Has(ecs.Player(p)) {
			s.Step.Inputs[p] = s.inputs[p]
		}
	}
}

// send sends every open peer the state of the last tick.
func (s *echoServer) send() {
	s.Sending.Message = s.Step.State.AppendImage(append(s.Sending.Message[:0], echoState))
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open {
			s.Sending.Out.Send(p.ID, systems.Reliable, s.Sending.Message)
		}
	}
}

// echoClient is the client half. predictor.Half has the methods that it does not.
type echoClient struct {
	predictor.Half[*echoClient]
	input  ecs.InputBytes
	states [2]image.Snapshot // the last two that arrived
}

var echoClientSystems = []systems.System[*echoClient]{
	{Name: "states", Phase: systems.Receive, Kind: echoState, Reliable: true, Accept: (*echoClient).receive},
	{Name: "inputs", Phase: systems.Send, Run: (*echoClient).send},
}

func newEchoClient(config systems.ClientConfig) (systems.Client, error) {
	core, err := predictor.NewCore("echo", errEcho, config)
	if err != nil {
		return nil, err
	}
	c := &echoClient{Half: predictor.Half[*echoClient]{Core: core}}
	c.OrderKind = echoOrder
	c.Start(c, echoClientSystems)
	return c, nil
}

// Load takes over the state in the world.
func (c *echoClient) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	c.show()
}

// receive makes the world the state that arrived.
func (c *echoClient) receive(m systems.Message) error {
	if c.World().Image().Load(m.Body[1:]) != nil {
		return errEcho
	}
	c.Counted.ServerTick = c.World().Tick()
	c.Reach(predictor.Live)
	c.show()
	return nil
}

// show saves the world for View.
func (c *echoClient) show() {
	c.states[0], c.states[1] = c.states[1], c.states[0]
	c.World().Image().Save(&c.states[1])
}

// send sends the player's input.
func (c *echoClient) send() {
	if !c.Spectates() && c.Timer.Due(c.Now) {
		c.Buffer = append(append(c.Buffer[:0], echoInput), c.input[:c.Game.Input.Size()]...)
		c.Out.Send(0, systems.Datagram, c.Buffer)
	}
}

// SetInput sets the player's input.
func (c *echoClient) SetInput(in ecs.InputBytes) { c.input = c.Game.Input.Clean(in) }

// View returns the last two states. The newest is confirmed.
func (c *echoClient) View(systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	return &c.states[0], &c.states[1], &c.states[1], 0
}

// Effects has none: the states contain everything.
func (c *echoClient) Effects(func(systems.Effect)) {}

// Stats returns the counters.
func (c *echoClient) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed = c.World().Tick(), c.World().Tick()
	return s
}

// Two bots play a match in a room, over a simulated link. Their clients always have the server's state, a way later.
func Example_echo() {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Seed: 1, Strategy: echo})
	if err != nil {
		fmt.Println(err)
		return
	}
	good, _ := simnet.ByName("P2")
	one, two := m.Join(matchsim.Plan{Profile: good}), m.Join(matchsim.Plan{Profile: good})
	m.Run(10 * time.Second) // of virtual time
	fmt.Println("live:", one.Live(), two.Live())
	fmt.Println("players in the match:", m.Room.World().Players().Len())
	fmt.Println("states equal:", one.Checked > 500, one.Mismatches+two.Mismatches)
	late := m.Room.Tick() - one.Core.World().Tick()
	fmt.Println("late by less than a quarter of a second:", late > 0 && late < 15)
	// Output:
	// live: true true
	// players in the match: 2
	// states equal: true 0
	// late by less than a quarter of a second: true
}
