// Package lockstep is the strategy lockstep (帧同步): every peer computes the whole match from the same operations in the
// same frames. The server decides the order and the frame of each operation, and sends operations instead of states.
//
// A frame is a tick. An operation is a change of a player's input, or an order. The server stamps it with the frame that
// is running when it arrives. At the end of every Nth frame the server sends a sync S: nothing will be stamped into a
// frame ≤ S any more. A client executes frame f if f ≤ S and it holds all of f; otherwise it stalls. So executed ≤ S ≤
// the server's frame on every peer. Nothing is predicted, nothing is rolled back, and no operation is too late.
//
// Against jitter a client buffers M frames, its margin. It runs a little faster with more frames, and a little slower
// with fewer. The measured lateness of syncs determines M, unless [Config.Margin] is set.
//
// By default the server computes the match too, and its result is final. With [Config.OnDemand] it only keeps the log, and
// the players vote. Clients send checksums and the result of the match. If checksums differ, the server computes the match
// up to that frame. Its state shows which players are wrong. More than half of the players in the match at its end decide
// the result. Without a majority the server replays the match.
//
// Lockstep does not suit games in which a player's own action must show at once. Each action takes a round trip and the
// margin to show.
//
// # Tasks
//
//   - Choose N, M, the wait for players and the channel: [Config].
//   - See how operations form a frame: frame.go. See how frames are kept: log.go.
//   - See how a peer is served, near or far behind: serve.go.
//   - See when a client executes a frame: client.go. See its margin and its pace: pace.go.
//   - See how a result is decided: voting.go and tendon/systems/vote.
//   - See the messages: message.go, sync.go, and the wire standard.
package lockstep
