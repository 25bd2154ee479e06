package rollback

import (
	"bytes"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
)

//go:embed testdata/*.txt
var scenarios embed.FS

var update = flag.Bool("update", false, "record the scenarios of testdata anew; commit a difference only if you can explain it")

// TestScenariosReadAsRecorded walks testdata: each file is a conversation with a timeline. A block is commands, a line
// "----" and what the timeline did: every save, restore and step in its order, and where it stands afterwards.
//
//	timeline max=8 depth=16 policy=every|sparse3|confirmed|speculative local=0
//	                          both players join in tick 1; nothing is predicted of them before
//	input TICK VALUE          the local player's input
//	deliver TICK V0 V1 ...    a confirmation, inputs by player; !V for a substituted one
//	order TICK NAME           an order
//	expect TICK NAME ...      the orders that the following confirmations of the tick prove
//	rewind
//	step N
func TestScenariosReadAsRecorded(t *testing.T) {
	files, err := scenarios.ReadDir("testdata")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			path := "testdata/" + file.Name()
			text, err := scenarios.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := playScenario(t, string(text))
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, text) {
				t.Errorf("the timeline does otherwise now; go test -update records it. Got:\n%s", got)
			}
		})
	}
}

// player plays one scenario. It is the observer of its timeline.
type player struct {
	tl     *Timeline
	orders map[ecs.Tick][]image.Order
	trace  bytes.Buffer
	again  bool
	late   map[ecs.Tick]image.PlayerSet
}

func (p *player) Enter(s image.Section) { p.again = p.again || s == image.SectionResimulate }

func (p *player) Turn(ecs.Tick) {}

func (p *player) Name(image.Section, string, string) {}

func (p *player) Leave(s image.Section) {
	switch s {
	case image.SectionSave:
		fmt.Fprintf(&p.trace, "save %d\n", p.tl.world.Tick())
	case image.SectionRestore:
		fmt.Fprintf(&p.trace, "restore %d\n", p.tl.world.Tick())
	}
}

// counterGame adds up inputs and orders, and records each tick that it computes.
func counterGame(p *player) *ecs.Game {
	step := func(w *ecs.World) {
		fmt.Fprintf(&p.trace, "step %d:", w.Tick())
		for seat := range ecs.Player(2) {
			mark := ""
			if w.Tick() > p.tl.Received() {
				mark = "?"
			} else if p.late[w.Tick()].Has(seat) {
				mark = "!"
			}
			fmt.Fprintf(&p.trace, " %d%s", skInput.Of(w, seat).DX, mark)
		}
		if p.again {
			p.trace.WriteString(", again")
		}
		p.trace.WriteByte('\n')
		p.again = false
	}
	return &ecs.Game{Name: "counter", TickRate: 60, MaxPlayers: 2, Input: skInput,
		Systems: []ecs.System{{Name: "step", Run: step}},
		Orders: raworder.Orders(func(w *ecs.World, _ ecs.Player, _ ecs.Entity, order []byte) {
			fmt.Fprintf(&p.trace, "order %s\n", order)
		})}
}

func playScenario(t *testing.T, text string) []byte {
	var out bytes.Buffer
	p := &player{orders: map[ecs.Tick][]image.Order{}, late: map[ecs.Tick]image.PlayerSet{}}
	recorded := false
	for _, line := range strings.SplitAfter(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			recorded = false
			out.WriteString(line)
		case words[0] == "----":
			recorded = true
			fmt.Fprintf(&out, "----\n%s", p.trace.String())
			p.trace.Reset()
			fmt.Fprintf(&out, "present %d, confirmed %d, received %d\n", p.tl.Present(), p.tl.Confirmed(), p.tl.Received())
		case recorded: // written anew
		case words[0][0] == '#':
			out.WriteString(line)
		default:
			out.WriteString(line)
			if err := p.command(t, words); err != nil {
				fmt.Fprintf(&p.trace, "%v\n", err)
			}
		}
	}
	return out.Bytes()
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (p *player) command(t *testing.T, words []string) error {
	if words[0] == "timeline" {
		p.open(t, words[1:])
		return nil
	}
	if words[0] == "rewind" {
		if depth := p.tl.Rewind(p.tl.Present()); depth > 0 {
			fmt.Fprintf(&p.trace, "depth %d\n", depth)
		}
		return nil
	}
	f := ecs.Tick(number(t, words[1]))
	switch words[0] {
	case "input":
		if !p.tl.SetLocal(f, skInput.Pack(skPad{DX: int8(number(t, words[2]))})) {
			return ErrTooFar
		}
	case "deliver":
		var inputs []ecs.InputBytes
		var late image.PlayerSet
		for i, word := range words[2:] {
			value, substituted := strings.CutPrefix(word, "!")
			if substituted {
				late |= 1 << i
			}
			inputs = append(inputs, skInput.Pack(skPad{DX: int8(number(t, value))}))
		}
		p.late[f] = late
		return p.tl.Confirm(f, inputs, late, DigestOrders(p.orders[f]))
	case "order":
		return p.tl.AddOrder(f, image.Order{Payload: []byte(words[2])})
	case "expect":
		for _, name := range words[2:] {
			p.orders[f] = append(p.orders[f], image.Order{Payload: []byte(name)})
		}
	case "step":
		for range f {
			if !p.tl.Step() {
				return errors.New("rollback: prediction limit reached")
			}
		}
	default:
		t.Fatalf("no command %q", words[0])
	}
	return nil
}

func (p *player) open(t *testing.T, settings []string) {
	c := Config{Local: -1, Observer: p}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		switch name {
		case "max":
			c.MaxPrediction = number(t, value)
		case "depth":
			c.Depth = number(t, value)
		case "local":
			c.Local = number(t, value)
		case "policy":
			c.Policy = map[string]SavePolicy{"every": SavePolicy{}, "sparse3": Sparse(3), "confirmed": ConfirmedOnly, "speculative": Speculative}[value]
		}
	}
	p.tl = &Timeline{} // for the save of New
	c.World = newWorld(t, counterGame(p))
	c.World.Image().SetObserver(p)
	p.tl.world = c.World
	p.tl = newTimeline(t, c)
	for seat := range ecs.Player(2) {
		join := image.Order{Kind: image.OrderJoin, Player: seat}
		p.orders[1] = append(p.orders[1], join)
		if err := p.tl.AddOrder(1, join); err != nil {
			t.Fatal(err)
		}
	}
}
