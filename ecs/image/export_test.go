package image

// The internals that the tests of this package look at.

import (
	"reflect"
	"tendon/ecs/fixed"
	"unsafe"
)

const (
	BitsPageWords    = bitsPageWords
	ColumnCore       = columnCore
	ColumnIdentity   = columnIdentity
	ColumnInputs     = columnInputs
	DeltaEnd         = deltaEnd
	DeltaFormat      = deltaFormat
	FieldExists      = fieldExists
	FormSteps32      = formSteps32
	FormSteps64      = formSteps64
	ImageHeaderBytes = imageHeaderBytes
	ImageSparseBytes = imageSparseBytes
	MaxRowBytes      = maxRowBytes
	NativeAlign      = nativeAlign
	RegionRows       = regionRows
	RegionShift      = regionShift
)

type (
	Core  = core
	Field = field
	Page  = page
)

var (
	LayoutOf    = layoutOf
	MisplacedIn = misplacedIn
	AlignOf     = alignOf
	ParseStep   = parseStep
)

func (x *Column) ClearRow(p0 *Image, p1 *region, p2 uint32) { x.clearRow(p0, p1, p2) }

func (x *Column) Info() *Column { return x }

func (x *Column) Regions() []region { return x.regions }

func (x *Column) RowOf(p0 *region, p1 uint32) unsafe.Pointer { return x.rowOf(p0, p1) }

func (x *Column) SingleRow() []byte { return x.singleRow() }

func (x *Declaration) Layout() *layout { return x.layout }

func (x *Image) Columns() []Column { return x.columns }

func (x *Image) Core() *core { return x.core() }

func (x *Image) Incoming() *incoming { return &x.incoming }

func (x *Image) Dirty() []uint32 { return x.dirty }

func (x *Image) Live() []livePage { return x.live }

func (x *Image) Mark(p0 uint32) { x.mark(p0) }

func (x *Image) MarkRow(p0 *region, p1 *Column, p2 uint32) { x.markRow(p0, p1, p2) }

func (x *Image) Pools() []*pool { return x.pools }

func (x *Image) ReleaseReserved() { x.releaseReserved() }

func (x *Image) SetBit(p0 *region, p1 *Column, p2 uint32) { x.setBit(p0, p1, p2) }

func (x *Image) Stores() []*store { return x.stores }

func (x *Image) Structure() *structure { return &x.structure }

func (x *Image) TakeInputs(p0 []InputBytes) { x.takeInputs(p0) }

func (x *Image) WriteCore() *core { return x.writeCore() }

func (x *InputType) Layout() *layout { return x.declaration.layout }

func (x *List[T, A]) Items() A { return x.items }

func (x *Placement) Nums() [7]fixed.Num { return x.nums() }

func (x *RowSet) OverlapOf(p0 Owner, p1 uint32, p2 uint32) (some, all bool) {
	return x.overlapOf(p0, p1, p2)
}

func (x *RowSet) Word(p0 Owner, p1 int) uint64 { return x.word(p0, p1) }

func (x *Snapshot) Has(p0 *Column, p1 Owner, p2 uint32) bool { return x.has(p0, p1, p2) }

func (x *Snapshot) Image() *Image { return x.image }

func (x *Snapshot) PageOf(p0 int, p1 int) *page { return x.pageOf(p0, p1) }

func (x *Snapshot) RowBytes(p0 *Column, p1 Owner, p2 uint32) []byte {
	return unsafe.Slice((*byte)(x.row(p0, p1, p2)), p0.stride)
}

func (x *Snapshot) Table() []*page { return x.table }

func (x *Snapshot) EntityIn(p0 Owner, p1 uint32) Entity { return x.entityAt(p0, p1) }

func (x *Snapshot) RowOf(p0 *Column, p1 Owner, p2 uint32) unsafe.Pointer { return x.row(p0, p1, p2) }

func (x *Column) Index() int { return x.index }

func (x *Column) Layout() *layout { return x.layout }

func (x *Column) Shift() uint8 { return x.shift }

func (x *Column) Single() bool { return x.single }

func (x *Column) Stride() uintptr { return x.stride }

func (x *incoming) Header(p0 []byte) error { return x.readHeader(p0) }

func (x *incoming) ReadStore(p0 *store) error { return x.readStore(p0) }

func (x *incoming) Rest() []byte { return x.rest }

func (x *incoming) Pages() []pagePair { return x.pages }

func (x *incoming) Release() { x.release() }

func (x *incoming) Result() (Checksum, int) { return x.result() }

func (x *incoming) ReadPages() error { return x.readPages() }

func (x *field) Offset() uintptr { return x.offset }

func (x *field) Path() string { return x.path }

func (x *field) Size() uintptr { return x.typ.Size() }

func (x *field) Typ() reflect.Type { return x.typ }

func (x *layout) Fields() []field { return x.fields }

func (x *layout) Fingerprint() uint64 { return x.fingerprint }

func (x *layout) Padding() []span { return x.padding }

func (x *layout) Scalars() []field { return x.fields }

func (x *layout) Size() uintptr { return x.size }

func (x *livePage) Base() *page { return x.base }

func (x *livePage) Index() uint32 { return x.index }

func (x *livePage) Marked() bool { return x.marked }

func (x *livePage) Mem() []byte { return x.mem[:cap(x.mem)] }

func (x *livePage) Store() *store { return x.store }

func (x *page) Content(n int) []byte { return extend(x.content(), n, new([pageBytes]byte)) }

func (x *page) Mem() []byte { return x.mem }

func (x *page) Refs() int32 { return x.refs }

func (x *pool) Free() []*page { return x.free }

func (x *pool) Made() int { return x.made }

func (x *region) Bits() *store { return &x.bits }

func (x *region) Data() *store { return &x.data }

func (x *region) Has(p0 uint32) bool { return x.has(p0) }

func (x *region) Words() []uint64 { return x.words }

func (x *field) Count(p0 int64) int64 { return x.count(p0) }

func (x *field) CountFloat(p0 float64) int64 { return x.countFloat(p0) }

func (x *field) Fits(p0 uint64) bool { return x.fits(p0) }

func (x *field) Form() reflect.Kind { return x.form }

func (x *field) Half() int64 { return x.half }

func (x *field) Shift() uint8 { return x.shift }

func (x *field) Step() int64 { return x.step }

func (x *field) Unit() float64 { return x.unit }

func (x *span) From() uintptr { return x.from }

func (x *span) To() uintptr { return x.to }

func (x *store) Info() *store { return x }

func (x *store) Mem() []unsafe.Pointer { return x.mem }

func (x *store) Pages() []uint32 { return x.pages }

func (x *store) Column() *Column { return x.column }

func (x *store) MostPages() int { return x.mostPages() }

func (x *store) Number() int { return x.number }

func (x *store) Owner() Owner { return x.owner }

func (x *structure) Changes() uint64 { return x.changes }

func (x *structure) Hint() []uint32 { return x.hint }

// KeepPadding makes the column's padding part of its state.
func (x *Column) KeepPadding() {
	bare, naked := *x.Declaration, *x.layout
	naked.padding = nil
	bare.layout = &naked
	x.Declaration = &bare
}

func (x *Snapshot) SetTick(t Tick) { x.tick = t }

func (x *Image) SetOpen(rows *RowSet) { x.limit.open = rows }

func (x *field) SetStep(step int64, shift uint8) { x.step, x.half, x.shift = step, step/2, shift }

func ListOfCount[T, A any](n uint32) List[T, A] { return List[T, A]{n: n} }

func (x *Image) ClearDirty() { x.dirty = x.dirty[:0] }

func (x *Image) Restructure() { x.structure.changes++ }

func NewIncoming(im *Image, rest []byte) *incoming {
	return &incoming{image: im, reader: reader{rest: rest}}
}
