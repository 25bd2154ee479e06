package reckon

import "tendon/ecs"

// Replica returns the newest state that the server told, nil before Load: entities that it has not told of since are in
// there as they were. complete says that there are none, so that it is all that this client is to know.
func (c *Client) Replica() (s *ecs.Snapshot, complete bool) {
	if !c.loaded {
		return nil, false
	}
	f, ok := c.receiver.Complete()
	return c.receiver.State(), ok && f == c.confirmed
}

// Places says that a replica has the places of what moves only as they were: records tell of these.
func (c *Client) Places() bool { return false }

// Told returns the last tick that brought an entity anew, 0 for none.
func (c *Client) Told(e ecs.Entity) ecs.Tick { return c.receiver.Told(e) }
