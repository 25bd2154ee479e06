package netcode

// Counter names one entry of Counters.
type Counter uint8

// Every datagram that is received raises exactly one of the counters from Payloads to DropChallenge. The Drop entries
// count the datagrams without an effect, by reason.
const (
	_ Counter = iota

	Payloads    // payloads accepted
	KeepAlives  // keep-alives accepted
	Challenges  // challenges sent by a server, or accepted by a client
	Denials     // denials sent by a server, or accepted by a client
	Connects    // connections made
	Disconnects // disconnect packets accepted

	DropShort     // too short for its kind of packet
	DropLong      // longer than any packet
	DropKind      // packet type unknown, or never sent in this direction
	DropSequence  // sequence length not in [1, 8]
	DropStranger  // source address and sequence number have no connection or, for a response, no pending challenge
	DropReplay    // sequence number received before, or too old
	DropForged    // seal broken, or sealed for another connection
	DropBody      // valid seal, but the wrong size for its kind
	DropUnwanted  // genuine, but not expected in the present state
	DropVersion   // request: not this version of the protocol
	DropProtocol  // request: another protocol id
	DropExpired   // request: token expired
	DropToken     // request: token not sealed with one of the private keys
	DropMalformed // request: token with a valid seal and malformed contents
	DropServer    // request: token is for other servers
	DropReused    // request or response: token has had its connection
	DropHistory   // request or response: no place for another used token, of this client or of all
	DropIgnored   // request or response: ignored by Admit
	DropChallenge // response: not the challenge that was sent to this address

	TimedOut       // connections that timed out
	PendingEvicted // pending challenges replaced by newer ones
	Moves          // changes of the address of a client
	Withheld       // packets not sent to an address at which the client has not proven that it receives them

	counterCount
)

var counterNames = [counterCount]string{
	"none", "payloads", "keep_alives", "challenges", "denials", "connects", "disconnects",
	"drop_short", "drop_long", "drop_kind", "drop_sequence", "drop_stranger", "drop_replay", "drop_forged", "drop_body",
	"drop_unwanted", "drop_version", "drop_protocol", "drop_expired", "drop_token", "drop_malformed", "drop_server",
	"drop_reused", "drop_history", "drop_ignored", "drop_challenge", "timed_out", "pending_evicted", "moves", "withheld",
}

// String returns the name of the counter in snake case, for labels of metrics.
func (c Counter) String() string {
	if c >= counterCount {
		return "unknown"
	}
	return counterNames[c]
}

// Counters contains all counters, indexed by Counter. It may be copied.
type Counters [counterCount]uint64

// Dropped returns the sum of the Drop entries.
func (c *Counters) Dropped() uint64 {
	sum := uint64(0)
	for _, n := range c[DropShort : DropChallenge+1] {
		sum += n
	}
	return sum
}
