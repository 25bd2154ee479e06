package session_test

import (
	"fmt"

	"tendon/net/session"
	"tendon/net/wire"
	"tendon/systems"
)

// wires is a transport that keeps the sent messages.
type wires []struct {
	channel systems.Channel
	message []byte
}

func (w *wires) Room() int { return session.MaxMessage }

func (w *wires) Ready() bool      { return true }
func (w *wires) PacketLimit() int { return wire.PacketLimit }
func (w *wires) LimitPackets(int) {}

func (w *wires) Send(channel systems.Channel, message []byte) error {
	*w = append(*w, struct {
		channel systems.Channel
		message []byte
	}{channel, append([]byte(nil), message...)})
	return nil
}

// A client with another version of the game is refused with a remedy.
func ExampleServer_Receive() {
	var up, down wires
	server, err := session.NewServer(session.ServerConfig{Fingerprint: 1, Game: "arena 2", TickRate: 60}, &down, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := session.NewClient(session.Hello{Fingerprint: 2, Name: "Ada"}, 0, &up, 0)
	for _, m := range up {
		server.Receive(m.channel, m.message, 0)
	}
	server.Frame(0, 0)
	for _, m := range down {
		client.Receive(m.channel, m.message, 0)
	}
	fmt.Println(client.Err())
	// Output:
	// session: the server runs another version of the game: install the same version on both sides (here 0000000000000002, there 0000000000000001) (server has arena 2)
}
