package matchtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// The parts of a game of cards. A hand is known to its owner, and to all while it is shown. No player knows a card face down,
// not even its owner, nor the stock and the dealer's thought.
type (
	hand    struct{ Cards ecs.List[uint64, [8]uint64] }
	hidden  struct{ Value uint64 }
	open    struct{ _ uint8 }
	thought struct {
		Ticks uint32
		Card  uint64 `tendon:"private"`
	}
	stock struct {
		Left  uint8
		Cards [64]uint64 `tendon:"private"`
		Used  uint64     `tendon:"private"`
	}
	table struct {
		Cards ecs.List[uint64, [32]uint64]
		Drawn uint32
	}
	card struct{ Value uint64 }
)

var (
	handOf    = ecs.NewComponent("hand", ecs.Roles[hand]{Private: true})
	faceDown  = ecs.NewComponent("face down", ecs.Roles[hidden]{Private: true})
	whispered = ecs.NewComponent("whispered", ecs.Roles[hidden]{Private: true})
	isShown   = ecs.NewComponent[open]("shown")
	thoughts  = ecs.NewComponent[thought]("thought")
	stockOf   = ecs.NewResource[stock]("stock")
	tableOf   = ecs.NewResource[table]("table")
	drew      = ecs.NewEvent[card]("drew").Private()
	kept      = ecs.NewIrreversibleEvent[card]("kept").Private()
	laidDown  = ecs.NewEvent[card]("played")
	drawCard  = ecs.NewOrder[struct{ _ uint8 }]("draw")
	playCard  = ecs.NewOrder[struct{ Index uint8 }]("play")
	showHand  = ecs.NewOrder[struct{ On bool }]("show")
	whisper   = ecs.NewOrder[struct{ Word uint64 }]("whisper")
	hands     = ecs.NewQuery1(ecs.Read(handOf))
	downs     = ecs.NewQuery1(ecs.Write(faceDown))
	dealers   = ecs.NewQuery1(ecs.Write(thoughts))
)

// handAt returns the entity with the hand of a player.
func handAt(w *ecs.World, p ecs.Player) (at ecs.Entity) {
	for e := range hands.All(w) {
		if e.Entity().Owner() == ecs.OwnedBy(p) {
			at = e.Entity()
		}
	}
	return at
}

// secretCards returns the game. Everything that seat 0 does in secret depends on salt, and with it the random source and the number of
// private events.
func secretCards(salt uint64) *ecs.Game {
	g := halves.Dots()
	g.Name, g.MaxPlayers, g.TickRate = "cards", 4, 30
	g.Components = append(g.Components, ecs.Components(handOf, faceDown, whispered, isShown, thoughts)...)
	g.Resources = append(g.Resources, ecs.Resources(stockOf, tableOf)...)
	g.Events = append(g.Events, ecs.Events(drew, kept, laidDown)...)
	secret := func(p ecs.Player, v uint64) uint64 {
		if p == 0 {
			return v ^ salt
		}
		return v
	}
	g.Setup = func(w *ecs.World) {
		s := stockOf.Write(w)
		for i := range s.Cards {
			s.Cards[i] = uint64(i+1) * 0x9e3779b97f4a7c15
		}
		s.Left = uint8(len(s.Cards))
		w.Rand().Shuffle(len(s.Cards), func(i, j int) { s.Cards[i], s.Cards[j] = s.Cards[j], s.Cards[i] })
		w.Spawn(ecs.OwnedByWorld, thoughts)
	}
	enter := g.Join
	g.Join = func(w *ecs.World, p ecs.Player, card ecs.Card) {
		enter(w, p, card)
		e := w.Spawn(ecs.OwnedBy(p), handOf, whispered)
		whispered.Put(w, e, hidden{Value: secret(p, 77)})
		down := w.Spawn(ecs.OwnedBy(p), faceDown)
		faceDown.Put(w, down, hidden{Value: secret(p, 5)})
	}
	leave := g.Leave
	g.Leave = func(w *ecs.World, p ecs.Player) {
		leave(w, p)
		w.Despawn(handAt(w, p))
		for e := range downs.All(w) {
			if e.Entity().Owner() == ecs.OwnedBy(p) {
				w.Despawn(e.Entity())
			}
		}
	}
	g.Systems = append(g.Systems, ecs.System{Name: "think", Run: func(w *ecs.World) {
		for e := range dealers.All(w) {
			e.A.Ticks++
			e.A.Card = w.Rand().Uint64() ^ salt
		}
		for range salt % 3 {
			w.Rand().Uint64()
		}
		for e := range downs.All(w) { // clients compute this of their own, from zero
			e.A.Value += 3 + secret(0, 0)
		}
		if w.Players().Has(0) && salt%2 == 1 && w.Tick()%7 == 0 {
			kept.Emit(w, handAt(w, 0), card{Value: salt})
		}
	}})
	g.Orders = ecs.Orders(drawCard.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, _ struct{ _ uint8 }) {
		h, s := handOf.Write(w, handAt(w, p)), stockOf.Write(w)
		if h == nil || s.Left == 0 || h.Cards.Len() == 8 {
			return
		}
		s.Left--
		s.Used |= 1 << (s.Left + uint8(secret(p, 0)%2))
		tableOf.Write(w).Drawn++
		value := secret(p, s.Cards[s.Left])
		h.Cards.Append(value)
		drew.Emit(w, handAt(w, p), card{Value: value})
		if p == 0 && salt%2 == 1 {
			drew.Emit(w, handAt(w, p), card{Value: salt})
		}
	}), playCard.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, v struct{ Index uint8 }) {
		h := handOf.Write(w, handAt(w, p))
		if h == nil || int(v.Index) >= h.Cards.Len() {
			return
		}
		value := h.Cards.At(int(v.Index))
		h.Cards.RemoveAt(int(v.Index))
		t := tableOf.Write(w)
		t.Cards.Append(value)
		laidDown.Emit(w, handAt(w, p), card{Value: value})
	}), showHand.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, v struct{ On bool }) {
		if v.On {
			isShown.Add(w, handAt(w, p), open{})
		} else {
			isShown.Remove(w, handAt(w, p))
		}
	}), whisper.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, v struct{ Word uint64 }) {
		if x := whispered.Write(w, handAt(w, p)); x != nil {
			x.Value = v.Word
		}
	}))
	g.See = func(w *ecs.World, viewer ecs.Player, e ecs.Entity) bool {
		return e.Owner() == ecs.OwnedBy(viewer) && !faceDown.Has(w, e) || isShown.Has(w, e)
	}
	return g
}

// dealt is a match of cards over P3, and all that was sent to each client.
type dealt struct {
	*matchsim.Match
	t    *testing.T
	salt uint64
	sent [][]byte // by client: each message with its channel
	seen []map[string]int
}

func deal(t *testing.T, s systems.Strategy, salt uint64) *dealt {
	t.Helper()
	d := &dealt{t: t, salt: salt}
	m, err := matchsim.New(matchsim.Config{Game: secretCards(salt), Strategy: s, Strategies: hiding(secretCards(0)), Seed: 11, Journal: true, FixedSeats: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Match = m
	d.join(matchsim.Plan{})
	d.join(matchsim.Plan{})
	return d
}

func (d *dealt) join(p matchsim.Plan) *matchsim.Client {
	i, seen := len(d.sent), map[string]int{}
	d.sent, d.seen = append(d.sent, nil), append(d.seen, seen)
	if p.Profile = profile(d.t, "P3"); i == 0 {
		p.Profile = profile(d.t, "P0") // so that the times at which its inputs arrive do not depend on how much it is sent
	}
	p.Traffic = func(down bool, ch systems.Channel, message []byte) {
		if down {
			d.sent[i] = fmt.Appendf(d.sent[i], "%v %d %d:", d.Net.Now(), ch, len(message))
			d.sent[i] = append(d.sent[i], message...)
		}
	}
	p.Effects = func(e systems.Effect) {
		if r, ok := d.Game.Schema().DescribeEvent(e.Event); ok && e.Status == ecs.EffectConfirmed {
			seen[r.Name]++
		}
	}
	if !p.Spectator {
		p.Play = func(c *matchsim.Client, now time.Duration) ecs.InputBytes { return d.play(c, now) }
	}
	return d.Join(p)
}

// play is a frame of a player: everyone moves and draws, player 1 plays and shows, and player 0 whispers. Only player 0's secrets
// depend on salt.
func (d *dealt) play(c *matchsim.Client, now time.Duration) ecs.InputBytes {
	d.check(c)
	f := int(now * 30 / time.Second)
	if c.Live() {
		order := func(payload []byte) { _, _ = c.Core.Order(ecs.Entity{}, payload) }
		if f%20 == c.Number {
			order(drawCard.Pack(d.Game, struct{ _ uint8 }{}))
		}
		if f%31 == 0 && c.Number != 0 {
			order(playCard.Pack(d.Game, struct{ Index uint8 }{uint8(f % 2)}))
		}
		if f%45 == 10 && c.Number == 1 {
			order(showHand.Pack(d.Game, struct{ On bool }{f/45%2 == 0}))
		}
		if f%9 == 3 && c.Number == 0 {
			order(whisper.Pack(d.Game, struct{ Word uint64 }{d.salt*uint64(f) | 1}))
		}
	}
	pad := halves.Zigzag(c.Number, f)
	pad.Throw = false // which way it flies is public, and random
	return halves.PadInput.Pack(pad)
}

// check fails if the world of a client has a value that its player must not know.
func (d *dealt) check(c *matchsim.Client) {
	w := c.Core.World()
	if w == nil || c.Core.State() < client.CatchingUp || d.t.Failed() { // without the server's state, it has that of its own Setup
		return
	}
	seat := c.Core.Seat()
	_, _, confirmed, _ := c.Core.Snapshots(c.Now())
	if s := stockOf.Read(w); s.Cards != [64]uint64{} || s.Used != 0 {
		d.t.Errorf("%s: client %d knows the stock", c.Core.Playing(), c.Number)
	}
	for e := range confirmed.Entities {
		cards, _ := handOf.Read(w, e)
		down, _ := faceDown.Read(w, e)
		word, _ := whispered.Read(w, e)
		think, _ := thoughts.Read(w, e)
		own := seat >= 0 && e.Owner() == ecs.OwnedBy(ecs.Player(seat))
		sees := own || seat >= 0 && isShown.Has(w, e)
		if sees && !own && cards.Cards.Len() > 0 {
			d.seen[c.Number]["a shown hand"]++
		}
		if down.Value != 0 || think.Card != 0 || !sees && (cards.Cards.Len() > 0 || word.Value != 0) {
			d.t.Errorf("%s: client %d of seat %d knows %v %v %v %v of entity %v", c.Core.Playing(), c.Number, seat, cards, down, word, think, e)
		}
	}
}

func (d *dealt) untilLive() {
	d.t.Helper()
	d.Run(time.Second / 4)
	for until := d.Net.Now() + 10*time.Second; ; d.Run(time.Second / 30) {
		live := true
		for _, c := range d.Clients {
			live = live && c.Live() && c.Core.Playing() == d.Room.Strategy().Name
		}
		if live {
			return
		}
		if d.Net.Now() > until {
			d.t.Fatal("a client is not live after 10 s")
		}
	}
}

// whole runs a match with everything that happens to connections and rooms.
func (d *dealt) whole() {
	d.t.Helper()
	d.untilLive()
	d.Run(2 * time.Second)
	d.join(matchsim.Plan{})
	d.join(matchsim.Plan{Spectator: true})
	d.untilLive()
	d.Run(2 * time.Second)
	d.Clients[1].Reconnect()
	d.untilLive()
	for _, s := range hiding(secretCards(0)) {
		if s.Name == d.Room.Strategy().Name {
			continue
		}
		if err := d.Room.Switch(s.Name); err != nil {
			d.t.Fatal(err)
		}
		d.untilLive()
		d.Run(3 * time.Second)
	}
	if err := d.Clients[1].Restart(); err != nil {
		d.t.Fatal(err)
	}
	d.untilLive()
	d.Crash(0)
	d.Run(time.Second / 2)
	if err := d.Recover(); err != nil {
		d.t.Fatal(err)
	}
	d.Run(time.Second)
	d.untilLive()
	d.Run(3 * time.Second)
	if err := d.Err(); err != nil {
		d.t.Error(err)
	}
}

// Two matches differ only in the secrets of player 0. Each byte that the others are sent is the same in both, at the same time.
func TestAClientIsSentNothingThatDependsOnWhatIsHiddenFromIt(t *testing.T) {
	played := hiding(secretCards(0))
	if race.Long {
		played = append(played, predict.New(predict.Config{Interest: fixed.FromInt(2)}))
	}
	for _, s := range played {
		t.Run(s.Name, func(t *testing.T) {
			a, b := deal(t, s, 2), deal(t, s, 0x5eed0b5c0de5eed)
			a.whole()
			b.whole()
			for i := range a.sent {
				if i == 0 {
					if bytes.Equal(a.sent[0], b.sent[0]) {
						t.Error("the secrets of player 0 are the same in both matches")
					}
					continue
				}
				if at, differ := firstDifference(a.sent[i], b.sent[i]); differ {
					t.Errorf("client %d was sent other bytes from byte %d of %d: %.60q and %.60q", i, at, len(a.sent[i]), a.sent[i][at:], b.sent[i][at:])
				}
			}
			for i, c := range a.Clients {
				st := c.Core.Stats()
				t.Logf("%s, client %d: %d checked, %d bytes, %d corrections, %d resyncs, effects %v", s.Name, i, c.Checked, len(a.sent[i]), st.Strategy.Corrections, st.Resyncs, a.seen[i])
				if c.Checked < 100 || st.Resyncs > 0 {
					t.Errorf("client %d: %d states were compared, %d resyncs", i, c.Checked, st.Resyncs)
				}
				if st.Strategy.Corrections > 60 { // cards are drawn by orders, which are not predicted
					t.Errorf("client %d: %d corrections", i, st.Strategy.Corrections)
				}
				if private := a.seen[i]["drew"] > 0; private != (c.Core.Seat() >= 0) || a.seen[i]["played"] == 0 {
					t.Errorf("client %d of seat %d: effects %v", i, c.Core.Seat(), a.seen[i])
				}
				if glimpsed := a.seen[i]["a shown hand"] > 0; glimpsed != (i == 0 || i == 2) {
					t.Errorf("client %d saw the hand of player 1: %v", i, glimpsed)
				}
				if i > 0 && a.seen[i]["kept"] > 0 || i == 0 && b.seen[i]["kept"] == 0 {
					t.Errorf("client %d: effects %v and %v", i, a.seen[i], b.seen[i])
				}
			}
			own := handAt(a.Room.World(), 0)
			want, _ := handOf.Read(a.Room.World(), own)
			if got, _ := handOf.Read(a.Clients[0].Core.World(), own); got != want || want.Cards.Len() == 0 {
				t.Errorf("player 0 has the hand %v and is shown %v", want, got)
			}
			if got := tableOf.Read(a.Clients[3].Core.World()); got.Cards.Len() < 3 {
				t.Errorf("the spectator sees %d cards on the table", got.Cards.Len())
			}
		})
	}
}

// firstDifference returns where two byte slices differ first.
func firstDifference(a, b []byte) (at int, differ bool) {
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at, at < max(len(a), len(b))
}

func TestMatchPlaysAGameWithPrivateDataWithTheStrategiesThatHideIt(t *testing.T) {
	game := secretCards(3)
	game.Bot = nil
	if err := relay.Strategy.Check(game); err == nil || !strings.Contains(err.Error(), "choose verify, predict or reckon") {
		t.Errorf("relay: %v", err)
	}
	var played []string
	for _, s := range hiding(game) {
		played = append(played, s.Name)
	}
	if got := strings.Join(played, " "); got != "verify predict reckon" {
		t.Errorf("played with %s", got)
	}
	if race.Long {
		Match(t, game, "P3")
	}
}

func TestTheImageOfAResyncHidesTheSameAsTheFirst(t *testing.T) {
	var sent [2][]byte
	for i, salt := range []uint64{2, 0x5eed0b5c0de5eed} {
		d := deal(t, verify.Strategy, salt)
		c := d.Clients[1]
		if err := d.Net.SetProfile(c.Node, d.Server, profile(t, "P0")); err != nil { // the world is then at the base of the next delta
			t.Fatal(err)
		}
		d.untilLive()
		d.Run(time.Second)
		tableOf.Write(c.Core.World()).Drawn += 100 // the next delta then leads to a wrong checksum
		d.Run(2 * time.Second)
		if n := c.Core.Stats().Resyncs; n != 1 || !c.Live() || tableOf.Read(c.Core.World()).Drawn >= 100 {
			t.Fatalf("%d resyncs, %v", n, c.Core.State())
		}
		sent[i] = d.sent[1]
	}
	if at, differ := firstDifference(sent[0], sent[1]); differ {
		t.Errorf("client 1 was sent other bytes from byte %d of %d", at, len(sent[0]))
	}
}

func TestATickOfAGameWithPrivateDataAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, s := range hiding(secretCards(0)) {
		w, err := ecs.NewWorld(secretCards(3), 1)
		if err != nil {
			t.Fatal(err)
		}
		half, err := s.NewServer(systems.ServerConfig{World: w, Peers: 4})
		if err != nil {
			t.Fatal(err)
		}
		for p := range ecs.Player(4) {
			half.Stamp(image.Order{Kind: image.OrderJoin, Player: p}, nil)
		}
		for range 600 {
			half.Tick(0)
		}
		if n := testing.AllocsPerRun(300, func() { half.Tick(0) }); n != 0 {
			t.Errorf("%s: %v allocations", s.Name, n)
		}
	}
}
