package peers

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xtaci/kcp-go/v5"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
)

// The reference is the usual room server on kcp-go. It has a listener, a goroutine per session that reads, and a
// goroutine with a ticker per room. Each tick it sends a frame of all inputs to every player. Messages are
// length-prefixed.

// inputBytes is the size of an input on the wire, as Tendon's clients send it too.
const inputBytes = 8

// kcpRoom is one room of the plain server.
type kcpRoom struct {
	mutex   sync.Mutex
	players []*kcp.UDPSession
	inputs  [][inputBytes]byte
	tick    uint32
}

func kcpServer() {
	l := measure.Must(kcp.ListenWithOptions("127.0.0.1:0", nil, 0, 0))
	var served atomic.Int64
	rooms := map[uint32]*kcpRoom{}
	var mutex sync.Mutex
	go func() {
		for {
			s, err := l.AcceptKCP()
			if err != nil {
				return
			}
			tune(s)
			go func() {
				var head [4]byte
				if _, err := io.ReadFull(s, head[:]); err != nil {
					return
				}
				mutex.Lock()
				number := binary.LittleEndian.Uint32(head[:])
				r := rooms[number]
				if r == nil {
					r = &kcpRoom{}
					rooms[number] = r
					go r.run()
				}
				mutex.Unlock()
				served.Add(1)
				r.serve(s)
			}()
		}
	}()
	process.Serve(l.Addr().String(), func(u *process.Usage) { u.Served = int(served.Load()) })
}

// tune sets a session to the fast mode at the default interval of such servers, 10 ms.
func tune(s *kcp.UDPSession) {
	s.SetNoDelay(1, 10, 2, 1)
	s.SetWindowSize(128, 128)
	s.SetMtu(1200)
	s.SetACKNoDelay(true)
	s.SetStreamMode(true)
}

func (r *kcpRoom) serve(s *kcp.UDPSession) {
	r.mutex.Lock()
	seat := len(r.players)
	r.players = append(r.players, s)
	r.inputs = append(r.inputs, [inputBytes]byte{})
	r.mutex.Unlock()
	var in [inputBytes]byte
	for {
		if _, err := io.ReadFull(s, in[:]); err != nil {
			return
		}
		r.mutex.Lock()
		r.inputs[seat] = in
		r.mutex.Unlock()
	}
}

func (r *kcpRoom) run() {
	ticker := time.NewTicker(time.Second / roomRate)
	frame := make([]byte, 0, 256)
	for range ticker.C {
		r.mutex.Lock()
		r.tick++
		frame = binary.LittleEndian.AppendUint16(frame[:0], uint16(4+len(r.inputs)*inputBytes))
		frame = binary.LittleEndian.AppendUint32(frame, r.tick)
		for i := range r.inputs {
			frame = append(frame, r.inputs[i][:]...)
		}
		players := r.players
		r.mutex.Unlock()
		for _, s := range players {
			if _, err := s.Write(frame); err != nil {
				return
			}
		}
	}
}

// kcpLoad plays all rooms.
func kcpLoad() {
	server, numbers := process.Load()
	sessions := make([]*kcp.UDPSession, 2*numbers[0])
	for i := range sessions {
		s := measure.Must(kcp.NewConn(server.String(), nil, 0, 0, packetSocket{measure.Must(newFarSocket())}))
		tune(s)
		sessions[i] = s
		measure.Must(s.Write(binary.LittleEndian.AppendUint32(nil, uint32(i/2))))
		go func() {
			var frame [256]byte
			for {
				if _, err := io.ReadFull(s, frame[:2]); err != nil {
					return
				}
				if _, err := io.ReadFull(s, frame[2:2+binary.LittleEndian.Uint16(frame[:])]); err != nil {
					return
				}
			}
		}()
	}
	var in [inputBytes]byte
	process.Every(roomRate, 8, len(sessions), func(i int) {
		in[0]++
		_, _ = sessions[i].Write(in[:])
	})
}
