package relay

import "tendon/systems"

// sendWindow sends the inputs after the last tick whose input set is final here, and that tick as an acknowledgement. It
// sends after each frame that sampled an input, and for a spectator after each confirmation.
func (c *Client) sendWindow() {
	if !c.Timer.Due(c.Now) {
		return
	}
	m := &c.scratch.window
	m.received, m.inputs = c.timeline.Received(), m.inputs[:0]
	if !c.Spectates() {
		m.inputs = c.line.Inputs.AppendFrom(m.inputs, m.received+1)
	}
	c.Buffer = m.append(c.Buffer[:0], c.Game)
	c.Out.Send(0, systems.Datagram, c.Buffer)
}
