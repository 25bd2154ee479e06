package reckon

import (
	"tendon/net/wire"
	"tendon/systems"
)

// newsMessage is a message of news while it is written.
type newsMessage struct {
	message []byte
	count   int // where the number of records stands; 0: the message is not begun
	sent    int // messages so far
}

// newsFlags is where the flags stand in a message.
const newsFlags = 5

func (m *newsMessage) open() bool { return m.count > 0 }

// begin writes the head, if there is no message yet. The avatars are in the first message only.
func (m *newsMessage) begin(h *updateHead) {
	if m.open() {
		return
	}
	w := wire.NewWriter(m.message[:0], newsBytes)
	h.append(&w)
	h.snaps = h.snaps[:0]
	m.message = w.Bytes()
	m.count = len(m.message)
	m.message = append(m.message, 0)
}

// add writes a record; it reports whether there was room.
func (m *newsMessage) add(record []byte) bool {
	if len(m.message)+len(record) > systems.MaxDatagram || m.message[m.count] == maxRecords {
		return false
	}
	m.message = append(m.message, record...)
	m.message[m.count]++
	return true
}

func (m *newsMessage) flush(id systems.Peer, out systems.Outbox) {
	out.Send(id, systems.Datagram, m.message)
	m.count = 0
	m.sent++
}
