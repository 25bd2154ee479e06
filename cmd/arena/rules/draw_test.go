package rules

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
)

// sketch is a canvas that remembers what was painted, by colour and by text, and where the camera stood.
type sketch struct {
	aspect          float64
	cameraX         float64
	cameraY, height float64
	shapes          map[ecs.Color]int
	texts           map[string]int
	hud             *sketch
	outside         []string // texts of the HUD that leave the picture
}

func newSketch(aspect float64) *sketch {
	hud := &sketch{aspect: aspect, shapes: map[ecs.Color]int{}, texts: map[string]int{}}
	return &sketch{aspect: aspect, shapes: map[ecs.Color]int{}, texts: map[string]int{}, hud: hud}
}

func (s *sketch) Camera(x, y, height float64)                        { s.cameraX, s.cameraY, s.height = x, y, height }
func (s *sketch) Rectangle(x, y, width, height float64, c ecs.Color) { s.shapes[c]++ }
func (s *sketch) Circle(x, y, radius float64, c ecs.Color)           { s.shapes[c]++ }
func (s *sketch) Line(x0, y0, x1, y1, width float64, c ecs.Color)    { s.shapes[c]++ }
func (s *sketch) Polygon(points []ecs.Point, c ecs.Color)            { s.shapes[c]++ }
func (s *sketch) Image(string, float64, float64, float64, float64, ecs.ImageOptions) {
}
func (s *sketch) Aspect() float64                        { return s.aspect }
func (s *sketch) Clicked(string) (x, y float64, ok bool) { return 0, 0, false }

func (s *sketch) Text(x, y, size float64, align int, text string, _ ecs.Color) {
	s.texts[text]++
	width := 0.65 * size * float64(len(text)) // no letter of the window's font is wider on average
	left := x - width*float64(align+1)/2
	if s.hud == nil && (left < 0 || left+width > hudHeight*s.aspect || y < 0 || y+1.3*size > hudHeight) {
		s.outside = append(s.outside, text)
	}
}

func (s *sketch) Hud() ecs.Canvas {
	if s.hud == nil {
		return s
	}
	return s.hud
}

// like returns how many shapes of a colour were painted, whatever their opacity.
func (s *sketch) like(c ecs.Color) (n int) {
	for painted, times := range s.shapes {
		if painted.A = c.A; painted == c {
			n += times
		}
	}
	return n
}

// viewedArena is an arena with a view of it, which receives all events as confirmed at once.
type viewedArena struct {
	*arena
	view        *ecs.View
	before, now image.Snapshot
}

func newViewedArena(t *testing.T, players, watcher int, seed uint64) *viewedArena {
	c := &viewedArena{arena: newArena(t, players, seed)}
	var err error
	if c.view, err = ecs.NewView(c.w.Game()); err != nil {
		t.Fatal(err)
	}
	c.view.Seat = watcher
	c.show()
	return c
}

// show brings the view to the present.
func (c *viewedArena) show() {
	c.w.Image().Save(&c.now)
	c.view.Update(&c.before, &c.now, &c.now, 1)
}

// play steps with the bots' inputs and gives the view the events.
func (c *viewedArena) play() {
	c.bots()
	c.w.Image().Save(&c.before)
	c.step()
	c.show()
	for _, e := range c.w.Events() {
		if !e.Irreversible {
			c.receive(e, ecs.EffectPredicted, true)
		}
		c.receive(e, ecs.EffectConfirmed, e.Irreversible)
	}
}

func (c *viewedArena) receive(e image.EmittedEvent, status ecs.EffectStatus, first bool) {
	c.w.Game().Screen.Effect(c.view, ecs.Effect{Event: e, Status: status, First: first})
}

func (c *viewedArena) paint(aspect float64) *sketch {
	s := newSketch(aspect)
	c.w.Game().Screen.Draw(s, c.view)
	return s
}

// A view is a picture of the world, and taking it leaves the world as it was.
func TestThePictureShowsEverybodyAndChangesNothing(t *testing.T) {
	c := newViewedArena(t, 6, -1, 4)
	var after image.Snapshot
	seen := newSketch(1.6)
	for c.w.Tick() < 900 {
		c.play()
		one := c.paint(1.6)
		for color, n := range one.shapes {
			seen.shapes[color] += n
		}
		for p := range c.in {
			if one.shapes[playerColors[p]] == 0 && one.like(playerColors[p]) == 0 || one.hud.texts[fmt.Sprintf("P%d", p)] == 0 {
				t.Fatalf("tick %d: player %d is not in the picture", c.w.Tick(), p)
			}
		}
		if c.w.Image().Save(&after); after.Checksum() != c.now.Checksum() {
			t.Fatalf("tick %d: drawing changed the world", c.w.Tick())
		}
	}
	for name, color := range map[string]ecs.Color{"doors": doorColor, "kits": bad, "walls": wallColor, "low walls": lowColor} {
		if seen.shapes[color] == 0 {
			t.Errorf("15 s of pictures show no %s", name)
		}
	}
	if c.happened.explosions == 0 || c.happened.deaths == 0 || seen.like(glow) == 0 {
		t.Errorf("the pictures had too little to show: %+v", c.happened)
	}
	if seen.like(you) != 0 || seen.hud.shapes[highlight] != 0 {
		t.Error("a spectator is shown as a player")
	}
}

// A text that leaves the picture cannot be read. Sixteen players in a long match make the longest lists and numbers.
func TestAllTextOfTheHudStaysInsideThePicture(t *testing.T) {
	c := newViewedArena(t, 16, 0, 2)
	clock.Write(c.w).Ends = 600 // a short round, so that its end is seen too
	read := map[string]bool{}
	for c.w.Tick() < 660 {
		c.play()
		if c.w.Tick()%4 != 0 {
			continue
		}
		for i, aspect := range []float64{1, 1.6, 2.4} {
			c.view.Seat = int(c.w.Tick())/4%17*(i%2+1)%17 - 1
			s := c.paint(aspect)
			if len(s.hud.outside) > 0 {
				t.Fatalf("tick %d, aspect %v, seat %d: %q leave the picture", c.w.Tick(), aspect, c.view.Seat, s.hud.outside)
			}
			for text := range s.hud.texts {
				read[text] = true
			}
		}
	}
	for _, want := range []string{"dash", "rocket", "back in 2", "break", "100"} {
		if !read[want] {
			t.Errorf("no picture shows %q", want)
		}
	}
}

func TestWhoWatchesHasARingARowAndGauges(t *testing.T) {
	c := newViewedArena(t, 3, 1, 4)
	s := c.paint(1.6)
	if s.like(you) != 1 || s.hud.shapes[highlight] != 1 || s.hud.texts["dash"] != 1 || s.hud.texts["100"] != 1 {
		t.Errorf("%d rings, %d rows, texts %v: want one of each for the player who watches", s.like(you), s.hud.shapes[highlight], s.hud.texts)
	}
	c.view.Seat = 7 // has not entered yet
	if s = c.paint(1.6); s.like(you) != 0 || s.hud.texts["dash"] != 0 {
		t.Error("who is not in the match has a ring or gauges")
	}
}

// The aim point is where the pointer is in the camera's world, so a camera that leaps makes a player miss.
func TestTheCameraFollowsSoftlyAndStaysInTheLevel(t *testing.T) {
	c := newViewedArena(t, 4, 2, 8)
	const aspect = 1.6
	last, leaps, farthest := c.paint(aspect), 0, 0.0
	for c.w.Tick() < 1800 {
		c.play()
		s := c.paint(aspect)
		if s.height != followHeight {
			t.Fatalf("tick %d: a player sees %v m", c.w.Tick(), s.height)
		}
		if moved := math.Hypot(s.cameraX-last.cameraX, s.cameraY-last.cameraY); moved > followMost/followLag {
			leaps++
		}
		b := c.body(2)
		x, y := at(flat(b.Pos))
		farthest = max(farthest, math.Abs(x-s.cameraX)/(followHeight*aspect/2), math.Abs(y-s.cameraY)/(followHeight/2))
		if bottom := s.cameraY + followHeight/2; bottom > float64(level.Rows*squareSize)+followEdge+1e-9 {
			t.Fatalf("tick %d: the picture ends at y = %v", c.w.Tick(), bottom)
		}
		last = s
	}
	if farthest > 1 {
		t.Errorf("the own avatar left the picture: %v of the way to its edge", farthest)
	}
	if leaps > c.happened.respawns {
		t.Errorf("the camera leapt %d times in %d respawns", leaps, c.happened.respawns)
	}
	still := c.paint(aspect)
	if still.cameraX != last.cameraX || still.cameraY != last.cameraY {
		t.Error("a second picture of one moment moved the camera")
	}
	c.view.Seat = -1
	if s := c.paint(aspect); s.height < float64(level.Rows*squareSize) || s.height*aspect < float64(level.Columns*squareSize) {
		t.Errorf("a spectator sees %v m of the level's %d", s.height, level.Rows*squareSize)
	}
}

// A predicted hit is seen at once, once, and no longer when it turns out not to have happened.
func TestASparkShowsOnceAndGoesOutWhenTheHitIsCancelled(t *testing.T) {
	c := newViewedArena(t, 2, 1, 1)
	var hits []image.EmittedEvent
	for len(hits) == 0 {
		c.bots()
		c.step()
		for _, e := range c.w.Events() {
			if _, ok := Hits.Decode(c.w.Game(), e); ok {
				hits = append(hits, e)
			}
		}
	}
	c.show()
	words := func() (n int) {
		for text := range c.paint(1.6).texts {
			if strings.TrimLeft(text, "-0123456789") == "" {
				n++
			}
		}
		return n
	}
	tracers := c.paint(1.6).like(glow)
	c.receive(hits[0], ecs.EffectPredicted, true)
	once := c.paint(1.6).like(glow)
	c.receive(hits[0], ecs.EffectConfirmed, false)
	if twice := c.paint(1.6).like(glow); once <= tracers || twice != once || words() != 1 {
		t.Errorf("a predicted hit has %d strokes, a confirmed one %d and %d numbers", once, twice, words())
	}
	c.receive(hits[0], ecs.EffectCancelled, false)
	if n := c.paint(1.6).like(glow); n != tracers || words() != 0 {
		t.Errorf("a cancelled hit still has %d strokes and %d numbers", n, words())
	}
}

// A mispredicted death never enters the feed, and the list does not grow.
func TestTheKillFeedHasConfirmedDeathsOnlyAndForgets(t *testing.T) {
	c := newViewedArena(t, 16, 3, 2)
	longest := 0
	for c.w.Tick() < 600 {
		c.play()
		c.paint(1.6)
		longest = max(longest, len(pictureOf(c.view).feed))
	}
	if longest != feedLines || c.happened.deaths < 2*feedLines {
		t.Errorf("%d deaths made a feed of %d lines, want %d", c.happened.deaths, longest, feedLines)
	}
	p := pictureOf(c.view)
	p.feed = nil
	for _, e := range deathsOf(c) {
		c.receive(e, ecs.EffectPredicted, true)
		if len(p.feed) != 0 {
			t.Error("a predicted death is in the feed")
		}
		c.receive(e, ecs.EffectConfirmed, true)
		if len(p.feed) != 1 {
			t.Error("a confirmed death is not in the feed")
		}
		p.feed = nil
	}
	c.receive(deathsOf(c)[0], ecs.EffectConfirmed, true)
	p.dropOld(moment(c.view) + feedTicks - 1)
	if len(p.feed) != 1 {
		t.Error("a death left the feed before its time")
	}
	p.dropOld(moment(c.view) + feedTicks)
	if len(p.feed)+len(p.effects) != 0 {
		t.Errorf("after their time %d deaths and %d effects are kept", len(p.feed), len(p.effects))
	}
}

// deathsOf plays on until somebody dies, and returns the events.
func deathsOf(c *viewedArena) (list []image.EmittedEvent) {
	for len(list) == 0 {
		c.bots()
		c.step()
		for _, e := range c.w.Events() {
			if _, ok := Deaths.Decode(c.w.Game(), e); ok {
				list = append(list, e)
			}
		}
	}
	return list
}

// View components are no part of the simulation: a rewind must not remove them.
func TestAPoseOutlastsARewindOfItsEntity(t *testing.T) {
	c := newViewedArena(t, 2, 0, 1)
	var past image.Snapshot
	c.w.Image().Save(&past)
	who := avatar(c.w, 1)
	kept(c.view, pose, who).struck = 77
	dead.Add(c.w, who, Dead{Until: 500}) // another set of components, so another donburi entity
	c.step()
	c.show()
	c.w.Image().Restore(&past)
	c.before = image.Snapshot{}
	c.show()
	if p := kept(c.view, pose, who); p == nil || p.struck != 77 {
		t.Errorf("after a rewind the pose is %+v", p)
	}
}

// A trail is drawn from the places at which a rocket was shown. It is the view's own, so it grows over the ticks that a
// rewind simulates again, and a view that is loaded anew starts it again.
func TestARocketsTrailIsKeptThroughARewind(t *testing.T) {
	c := newViewedArena(t, 4, 0, 1)
	trails := func() (list []*Trail) {
		for e := range rockets.All(c.view.Sim) {
			list = append(list, kept(c.view, trail, e.Entity()))
		}
		return list
	}
	longest := 0
	for c.w.Tick() < 900 && longest < trailTicks {
		var past image.Snapshot
		c.w.Image().Save(&past)
		c.play()
		c.paint(1.6)
		before := trails()
		c.w.Image().Restore(&past)
		c.bots()
		c.step()
		c.show()
		c.paint(1.6)
		if after := trails(); len(before) > 0 && (len(after) == 0 || after[0] != before[0]) {
			t.Fatalf("tick %d: a rewind replaced the trail of a rocket", c.w.Tick())
		}
		for _, one := range before {
			longest = max(longest, one.count)
		}
	}
	if longest != trailTicks {
		t.Fatalf("the longest trail has %d places, want %d", longest, trailTicks)
	}
	one := trails()[0]
	if one.follow(1, 2, one.newest+trailTicks+1); one.count != 1 || one.points[0] != (ecs.Point{X: 1, Y: 2}) {
		t.Errorf("after a gap the trail has %d places", one.count)
	}
}

// hands hold keys.
type hands struct {
	ecs.Controls // unused
	keys         map[string]bool
	x, y         float64
	stick        map[string]float64
	fingers      []ecs.Touch
	given        *ecs.OrderQueue
}

func (h hands) Down(key string) bool     { return h.keys[key] }
func (h hands) Pressed(key string) bool  { return h.keys[key] }
func (h hands) Pointer() (x, y float64)  { return h.x, h.y }
func (h hands) Axis(name string) float64 { return h.stick[name] }
func (h hands) Touches() []ecs.Touch     { return h.fingers }
func (h hands) Orders() *ecs.OrderQueue  { return h.given }

// The keys of orders give one order when they go down. Without a queue, they give none.
func TestKeysGiveOrders(t *testing.T) {
	g := Game()
	for key, order := range map[string][]byte{"k": surrendering, "t": nextTeam} {
		h := hands{keys: map[string]bool{key: true}}
		g.Screen.Controls(h)
		h.given = ecs.NewOrderQueue(g)
		g.Screen.Controls(h)
		var given [][]byte
		h.given.Drain(func(_ ecs.Entity, payload []byte) { given = append(given, payload) })
		if len(given) != 1 || string(given[0]) != string(order) {
			t.Errorf("%s gives %v", key, given)
		}
	}
}

// A team has one colour in the picture and in the table.
func TestATeamHasOneColour(t *testing.T) {
	c := newViewedArena(t, 3, 0, 4)
	teams.Write(c.w).Of = [maxPlayers]Team{0: Blue, 2: Blue}
	for range 30 {
		c.play()
	}
	s := c.paint(1.6)
	if s.hud.shapes[teamColors[Blue]] < 3 || s.hud.shapes[playerColors[2]] > 0 || s.hud.shapes[playerColors[1]] == 0 || s.hud.shapes[teamColors[Red]] > 0 {
		t.Errorf("the table has %d blue, %d red, and %d, %d, %d of the seats", s.hud.shapes[teamColors[Blue]], s.hud.shapes[teamColors[Red]],
			s.hud.shapes[playerColors[0]], s.hud.shapes[playerColors[1]], s.hud.shapes[playerColors[2]])
	}
}

func TestKeysAndMouseMakeAPad(t *testing.T) {
	h := hands{keys: map[string]bool{"w": true, "right": true, "mouse1": true, "e": true, "q": true}, x: 10.25, y: 3}
	in := pad.Unpack(Game().Screen.Controls(h))
	want := Pad{AimX: 10.25 * aimScale, AimY: 3 * aimScale, X: 90, Y: -90, Fire: true, Rocket: true, Kit: true}
	if in != want {
		t.Errorf("the pad is %+v, want %+v", in, want)
	}
	if in = pad.Unpack(Game().Screen.Controls(hands{x: 1e12, y: -1e12})); in != (Pad{AimX: 32767, AimY: -32767}) {
		t.Errorf("a pointer far outside gives %+v", in)
	}
	touch := hands{stick: map[string]float64{"LeftStickHorizontal": 0.5, "LeftStickVertical": -0.25}, fingers: []ecs.Touch{{X: 2, Y: -1}}}
	if in = pad.Unpack(Game().Screen.Controls(touch)); in != (Pad{X: 64, Y: -32, AimX: 2 * aimScale, AimY: -aimScale, Fire: true}) {
		t.Errorf("a stick and a finger give %+v", in)
	}
}

// A player has the chosen name in the picture, a long one cut off, and without one the number of the seat.
func TestThePictureShowsNames(t *testing.T) {
	c := newViewedArena(t, 3, 0, 4)
	for range 30 {
		c.play()
	}
	c.view.Roster = []ecs.Seated{{Name: "ann", Connected: true, Ping: 48 * time.Millisecond}, {}, {Name: "Rumpelstiltskin", Connected: true}}
	texts := c.paint(1.6).hud.texts
	for text, want := range map[string]bool{"ann": true, "P1": true, "Rumpels…": true, "P0": false, "P2": false, "Rumpelstiltskin": false, "48 ms": true, "away": true} {
		if (texts[text] > 0) != want {
			t.Errorf("%q is in the picture %d times", text, texts[text])
		}
	}
}
