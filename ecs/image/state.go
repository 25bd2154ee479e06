package image

import (
	"fmt"
	"reflect"
	"unsafe"
)

// core is the engine's own resource: the parts of the state that are not the game's.
type core struct {
	Tick    Tick
	Players PlayerSet // in the match
	Rand    Rand
}

// newColumns returns the columns without regions: the engine's own, then the resources and the components. The engine's own
// are for tick, players and random source, for the inputs of this tick and the last one, and for the identity of every row.
func newColumns(s *Schema) (columns []Column) {
	input := s.Input.declaration.layout
	inputs := &layout{typ: input.typ, size: input.size * uintptr(2*s.MaxPlayers)}
	for i, l := range [...]*layout{columnCore: engineLayout[core](), columnInputs: inputs, columnIdentity: engineLayout[Entity]()} {
		columns = append(columns, Column{Declaration: &Declaration{name: engineNames[i], layout: l}, single: i != columnIdentity})
	}
	for i, d := range s.declared() {
		columns = append(columns, Column{Declaration: d, single: i < len(s.Resources)})
	}
	for i := range columns {
		c := &columns[i]
		c.index, c.stride = i, c.layout.size
		c.rounds = c.stride > 0 && (c.layout.steps || c.roles.quantise != nil)
		if !c.single && c.stride > 0 {
			c.shift = rowsShift(pageBytes, c.stride)
		}
		c.pool = newPool(c.stride, c.shift)
	}
	return columns
}

func engineLayout[T any]() *layout {
	l, err := layoutOf("engine", "", reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return l
}

func (im *Image) resources() []Column {
	return im.columns[engineColumns : engineColumns+len(im.schema.Resources)]
}

func (im *Image) components() []Column {
	return im.columns[engineColumns+len(im.schema.Resources):]
}

// Schema returns the schema that the image was made for.
func (im *Image) Schema() *Schema { return im.schema }

// Tick returns the running tick, or between ticks the last one computed.
func (im *Image) Tick() Tick { return im.core().Tick }

// Players returns the players who are in the match.
func (im *Image) Players() PlayerSet { return im.core().Players }

// Rand returns the random source and marks it as written.
func (im *Image) Rand() *Rand { return &im.writeCore().Rand }

// Input returns p's packed input of the running or last tick.
func (im *Image) Input(p Player) (in InputBytes) {
	copy(in[:], unsafe.Slice((*byte)(im.InputRow(int(p))), im.schema.Input.Size()))
	return in
}

// LastInput returns p's input of the previous tick.
func (im *Image) LastInput(p Player) (in InputBytes) {
	copy(in[:], unsafe.Slice((*byte)(im.InputRow(im.schema.MaxPlayers+int(p))), im.schema.Input.Size()))
	return in
}

// InputRow returns the memory of an input, which must not be written. Rows [0, MaxPlayers) are this tick's inputs, the next
// MaxPlayers rows the last tick's.
func (im *Image) InputRow(i int) unsafe.Pointer {
	c := &im.columns[columnInputs]
	return unsafe.Add(c.rowOf(&c.regions[0], 0), i*im.schema.Input.Size())
}

// SetObserver makes o receive the start and end of each section: ticks, systems, saves, restores and checksums, including
// those of the image's snapshots. Optional.
func (im *Image) SetObserver(o Observer) { im.observer = o }

// Observer returns the observer, nil if there is none.
func (im *Image) Observer() Observer { return im.observer }

// DerivedVersion grows when data derived from the state must be built again.
func (im *Image) DerivedVersion() uint64 { return im.derived }

// StateVersion grows when Restore, ApplyDelta or Load replaces the whole state.
func (im *Image) StateVersion() uint64 { return im.states }

// StructureVersion grows when an entity or its set of components may have changed.
func (im *Image) StructureVersion() uint64 { return im.structure.changes }

// core returns the engine's own resource, whose page is the first one.
func (im *Image) core() *core {
	return (*core)(unsafe.Pointer(unsafe.SliceData(im.live[columnCore].mem)))
}

func (im *Image) writeCore() *core {
	im.mark(columnCore)
	return im.core()
}

// Identity returns the column that holds the entity of every row.
func (im *Image) Identity() *Column { return &im.columns[columnIdentity] }

// Exists reports whether e's row has e's identity. An entity exists from the Spawn that created it.
func (im *Image) Exists(e Entity) bool {
	if e.Row == 0 || int(e.Owner()) >= len(im.structure.hint) {
		return false
	}
	c := im.Identity()
	r, i := &c.regions[e.Owner()], e.Row%regionRows
	return int(i>>c.shift) < len(r.data.mem) && *(*Entity)(c.rowOf(r, i)) == e
}

// Column returns the column of a declared component or resource. It panics if the schema does not list the declaration.
func (im *Image) Column(d *Declaration) *Column {
	if d.id < len(im.byID) {
		if c := im.byID[d.id]; c != nil {
			return c
		}
	}
	panic(fmt.Sprintf("ecs: %q is used but not listed: add it to Game.Components or Game.Resources", d.name))
}

// Row returns the memory of e's component, which must not be written. It returns nil if e does not exist or has no such
// component.
func (im *Image) Row(d *Declaration, e Entity) unsafe.Pointer {
	c := im.Column(d)
	if !im.Exists(e) {
		return nil
	}
	r, i := &c.regions[e.Owner()], e.Row%regionRows
	if !r.has(i) {
		return nil
	}
	return c.rowOf(r, i)
}

// WriteRow returns the memory of e's component and marks it as written. It returns nil if e does not exist or has no such
// component, and a copy of the row if this tick must not write it; see SetPredicted.
func (im *Image) WriteRow(d *Declaration, e Entity) unsafe.Pointer {
	c := im.Column(d)
	if !im.Exists(e) {
		return nil
	}
	r, i := &c.regions[e.Owner()], e.Row%regionRows
	if !r.has(i) {
		return nil
	}
	if c.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	if im.limit.open != nil && !im.writable(e) {
		im.discard(d)
		return im.copyRow(c.rowOf(r, i), c.stride)
	}
	k := i >> c.shift
	im.mark(r.data.pages[k])
	return unsafe.Add(r.data.mem[k], uintptr(i&(1<<c.shift-1))*c.stride)
}

// WriteResource returns the memory of a resource and marks it as written.
func (im *Image) WriteResource(d *Declaration) unsafe.Pointer {
	c := im.Column(d)
	im.markRow(&c.regions[0], c, 0)
	return c.rowOf(&c.regions[0], 0)
}

// Unordered reports whether a system of the last tick visited entities in an order that depends on history, such as that of
// donburi's world.
func (im *Image) Unordered() bool { return im.unordered }

// SetUnordered notes that entities are visited in an order that depends on history, if a tick or Setup is running.
func (im *Image) SetUnordered() { im.unordered = im.unordered || im.running }

// Setup runs f, which builds State(0).
func (im *Image) Setup(f func()) {
	im.running, im.unordered = true, false
	f()
	im.Flush()
	im.round()
	im.releaseReserved()
	im.running = false
	im.invalidate() // f may have used derived data of a state half built
}

// Begin starts the next tick with these inputs. index = Player; missing inputs are zero.
func (im *Image) Begin(players []InputBytes) {
	im.running, im.unordered = true, false
	if im.limit.rows != nil {
		im.beginLimit()
	}
	im.placings = im.placings[:0]
	im.writeCore().Tick++
	im.takeInputs(players)
}

// End ends the tick: it applies orders of kind OrderMotion, rounds the rows that were written, and undoes changes that
// SetPredicted does not allow.
func (im *Image) End() {
	im.place()
	im.round()
	if im.limit.open != nil {
		im.endLimit()
	}
	im.releaseReserved()
	if im.sight.used {
		clear(im.sight.views)
		im.sight.used = false
	}
	im.running = false
}

// SetPlayer adds p to the match or removes p from it. It reports false if nothing changed.
func (im *Image) SetPlayer(p Player, in bool) bool {
	if im.core().Players.Has(p) == in {
		return false
	}
	im.writeCore().Players ^= 1 << p
	return true
}

// takeInputs makes this tick's inputs the last ones and stores the new.
func (im *Image) takeInputs(players []InputBytes) {
	rows, size := im.writeInputs(), im.schema.Input.Size()
	now, last := rows[:len(rows)/2], rows[len(rows)/2:]
	copy(last, now)
	for p := range players[:min(len(players), im.schema.MaxPlayers)] {
		now = now[copy(now, players[p][:size]):]
	}
	clear(now)
}

// writeInputs returns the memory of all inputs and marks it as written.
func (im *Image) writeInputs() []byte {
	if im.schema.Input.Size() == 0 {
		return nil
	}
	im.mark(columnInputs) // its page is the second one
	return im.live[columnInputs].mem
}

func (im *Image) invalidate() { im.derived++ }

// Strays returns the number of pages that were found changed by a write that was not declared. It should stay 0. SyncTest
// names the system that wrote.
func (im *Image) Strays() uint64 { return im.strays }
