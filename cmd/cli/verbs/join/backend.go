package join

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/window"
	"tendon/net/client"
)

// backendFlags queue for a match.
type backendFlags struct {
	Backend    string `group:"Backend" placeholder:"URL" help:"Queue for a match at this backend, and join the server that it chooses."`
	Queue      string `group:"Backend" help:"The queue."`
	BackendKey string `group:"Backend" type:"path" placeholder:"FILE" help:"File with the JWT of the player, or a key of the backend. A backend on this machine may need none."`
	Player     string `group:"Backend" placeholder:"ID" help:"Id of the player, if no JWT has it. Default: a random one."`
	Party      string `group:"Backend" placeholder:"NAME" help:"Queue as a party of --party-size players with this name, who enter one match."`
	PartySize  int    `group:"Backend" placeholder:"N" help:"Number of players of the party."`
}

// check returns an error about flags that do not go together.
func (f *backendFlags) check(v *Verb) error {
	switch {
	case f.Backend == "" && (f.Queue+f.BackendKey+f.Player+f.Party != "" || f.PartySize != 0):
		return errors.New("--queue, --backend-key, --player and --party go with --backend: add its address")
	case f.Backend == "":
		return nil
	case f.Queue == "":
		return errors.New("--queue is missing: name a queue of the backend")
	case v.Addr != "" || v.Token != "":
		return errors.New("the backend sends the address and the token: leave them out with --backend")
	case v.Log != "":
		return errors.New("--log does not go with --backend: leave it out")
	}
	return (&api.Client{URL: f.Backend}).Check()
}

// ticket is the state of the wait for a match, for the window and the log.
type ticket struct {
	mu     sync.Mutex
	last   api.Ticket
	shown  string    // what was printed last, without the time
	logged time.Time // when
}

// status returns the state in one line.
func (t *ticket) status() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return app.Printable(t.last.Progress(time.Now()))
}

// report stores a state. It prints a line when the state changes, and every 5 s.
func (t *ticket) report(a *app.App, now api.Ticket) {
	t.mu.Lock()
	t.last = now
	same := fmt.Sprint(now.State, now.Waiting, now.Missing, now.Reason)
	prints := same != t.shown || time.Since(t.logged) >= 5*time.Second
	if prints {
		t.shown, t.logged = same, time.Now()
	}
	t.mu.Unlock()
	if prints {
		a.Logf("%s", t.status())
		a.Emit("queue", app.Fields{"id": now.ID, "queue": now.Queue, "state": now.State, "waiting": now.Waiting, "missing": now.Missing, "reason": now.Reason})
	}
}

// accepted stores the id of a ticket that the backend has accepted. It may be empty.
func (t *ticket) accepted(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last.ID = cmp.Or(id, t.last.ID)
}

// left reports that the player left the queue. The wait has ended. left returns an error if the time of --for, the deadline of ctx, is over
// and the backend has not accepted the ticket.
func (t *ticket) left(ctx context.Context, a *app.App) error {
	if t.last.ID == "" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the backend did not accept the ticket before the end of --for: %s; check the address, or give a longer time",
			app.Printable(cmp.Or(t.last.Reason, "there was no reply")))
	}
	a.Logf("the queue was left")
	a.Emit("left_queue", app.Fields{"id": t.last.ID})
	return nil
}

// queue waits for a match of the backend and plays it.
func (v *Verb) queue(ctx context.Context, a *app.App, config client.Config) error {
	c := api.Client{URL: v.Backend}
	request := api.TicketRequest{Player: v.Player, Queue: v.Queue, Name: v.Name, Party: v.Party, PartySize: v.PartySize}
	if v.BackendKey != "" {
		content, err := tokens.ReadPrivate(v.BackendKey)
		if err != nil {
			return fmt.Errorf("--backend-key: %w", err)
		}
		c.Key = strings.TrimSpace(string(content))
	}
	if request.Player == "" && strings.Count(c.Key, ".") != 2 { // a JWT names the player
		request.Player = "guest-" + strings.ToLower(rand.Text()[:10])
	}
	t := &ticket{}
	wait := func(ctx context.Context) (client.DialConfig, error) {
		got, err := c.Wait(ctx, request, func(now api.Ticket) { t.report(a, now) })
		t.accepted(got.ID)
		if err != nil {
			return client.DialConfig{}, err
		}
		t.report(a, got)
		a.Emit("matched", app.Fields{"id": got.ID, "room": got.Match.Room, "seat": got.Match.Seat, "client_id": app.ID(got.Match.ClientID), "addresses": got.Match.Addresses})
		if _, ok := tokens.Decode(got.Match.Token); !ok || len(got.Match.Addresses) == 0 { // @FILE and - are for users
			return client.DialConfig{}, fmt.Errorf("the backend %s sent no valid token: check that --backend is the backend of this game", v.Backend)
		}
		v.Addr, v.Token = got.Match.Addresses[0], got.Match.Token
		return v.dial(a, config, nil)
	}
	if !v.Bot && !v.Headless {
		return v.inLobby(ctx, a, &config, t, wait)
	}
	dial, err := wait(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return t.left(ctx, a)
	case err != nil:
		return err
	}
	return v.play(ctx, a, dial)
}

// inLobby waits for the match in the window in which it is then played.
func (v *Verb) inLobby(ctx context.Context, a *app.App, config *client.Config, t *ticket, wait func(context.Context) (client.DialConfig, error)) error {
	outer := ctx // with the deadline of --for
	ctx, cancel := context.WithCancel(ctx)
	clients, failed, done := make(chan *client.Client, 1), make(chan error, 1), make(chan struct{})
	notices, chat := listen(a, config)
	left := false
	go func() {
		defer close(done)
		dial, err := wait(ctx)
		var c *client.Client
		if err == nil {
			v.announce(a)
			c, err = client.Dial(dial)
		}
		if err != nil {
			left = ctx.Err() != nil
			failed <- err
			return
		}
		clients <- c
	}()
	err := player.InWindowAfter(ctx, a, player.Lobby{Status: t.status, Client: clients, Failed: failed}, window.Config{
		Title: a.Game.Name + " · " + v.Queue, Place: v.Place, Chat: chat}, notices)
	cancel()
	<-done // the ticket is cancelled
	if left {
		err = cmp.Or(err, t.left(outer, a))
	}
	select {
	case c := <-clients:
		c.Close()
	default:
	}
	if costs := v.ledger.Report(); costs.Turns > 0 {
		host.PrintCosts(a, costs)
	}
	return err
}
