package replaypage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

var arena = rules.Game()

// botMatch returns the recording of a match of bots. From tick changed on, player 1 never moves, unless changed is 0.
func botMatch(t testing.TB, arena *ecs.Game, ticks, changed ecs.Tick) *record.Record {
	t.Helper()
	w, err := ecs.NewWorld(arena, 7)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	writer, err := record.NewWriter(&file, arena, record.HeaderOf(arena, 7, "test"))
	if err != nil {
		t.Fatal(err)
	}
	const players = 4
	dice := image.NewRand(3)
	inputs := make([]ecs.InputBytes, arena.MaxPlayers)
	var s image.Snapshot
	defer s.Release()
	for f := ecs.Tick(1); f <= ticks; f++ {
		e := record.Tick{Tick: f, Inputs: inputs}
		for p := range ecs.Player(players) {
			if f == 1 {
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderJoin, Player: p})
				continue
			}
			if inputs[p] = arena.Bot(w, p, dice); p == 1 && changed > 0 && f >= changed {
				inputs[p] = ecs.InputBytes{}
			}
		}
		w.Step(ecs.TickInputs{Players: inputs, Orders: e.Orders})
		w.Image().Save(&s)
		e.Checksum = s.Checksum()
		if err := writer.Tick(e); err != nil {
			t.Fatal(err)
		}
		if writer.ImageDue(record.RecordingImages) {
			if err := writer.Image(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.End(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(file.Bytes(), arena)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// serve serves the page with these matches until the test ends.
func serve(t testing.TB, matches ...Match) *page.Server {
	t.Helper()
	s, err := page.New(page.Config{})
	if err != nil {
		t.Fatal(err)
	}
	open := func(_ context.Context, name string) ([]Match, error) {
		if name != "" {
			return nil, fmt.Errorf("there is no match %q", name)
		}
		return matches, nil
	}
	Register(s, "/", open)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// received is any answer.
type received struct {
	ID       int      `json:"id"`
	Error    string   `json:"error"`
	Progress *uint64  `json:"progress"`
	Matches  []opened `json:"matches"`
	At       []struct {
		Frame    struct{ Tick, Checksum, Match any }
		Picture  []any
		Entities []listed
		Count    int
		Entity   *struct {
			ID         string
			Components []struct {
				Name   string
				Fields []struct{ Path, Text string }
			}
		}
	} `json:"at"`
	Series *struct {
		Points []struct {
			Tick ecs.Tick
			Text string
		}
	} `json:"series"`
	Compare *struct {
		Divergence *struct {
			Tick        ecs.Tick
			Differences []struct{ Component, Entity, Field, Here, There string }
		}
	} `json:"compare"`
	Life *struct{ From, To ecs.Tick } `json:"life"`
}

// client is a connection of a page.
type client struct {
	t    testing.TB
	conn *websocket.Conn
}

func dial(t testing.TB, s *page.Server) *client {
	t.Helper()
	origin := "http://" + s.Addr().String()
	conn, _, err := websocket.Dial(context.Background(), origin+"/stream", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(8 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{t, conn}
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if err := c.conn.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the answer to a request, and skips messages before it.
func (c *client) receive(id int) (a received) {
	c.t.Helper()
	for {
		_, message, err := c.conn.Read(context.Background())
		if err != nil {
			c.t.Fatal(err)
		}
		a = received{}
		pagetest.CheckJSON(c.t, message)
		if err := json.Unmarshal(message, &a); err != nil {
			c.t.Fatalf("%v: %.200s", err, message)
		}
		if a.ID == id && a.Progress == nil {
			return a
		}
	}
}

func (c *client) request(id int, format string, args ...any) received {
	c.t.Helper()
	c.send(`{"id":%d,`+format+`}`, append([]any{id}, args...)...)
	return c.receive(id)
}
