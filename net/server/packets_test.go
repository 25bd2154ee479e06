package server

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/wire"
)

// sized is a socket that measures the packets to a client.
type sized struct {
	client.Socket
	limit    int  // of its packets
	received *int // the largest packet
}

func (s sized) MaxPacket() int { return s.limit }

func (s sized) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := s.Socket.ReadFromUDPAddrPort(b)
	*s.received = max(*s.received, n)
	return n, from, err
}

// The server sends to each client packets of the size that the client's transport carries. Two clients of one room have two sizes.
func TestTheSizeOfPacketsIsAgreedForEachConnection(t *testing.T) {
	inBubble(t, "P1", func(c *Config) {
		c.Room.Game.Setup = func(w *ecs.World) { // an image of many segments
			random := rand.New(rand.NewPCG(1, 2))
			for range 20000 {
				runners.Put(w, w.Spawn(ecs.OwnedByWorld, runners), runner{X: random.Int64()})
			}
		}
	}, func(w *world) {
		limits := [2]int{netcode.MaxPacket, wire.MinPacketLimit + netcode.MaxPacket - netcode.MaxPayload}
		var received [2]int
		for i := range 2 {
			w.join(w.mint(w.ticket(uint64(i+1), "a")), func(c *client.DialConfig) {
				c.Game = w.game
				listen := c.Listen
				c.Listen = func(server netip.AddrPort) (client.Socket, error) {
					socket, err := listen(server)
					return sized{socket, limits[i], &received[i]}, err
				}
			})
		}
		w.until("both play", 60*time.Second, w.live(w.players...))
		w.pass(5 * time.Second)
		var agreed [2]int // by the server's links
		if err := w.server.hosted(context.Background(), "a", func(_ *worker, h *hostedRoom) error {
			for _, c := range h.conns {
				if c != nil {
					agreed[c.client-1] = c.link.PacketLimit()
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if agreed != [2]int{wire.PacketLimit, wire.MinPacketLimit} {
			t.Errorf("the server sends packets of up to %v bytes", agreed)
		}
		synctest.Wait()
		for i, most := range limits {
			if received[i] > most || received[i] < limits[1]-20 {
				t.Errorf("client %d: the largest packet has %d bytes, want at most %d", i, received[i], most)
			}
		}
	})
}
