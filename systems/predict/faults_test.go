package predict

import (
	"slices"

	"tendon/ecs/image"
	"tendon/systems"
)

// plant replaces the system that accepts snapshots by a faulty one, for negative controls.
func (c *Client) plant(accept func(*Client, systems.Message) error) {
	list := slices.Clone(clientSystems)
	list[0].Accept = accept
	c.Start(c, list)
}

// unreconciled makes the state of a snapshot the present.
func unreconciled(c *Client, m systems.Message) error {
	err := c.receiveSnapshot(m)
	if s, ok := c.states.At(c.Received); ok {
		c.World().Image().Restore(c.Current())
		c.World().Image().Overlay(s, nil)
		c.History.Save(c.World())
	}
	return err
}

// comparesPresent compares a snapshot with the present.
func comparesPresent(c *Client, m systems.Message) error {
	err := c.receiveSnapshot(m)
	mine, _ := c.History.At(c.Tick)
	theirs, _ := c.states.At(c.Received)
	if !image.Deviation(mine, theirs, &c.Predicted).Within {
		c.World().Image().Restore(theirs)
		c.replay(c.Received, m.Now)
	}
	return err
}
