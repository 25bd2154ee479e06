package server

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems"
)

// A token that is not valid for this server, or has expired, is ignored. A valid one made with the previous key is accepted.
func TestInvalidTokensAreRefused(t *testing.T) {
	other := netip.MustParseAddrPort("10.0.0.1:7778")
	for _, c := range []struct {
		name   string
		change func(*Ticket)
		after  time.Duration // between minting and use
		live   bool
	}{
		{"a valid token", func(*Ticket) {}, 0, true},
		{"of the previous key", func(k *Ticket) { k.Key = netcode.Key{9} }, 0, true},
		{"a wrong key", func(k *Ticket) { k.Key = netcode.Key{4} }, 0, false},
		{"another game", func(k *Ticket) { k.ProtocolID = ProtocolID("chess") }, 0, false},
		{"expired", func(k *Ticket) { k.Lifetime = 2 * time.Second }, 3 * time.Second, false},
		{"named for another server too", func(k *Ticket) { k.Addresses = []netip.AddrPort{serverAddr, other} }, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, "P1", func(c *Config) { c.Keys = append(c.Keys, netcode.Key{9}) }, func(w *world) {
				ticket := w.ticket(1, "duel")
				c.change(&ticket)
				token := w.mint(ticket)
				time.Sleep(c.after)
				a := w.join(token)
				w.pass(2 * time.Second)
				st := w.server.Stats()
				if live := a.State() == client.Live; live != c.live || st.Rooms > 0 != c.live {
					t.Errorf("state %v, err %v, rooms %d", a.State(), a.Err(), st.Rooms)
				}
			})
		})
	}
}

// The standard lets a client use a token again from the same address. Here a token is valid for one connection.
func TestATokenIsValidForOneConnection(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		token := w.mint(w.ticket(1, "duel"))
		a := w.join(token)
		w.until("a live", 5*time.Second, w.live(a))
		a.Close()
		w.players = nil
		b := w.join(token)
		w.pass(2 * time.Second)
		if st := w.server.Stats(); b.State() != client.Connecting || st.Joined != 1 || st.Netcode[netcode.DropReused] == 0 {
			t.Errorf("used twice: %v, stats %+v", b.State(), st)
		}
	})
}

// A sealed token without a pass opens no room.
func TestATokenWithoutAPassIsRefused(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		token, err := netcode.GenerateToken(netcode.TokenRequest{ProtocolID: ProtocolID("race"), Key: testKey, ClientID: 5,
			Servers: []netip.AddrPort{serverAddr}, UserData: []byte("who?")}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		a := w.join(token)
		w.pass(time.Second)
		if st := w.server.Stats(); a.State() != client.Connecting || st.Rooms != 0 || st.TokensBad == 0 {
			t.Errorf("state %v, stats %+v", a.State(), st)
		}
	})
}

// Rooms are made on demand, up to MaxRooms. A client that needs one more is refused.
func TestRoomsAreMadeOnDemandUpToMaxRooms(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.MaxRooms = 2 }, func(w *world) {
		a, b := w.join(w.mint(w.ticket(1, "one"))), w.join(w.mint(w.ticket(2, "two")))
		w.until("both live", 5*time.Second, w.live(a, b))
		c := w.join(w.mint(w.ticket(3, "three")))
		w.until("c is refused", time.Second, func() bool { return errors.Is(c.Err(), client.ErrFull) })
		if err := c.Err(); !errors.Is(err, &session.Error{Code: session.CodeRooms}) || !strings.Contains(err.Error(), "refused the connection: session: the server has as many rooms as --max-rooms allows") {
			t.Errorf("without a place for the room: %v", err)
		}
		d := w.join(w.mint(w.ticket(4, "two")))
		w.until("d live", 5*time.Second, w.live(d))
		w.pass(time.Second) // the table is a second old at most
		if st := w.server.Stats(); st.Rooms != 2 || len(st.Table) != 2 || st.NoRoom == 0 || st.NoRoom != st.Full || st.Table[0].Worker == st.Table[1].Worker {
			t.Errorf("stats %+v", st)
		}
		// An empty room is closed, and a new match can have its name.
		a.Close()
		w.pass(emptyRoom + 3*time.Second)
		if st := w.server.Stats(); st.Rooms != 1 || len(st.Table) != 1 {
			t.Errorf("after the only player left: %+v", st)
		}
		e := w.join(w.mint(w.ticket(5, "three")))
		w.until("e live", 5*time.Second, w.live(e))
		w.do("three", func(r *room.Room) {
			if r.Tick() > 60 {
				t.Errorf("the new room is at tick %d", r.Tick())
			}
		})
	})
}

// A client above MaxPeers is refused in the handshake.
func TestARoomTakesMaxPeersConnections(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Room.MaxPeers = 2 }, func(w *world) {
		w.pair(5 * time.Second)
		c := w.join(w.mint(w.ticket(3, "duel")))
		w.until("c is refused", time.Second, func() bool { return errors.Is(c.Err(), client.ErrFull) })
		if !errors.Is(c.Err(), &session.Error{Code: session.CodeFull}) {
			t.Errorf("without a place in the room: %v", c.Err())
		}
	})
}

// Seat, role and name come from the token only.
func TestSeatRoleAndNameComeFromTheToken(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		third, watcher, wrong, thief := w.ticket(1, "duel"), w.ticket(2, "duel"), w.ticket(3, "duel"), w.ticket(4, "duel")
		third.Pass.Seat, third.Pass.Name = 3, "Ann"
		watcher.Pass.Role = systems.RoleSpectator
		wrong.Pass.Seat = 17
		thief.Pass.Seat = 3
		a := w.join(w.mint(third), func(c *client.DialConfig) { c.Name = "Eve" })
		w.until("a live", 5*time.Second, w.live(a))
		b, c, d := w.join(w.mint(watcher)), w.join(w.mint(wrong)), w.join(w.mint(thief))
		w.until("b live", 5*time.Second, w.live(b))
		w.pass(2 * time.Second)
		if a.Seat() != 3 || b.Seat() != -1 || w.runners("duel") != 1 {
			t.Errorf("seats %d and %d, %d runners", a.Seat(), b.Seat(), w.runners("duel"))
		}
		for _, p := range []*player{c, d} {
			if !errors.Is(p.Err(), &session.Error{Code: session.CodeSeat}) {
				t.Errorf("a seat that is not available: %v", p.Err())
			}
		}
		w.do("duel", func(r *room.Room) {
			for _, p := range r.AppendPeers(nil) {
				if p.Seat == 3 && p.Identity.Name != "Ann" {
					t.Errorf("seat 3 is named %q", p.Identity.Name)
				}
			}
		})
		if st := w.server.Stats(); st.Clients != 2 {
			t.Errorf("%d connections after two were refused", st.Clients)
		}
	})
}

// If OpenRoom fails, the client is dropped and no room remains.
func TestARoomThatCannotBeOpenedDropsItsClients(t *testing.T) {
	inBubble(t, "P1", func(c *Config) {
		c.OpenRoom = func(name string, _ *room.Config) error { return errors.New("disk full") }
	}, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.pass(2 * time.Second)
		if st := w.server.Stats(); a.State() == client.Live || st.Clients != 0 || st.Dropped == 0 {
			t.Errorf("state %v, stats %+v", a.State(), st)
		}
	})
}

// A room whose files are opened on a slow disk stops no other room of its worker. Its client plays when it is open, unless it
// left before.
func TestARoomThatIsBeingOpenedStopsNoOtherRoom(t *testing.T) {
	var opened, closed atomic.Int32
	inBubble(t, "P1", func(c *Config) {
		c.Workers = 1
		c.OpenRoom = func(name string, _ *room.Config) error {
			if name != "solo" {
				time.Sleep(2 * time.Second)
				opened.Add(1)
			}
			return nil
		}
		c.CloseRoom = func(_ string, r *room.Room) {
			if r == nil {
				closed.Add(1)
			}
		}
	}, func(w *world) {
		solo := w.join(w.mint(w.ticket(1, "solo")))
		w.until("it is live", 3*time.Second, w.live(solo))
		begun := time.Now()
		duel := []*player{w.join(w.mint(w.ticket(2, "duel"))), w.join(w.mint(w.ticket(3, "duel")))}
		gone := w.join(w.mint(w.ticket(4, "empty")))
		w.pass(time.Second)
		gone.Close()
		w.until("both are live", 4*time.Second, w.live(duel...))
		if took := time.Since(begun); took < 2*time.Second {
			t.Errorf("the room was open after %v", took)
		}
		w.players = []*player{solo, duel[0], duel[1]}
		w.pass(time.Second)
		st := w.server.Stats()
		for _, r := range st.Table {
			if r.Late > 0 {
				t.Errorf("room %s has %d late ticks", r.Name, r.Late)
			}
		}
		if len(st.Table) != 2 || w.runners("duel") != 2 || opened.Load() != 2 || closed.Load() != 1 {
			t.Errorf("%d rooms, opened %d, closed %d", len(st.Table), opened.Load(), closed.Load())
		}
		stops := w.join(w.mint(w.ticket(5, "late"))) // the server stops while it waits
		w.pass(500 * time.Millisecond)
		if stops.State() == client.Live {
			t.Error("a client is live before its room is open")
		}
	})
	if opened.Load() != 3 || closed.Load() != 2 {
		t.Errorf("opened %d, closed %d at the end", opened.Load(), closed.Load())
	}
}

// A client whose room cannot be opened receives the reason, without a path of the server.
func TestARoomThatCannotBeOpenedAnswersWithTheReason(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.ENOSPC: "the disk of the server is full", syscall.EMFILE: "the server has too many open files",
		syscall.EIO: "the server cannot write its files", errors.New("other"): "",
	} {
		inBubble(t, "P1", func(c *Config) {
			c.OpenRoom = func(string, *room.Config) error {
				return fmt.Errorf("no journal: %w", &os.PathError{Op: "open", Path: "/srv/journals", Err: cause})
			}
		}, func(w *world) {
			a := w.join(w.mint(w.ticket(1, "duel")))
			w.until("it is refused", 5*time.Second, func() bool { return a.State() == client.Ended })
			var why *session.Error
			if !errors.As(a.Err(), &why) || why.Code != session.CodeUnavailable || why.Text != want {
				t.Errorf("%v: the client received %v", cause, a.Err())
			}
		})
	}
}
