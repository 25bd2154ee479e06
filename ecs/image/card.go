package image

// Card is what a player brings into the match: Game.Join receives it. Every peer that computes the tick receives the same card,
// and so does a replay. So under relay and lockstep, every client receives it.
type Card struct {
	// Name is the name that other players see, at most MaxCardName bytes without control or invisible characters. A player
	// without a name has "".
	Name string
	// Data belongs to the game, such as a team or a character, at most MaxCardData bytes. It comes from the player's connect token or
	// from the server's own lobby. A client cannot choose it. It is empty for a player without any, and valid during the call of
	// Game.Join. Game.Join must accept any bytes.
	Data []byte
}

// Bounds of a Card, in bytes. A connect token has room for no more data.
const (
	MaxCardName = 32
	MaxCardData = 160
)

// AppendCard appends the payload of an order of kind OrderJoin: the length of the name as one byte, the name, and the data. An
// empty card has an empty payload. The card must be within its bounds.
func AppendCard(dst []byte, c Card) []byte {
	if c.Name == "" && len(c.Data) == 0 {
		return dst
	}
	return append(append(append(dst, byte(len(c.Name))), c.Name...), c.Data...)
}

// ParseCard is the inverse of AppendCard. Data aliases the payload. For a payload that AppendCard does not write, ok is false and
// the card is empty.
func ParseCard(payload []byte) (c Card, ok bool) {
	if len(payload) == 0 {
		return c, true
	}
	name := int(payload[0])
	if rest := payload[1:]; name <= MaxCardName && name <= len(rest) && len(rest) > 0 && len(rest)-name <= MaxCardData {
		return Card{Name: string(rest[:name]), Data: rest[name:]}, true
	}
	return c, false
}
