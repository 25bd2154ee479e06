package labpage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// all are in the order of the panels.
var all = []systems.Strategy{lockstep.Strategy, relay.Strategy, predict.Strategy, reckon.Strategy}

// Settings from a link or a page are untrusted.
func TestSettingsAreClamped(t *testing.T) {
	c := &Config{Game: rules.Game(), Strategies: all}
	wild := Settings{Sync: []string{"reckon", "none", "relay", "relay"}, Net: "P77", RTT: 1e9, Jitter: -3, Loss: math.NaN(), Duplicate: 99, Reorder: math.Inf(1),
		InputDelay: -1, Players: 1 << 40, Seed: math.MaxUint64}
	s := wild.clamped(c)
	if !slices.Equal(s.Sync, []string{"relay", "reckon"}) || s.Net != "" || s.RTT != maxRTT || s.Jitter != 0 || s.Loss != 0 || s.Duplicate != maxChance ||
		s.Reorder != maxChance || s.InputDelay != 0 || s.Players != maxPlayers || s.Seed != maxSeed {
		t.Errorf("%+v", s)
	}
	if p := s.profile(); p.Validate() != nil {
		t.Errorf("the network is not valid: %v", p.Validate())
	}
	if s = (Settings{}).clamped(c); len(s.Sync) != 2 || s.Players != 1 {
		t.Errorf("no settings become %+v", s)
	}
	usual := Usual(7)
	if got := usual.clamped(c); fmt.Sprint(got) != fmt.Sprint(usual) {
		t.Errorf("the usual settings are out of range: %+v", got)
	}
}

// A page offers only strategies that hide the private data of its game, and begins with two of them.
func TestAPageOffersStrategiesThatHidePrivateData(t *testing.T) {
	g := rules.Game()
	g.Components = append(g.Components, ecs.NewComponent("hand", ecs.Roles[hand]{Private: true}))
	c := &Config{Game: g, Strategies: append([]systems.Strategy{verify.Strategy}, all...)}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	usual := Usual(7)
	if s := usual.clamped(c); len(c.Strategies) != 3 || len(s.Sync) != 2 || slices.Contains(s.Sync, relay.Strategy.Name) || slices.Contains(s.Sync, lockstep.Strategy.Name) {
		t.Errorf("the page offers %v and begins with %v", names(c.Strategies), s.Sync)
	}
	c.Strategies = all[:2]
	if err := c.check(); !errors.Is(err, ErrConfig) {
		t.Errorf("lockstep and relay alone: %v", err)
	}
}

type hand struct{ Cards uint64 }

// The settings of running matches stay as they are when the page sends others, and a malformed message changes nothing.
func TestNewSettingsLeaveThoseOfTheMatches(t *testing.T) {
	s := newViewer(Config{Game: rules.Game(), Strategies: all, Begin: Usual(1)}, nil)
	s.receive([]byte(`{"k":"set","settings":{"sync":["lockstep","relay"]},"number":1}`))
	s.have = s.want // as when the matches begin
	s.receive([]byte(`{"k":"set","settings":{"sync":["predict","reckon"],"rtt":"slow"},"number":2}`))
	if !slices.Equal(s.want.Sync, []string{"lockstep", "relay"}) || s.number != 1 {
		t.Errorf("after a malformed message %v are wanted, number %d", s.want.Sync, s.number)
	}
	s.receive([]byte(`{"k":"set","settings":{"sync":["predict","reckon"]},"number":3}`))
	if !slices.Equal(s.have.Sync, []string{"lockstep", "relay"}) || !slices.Equal(s.want.Sync, []string{"predict", "reckon"}) || s.want.sameMatch(&s.have) {
		t.Errorf("the matches are of %v, and %v are wanted", s.have.Sync, s.want.Sync)
	}
}

func TestEveryNetworkHasATitleAndADescription(t *testing.T) {
	for _, n := range networks() {
		if n.Title == "" || !strings.HasSuffix(n.Plain, ".") {
			t.Errorf("%s is called %q: %q", n.Name, n.Title, n.Plain)
		}
	}
}

// A wall that is in both the picture and the server's state is no ghost. An entity that the picture shows elsewhere is one.
func TestGhostsAreTheShapesThatThePictureLacks(t *testing.T) {
	wall, red := ecs.Color{R: 90, A: 255}, ecs.Color{R: 255, A: 255}
	draw := func(c ecs.Canvas, x float64) {
		c.Camera(x, 0, 10)
		c.Rectangle(0, 0, 5, 5, wall)
		c.Line(0, 0, 1, 1, 1, wall)
		c.Polygon([]ecs.Point{{X: 1}, {X: 2}, {Y: 3}}, wall)
		c.Circle(x, 0, 1, red)
		c.Text(x, 1, 1, 0, "name", red)
		c.Hud().Rectangle(0, 0, 1, x, red)
	}
	g, shown := newGhost(), ""
	for x, want := range map[float64]string{3: `[0,3,0,10]`, 4: `[0,3,0,10,2,4,0,1,4287401215]`} {
		g.begin()
		draw(g, 3)
		shown = string(g.Append(nil))
		g.beginGhosts()
		draw(g, x)
		if got := string(g.Append(nil)); got != want {
			t.Errorf("with the server's entity at %v the ghosts are %s, want %s", x, got, want)
		}
	}
	if !strings.Contains(shown, `"name"`) || !strings.Contains(shown, "7,1") {
		t.Errorf("the picture is %s", shown)
	}
}

// The common camera is in the middle. It shows more only where pictures are far apart.
func TestTheCommonCameraShowsAllPictures(t *testing.T) {
	for _, c := range []struct {
		list []camera
		want camera
	}{
		{nil, camera{}},
		{[]camera{{3, 4, 20}}, camera{3, 4, 20}},
		{[]camera{{0, 0, 20}, {10, 4, 20}}, camera{5, 2, 20}},
		{[]camera{{0, 0, 20}, {0, 30, 20}, {0, 10, 10}}, camera{0, 15, 40}},
		{[]camera{{0, 0, 20}, {48, 0, 20}}, camera{24, 0, 40}},
	} {
		if got, apart := common(c.list); got != c.want || apart != (got.height == 40) {
			t.Errorf("of %v: %v, apart %v, want %v", c.list, got, apart, c.want)
		}
	}
}

// All pictures of a message show the same place: those of the strategies, of their servers and of the other player.
func TestAllPicturesShowTheSamePlace(t *testing.T) {
	s := newViewer(Config{Game: rules.Game(), Strategies: all, Begin: Usual(7)}, nil)
	s.have = s.want
	s.have.Server, s.have.Other, s.have.RTT = true, true, 400
	var err error
	if s.live, err = newLive(&s.config, &s.have); err != nil {
		t.Fatal(err)
	}
	right, moved := rules.Game().Screen.Controls(&controls{held: []string{"arrowright"}}), false
	for step := range 40 {
		s.live.Input(right, 1)
		if err := s.live.Advance(25 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		_, panels, _ := s.pictures()
		if step == 0 {
			continue // the common camera is that of the message before
		}
		places := map[string]bool{}
		for i, p := range panels {
			for name, picture := range map[string][]byte{"own": p.picture, "ghosts": p.ghosts, "server": p.server, "other": p.other} {
				numbers := strings.SplitN(string(picture), ",", 5)
				if len(numbers) < 4 || numbers[0] != "[0" {
					t.Fatalf("panel %d, %s: the picture begins with %q", i, name, numbers)
				}
				places[strings.TrimSuffix(strings.Join(numbers[1:4], " "), "]")] = true
			}
		}
		if len(places) != 1 {
			t.Fatalf("step %d: the pictures show %d places: %v", step, len(places), places)
		}
		moved = moved || s.ghost.camera != s.ghost.common
	}
	if !moved {
		t.Error("the cameras of the game were equal: the test proves nothing")
	}
}

// Without a pointer the viewer aims ahead, in the direction of the last keys.
func TestKeysAimAheadOfTheAvatar(t *testing.T) {
	var h controls
	at := func(keys ...string) string {
		h.set(&hands{Keys: keys})
		h.aim(10, 20, true)
		return fmt.Sprint(h.Pointer())
	}
	for _, step := range []struct {
		keys []string
		want string
	}{{nil, "16 20"}, {[]string{"arrowup"}, "10 14"}, {nil, "10 14"}, {[]string{"a", "arrowdown"}, "4 26"}} {
		if got := at(step.keys...); got != step.want {
			t.Errorf("keys %v aim at %s, want %s", step.keys, got, step.want)
		}
	}
	if h.before = append(h.before, "a"); h.Pressed("a") || !h.Pressed("down") {
		t.Error("a key that was held before is pressed, or one that was not is not")
	}
	h.set(&hands{Keys: []string{"rm -rf", "arrowleft", "F", strings.Repeat("a", 99)}, X: 1, Y: 2, Pointed: true})
	h.aim(10, 20, true)
	if x, y := h.Pointer(); x != 1 || y != 2 || len(h.held) != 1 {
		t.Errorf("the pointer is at %v %v, held are %q", x, y, h.held)
	}
	h.set(&hands{Keys: slices.Repeat([]string{"arrowleft"}, 99), X: math.NaN(), Pointed: true})
	if len(h.held) > maxHeld || h.pointed {
		t.Errorf("%d keys are held, pointed %v", len(h.held), h.pointed)
	}
}

// A page's devices are clamped. The wheel counts until the game has read it.
func TestThePagesDevicesAreClamped(t *testing.T) {
	var h controls
	h.set(&hands{Keys: []string{"shiftright"}, Axes: []float64{0.1, -7, 0, 0, 9}, Wheel: [2]float64{1e300, -1}, Size: [2]int{-5, 640}, Touches: []ecs.Touch{{ID: 3, X: 1, Y: 2}, {X: math.Inf(1)}}})
	h.set(&hands{Keys: []string{"shiftright"}, Axes: []float64{0.1, -7}, Wheel: [2]float64{0, -1}, Size: [2]int{-5, 640}, Touches: []ecs.Touch{{ID: 3, X: 1, Y: 2}}})
	wx, wy := h.Wheel()
	width, height := h.Size()
	if !h.Down("Shift") || h.Down("ShiftLeft") || h.Axis("LeftStickHorizontal") != 0 || h.Axis("leftstickvertical") != -1 || wx != 100 || wy != -2 ||
		width != 0 || height != 640 || len(h.Touches()) != 1 || h.names.Err != nil {
		t.Errorf("%+v", h)
	}
	if h.seen(); h.Pressed("shift") {
		t.Error("a key that was held before is pressed")
	}
	if _, y := h.Wheel(); y != 0 {
		t.Errorf("the wheel is still turned by %v", y)
	}
	if h.Down("Schift"); h.names.Err == nil {
		t.Error("the key Schift exists")
	}
}

func TestAGameThatCannotBeShownIsRefused(t *testing.T) {
	s, err := page.New(page.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for what, c := range map[string]Config{"Game": {}, "Bot": {Game: &ecs.Game{}}, "Draw": {Game: &ecs.Game{Bot: rules.Game().Bot}}, "Strategies": {Game: rules.Game()}} {
		if err := Register(s, c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), what) {
			t.Errorf("without %s: %v", what, err)
		}
	}
}

// dial opens the stream as the page does.
func dial(t *testing.T) (c *websocket.Conn, next func(kind string) map[string]any) {
	t.Helper()
	s, err := page.New(page.Config{Streams: Streams})
	if err != nil {
		t.Fatal(err)
	}
	if err := Register(s, Config{Game: rules.Game(), Strategies: all, Begin: Usual(3)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, _, err = websocket.Dial(ctx, s.URL()+"lab", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {strings.TrimSuffix(s.URL(), "/")}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseNow() })
	c.SetReadLimit(4 << 20)
	return c, func(kind string) map[string]any {
		t.Helper()
		for {
			_, text, err := c.Read(ctx)
			if err != nil {
				t.Fatalf("no %s arrived: %v", kind, err)
			}
			var m map[string]any
			pagetest.CheckJSON(t, text)
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if m["k"] == kind {
				return m
			}
		}
	}
}

func write(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// A malformed message must neither end the matches nor change them.
func TestMalformedMessagesAreIgnored(t *testing.T) {
	c, next := dial(t)
	next("hello")
	for _, text := range []string{`nonsense`, `{}`, `[]`, `null`, `"k"`, `{"k":"desync"}`, `{"k":"fly"}`, `{"k":7}`, `{"k":"set","settings":[]}`, `{"k":"set","settings":{"rtt":"far"}}`,
		`{"k":"hands","keys":"left"}`, `{"k":"hands","keys":["exit"],"x":1e300,"press":99999999999}`, `{"k":"set","settings":{"sync":["relay"],"rtt":40,"players":2,"jitter":0,"loss":0}}`} {
		write(t, c, text)
	}
	begin := next("begin")
	if s := begin["settings"].(map[string]any); s["rtt"] != 40.0 || fmt.Sprint(s["sync"]) != "[relay]" || s["seed"] != "3" {
		t.Errorf("the matches begin with %v", s)
	}
	for range 300 {
		f := next("frame")
		panel := f["panels"].([]any)[0].(map[string]any)
		if r, ok := panel["reading"].(map[string]any); ok && r["joined"] == true && panel["picture"] != nil && panel["ghosts"] != nil {
			return
		}
	}
	t.Error("no frame has a reading with a picture")
}

// Running matches take over most settings. The others begin new matches.
func TestOnlySomeSettingsBeginNewMatches(t *testing.T) {
	c, next := dial(t)
	next("hello")
	write(t, c, `{"k":"set","settings":{"sync":["relay","predict"],"players":2}}`)
	if n := next("begin")["epoch"]; n != 1.0 {
		t.Fatalf("the first matches are number %v", n)
	}
	for _, settings := range []string{`{"rtt":90}`, `{"net":"P5"}`, `{"prediction":false}`, `{"interpolation":false,"delay":3}`} {
		write(t, c, `{"k":"set","settings":`+settings+`}`)
		if f := next("frame"); f["epoch"] != 1.0 {
			t.Errorf("%s began new matches", settings)
		}
	}
	write(t, c, `{"k":"set","settings":{"lagcomp":false}}`)
	if n := next("begin")["epoch"]; n != 2.0 {
		t.Errorf("the matches after another setting of the server are number %v", n)
	}
	write(t, c, `{"k":"again"}`)
	if n := next("begin")["epoch"]; n != 3.0 {
		t.Errorf("the matches that were asked for are number %v", n)
	}
	// The number lets a page ignore settings that are not its newest.
	write(t, c, `{"k":"set","number":7,"settings":{"players":3}}`)
	if b := next("begin"); b["number"] != 7.0 {
		t.Errorf("the matches are those of the setting %v, want 7", b["number"])
	}
}

// A swap changes the strategies of running matches, and new matches begin as the settings say.
func TestASwapChangesTheStrategiesOfRunningMatches(t *testing.T) {
	c, next := dial(t)
	next("hello")
	write(t, c, `{"k":"set","settings":{"sync":["lockstep","relay"],"players":2,"rtt":40}}`)
	next("begin")
	methods := func(m map[string]any) (list []string) {
		for _, p := range m["panels"].([]any) {
			if r, ok := p.(map[string]any)["reading"].(map[string]any); ok {
				list = append(list, r["strategy"].(string))
			}
		}
		return list
	}
	write(t, c, `{"k":"swap"}`)
	for {
		f := next("frame")
		if f["epoch"] != 1.0 {
			t.Fatalf("new matches: %v", f["epoch"])
		}
		if slices.Equal(methods(f), []string{"relay", "lockstep"}) {
			break
		}
	}
	write(t, c, `{"k":"again"}`)
	next("begin")
	for f := next("frame"); ; f = next("frame") {
		if list := methods(f); len(list) > 0 {
			if !slices.Equal(list, []string{"lockstep", "relay"}) {
				t.Errorf("new matches are of %v", list)
			}
			break
		}
	}
}

// A slider and a profile change the network of running matches: the measured round trip follows.
func TestTheNetworkOfRunningMatchesChanges(t *testing.T) {
	c, next := dial(t)
	next("hello")
	write(t, c, `{"k":"set","settings":{"sync":["relay"],"rtt":40,"jitter":0,"loss":0,"players":2}}`)
	next("begin")
	steps := []struct {
		settings    string
		least, most float64
	}{{`{"rtt":300}`, 300, 340}, {`{"net":"P4"}`, 250, 280}, {`{"net":"","rtt":60}`, 60, 90}}
	if !race.Long {
		steps = steps[1:2]
	}
	for _, step := range steps {
		write(t, c, `{"k":"set","settings":`+step.settings+`}`)
		seen, rtt := false, 0.0
		for since := next("frame")["at"].(float64); !seen; {
			f := next("frame")
			if link, ok := f["link"].(map[string]any); ok {
				rtt = link["rtt_ms"].(float64)
				seen = rtt >= step.least && rtt <= step.most
			}
			if f["at"].(float64) > since+10_000 || f["epoch"] != 1.0 {
				t.Fatalf("after %s the round trip is %v ms in match %v, want %v to %v in the first", step.settings, rtt, f["epoch"], step.least, step.most)
			}
		}
	}
}

// The server expels a player after the third desync. The page then reports it and begins new matches.
func TestAnExpelledPlayerGetsNewMatches(t *testing.T) {
	c, next := dial(t)
	next("hello")
	write(t, c, `{"k":"set","settings":{"sync":["lockstep"],"players":1,"rtt":20,"jitter":0,"loss":0}}`)
	next("begin")
	for caused := 0; caused < 12; caused++ { // the game may undo some of them
		write(t, c, `{"k":"desync"}`)
		for {
			f := read(t, c)
			if f["k"] == "note" {
				if text := f["text"].(string); !strings.Contains(text, "third time") {
					t.Errorf("the note is %q", text)
				}
				next("begin")
				return
			}
			if o := outcomeIn(f); o != "" && o != "pending" {
				break
			}
		}
	}
	t.Error("twelve desyncs in a row did not expel the player")
}

func read(t *testing.T, c *websocket.Conn) (m map[string]any) {
	t.Helper()
	_, text, err := c.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// outcomeIn returns the outcome of the desync in a frame, "" if there is none.
func outcomeIn(frame map[string]any) string {
	panels, _ := frame["panels"].([]any)
	if len(panels) == 0 {
		return ""
	}
	r, ok := panels[0].(map[string]any)["reading"].(map[string]any)
	if !ok {
		return ""
	}
	return r["desync"].(map[string]any)["outcome"].(string)
}
