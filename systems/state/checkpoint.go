package state

// checkpoint is a delta on whose models and rows later deltas may build. A delta with content is one if its number is a multiple
// of checkpointEvery.
type checkpoint struct {
	sequence uint64 // 0: none
	*trained
}

// trained is the state of the code at the end of a checkpoint. On a server, senders of equal deltas share it.
type trained struct {
	models  *models
	rows    []uint32 // of the entities in the delta, ascending
	id      uint64   // on a server: different after each use
	holders int      // on a server: checkpoints with it
}

// checkpoints are the last ones, by sequence.
type checkpoints [checkpointsKept]checkpoint

const (
	checkpointEvery = 4
	checkpointsKept = 8
	backBits        = 5 // size of a coded number in [0, checkpointsKept]
)

// at returns the place of a checkpoint.
func (c *checkpoints) at(sequence uint64) *checkpoint {
	return &c[sequence/checkpointEvery%checkpointsKept]
}

// newestBefore returns the greatest number of a checkpoint before a delta.
func newestBefore(sequence uint64) uint64 {
	return (sequence - 1) / checkpointEvery * checkpointEvery
}

// keep stores a delta if it is a checkpoint, and returns the place for its rows. Otherwise it returns nil.
func (c *checkpoints) keep(sequence uint64, schema *schema, m *models) *checkpoint {
	if sequence%checkpointEvery != 0 {
		return nil
	}
	p := c.at(sequence)
	if p.trained == nil {
		p.trained = &trained{models: newModels(schema)}
	}
	p.sequence, p.rows = sequence, p.rows[:0]
	p.models.set(m)
	return p
}

func (c *checkpoints) clear() {
	for i := range c {
		c[i].sequence = 0
	}
}
