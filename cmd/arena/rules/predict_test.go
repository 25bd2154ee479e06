package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// one is the player whose rows are predicted.
const one = ecs.Player(3)

func onlyOne() *image.RowSet {
	rows := &image.RowSet{}
	rows.AddOwner(ecs.OwnedBy(one))
	return rows
}

func saved(w *ecs.World) *image.Snapshot {
	s := &image.Snapshot{}
	w.Image().Save(s)
	return s
}

// The rules contain no code for prediction. With one player's rows predicted they must not change the server's rows: shots
// do no damage, others stand still, and kits, scores and clock stay.
func TestARuleChangesNothingThatIsNotPredicted(t *testing.T) {
	a := newArena(t, goldenPlayers, 1)
	a.w.Image().SetPredicted(onlyOne())
	moved := map[string]int{}
	for a.w.Tick() < 400 {
		for p := range a.in {
			a.in[p] = script(a.w.Tick()+1, ecs.Player(p))
		}
		before := saved(a.w)
		a.step()
		after := saved(a.w)
		for _, d := range image.Differences(before, after, 1000) {
			switch {
			case d.Component == "tick" && d.Field != "Tick":
				t.Fatalf("players or random source have changed: %v", d)
			case d.Component != "tick" && d.Component != "inputs" && d.Entity.Owner() != ecs.OwnedBy(one):
				t.Fatalf("a predicted tick changes what is the server's: %v", d)
			}
			moved[d.Component]++
		}
		before.Release()
		after.Release()
	}
	if moved["body"] < 300 || moved["arms"] < 20 || moved["entity"] < 4 || a.w.Image().Strays() != 0 {
		t.Errorf("changes by component %v, %d strays: the test shows too little", moved, a.w.Image().Strays())
	}
	if err := a.w.Check(); err != nil {
		t.Error(err)
	}
}

// predictor is a client that predicts one player's rows. It receives the server's state every seldom ticks, lag ticks late.
type predictor struct {
	w                       *ecs.World
	rows                    *image.RowSet
	history                 [16]image.Snapshot // of predicted states; slot = tick modulo its length
	predicted, right, wrong int
	rockets, matched        int // launched on the server, and foreseen here as the same entity
}

const (
	lag    = 6 // ticks
	seldom = 5 // ticks from one state to the next
)

// reconcile compares the server's state with the prediction, and predicts the present again from there.
func (c *predictor) reconcile(t *testing.T, encoded []byte, rockets []ecs.Entity) {
	present := c.w.Tick()
	if err := c.w.Image().Load(encoded); err != nil {
		t.Fatal(err)
	}
	theirs := saved(c.w)
	defer theirs.Release()
	mine := &c.history[theirs.Tick()%16]
	if mine.Tick() != theirs.Tick() || mine.Empty() {
		t.Fatalf("tick %d was not predicted", theirs.Tick())
	}
	if d := image.Deviation(mine, theirs, c.rows); d.Within {
		c.right++
	} else {
		c.wrong++
	}
	for _, e := range rockets {
		if c.rockets++; image.ExistsAt(&c.history[e.Born%16], e) {
			c.matched++
		}
	}
	for c.w.Tick() < present {
		c.step()
	}
}

func (c *predictor) step() {
	in := make([]ecs.InputBytes, maxPlayers)
	for p := range in { // the others are taken to go on as they did
		in[p] = c.w.Image().Input(ecs.Player(p))
	}
	in[one] = script(c.w.Tick()+1, one)
	c.w.Step(ecs.TickInputs{Players: in})
	c.w.Image().Save(&c.history[c.w.Tick()%16])
	c.predicted++
}

// A client that predicts its own player in a full match is mostly right. The rockets it launches are the server's: the same
// rows, born in the same ticks, so a view never shows one rocket twice.
func TestPredictingOnePlayerIsMostlyRight(t *testing.T) {
	server, client := newArena(t, goldenPlayers, 1), &predictor{rows: onlyOne()}
	client.w = newArena(t, goldenPlayers, 1).w
	client.w.Image().SetPredicted(client.rows)
	client.w.Image().Save(&client.history[client.w.Tick()%16])
	var images [lag + 1][]byte
	var launched []ecs.Entity
	for server.w.Tick() < 1200 {
		for p := range server.in {
			server.in[p] = script(server.w.Tick()+1, ecs.Player(p))
		}
		server.step()
		now := saved(server.w)
		slot := server.w.Tick() % (lag + 1)
		images[slot] = now.AppendImage(images[slot][:0])
		now.Release()
		for e := range flying.All(server.w) {
			if id := e.Entity(); id.Owner() == ecs.OwnedBy(one) && id.Born == server.w.Tick() {
				launched = append(launched, id)
			}
		}
		client.step()
		if late := server.w.Tick() - lag; server.w.Tick()%seldom == 0 && server.w.Tick() > lag+1 {
			n := 0 // of those launched up to then
			for ; n < len(launched) && launched[n].Born <= late; n++ {
			}
			client.reconcile(t, images[late%(lag+1)], launched[:n])
			launched = launched[n:]
		}
	}
	if of := client.right + client.wrong; of < 200 || client.right*10 < of*7 || client.wrong == 0 {
		t.Errorf("%d predictions of %d were right, want most and not all", client.right, of)
	}
	if client.rockets < 8 || client.matched != client.rockets {
		t.Errorf("%d rockets of the server's, %d foreseen as the same entities", client.rockets, client.matched)
	}
	if client.w.Image().Strays() != 0 {
		t.Errorf("%d writes were not declared", client.w.Image().Strays())
	}
	t.Logf("%d ticks predicted, %d states right, %d wrong, %d of %d rockets matched", client.predicted, client.right, client.wrong, client.matched, client.rockets)
}
