package simnet_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/link"
	"tendon/net/simnet"
	"tendon/net/wire"
)

// How the comparison is made: 60 messages of 32 bytes a second for 20 s, both flushed 60 times a second.
const (
	comparedRate     = 60
	comparedMessages = 20 * comparedRate
)

// The reliable channel of the message floor is a model of KCP. Its median and its 99th percentile stay within a factor
// of two of the real one's, on good links and bad ones.
func TestTheModelsLatencyIsBoundedByTheRealKCP(t *testing.T) {
	for _, c := range []struct {
		name string
		path simnet.Path
	}{
		{"no loss", simnet.Path{Delay: 50 * time.Millisecond}},
		{"5 % loss", simnet.Path{Delay: 50 * time.Millisecond, Loss: 0.05}},
		{"20 % loss", simnet.Path{Delay: 50 * time.Millisecond, Loss: 0.2}},
		{"P5", simnet.Path{Delay: 125 * time.Millisecond, Jitter: simnet.Jitter{Kind: simnet.Exponential, Size: 20 * time.Millisecond}, Loss: 0.05}},
	} {
		t.Run(c.name, func(t *testing.T) {
			profile := simnet.Symmetric(c.name, c.name, c.path)
			model := modelLatencies(t, profile)
			var real []time.Duration
			synctest.Test(t, func(t *testing.T) { real = kcpLatencies(t, profile) })
			for _, q := range []int{50, 99} {
				m, r := percentile(model, q), percentile(real, q)
				t.Logf("p%d: model %v, KCP %v", q, m.Round(time.Millisecond), r.Round(time.Millisecond))
				if m > 2*r || r > 2*m {
					t.Errorf("p%d: the model takes %v, the real KCP %v: more than a factor of two apart", q, m, r)
				}
			}
		})
	}
}

func percentile(d []time.Duration, q int) time.Duration {
	slices.Sort(d)
	return d[len(d)*q/100]
}

// modelLatencies sends over the message floor.
func modelLatencies(t *testing.T, profile simnet.Profile) (took []time.Duration) {
	n := simnet.New(simnet.Config{Seed: 1})
	server, client := n.AddNode(simnet.Clock{}), n.AddNode(simnet.Clock{})
	if err := n.Connect(client, server, profile); err != nil {
		t.Fatal(err)
	}
	n.OnMessage(server, func(_ simnet.NodeID, _ simnet.Channel, payload []byte, now simnet.Time) {
		took = append(took, now-simnet.Time(binary.LittleEndian.Uint64(payload)))
	})
	n.Every(client, 0, comparedRate, func(k int64, now simnet.Time) {
		if k < comparedMessages {
			if err := n.Send(client, server, simnet.Reliable, stamped(now)); err != nil {
				t.Fatal(err)
			}
		}
	})
	n.RunUntil(40 * time.Second)
	if len(took) != comparedMessages {
		t.Fatalf("the model delivered %d of %d messages", len(took), comparedMessages)
	}
	return took
}

// stamped returns a message of 32 bytes that opens with when it was sent.
func stamped(at time.Duration) []byte {
	message := make([]byte, 32)
	binary.LittleEndian.PutUint64(message, uint64(at))
	return message
}

// kcpLatencies sends over links, whose reliable channel is the KCP core, on the datagram floor.
func kcpLatencies(t *testing.T, profile simnet.Profile) (took []time.Duration) {
	n := simnet.NewDatagramNet(simnet.Config{Seed: 1})
	defer n.Close()
	at := [2]netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:2")}
	if err := n.Route(at[0].Addr(), at[1].Addr(), profile); err != nil {
		t.Fatal(err)
	}
	var sockets [2]*simnet.PacketConn
	var links [2]*link.Link
	for i := range sockets {
		var err error
		if sockets[i], err = n.Listen(at[i]); err != nil {
			t.Fatal(err)
		}
		links[i] = link.New()
	}
	var arrived [2]chan []byte
	for i, s := range sockets {
		arrived[i] = make(chan []byte, comparedMessages)
		go func() {
			buffer := make([]byte, simnet.MaxPacket)
			for size, _, err := s.ReadFromUDPAddrPort(buffer); err == nil; size, _, err = s.ReadFromUDPAddrPort(buffer) {
				arrived[i] <- slices.Clone(buffer[:size])
			}
		}()
	}
	start := time.Now()
	for k := 0; len(took) < comparedMessages; k++ {
		if k > 2*comparedMessages {
			t.Fatalf("KCP delivered %d of %d messages", len(took), comparedMessages)
		}
		if k < comparedMessages {
			if err := links[0].Send(wire.Reliable, stamped(time.Since(start))); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range links {
			l.Flush(time.Since(start), func(packet []byte) { _, _ = sockets[i].WriteToUDPAddrPort(packet, at[1-i]) })
		}
		time.Sleep(time.Second / comparedRate)
		synctest.Wait()
		for i, l := range links {
			for len(arrived[i]) > 0 {
				_ = l.Receive(<-arrived[i])
			}
			for _, message, ok := l.Next(); ok; _, message, ok = l.Next() {
				took = append(took, time.Since(start)-time.Duration(binary.LittleEndian.Uint64(message)))
			}
		}
	}
	return took
}
