package ecs

import "fmt"

// PutInput makes in the input that p gave in the state's tick: a replica is told states, not what entered them, and who
// goes on from one by itself wants to know what was held already. Call it between ticks.
func (w *World) PutInput(p Player, in InputBytes) {
	if int(p) >= w.game.MaxPlayers {
		panic(fmt.Sprintf("ecs: PutInput for player %d of a game of %d: check what comes from outside first", p, w.game.MaxPlayers))
	}
	size := w.game.InputSize()
	if size == 0 {
		return
	}
	data := &w.image.columns[columnInputs].regions[0].data
	w.image.mark(data.pages[0])
	copy(w.image.live[data.pages[0]].mem[int(p)*size:(int(p)+1)*size], in[:])
}
