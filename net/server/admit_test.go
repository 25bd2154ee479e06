package server

import (
	"errors"
	"net/netip"
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
		if st := w.server.Stats(); b.State() != client.Connecting || st.Joined != 1 || st.Netcode[netcode.DropReused]+st.Netcode[netcode.DropElsewhere] == 0 {
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
		d := w.join(w.mint(w.ticket(4, "two")))
		w.until("d live", 5*time.Second, w.live(d))
		w.pass(time.Second) // the table is a second old at most
		if st := w.server.Stats(); st.Rooms != 2 || len(st.Table) != 2 || st.Full == 0 || st.Table[0].Worker == st.Table[1].Worker {
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
		a, b := w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
		w.until("both live", 5*time.Second, w.live(a, b))
		c := w.join(w.mint(w.ticket(3, "duel")))
		w.until("c is refused", time.Second, func() bool { return errors.Is(c.Err(), client.ErrFull) })
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
