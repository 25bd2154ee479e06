package server

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/wire"
)

// sized is a socket that measures the packets of a client, in both directions.
type sized struct {
	client.Socket
	sent, received *int // the largest packet
}

func (s sized) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	*s.sent = max(*s.sent, len(b))
	return s.Socket.WriteToUDPAddrPort(b, to)
}

func (s sized) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := s.Socket.ReadFromUDPAddrPort(b)
	*s.received = max(*s.received, n)
	return n, from, err
}

// small is a socket that carries smaller packets.
type small struct{ sized }

const smallest = 1177

func (small) MaxPacket() int { return smallest }

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
		var sent, received [2]int
		for i := range 2 {
			w.join(w.mint(w.ticket(uint64(i+1), "a")), func(c *client.DialConfig) {
				c.Game = w.game
				listen := c.Listen
				c.Listen = func() (client.Socket, error) {
					socket, err := listen()
					s := sized{socket, &sent[i], &received[i]}
					if i == 1 {
						return small{s}, err
					}
					return s, err
				}
			})
		}
		w.until("both play", 60*time.Second, w.live(w.players...))
		w.pass(5 * time.Second)
		var limits [2]int // of the server's links
		w.do("a", func(r *room.Room) {
			for _, c := range w.server.conns.conns {
				if c != nil {
					limits[c.client-1] = c.link.PacketLimit()
				}
			}
		})
		if limits != [2]int{wire.PacketLimit, wire.MinPacketLimit} {
			t.Errorf("the server sends packets of up to %v bytes", limits)
		}
		for i, most := range []int{netcode.MaxPacket, smallest} {
			if received[i] > most || sent[i] > most || received[i] < smallest-20 {
				t.Errorf("client %d: largest packets %d bytes sent, %d received, want at most %d", i, sent[i], received[i], most)
			}
		}
	})
}
