package ecs

import (
	"fmt"
	"math/bits"
	"slices"

	"tendon/ecs/image"
)

// outOfStep names an entity whose donburi entity other code has changed.
func outOfStep(e Entity, change string) error {
	return fmt.Errorf("ecs: donburi code changed entity %d born in tick %d: %s. Use Component.Set, Add and Remove, and add view components in Screen.Dress", e.Row, e.Born, change)
}

// checkDonburi returns an error that names the first entity whose entry other code has changed.
func (w *World) checkDonburi() error {
	if w.bridge == nil {
		return nil
	}
	b := w.bring()
	for o := range b.blocks {
		for k, block := range b.blocks[o] {
			if err := b.verifyBlock(block, o, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bridge) verifyNext() {
	at := &b.verified
	for range len(b.blocks) + 1 {
		if at.block++; at.block < len(b.blocks[at.owner]) {
			if err := b.verifyBlock(b.blocks[at.owner][at.block], at.owner, at.block); err != nil {
				panic(err.Error())
			}
			return
		}
		at.owner, at.block = (at.owner+1)%len(b.blocks), -1
	}
}

func (b *bridge) verifyBlock(block *bridgedBlock, owner, k int) error {
	if block == nil {
		return nil
	}
	for set := block.has; set != 0; set &= set - 1 {
		row := uint32(k*image.BlockRows + bits.TrailingZeros64(set))
		if err := b.verify(bridgedRow{block, image.Owner(owner), row}); err != nil {
			return err
		}
	}
	return nil
}

// verify reports the first change that other code made to the donburi entity of a row.
func (b *bridge) verify(at bridgedRow) error {
	i := at.row % image.BlockRows
	entry, e := at.block.entries[i], at.block.rows[i]
	if l := linkOf(entry); l != &at.block.links[i] {
		return outOfStep(e, "its link was removed")
	}
	want := 0
	for c, word := range at.block.words {
		if word>>i&1 == 0 {
			continue
		}
		want++
		col := &b.columns[c]
		if !entry.HasComponent(col.typ) {
			return outOfStep(e, "component "+col.typ.Name()+" was removed")
		}
		if entry.Component(col.typ) != col.column.At(at.owner, at.row) {
			return outOfStep(e, "component "+col.typ.Name()+" points outside the world")
		}
	}
	if len(entry.Archetype().ComponentTypes()) == want+1 {
		return nil
	}
	for _, t := range entry.Archetype().ComponentTypes() {
		own := func(c bridgedColumn) bool { return c.typ == t }
		if c := slices.IndexFunc(b.columns, own); c >= 0 && at.block.words[c]>>i&1 != 0 || t == linkType || b.view && !bridged(t) {
			continue // a view's entities may have components that the engine does not know
		}
		return outOfStep(e, "component "+t.Name()+" was added")
	}
	return nil
}

// verifyUnborn panics if the archetype of a layout exists before the bridge creates it: donburi's AddComponent or
// RemoveComponent moved an entity into it. Donburi would panic in a later Create.
func (b *bridge) verifyUnborn(l *bridgedLayout) {
	for _, a := range b.donburi.Archetypes() {
		if !a.LayoutMatches(l.types) {
			continue
		}
		var e Entity
		if a.Count() > 0 {
			e, _ = EntityOf(b.donburi.Entry(a.Entities()[0]))
		}
		panic(outOfStep(e, "donburi's AddComponent or RemoveComponent was called on it").Error())
	}
}
